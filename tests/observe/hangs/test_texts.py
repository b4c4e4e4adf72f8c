"""A picture as text: when it was taken and of what, its kind in words, and Markdown that renders as it is printed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve
from eagleray.common.l10n import translated
from eagleray.observe.hangs import texts
from eagleray.observe.hangs.diagnosis import diagnosis
from eagleray.observe.hangs.kind_texts import KINDS
from eagleray.observe.hangs.model import AwaitRow, InsideRow, Picture, PictureTarget, ReadingRow
from eagleray.observe.hangs.picture import picture
from eagleray.observe.hangs.pictures import target_text
from eagleray.observe.hangs.verdict import Kind
from eagleray.remote.sampling.processes import ACTOR

from tests.observe.hangs.test_rules import recorded

PAGE = Path(__file__).parents[3] / "extension" / "observe" / "hangs" / "page" / "names.ts"


@pytest.fixture
def _in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def taken(scenario: str = "mismatch") -> Picture:
    sampled = recorded(scenario)
    return picture(sampled, diagnosis(sampled), 1_790_000_000.5)


@pytest.mark.usefixtures("_in_tokyo")
def test_markdown_begins_with_what_was_sampled_and_when() -> None:
    first = texts.markdown(evolve(taken(), target="run 3f9c")).splitlines()[0]
    assert first == "Stacks of run 3f9c, taken at 2026-09-21 23:13:20+09:00"
    first = texts.markdown(taken()).splitlines()[0]
    assert first == "Stacks, taken at 2026-09-21 23:13:20+09:00"


def test_each_sentence_of_markdown_is_a_paragraph() -> None:
    _, sentence, step, kind, tree, facts = texts.markdown(
        evolve(taken(), coverage=evolve(taken().coverage, workers="Trainer"))
    ).split("\n\n")
    assert sentence.startswith("**Ranks 1 and 3 wait in all_gather (trainer.py:")
    assert step == "Make all ranks call the same collectives in the same order."
    assert kind == "Different collectives, very likely (90 %)"
    assert tree.startswith("```text\n[0-3] ") and tree.endswith("\n```")
    assert facts == "- Not seen: workers other than Trainer\n"


def test_actors_of_two_classes_have_the_names_of_these() -> None:
    first, second, *_ = taken().ranks
    rows = [
        evolve(row, role=ACTOR, group=name, rank=0)
        for row, name in ((first, "Trainer"), (second, "Rollout"))
    ]
    inside = tuple(
        InsideRow(name, 0, "", (), (AwaitRow("runs", 1, ("Task-1",), (), ""),))
        for name in ("Trainer", "Rollout")
    )
    shown = texts.markdown(evolve(taken(), ranks=tuple(rows), inside=inside))
    assert "- Trainer 0: task" in shown and "- Rollout 0: task" in shown


def test_markdown_without_stacks_has_no_empty_block() -> None:
    assert "```" not in texts.markdown(evolve(taken(), classes=()))


def test_names_with_underscores_are_not_emphasized() -> None:
    changed = evolve(taken().verdict, sentence="Rank 0 waits in __init__ (my_model.py:3) ~~x~~.")
    text = texts.markdown(evolve(taken(), verdict=changed))
    assert r"**Rank 0 waits in \_\_init\_\_ (my_model.py:3) \~\~x\~\~.**" in text


def test_terminal_names_the_kind_as_the_page_does() -> None:
    assert list(texts.lines(taken()))[2] == "Different collectives, very likely (90 %)"


def test_unknown_verdict_lists_its_readings_with_their_kinds() -> None:
    unknown = taken("group_in_variable")
    reading = ReadingRow("straggler", "1", 0.4, "Rank 1 is late.", "Look at rank 1.", "")
    verdict = evolve(unknown.verdict, readings=(reading,))
    printed = list(texts.lines(evolve(unknown, verdict=verdict)))
    assert printed[2:4] == ["Unknown", "Straggler, unlikely (40 %): Rank 1 is late."]


def test_kinds_have_the_names_that_the_page_has() -> None:
    source = PAGE.read_text()
    block = source[source.index("KINDS = {") : source.index("DOING = {")]
    named = dict(re.findall(r'"?([\w-]+)"?: l10n\.t\("([^"]+)"\)', block))
    assert named == {kind.value: translated(KINDS[kind]) for kind in Kind}


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (PictureTarget(pids=(7,)), "process 7"),
        (PictureTarget(pids=(7, 8)), "processes 7, 8"),
        (PictureTarget(slurm_job="ssh://login/slurm://12"), "SLURM job ssh://login/slurm://12"),
        (PictureTarget(hosts=("a", "b")), "hosts a, b"),
        (PictureTarget(run_id="3f9c"), "run 3f9c"),
        (PictureTarget(cluster="http://c:1"), "cluster http://c:1"),
        (PictureTarget(cluster="http://c:1", job_id="02"), "job 02 of cluster http://c:1"),
    ],
)
def test_target_is_named(target: PictureTarget, text: str) -> None:
    assert target_text(target) == text
