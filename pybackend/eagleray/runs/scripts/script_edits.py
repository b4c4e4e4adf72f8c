"""Edits copies of run scripts: adds arguments to lines, and replaces the script's own path by the original's."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from eagleray.runs.scripts.bash_tokens import commands_of, end_of_piece

# Holds the original's path for a copy, which is in another folder; with _1, _2, … the paths of inner scripts.
ORIGINAL = "EAGLERAY_SCRIPT"
# Holds the folder with the copies of inner scripts, each in a folder of its number.
COPIES = "EAGLERAY_COPIES"
# No script nests commands deeper; deeper ones are left as they are.
DEEPEST = 20
_OWN_PLACE = re.compile(r"\$(?:0\b|(?P<open>\{)(?:0\b|BASH_SOURCE\b(?:\[0\])?)|BASH_SOURCE\b)")


def appended_arguments(arguments: Sequence[str]) -> str:
    """`arguments` as text that follows the last one of a line."""
    return "".join(f" \\\n    {line}" for line in _lines(arguments))


def copied_script(number: int, name: str) -> str:
    """The word that runs the inner copy with this number, counted from 1."""
    return f'"${{{COPIES}}}/{number}/{name}"'


def copy_number(written: str) -> int:
    """The number of the inner copy that a script runs, 0 for any other word."""
    match = re.search(rf"\$\{{{COPIES}\}}/(\d+)/", written)
    return int(match[1]) if match else 0


def shell_quoted(word: str) -> str:
    """`word` in the quotes of a shell that read best."""
    if "'" in word and not re.search(r'["$`\\!]', word):
        return f'"{word}"'
    return shlex.quote(word)


def _lines(arguments: Sequence[str]) -> Iterator[str]:
    """Yields the lines; an option and its value share one."""
    waiting = ""
    for word in arguments:
        quoted = shell_quoted(word)
        if waiting and not word.startswith("--"):
            yield f"{waiting} {quoted}"
            waiting = ""
            continue
        if waiting:
            yield waiting
        waiting = quoted if word.startswith("--") and "=" not in word else ""
        if not waiting:
            yield quoted
    if waiting:
        yield waiting


def with_own_place(text: str, variable: str = ORIGINAL, zero: str = "") -> str:
    """`text`, which finds the original's folder from any other: `$0` and BASH_SOURCE name what `variable` holds.

    In a sourced script `$0` is another script, which the variable `zero` holds.
    """
    edits = [
        (at, end, new)
        for command in commands_of(text)
        for word in command.tokens
        for at, end, new in _own_places(text, word.start, word.end, (variable, zero or variable))
    ]
    return edited(text, edits)


def _own_places(
    text: str, start: int, end: int, variables: tuple[str, str]
) -> Iterator[tuple[int, int, str]]:
    places = list(_OWN_PLACE.finditer(text, start, end))
    left = list(_left_alone(text, start, end)) if places else []
    for item in places:
        if not any(begin < item.start() < closing for begin, closing in left):
            variable = variables["BASH_SOURCE" not in item[0]]
            yield item.start(), item.end(), "${" + variable + ("" if item["open"] else "}")


def _left_alone(
    text: str, at: int, end: int, double: bool = False, level: int = 0
) -> Iterator[tuple[int, int]]:
    """The places in single quotes, also in a `$(…)` within double quotes, and those that are nested too deeply."""
    while at < end:
        closing = at + (2 if text[at] == "\\" else 1)
        if text[at] == "'" and not double:
            closing = end_of_piece(text, at)
            yield at, closing
        elif text[at] == '"' and not double:
            closing = end_of_piece(text, at)
            yield from _left_alone(text, at + 1, closing - 1, True, level)
        elif text.startswith("$(", at):
            closing = end_of_piece(text, at)
            if level == DEEPEST:
                yield at, closing
            else:
                yield from _left_alone(text, at + 2, closing - 1, False, level + 1)
        at = closing


def edited(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """`text` with each `(start, end, new)` replaced."""
    for start, end, new in sorted(set(edits), reverse=True):
        text = text[:start] + new + text[end:]
    return text
