"""The output of a run is matched while it grows: the first cause, not what follows from it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from eagleray.doctor import live_output
from eagleray.doctor.live_output import (
    GRACE_S,
    OutputMatching,
    UnknownErrors,
    first_problem,
)
from eagleray.doctor.logs.lines import without_first_word
from eagleray.doctor.ranking import UNKNOWN
from eagleray.doctor.rule_files import own_rules
from hypothesis import given
from hypothesis import strategies as st

OOM = "(W pid=9, ip=10.0.0.4) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
GLOO = (
    "RuntimeError: [unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to "
    "complete\n"
)
PATH = Path("/runs/1/output.log")


def matching() -> OutputMatching:
    return OutputMatching(PATH, own_rules())


def test_first_cause_has_its_line_and_worker() -> None:
    cause = matching().feed(f"step 1\n{OOM}step 2\n")

    assert cause is not None
    (evidence,) = cause.evidence
    assert (cause.id, evidence.line, evidence.node) == ("cuda-oom", 2, "10.0.0.4")
    assert evidence.path == str(PATH)


def test_consequence_waits_for_its_cause() -> None:
    output = matching()

    assert output.feed(GLOO) is None
    assert output.consequence is not None
    cause = output.feed(OOM)

    assert cause is not None
    assert (output.consequence.id, cause.id) == ("gloo-timeout", "cuda-oom")


def test_line_after_skipped_output_has_no_number() -> None:
    cause = matching().feed(OOM, skipped=100)

    assert cause is not None
    assert cause.evidence[0].line == 0


def test_warnings_are_not_a_problem_of_a_live_run() -> None:
    assert (
        matching().feed("Waiting for creating a placement group of specs for 10 seconds\n") is None
    )


@given(st.lists(st.integers(0, len(OOM) * 3), max_size=5))
def test_pieces_of_any_size_give_the_same_line(cuts: list[int]) -> None:
    text = f"a\nb\n{OOM}c\n{OOM}"
    output, start, causes = matching(), 0, []
    for end in [*sorted(cuts), len(text)]:
        causes += [cause] if (cause := output.feed(text[start:end])) else []
        start = max(start, end)

    assert causes[0].evidence[0].line == 3


CRASH = "[2026-11-21 01:25:07,987 C 48 48] (raylet) a.cc:248: Check failed: made_up"


@pytest.mark.parametrize("crash", [CRASH, "terminate called without an active exception"])
def test_crash_that_no_rule_explains_is_an_unknown_error(crash: str) -> None:
    output = OutputMatching(PATH, own_rules(), UnknownErrors(PATH, own_rules()))

    assert output.feed(f"step 1\n(W pid=9) {crash}\nstep 2\n") is None

    assert output.unknown is not None
    assert output.unknown.sentence == f"{crash}"
    assert output.unknown.evidence[0].line == 2


def test_cause_takes_the_place_of_the_crash_that_it_explains() -> None:
    output = OutputMatching(PATH, own_rules(), UnknownErrors(PATH, own_rules()))

    cause = output.feed(f"terminate called after throwing an instance of 'c10::Error'\n{OOM}")

    assert cause is not None
    assert cause.id == "cuda-oom"


async def test_output_is_followed_until_its_first_problem(tmp_path: Path) -> None:
    output = tmp_path / "output.log"
    output.write_text("step 1\n")
    found = asyncio.create_task(first_problem(output, own_rules(), lambda: False))
    await asyncio.sleep(0)
    with output.open("a") as file:
        file.write(OOM)

    cause = await found

    assert cause is not None
    assert cause.evidence[0].line == 2


async def test_end_of_a_run_gives_its_last_line_or_nothing(tmp_path: Path) -> None:
    output = tmp_path / "output.log"

    for text, expected in (("fine\n", None), (GLOO, "gloo-timeout"), (OOM.rstrip(), "cuda-oom")):
        output.write_text(text)
        cause = await first_problem(output, own_rules(), lambda: True)
        assert (cause and cause.id) == expected


FRAMES = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    step()\n'
TASK = (
    f"{FRAMES}ray.exceptions.RayTaskError(KeyError): ray::step() (pid=9, ip=10.0.0.4)\n"
    "  File \"b.py\", line 1, in step\nKeyError: 'reward'\n"
)


@pytest.mark.parametrize(
    ("text", "line", "shown"),
    [
        (f"{FRAMES}ValueError: no such layer\n", 4, "ValueError: no such layer"),
        (f"{FRAMES}ValueError: no such layer", 4, "ValueError: no such layer"),
        (TASK, 6, "KeyError: 'reward'"),
        (
            "".join(f"(W pid=9) {part}\n(W pid=8) step 1\n" for part in TASK.splitlines()),
            11,
            "KeyE",
        ),
        # A second one says nothing new, and is noise after what follows from another error.
        (f"{FRAMES}ValueError: first\n{FRAMES}ValueError: second\n", 4, "ValueError: first"),
        (f"{FRAMES}ValueError: first\n{GLOO}", 4, "ValueError: first"),
    ],
)
async def test_traceback_that_no_rule_explains_is_the_problem_of_a_run(
    tmp_path: Path, text: str, line: int, shown: str
) -> None:
    output = tmp_path / "output.log"
    output.write_text(text)

    cause = await first_problem(output, own_rules(), lambda: True)

    assert cause is not None
    assert (cause.id, cause.evidence[0].line, cause.severity) == (UNKNOWN, line, "error")
    assert cause.sentence.startswith(f"{shown}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{FRAMES}ValueError: no such layer\n{OOM}", "cuda-oom"),
        (f"{GLOO}{FRAMES}ValueError: no such layer\n", "gloo-timeout"),
        (f"{FRAMES}KeyboardInterrupt\n", None),
        (f"{FRAMES}SystemExit: 3\n", None),
        (f"{FRAMES}and then nothing\nValueError: in a text\n", None),
        (FRAMES, None),
        # A rule that is only a warning explains it.
        (f"{FRAMES}E: Waiting for creating a placement group of specs for 10 seconds\n", None),
    ],
)
async def test_traceback_is_not_noise_beside_a_known_cause(
    tmp_path: Path, text: str, expected: str | None
) -> None:
    output = tmp_path / "output.log"
    output.write_text(text)

    cause = await first_problem(output, own_rules(), lambda: True)

    assert (cause and cause.id) == expected


async def test_traceback_of_a_run_that_continues_is_reported_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_output, "GRACE_S", 0.05)
    output = tmp_path / "output.log"
    output.write_text(f"{FRAMES}ValueError: no such layer\nstep 2\n")

    cause = await first_problem(output, own_rules(), lambda: False)

    assert cause is not None
    assert (cause.id, GRACE_S) == (UNKNOWN, 10.0)


async def test_reported_traceback_is_not_reported_again(tmp_path: Path) -> None:
    output = tmp_path / "output.log"
    for text, expected in ((OOM, "cuda-oom"), (GLOO, None), ("", None)):
        output.write_text(f"{FRAMES}ValueError: no such layer\n{text}")
        cause = await first_problem(output, own_rules(), lambda: True, [UNKNOWN])
        assert (cause and cause.id) == expected


def test_live_line_that_is_too_long_shows_its_sign_and_no_half_of_a_secret() -> None:
    token = f"hf_{'Q' * 34}"
    output = matching()

    assert output.feed("step 1\n" + "x " * 40_000 + token) is None
    cause = output.feed(" y" * (2**15 - 17) + f" z{' ' * 30}" + OOM.partition(") ")[2])

    assert cause is not None
    assert "CUDA out of memory" in cause.evidence[0].text
    assert "QQ" not in cause.evidence[0].text


def test_token_that_is_cut_at_the_start_of_a_live_line_is_dropped() -> None:
    assert without_first_word(f"hf_{'Q' * 34} is wrong", 20) == " is wrong"
    assert without_first_word("abc", 20) == ""
