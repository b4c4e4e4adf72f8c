"""One small Markdown text with what a colleague or a model needs: the causes, the lines around them, and what was read.

Without secrets.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen

from eagleray import __version__
from eagleray.common.errors import printable
from eagleray.common.redact import redact_text
from eagleray.common.token_limit import TOKEN, cut
from eagleray.doctor import texts
from eagleray.doctor.logs.lines import without_colours
from eagleray.doctor.model import Diagnosis, LogEvidence
from eagleray.remote.injected.outside_files import descriptor_of

# Around a line: its traceback is above it mostly, and the advice of its message below it.
_ABOVE = 30
_BELOW = 12
_LONGEST_LINE = 300
_CHUNK = 2**20
# A line with a whole batch in it.
_MOST_READ = 2**20
_LAST = 2**16
_MOST_PLACES = 8
_MOST_LOGS = 2
_MARK, _NO_MARK = "> ", "  "


@frozen
class _Excerpt:
    """Lines of a file, the first of them numbered `first`."""

    path: str
    first: int
    lines: tuple[str, ...]


def pack(diagnosis: Diagnosis, tokens: int, logs: Sequence[Path] = ()) -> str:
    """Markdown of at most about `tokens` tokens; reads the lines around evidence in files of this machine.

    Without evidence, the last lines of the first of `logs`.
    """
    lines = _text("\n".join(texts.lines(diagnosis))).rstrip().split("\n")
    fence = _fence(lines)
    body = cut("\n".join(lines), tokens * TOKEN // 2).rstrip()
    parts = [f"Eagleray {__version__}\n\n{fence}text\n{body}\n{fence}\n"]
    room = tokens * TOKEN - len(parts[0])
    for evidence in _places(diagnosis):
        excerpt = _excerpt(evidence)
        if excerpt is None:
            continue
        block = _block(excerpt, evidence.line, room)
        if not block:
            break
        parts.append(block)
        room -= len(block)
    if len(parts) == 1 and not (diagnosis.causes or diagnosis.unknown):
        parts += [block for path in logs[:_MOST_LOGS] if (block := _end(path, room // _MOST_LOGS))]
    return "\n".join(parts)


def _end(path: Path, room: int) -> str:
    """The last lines of a log, "" if it has none or can't be read."""
    try:
        descriptor = descriptor_of(path)
    except OSError:
        return ""
    try:
        size = os.fstat(descriptor).st_size
        content = os.pread(descriptor, _LAST, max(0, size - _LAST))
    finally:
        os.close(descriptor)
    whole = redact_text(without_colours(content.decode("utf-8", "replace"))).splitlines()
    # The first one may be a part, in which a secret isn't recognised.
    lines = [printable(line, _LONGEST_LINE) for line in whole[size > _LAST :]][-_ABOVE:]
    fence, title = _fence(lines), f"### {_text(str(path))}\n\n"
    room -= len(title) + 2 * len(fence) + 10
    while lines and sum(len(line) + 1 for line in lines) > room:
        lines.pop(0)
    body = "\n".join(lines)
    return f"{title}{fence}text\n{body}\n{fence}\n" if lines else ""


def _places(diagnosis: Diagnosis) -> Iterator[LogEvidence]:
    """The first line of each cause before those that follow from it, then errors without a rule; near lines once."""
    primary = [cause for cause in diagnosis.causes if not cause.secondary]
    secondary = [cause for cause in diagnosis.causes if cause.secondary]
    firsts = [cause.evidence[0] for cause in primary if cause.evidence]
    later = [cause.evidence[0] for cause in secondary if cause.evidence]
    taken: list[LogEvidence] = []
    for each in (*firsts, *diagnosis.unknown, *later):
        is_near = any(
            each.path == other.path and abs(each.line - other.line) <= _BELOW for other in taken
        )
        if each.line and not is_near and len(taken) < _MOST_PLACES:
            taken.append(each)
            yield each


def _excerpt(evidence: LogEvidence) -> _Excerpt | None:
    """None for a file of another machine, or one that can't be read any more."""
    first = max(1, evidence.line - _ABOVE)
    try:
        descriptor = descriptor_of(Path(evidence.path))
    except OSError:
        return None
    try:
        start = _offset_of(descriptor, first)
        content = os.pread(descriptor, _MOST_READ, start) if start is not None else b""
    finally:
        os.close(descriptor)
    count = evidence.line - first + 1 + _BELOW
    lines = (
        without_colours(content.decode("utf-8", "replace")).removesuffix("\n").split("\n")[:count]
    )
    # Secrets are removed before lines are cut, and from all lines together: a key may have several.
    plain = redact_text("\n".join(lines)).split("\n")
    if len(plain) != len(lines) or len(lines) <= evidence.line - first:
        return None
    return _Excerpt(evidence.path, first, tuple(printable(each, _LONGEST_LINE) for each in plain))


def _offset_of(descriptor: int, line: int) -> int | None:
    """Where the line with that number begins, from 1; None if the file has fewer."""
    offset, left = 0, line - 1
    while left:
        chunk = os.pread(descriptor, _CHUNK, offset)
        if not chunk:
            return None
        count = chunk.count(b"\n")
        if count < left:
            left -= count
            offset += len(chunk)
            continue
        at = -1
        for _ in range(left):
            at = chunk.find(b"\n", at + 1)
        return offset + at + 1
    return offset


def _block(excerpt: _Excerpt, line: int, room: int) -> str:
    """The lines with their numbers, as many around `line` as there is room for; "" if there is none for a few."""
    title = f"### {_text(excerpt.path)}:{line}\n\n"
    marked = line - excerpt.first
    numbered = [
        f"{_MARK if at == marked else _NO_MARK}{excerpt.first + at} {text}"
        for at, text in enumerate(excerpt.lines)
    ]
    fence = _fence(numbered)
    left = room - len(title) - 2 * len(fence) - 10
    chosen: set[int] = set()
    for at in _outwards(marked, len(numbered)):
        left -= len(numbered[at]) + 1
        if left < 0:
            break
        chosen.add(at)
    if marked not in chosen:
        return ""
    # Without gaps: a line that didn't fit ends its side.
    first, last = marked, marked
    while first - 1 in chosen:
        first -= 1
    while last + 1 in chosen:
        last += 1
    body = "\n".join(numbered[first : last + 1])
    return f"{title}{fence}text\n{body}\n{fence}\n"


def _outwards(middle: int, count: int) -> Iterator[int]:
    """The line itself, then two above it for each below it."""
    above, below = middle - 1, middle + 1
    yield middle
    while above >= 0 or below < count:
        for _ in range(2):
            if above >= 0:
                yield above
                above -= 1
        if below < count:
            yield below
            below += 1


def _fence(lines: Sequence[str]) -> str:
    """Longer than any in the lines."""
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    return fence


def _text(text: str) -> str:
    return "\n".join(printable(line, _LONGEST_LINE) for line in redact_text(text).split("\n"))
