"""A dump: the files of one path as one list of lines, whose numbers stay the same while files grow."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import threading
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from eagleray.common.l10n import t
from eagleray.rollouts.trajectories.errors import dump_unreadable, no_dump_in, no_item
from eagleray.rollouts.trajectories.line_index import CHUNK, LineIndex
from eagleray.rollouts.trajectories.model import UnfinishedLine
from eagleray.rollouts.trajectories.reading import DumpReading
from eagleray.rollouts.trajectories.sources import json_lines

# Files of a folder: files with the first suffixes that it has.
SUFFIXES = (
    (".jsonl", ".ndjson"),
    (".jsonl.gz", ".ndjson.gz"),
    (".json", ".json.gz"),
    (".parquet",),
)
_DIGITS = re.compile(r"(\d+)")
# The length that is shown of an unfinished line.
_BEGINNING = 200


@frozen
class DumpLine:
    """A line: its item from 0, its file's name below the path, its number in the file from 1."""

    item: int
    file: str
    number: int
    data: bytes


class TrajectoryDump:
    """Lives in any thread: reading one chunk holds a lock, so that several readings share what each has read."""

    def __init__(self, path: Path, chunk: int = CHUNK) -> None:
        self.path = path
        self._chunk = chunk
        self._lock = threading.Lock()
        self._files: list[LineIndex] = []
        # Blocks of items in a row that are lines in a row of a file: first item, number of the file, first line.
        self._block_items = array("Q")
        self._block_files = array("Q")
        self._block_lines = array("Q")
        self.count = 0
        # Files that are read again once they change, as they were; the folder of copies ends with the dump.
        self._unsettled: dict[Path, tuple[int, ...]] = {}
        self._copies: Path | None = None

    @property
    def size(self) -> int:
        return sum(file.size for file in self._files)

    @property
    def scanned(self) -> int:
        return sum(file.scanned for file in self._files)

    @property
    def files(self) -> int:
        return len(self._files)

    @property
    def marked_files(self) -> int:
        """Files that begin with a byte order mark."""
        return sum(file.has_bom for file in self._files)

    @property
    def is_complete(self) -> bool:
        return all(file.is_complete for file in self._files)

    def refresh(self) -> bool:
        """Learns what has grown and come; False if a file was replaced or removed, so that another dump must be read."""
        with self._lock:
            present = paths_of(self.path)
            read = {file.path for file in self._files}
            if not read <= set(present):
                return False
            # New files come last, so that no item gets another number.
            self._files += [self._index(path) for path in present if path not in read]
            same = all(_state(path) == state for path, state in self._unsettled.items())
            return same and all(file.refresh() for file in self._files)

    def extend(self, reading: DumpReading, wanted: int | None = None) -> None:
        """Reads on until there are `wanted` items, or all."""
        for number, file in enumerate(list(self._files)):
            while not file.is_complete and (wanted is None or self.count < wanted):
                reading.check()
                with self._lock:
                    before = file.count
                    file.step()
                    self._add(number, before, file.count - before)
                reading.progress(t("Reading lines"), self.scanned, self.size)

    def line(self, item: int) -> DumpLine:
        """Raises the error of the catalogue for an item that isn't there."""
        return next(self.lines(item, item + 1), None) or self._missing(item)

    def lines(self, first: int, end: int) -> Iterator[DumpLine]:
        """The lines of items from 0; lines that lie side by side are read in one piece of at most a chunk."""
        item = first
        while item < min(end, self.count):
            file, index, last = self._place(item, end)
            start, stop = file.span(index)
            following = index + 1
            while following < last and file.span(following)[1] - start <= CHUNK:
                stop = file.span(following)[1]
                following += 1
            data = file.read(start, stop)
            for at in range(index, following):
                begin, finish = file.span(at)
                content = data[begin - start : finish - start].strip(b" \t\r\n")
                yield DumpLine(item, self.name(file), file.line_number(at), content)
                item += 1

    def blocks(self) -> Iterator[tuple[int, LineIndex, int, int]]:
        """The blocks in order: first item, file, first and last line."""
        for at, item in enumerate(self._block_items):
            end = self._block_items[at + 1] if at + 1 < len(self._block_items) else self.count
            line = self._block_lines[at]
            yield item, self._files[self._block_files[at]], line, line + end - item - 1

    def file_number(self, item: int) -> int:
        return self._block_files[bisect_right(self._block_items, item) - 1]

    def name(self, file: LineIndex) -> str:
        return file.path.name if file.path == self.path else str(file.path.relative_to(self.path))

    def unfinished(self) -> list[UnfinishedLine]:
        """The last lines that have no end yet, of files that were read to their end."""
        return [
            UnfinishedLine(
                self.name(file),
                file.line_number(file.count),
                file.unfinished_text()[:_BEGINNING].decode(errors="replace").strip(),
            )
            for file in self._files
            if file.is_complete and file.has_unfinished
        ]

    def _index(self, path: Path) -> LineIndex:
        state = _state(path)
        lines = json_lines(path, self._new_copy)
        if not lines.is_settled:
            self._unsettled[path] = state
        return LineIndex(path, self._chunk, lines.path)

    def _new_copy(self) -> Path:
        if self._copies is None:
            self._copies = Path(tempfile.mkdtemp(prefix="eagleray-"))
            weakref.finalize(self, shutil.rmtree, self._copies, ignore_errors=True)
        return self._copies / str(len(list(self._copies.iterdir())))

    def _add(self, number: int, line: int, count: int) -> None:
        if not count:
            return
        if not (
            self._block_files
            and self._block_files[-1] == number
            and self._block_lines[-1] + self.count - self._block_items[-1] == line
        ):
            self._block_items.append(self.count)
            self._block_files.append(number)
            self._block_lines.append(line)
        self.count += count

    def _place(self, item: int, end: int) -> tuple[LineIndex, int, int]:
        """The file and line of an item, and the line after the last one up to `end` in the same block."""
        at = bisect_right(self._block_items, item) - 1
        following = self._block_items[at + 1] if at + 1 < len(self._block_items) else self.count
        line = self._block_lines[at] + item - self._block_items[at]
        return self._files[self._block_files[at]], line, line + min(following, end) - item

    def _missing(self, item: int) -> DumpLine:
        raise no_item(item + 1, self.count)


def paths_of(path: Path) -> list[Path]:
    """The file, or the dumps of a folder in the order of the numbers in their names."""
    try:
        if not stat.S_ISDIR(path.stat().st_mode):
            if not stat.S_ISREG(path.stat().st_mode):
                raise dump_unreadable(str(path), t("it is not a file"))
            return [path]
        all_files = [(folder, name) for folder, _, names in os.walk(path) for name in names]
        groups = (
            [Path(folder, name) for folder, name in all_files if name.endswith(suffixes)]
            for suffixes in SUFFIXES
        )
        files = next(filter(None, groups), [])
    except OSError as error:
        raise dump_unreadable(str(path), error.strerror or str(error)) from error
    if not files:
        raise no_dump_in(str(path))
    return sorted(files, key=lambda file: _in_order(str(file)))


def _in_order(name: str) -> list[tuple[int, str]]:
    """Numbers by their value: step 2 before step 10."""
    return [
        (int(part), "") if part.isdecimal() and len(part) < 20 else (-1, part)
        for part in _DIGITS.split(name)
    ]


def _state(path: Path) -> tuple[int, ...]:
    """Returns a state that differs once the file was written again."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
