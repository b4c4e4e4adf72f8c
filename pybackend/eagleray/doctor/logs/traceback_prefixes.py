"""The prefix of each line of a traceback, learned from its first line: a time, a host, a quote, a number, JSON.

Loggers, containers, terminals and people put something else before lines than any list has (field reports: Kubernetes,
compose, syslog, quoted and numbered text).  The prefix of "Traceback (most recent call last)" is also before the lines
that follow, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from attrs import frozen

from eagleray.doctor.unknown_errors import TRACEBACK, is_frame

_GROUP = "+ Exception Group "
# The parts of a prefix that differ from line to line: a time, a date, seconds since 1970.
_CHANGES = re.compile(
    r"(?:(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}\d{1,2}\b)"
    r"|\d{1,4}(?:[-/:.,T ]\d{1,9}){2,8}(?:Z|[+-]\d\d:?\d\d)?|\d{9,19}(?:\.\d+)?"
)
_NUMBER = re.compile(r"(\s*)\d+(\s*[:|.)\t]?\s*)$")
_LONGEST = 200
_FRAME = '  File "'
_NEAR = 4
_ESCAPED_END = re.compile(r'\\n"|(?<!\\)"\s*[,}]')


@frozen
class LinePrefix:
    """`pattern` matches what is before the text of a line; `is_json`: the text is in a string of JSON, which ends."""

    pattern: re.Pattern[str]
    is_json: bool = False

    def rest(self, text: str) -> str | None:
        """The text behind the prefix; None for a line without it.  Spaces at its end may be missing in an empty line."""
        match = self.pattern.match(text)
        if match is None:
            return None if text.strip() else ""
        rest = text[match.end() :]
        return _unescaped(rest) if self.is_json else rest


def prefix_of(text: str, sign: str = TRACEBACK) -> LinePrefix | None:
    """The prefix of the first line of a traceback, which is what is before `sign`; None for one without."""
    before = text[: text.find(sign)]
    if before.endswith(_GROUP):
        before = f"{before.removesuffix(_GROUP)}| "
    if not before or len(before) > _LONGEST:
        return None
    number = _NUMBER.fullmatch(before)
    if number:
        return LinePrefix(re.compile(rf"\s*\d+{re.escape(number[2])}"))
    parts, end = [], 0
    for match in _CHANGES.finditer(before):
        parts += [re.escape(before[end : match.start()]), _alike(match[0])]
        end = match.end()
    parts.append(re.escape(before[end:]))
    return LinePrefix(re.compile("".join(parts)), is_json=before.endswith('"'))


def frame_prefix(after: Sequence[str]) -> LinePrefix | None:
    """The prefix of the first frame near the first line, before which a logger has written more than a prefix."""
    frame = next((text for text in after[:_NEAR] if _FRAME in text), "")
    return prefix_of(frame, _FRAME) if frame else None


def lines_between(after: Sequence[str]) -> int:
    """How many lines a console has written after each line of a traceback, by those after its first one; mostly 0.

    Consoles of Kubernetes write the time and the pod there (slime#1739); another program's line comes only once.
    """
    first = next((at for at, text in enumerate(after) if is_frame(text)), 0)
    return 0 if any(map(is_frame, after[first + 1 : 2 * first + 1])) else first


def lines_within(text: str) -> list[str]:
    """The lines of a traceback that a single line has, as JSON writes it; [] for others."""
    rest = text[text.find(TRACEBACK) :]
    if "\\n" not in rest:
        return []
    end = re.search(r'(?<!\\)"', rest)
    lines = _unescaped(rest[: end.start()] if end else rest).split("\n")[1:]
    return lines if any(lines) else []


def _unescaped(text: str) -> str:
    """The text of a string of JSON up to its end."""
    end = _ESCAPED_END.search(text)
    inner = text[: end.start()] if end else text
    try:
        return str(json.loads(f'"{inner}"'))
    except ValueError:
        return inner


def _alike(time: str) -> str:
    """A pattern for other times of the same form."""
    parts = re.findall(r"\d+|[A-Za-z]+| +|.", time)
    return "".join(map(_part_like, parts))


def _part_like(part: str) -> str:
    if part.isdigit():
        return r"\d+"
    if part.isspace():
        return " +"
    # The name of a month, or the T and Z of ISO 8601.
    return r"[A-Za-z]{3}" if len(part) == 3 else re.escape(part)
