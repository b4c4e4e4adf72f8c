"""Sentences on ranks that have ended, and on programs that have reached their end."""

from __future__ import annotations

import pytest
from attrs import evolve
from eagleray.observe.hangs.activity import activity
from eagleray.observe.hangs.diagnosis import diagnosis
from eagleray.observe.hangs.evidence import HangEvidence, RankEnding
from eagleray.observe.hangs.picture import picture
from eagleray.observe.hangs.texts import exit_lines
from eagleray.remote.sampling.exits import Ending
from eagleray.remote.sampling.frames import PythonFrame
from eagleray.remote.sampling.printed_exceptions import PrintedException

from tests.observe.hangs.test_rules import recorded

PRINTED = PrintedException("ValueError: shape 3", PythonFrame("fit", "/home/me/train.py", 80))
SECRET = PrintedException("HTTPError: Authorization: Bearer hf_abcdefghijklmnopqrstuvwx", None)


def killed(*endings: Ending) -> HangEvidence:
    """Rank 0 has ended so."""
    return evolve(
        recorded("killed"), endings=tuple(RankEnding("trainer.py", each) for each in endings)
    )


@pytest.mark.parametrize(
    ("ending", "sentence"),
    [
        (None, "No exit code is available."),
        (Ending(1, 0, None), "No exit code is available."),
        # The log of a rank that is here.
        (Ending(1, 2, -9), "No exit code is available."),
        (Ending(1, 0, 3), "Rank 0 ended with exit code 3."),
        (Ending(1, 0, -11), "Rank 0 ended by SIGSEGV."),
        (
            Ending(1, 0, 1, 0, PRINTED),
            "Rank 0 ended with exit code 1 after ValueError: shape 3 (train.py:80).",
        ),
        (Ending(1, 0, None, 0, PRINTED), "Rank 0 printed ValueError: shape 3 (train.py:80)."),
        # Short memory explains only SIGKILL.
        (Ending(1, 0, 1, 2), "Rank 0 ended with exit code 1."),
        (
            Ending(1, 0, -9, 2),
            "Rank 0 ended by SIGKILL. The kernel killed 2 processes beside it for lack of memory.",
        ),
    ],
)
def test_sentence_on_a_rank_that_has_ended(ending: Ending | None, sentence: str) -> None:
    reading = diagnosis(killed(*([ending] if ending else []))).reading
    assert (reading.kind.value, str(reading.culprits)) == ("rank-dead", "0")
    assert reading.sentence == f"Rank 0 has ended. {sentence}"


def test_rank_that_finished_well_is_not_told_as_one_that_failed() -> None:
    reading = diagnosis(killed(Ending(1, 0, 0))).reading
    assert (reading.kind.value, str(reading.culprits)) == ("rank-dead", "0")
    assert reading.sentence == "Rank 0 has finished with exit code 0."
    printed = diagnosis(killed(Ending(1, 0, 0, 0, PRINTED))).reading
    assert "after ValueError: shape 3" in printed.sentence


@pytest.mark.parametrize(
    ("ending", "sentence"),
    [
        (None, "No process runs rank 3."),
        (Ending(1, 3, None), "No process runs rank 3."),
        (
            Ending(1, 3, 0),
            "Rank 3 has finished with exit code 0. It never joined the process group.",
        ),
        (
            Ending(1, 3, -9, 1),
            "Rank 3 has ended. The others wait for it in a process group. Rank 3 ended by SIGKILL. "
            "The kernel killed 1 process beside it for lack of memory.",
        ),
    ],
)
def test_sentence_on_a_rank_that_never_joined_the_process_group(
    ending: Ending | None, sentence: str
) -> None:
    early = recorded("finished_early")
    endings = tuple(RankEnding(early.worlds[0].name, each) for each in (ending,) if each)
    reading = diagnosis(evolve(early, endings=endings)).reading
    assert (reading.kind.value, str(reading.culprits)) == ("initialization", "3")
    assert reading.sentence == sentence


def test_rank_that_ends_while_the_others_form_a_process_group_is_the_culprit() -> None:
    early = recorded("finished_early")
    last = next(each for each in early.processes if each.rank == 2)
    others = [each for each in early.processes if each is not last]
    gone = last.last._replace(reason="ended")
    ended = evolve(last, activity=activity(gone, None), samples=(gone,), stacks=(None,))
    reading = diagnosis(evolve(early, processes=(*others, ended), endings=())).reading
    assert (reading.kind.value, str(reading.culprits)) == ("initialization", "2-3")
    assert reading.sentence.startswith("Ranks 2-3 have ended. The others wait for them")


def test_picture_keeps_what_is_on_record_without_secrets() -> None:
    evidence = killed(Ending(1, 0, 1, 0, SECRET))
    taken = picture(evidence, diagnosis(evidence), 0.0)
    [row] = taken.exits
    assert (row.rank, row.exit_code) == (0, 1)
    assert "hf_abc" not in f"{taken.verdict.sentence}{row.exception}"
    assert [line.partition(":")[0] for line in exit_lines(taken)] == ["Rank 0"]


def test_ranks_at_the_end_of_the_program_are_named_as_that_alone() -> None:
    evidence = recorded("without_data")
    assert diagnosis(evidence).reading.sentence == (
        "The main thread of every rank has ended. "
        "Other threads still run in Trainer.prefetch (trainer.py:218)."
    )
    first, *others = evidence.processes
    for changed in (evolve(first, is_at_exit=False), evolve(first, moves=True)):
        reading = diagnosis(evolve(evidence, processes=(changed, *others))).reading
        assert "every rank" not in reading.sentence
