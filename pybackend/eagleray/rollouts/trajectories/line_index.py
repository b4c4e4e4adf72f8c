"""The offsets of the lines of one file, which may grow: read in chunks, never mapped, never as a whole.

A trainer may truncate a file while it is open here, which ends a process that has mapped it.
"""

from __future__ import annotations

import json
import os
from array import array
from bisect import bisect_right
from pathlib import Path

from eagleray.common.errors import UNREADABLE_JSON
from eagleray.remote.injected.outside_files import opened
from eagleray.rollouts.trajectories.errors import dump_unreadable, not_json_lines

CHUNK = 4 * 2**20
BOM = b"\xef\xbb\xbf"
# The first bytes of files that aren't UTF-8.
_OTHER_FILES = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))
_SPACE = b" \t\r\n"
# How much of its beginning, and of what was read last, tells that another file has its name.
_HEAD = 256
_TAIL = 64


class LineIndex:
    """Not blank lines of a file, numbered from 0.  Its owner locks: `step` may run in any thread, one at a time.

    An unfinished last line is an item once it is whole JSON; until then it `has_unfinished`.
    """

    __slots__ = (
        "_blank_at",
        "_blanks",
        "_chunk",
        "_has_open_end",
        "_head",
        "_identity",
        "_line_start",
        "_rest_is_blank",
        "_starts",
        "_tail",
        "content",
        "has_bom",
        "path",
        "scanned",
        "size",
    )

    def __init__(self, path: Path, chunk: int = CHUNK, content: Path | None = None) -> None:
        self.path = path
        # The source to read: the file, or a copy of its trajectories.
        self.content = content or path
        self.size = 0
        self.scanned = 0
        self._chunk = chunk
        self._starts = array("Q")
        # Before which items blank lines are, and how many of them there are up to there.
        self._blank_at = array("Q")
        self._blanks = array("Q")
        self._line_start = 0
        # Whether what was read of the last line is only white space.
        self._rest_is_blank = True
        self._has_open_end = False
        self.has_bom = False
        self._head = self._tail = b""
        self._identity = (0, 0)

    @property
    def count(self) -> int:
        return len(self._starts)

    @property
    def is_complete(self) -> bool:
        return self.scanned >= self.size

    @property
    def has_unfinished(self) -> bool:
        """Whether the last line isn't an item yet."""
        return not self._rest_is_blank

    def refresh(self) -> bool:
        """Learns how long the file is now; False if it is another file, which needs another index."""
        try:
            with opened(self.content) as file:
                status = os.fstat(file.fileno())
                head = file.read(_HEAD)
                file.seek(max(self.scanned - _TAIL, 0))
                tail = file.read(self.scanned - file.tell())
        except OSError as error:
            raise dump_unreadable(str(self.path), error.strerror or str(error)) from error
        identity = (status.st_dev, status.st_ino)
        if self._head:
            same = identity == self._identity and status.st_size >= self.scanned
            if not same or not head.startswith(self._head) or tail != self._tail:
                return False
        for beginning, kind in _OTHER_FILES:
            if head.startswith(beginning):
                raise not_json_lines(str(self.path), kind)
        self._identity, self.size, self._head = identity, status.st_size, head
        if self.scanned == 0 and head.startswith(BOM):
            self.has_bom = True
            self.scanned = self._line_start = len(BOM)
            self._tail = BOM
        return True

    def step(self) -> None:
        """Reads the next chunk."""
        if self.is_complete:
            return
        try:
            with opened(self.content) as file:
                file.seek(self.scanned)
                chunk = file.read(min(self._chunk, self.size - self.scanned))
        except OSError as error:
            raise dump_unreadable(str(self.path), error.strerror or str(error)) from error
        if not chunk:
            # It became shorter; `refresh` finds that out.
            self.size = self.scanned
            return
        self._split(chunk)
        self._tail = (self._tail + chunk[-_TAIL:])[-_TAIL:]
        if self.is_complete:
            self._take_open_end()

    def span(self, index: int) -> tuple[int, int]:
        """Where a line begins, and where the next one does."""
        following = index + 1
        end = self._starts[following] if following < self.count else self._line_start
        return self._starts[index], end

    def line_number(self, index: int) -> int:
        """From 1, with the blank lines."""
        at = bisect_right(self._blank_at, index)
        return index + 1 + (self._blanks[at - 1] if at else 0)

    def item_at(self, offset: int) -> int:
        """The line that has the byte at `offset`."""
        return max(bisect_right(self._starts, offset) - 1, 0)

    def read(self, start: int, end: int) -> bytes:
        """The bytes of a span."""
        try:
            with opened(self.content) as file:
                file.seek(start)
                return file.read(end - start)
        except OSError as error:
            raise dump_unreadable(str(self.path), error.strerror or str(error)) from error

    def unfinished_text(self) -> bytes:
        return self.read(self._line_start, self.scanned)

    def _split(self, chunk: bytes) -> None:
        base, at = self.scanned, 0
        while (end := chunk.find(b"\n", at)) >= 0:
            # Most lines are told by their first byte.
            if self._rest_is_blank and (
                at == end or (chunk[at] in _SPACE and not chunk[at:end].strip(_SPACE))
            ):
                self._add_blank()
            else:
                self._starts.append(self._line_start)
            self._rest_is_blank, self._has_open_end = True, False
            at = end + 1
            self._line_start = base + at
        self._rest_is_blank = self._rest_is_blank and not chunk[at:].strip(_SPACE)
        self.scanned = base + len(chunk)

    def _add_blank(self) -> None:
        if self._has_open_end:
            # The end of the line that was an item before.
            return
        total = (self._blanks[-1] if self._blanks else 0) + 1
        if self._blank_at and self._blank_at[-1] == self.count:
            self._blanks[-1] = total
        else:
            self._blank_at.append(self.count)
            self._blanks.append(total)

    def _take_open_end(self) -> None:
        if self._rest_is_blank:
            return
        try:
            json.loads(self.unfinished_text())
        except UNREADABLE_JSON:
            return
        self._starts.append(self._line_start)
        self._line_start = self.scanned
        self._rest_is_blank = self._has_open_end = True
