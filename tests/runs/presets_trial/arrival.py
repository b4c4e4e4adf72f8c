"""Whether the words of a proposal arrive: the stub calls of the original command compared with the debug run's."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from tests.runs.presets_trial.sandbox import Call, Execution

EXACT, WRONG_PLACE, MISSING = "exact", "wrong place", "not at all"
NOT_REACHED, NOT_EXECUTED = "line not reached", "not executed"
# Programs that start a training; others, such as `tee`, may well be given a changed text.
_OF_BASH = re.compile(r": line \d+: ")
_LAUNCHERS = ("python", "uv", "torchrun", "ray", "accelerate", "deepspeed", "docker", "ssh")


@dataclass(frozen=True)
class Arrival:
    """`call` is the training's own with the words in it; `others` are calls of the program that have none of them."""

    verdict: str
    reason: str = ""
    call: Call | None = None
    others: tuple[Call, ...] = field(default=())


def arrival(
    before: Execution,
    after: Execution,
    words: Sequence[str],
    target: str,
    removed: Sequence[str] = (),
    variables: int = 0,
) -> Arrival:
    """Compares the calls of launchers, in their order.

    `removed` words are to be missing afterwards, which may belong to a branch that the script doesn't take.  The script
    may make a word of each of the `variables` set.
    """
    originals, changed = _launches(before.calls), _launches(after.calls)
    trainings = [call for call in originals if starts(call, target)]
    if not trainings and not _differs(originals, changed):
        return Arrival(NOT_REACHED, _ended(before))
    with_words = [call for call in changed if _holds(call, words)]
    without = tuple(call for call in changed if starts(call, target) and not _holds(call, words))
    if not with_words:
        partly = [call for call in changed if any(word in call.arguments for word in words)]
        if partly:
            return Arrival(WRONG_PLACE, "only some of the words arrived", partly[0], without)
        reason = _ended(after) if after.code != before.code or after.timed_out else ""
        return Arrival(MISSING, reason or "the program ran without any of the words", None, without)
    call = with_words[-1]
    if not _at_end(call, words):
        return Arrival(WRONG_PLACE, "the words are not at the end of the line", call, without)
    if left := [word for word in removed if word.startswith("--") and word in _flat(call)]:
        return Arrival(WRONG_PLACE, f"{left[0]} is still in the line", call, without)
    low, high = len(words) - len(removed), len(words) + variables + 1
    if reason := _other_changes(originals, changed, words, range(low, high)):
        return Arrival(WRONG_PLACE, reason, call, without)
    return Arrival(EXACT, "", call, without)


def starts(call: Call, target: str) -> bool:
    """Whether the call runs `target`, a module or file whose folder may be an unexpanded variable."""
    name = target.rsplit("/", 1)[-1].strip("\"'")
    if not name or "$" in name:
        return call.program.startswith(("python", "torchrun", "uv")) and "-c" not in call.arguments
    return any(_is_name(word, name) for word in _flat(call))


def _is_name(word: str, name: str) -> bool:
    return word == name or word.endswith("/" + name)


def _launches(calls: Sequence[Call]) -> list[Call]:
    """Counts only submissions of `ray`: how often a script asks for its status varies."""
    return [
        call
        for call in calls
        if call.program.startswith(_LAUNCHERS)
        and (call.program != "ray" or "submit" in call.arguments)
    ]


def _flat(call: Call) -> list[str]:
    """The arguments, and the words of those that are commands of a shell."""
    words = []
    for argument in call.arguments:
        words.append(argument)
        if " " in argument or "\n" in argument:
            words += _split(argument)
    return words


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _holds(call: Call, words: Sequence[str]) -> bool:
    flat = _flat(call)
    return all(word in flat for word in words)


def _at_end(call: Call, words: Sequence[str]) -> bool:
    if call.arguments[-len(words) :] == tuple(words):
        return True
    within = next(
        (argument for argument in call.arguments if set(words) <= set(_split(argument))), ""
    )
    inner = _split(within)
    return any(
        inner[at : at + len(words)] == list(words) for at in range(len(inner) - len(words) + 1)
    )


def _differs(originals: Sequence[Call], changed: Sequence[Call]) -> bool:
    return any(
        one is None or other is None or len(one.arguments) != len(other.arguments)
        for one, other in zip_longest(originals, changed)
    )


def _other_changes(
    originals: Sequence[Call], changed: Sequence[Call], words: Sequence[str], expected: range
) -> str:
    """Returns further differences from the original; arguments may hold times, so only their numbers are compared."""
    if len(originals) != len(changed):
        return f"{len(changed)} programs were started instead of {len(originals)}"
    for one, other in zip(originals, changed, strict=True):
        added = len(other.arguments) - len(one.arguments)
        blank = [word for word in other.arguments if not word.strip()]
        if len(blank) > len([word for word in one.arguments if not word.strip()]) + words.count(""):
            return "an empty argument was added"
        if added > 0 and added not in expected:
            return f"{added} arguments were added instead of {expected.start}"
    return ""


def _ended(execution: Execution) -> str:
    if execution.timed_out:
        return "the script did not end in time"
    lines = [line.strip() for line in execution.output.splitlines() if line.strip()]
    said = [line for line in lines if _OF_BASH.search(line)] or [
        line for line in lines if line[0] != "+"
    ]
    return f"exit code {execution.code}: {said[-1][-160:] if said else 'no message'}"
