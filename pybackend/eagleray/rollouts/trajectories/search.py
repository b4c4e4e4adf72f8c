"""Searches the bytes of a dump for a text as JSON writes it, then asks the lines that have it whether a value does.

Only the letters A to Z match in either case.  Texts match, and numbers that are a value of their own; keys and columns
of numbers don't.
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterator
from typing import Any

from eagleray.common.errors import UNREADABLE_JSON
from eagleray.common.l10n import t
from eagleray.rollouts.trajectories.dump import TrajectoryDump
from eagleray.rollouts.trajectories.line_index import CHUNK, LineIndex
from eagleray.rollouts.trajectories.reading import DumpReading

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_DEEPEST = 100
# The characters of JSON's numbers, constants and values that are not finite, in small letters.
_SCALAR = frozenset("0123456789+-.e" + "truefalsenull" + "naninfinity")


def matching_items(
    dump: TrajectoryDump, text: str, first: int, reading: DumpReading, chunk: int = CHUNK
) -> Iterator[int]:
    """The items from `first` on with the text, in order; the index of the dump must be complete."""
    needles, lower = _needles(text), text.translate(_LOWER)
    for item, file, line, last in dump.blocks():
        reading.progress(t("Searching"), item, dump.count)
        if item + last - line < first:
            continue
        skipped = max(first - item, 0)
        for match, content in _lines_with(file, needles, line + skipped, last, reading, chunk):
            if holds(content, needles, lower):
                yield item + match - line


def holds(line: bytes, needles: list[bytes], lower: str) -> bool:
    """Whether a value has the text; a line that is not JSON is compared as it is."""
    try:
        record = json.loads(line)
    except UNREADABLE_JSON:
        return any(needle in line.lower() for needle in needles)
    return _in_value(record, lower, _SCALAR.issuperset(lower))


def _in_value(value: Any, lower: str, in_scalars: bool, depth: int = 0) -> bool:
    if isinstance(value, str):
        return lower in value.translate(_LOWER)
    if depth > _DEEPEST:
        return False
    if isinstance(value, dict):
        return any(_in_value(part, lower, in_scalars, depth + 1) for part in value.values())
    if isinstance(value, list):
        parts = (part for part in value if isinstance(part, (str, list, dict)))
        return any(_in_value(part, lower, in_scalars, depth + 1) for part in parts)
    return in_scalars and lower in json.dumps(value).translate(_LOWER)


def _needles(text: str) -> list[bytes]:
    """The text as writers with and without `ensure_ascii` write it."""
    written = {json.dumps(text, ensure_ascii=ascii)[1:-1] for ascii in (True, False)}
    return sorted(text.encode(errors="surrogatepass").lower() for text in written)


def _lines_with(
    file: LineIndex, needles: list[bytes], line: int, last: int, reading: DumpReading, chunk: int
) -> Iterator[tuple[int, bytes]]:
    """The lines whose bytes have a needle, each once, with their bytes."""
    position, stop = file.span(line)[0], file.span(last)[1]
    overlap = max(map(len, needles)) - 1
    while position < stop:
        reading.check()
        read = file.read(position, min(position + chunk + overlap, stop))
        if not read:
            return
        data = read.lower()
        at = 0
        while (offset := _first(data, needles, at)) >= 0:
            match = file.item_at(position + offset)
            start, end = file.span(match)
            is_whole = position <= start and end - position <= len(read)
            yield (
                match,
                read[start - position : end - position] if is_whole else file.read(start, end),
            )
            at = end - position
            if at >= len(data):
                break
        reading.progress(t("Searching"), file.item_at(position), file.count)
        position += max(min(chunk, len(data)), at)


def _first(data: bytes, needles: list[bytes], start: int) -> int:
    offsets = [data.find(needle, start) for needle in needles]
    return min((offset for offset in offsets if offset >= 0), default=-1)
