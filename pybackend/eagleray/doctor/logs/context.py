"""Reads the line around an offset of a file, and what stands near it."""

from __future__ import annotations

import os
import re

from attrs import define

# A log line has its prefix and time within so many bytes before a sign of trouble, and all that matters after it.
_AROUND = 4096
# Back to a line that has a time: a traceback has none.
_BACK = 65_536
_WORD = re.compile(rb"[^\s\"'&?;,]+")


@define
class ReadableLog:
    """A file that is open for reading at any offset; its owner closes it."""

    descriptor: int
    # The text that was read last for a line, from an offset on: lines with signs of trouble are near each other.
    _first: int = 0
    _data: bytes = b""

    def line_at(self, offset: int) -> tuple[int, bytes]:
        """The start of the line around `offset`, or of its part that is read, and that line without its end."""
        first = max(0, offset - _AROUND)
        if not self._first <= first <= offset + _AROUND <= self._first + len(self._data):
            self._first, self._data = first, os.pread(self.descriptor, _BACK, first)
        skipped = first - self._first
        data = self._data[skipped : skipped + 2 * _AROUND]
        at = offset - first
        start = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        line = data[start:end] if end >= 0 else data[start:]
        return first + start, line if start or not first else _without_first_word(line, at)

    def text_at(self, offset: int, size: int) -> str:
        """Returns this many bytes of a line from `offset` on, without a character that they cut."""
        return os.pread(self.descriptor, size, offset).partition(b"\n")[0].decode("utf-8", "ignore")

    def line_feeds(self, start: int, end: int) -> int:
        return os.pread(self.descriptor, max(0, end - start), start).count(b"\n")

    def lines_backwards(self, offset: int) -> list[bytes]:
        """Lines that end before `offset`, the last of them first."""
        first = max(0, offset - _BACK)
        data = os.pread(self.descriptor, offset - first, first)
        return data.split(b"\n")[::-1]

    def lines_from(self, offset: int, size: int = 4 * _AROUND) -> list[tuple[int, bytes]]:
        """Offset and text of the lines after `offset`, in the next `size` bytes."""
        lines = []
        for line in os.pread(self.descriptor, size, offset).split(b"\n"):
            lines.append((offset, line))
            offset += len(line) + 1
        return lines

    def close(self) -> None:
        os.close(self.descriptor)


def _without_first_word(line: bytes, end: int) -> bytes:
    """The rest of a line, with spaces for its first word, before `end`, which was cut: half of a secret isn't recognised as one."""
    word = _WORD.match(line, 0, end)
    return b" " * word.end() + line[word.end() :] if word else line
