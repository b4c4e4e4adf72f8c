"""Whether words arrive: one row per way in which a script may treat them."""

from __future__ import annotations

import pytest

from tests.runs.presets_trial.arrival import (
    EXACT,
    MISSING,
    NOT_REACHED,
    WRONG_PLACE,
    arrival,
)
from tests.runs.presets_trial.sandbox import Call, Execution

WORDS = ("++steps=2", "++name=a b")
LINE = "python3 -m t.main a=1"

Line = str | tuple[str, ...]


def execution(*lines: Line, code: int = 0) -> Execution:
    split = (line.split() if isinstance(line, str) else line for line in lines)
    calls = (Call(words[0], tuple(words[1:]), "/", {}) for words in split)
    return Execution(tuple(calls), code, False, "+ set\nline 3: X: unbound variable\n")


def words(line: str, *more: str) -> tuple[str, ...]:
    return (*line.split(), *more)


ROWS: dict[str, tuple[list[Line], list[Line], str]] = {
    "at the end": ([LINE], [words(LINE, *WORDS)], EXACT),
    "in a command of a shell": (
        [words("docker exec box bash -c", f"{LINE} | tee log")],
        [words("docker exec box bash -c", f"{LINE} ++steps=2 '++name=a b' | tee log")],
        EXACT,
    ),
    "not at the end": ([LINE], [words(LINE, *WORDS, "b=1")], WRONG_PLACE),
    "only some": ([LINE], [words(LINE, WORDS[0])], WRONG_PLACE),
    "an empty argument more": ([LINE], [words(LINE, " ", *WORDS)], WRONG_PLACE),
    "split once more": ([LINE], [words(LINE, "++steps=2", "++name=a", "b")], WRONG_PLACE),
    "another program started": ([LINE], [words(LINE, *WORDS), "python3 x.py"], WRONG_PLACE),
    "a cluster asked more often": ([LINE], ["ray status", words(LINE, *WORDS)], EXACT),
    "none": ([LINE], [LINE], MISSING),
    "the line is not reached": (["python3 other.py"], ["python3 other.py"], NOT_REACHED),
}


@pytest.mark.parametrize("row", ROWS)
def test_arrival(row: str) -> None:
    before, after, verdict = ROWS[row]
    found = arrival(execution(*before), execution(*after), WORDS, "t.main")
    assert found.verdict == verdict


def test_a_removed_word_is_expected_to_be_missing() -> None:
    before, after = execution(f"{LINE} --resume"), execution(words(LINE, *WORDS))
    assert arrival(before, after, WORDS, "t.main").verdict == WRONG_PLACE
    assert arrival(before, after, WORDS, "t.main", ["--resume"]).verdict == EXACT
    left = execution(words(f"{LINE} --resume", *WORDS))
    assert arrival(before, left, WORDS, "t.main", ["--resume"]).verdict == WRONG_PLACE


def test_a_removed_word_may_belong_to_a_branch_that_is_not_taken() -> None:
    before, after = execution(LINE), execution(words(LINE, *WORDS))
    assert arrival(before, after, WORDS, "t.main", ["--use-wandb"]).verdict == EXACT


def test_calls_of_the_program_without_the_words_are_named() -> None:
    after = execution(LINE, words(LINE, *WORDS))
    found = arrival(execution(LINE, LINE), after, WORDS, "t.main")
    assert found.verdict == EXACT
    assert [call.arguments[-1] for call in found.others] == ["a=1"]


def test_a_script_that_ends_early_says_why() -> None:
    found = arrival(execution(code=1), execution(code=1), WORDS, "t.main")
    assert found.reason == "exit code 1: line 3: X: unbound variable"


def test_a_file_is_recognised_by_its_name() -> None:
    line = "python /checkout/examples/train.py a=1"
    after = execution(words(line, *WORDS))
    assert arrival(execution(line), after, WORDS, "${HERE}/train.py").verdict == EXACT
