"""A copy of a run script in which the training line has more words; nothing else of it changes but its own place."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from eagleray.features.runs.presets.bash_words import commands_of, end_of_piece
from eagleray.features.runs.presets.launch import Launch
from eagleray.features.runs.presets.submitting import Edit

# Set to the original's path for a copy, which lies elsewhere.
ORIGINAL = "EAGLERAY_SCRIPT"
# No person nests commands so far; what stands deeper is left as it is.
DEEPEST = 20
_OWN_PLACE = re.compile(r"\$(?:0\b|(?P<open>\{)(?:0\b|BASH_SOURCE\b(?:\[0\])?)|BASH_SOURCE\b)")


def script_copy(text: str, launch: Launch, words: Sequence[str], edits: Iterable[Edit]) -> str:
    """`text` with `words` at the end of the training line, and with the `edits` of its words."""
    added = "".join(f" \\\n    {line}" for line in _lines(words))
    places = [(launch.end, launch.end, added)]
    places += [(*edit.word.span, edit.text) for edit in edits if edit.word.span]
    return with_own_place(_edited(text, places))


def shell_quoted(word: str) -> str:
    """`word` in quotes of the shell, in those that read best."""
    if "'" in word and not re.search(r'["$`\\!]', word):
        return f'"{word}"'
    return shlex.quote(word)


def _lines(words: Sequence[str]) -> Iterator[str]:
    """An option stands on one line with its value."""
    waiting = ""
    for word in words:
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


def with_own_place(text: str) -> str:
    """`text`, which finds the original's folder wherever it lies: `$0` and BASH_SOURCE name the original."""
    edits = [
        (at, end, new)
        for command in commands_of(text)
        for word in command.words
        for at, end, new in _own_places(text, word.start, word.end)
    ]
    return _edited(text, edits)


def _own_places(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    found = list(_OWN_PLACE.finditer(text, start, end))
    left = list(_left_alone(text, start, end)) if found else []
    for one in found:
        if not any(begin < one.start() < closing for begin, closing in left):
            yield one.start(), one.end(), "${" + ORIGINAL + ("" if one["open"] else "}")


def _left_alone(
    text: str, at: int, end: int, double: bool = False, level: int = 0
) -> Iterator[tuple[int, int]]:
    """The places in single quotes, also in those of a `$(…)` within double quotes, and what stands too deep to tell."""
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


def _edited(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    for start, end, new in sorted(set(edits), reverse=True):
        text = text[:start] + new + text[end:]
    return text
