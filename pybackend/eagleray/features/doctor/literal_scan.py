"""Finds literal texts in log files in one pass: by GNU grep, which is the fastest there is, or without it by Python.

Measured for 139 literals, per core: grep -E 385 MB/s, grep -F 200 MB/s; for 73: `bytes.find` for each 67 MB/s, one regular
expression of Python 12 MB/s.
"""

from __future__ import annotations

import bisect
import contextlib
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import IO

from attrs import define, field, frozen

from eagleray.common.l10n import t
from eagleray.features.doctor.log_files import ScannedFile
from eagleray.injected.outside_files import opened

# Of progress: bytes that were read.
OnBytes = Callable[[int], None]

_CHUNK = 2**20
# A text that begins in one chunk and ends in the next, where grep's line had to be cut.
_OVERLAP = 512

# With literals alone, grep would search them as `grep -F` does, in twice the time; no log has these bytes.
_NO_LITERAL = b"\x01[\x02]\x01"
# With and without a match.
_GREP_READ_ALL = (0, 1)
_SPECIAL = re.compile(rb"[][\\.*^$+?(){}|]")


def _escaped(literal: bytes) -> bytes:
    return _SPECIAL.sub(rb"\\\g<0>", literal)


@cache
def gnu_grep() -> str:
    """The path of GNU grep, "" without one: that of macOS is slower than Python."""
    path = shutil.which("grep")
    if not path:
        return ""
    version = subprocess.run([path, "--version"], capture_output=True, check=False)
    return str(Path(path)) if b"GNU grep" in version.stdout else ""


@frozen
class Hit:
    """A literal in a file: its number in the list of files, the offset of its first byte, and its text, b"" without grep."""

    file: int
    offset: int
    text: bytes = b""


@define
class UnreadFile:
    """A file that could not be read to its end, and why."""

    file: int
    reason: str


@define
class LiteralScan:
    """One pass over `files`, in their order; `lines_before` and `unread` are complete for what `hits` has yielded.

    `forms` are regular expressions for what has no fixed text, which mean the same to `grep -E` and Python.
    `is_cancelled` is asked before each chunk.  `hits` may run in any thread, once.
    """

    files: Sequence[ScannedFile]
    literals: Sequence[bytes]
    on_bytes: OnBytes = lambda _count: None
    is_cancelled: Callable[[], bool] = lambda: False
    grep: str = field(factory=gnu_grep)
    forms: Sequence[bytes] = ()
    unread: list[UnreadFile] = field(factory=list, init=False)
    _segments: list[_Segment] = field(factory=list, init=False)

    def hits(self) -> Iterator[Hit]:
        """Each line with a literal at least once; offsets ascend within a file."""
        return self._hits_of_grep() if self.grep else self._hits_of_python()

    def lines_before(self, hit: Hit) -> tuple[int, int]:
        """An offset at or before the hit, and the number of line feeds of the file before that offset."""
        index = bisect.bisect_right(self._segments, (hit.file, hit.offset), key=_place) - 1
        segment = self._segments[index]
        return segment.offset, segment.lines

    def _hits_of_grep(self) -> Iterator[Hit]:
        patterns = [*map(_escaped, self.literals), *self.forms, _NO_LITERAL]
        process = subprocess.Popen(
            [self.grep, "-aobE", "-e", b"\n".join(patterns)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C"},
        )
        assert process.stdin and process.stdout
        feeder = threading.Thread(target=self._feed, args=(process.stdin,), daemon=True)
        feeder.start()
        try:
            last = Hit(-1, 0)
            for line in process.stdout:
                place, _, text = line.rstrip(b"\n").partition(b":")
                hit = self._hit_at(int(place), text)
                if _is_after(hit, last):
                    yield hit
                    last = hit
            if process.wait() not in _GREP_READ_ALL and not self.is_cancelled():
                # Such as one that was killed for lack of memory; what it found last was in its buffer.
                unread = range(max(0, last.file), len(self.files))
                self.unread += [UnreadFile(file, t("grep ended early")) for file in unread]
        finally:
            process.kill()
            feeder.join()
            process.stdout.close()
            process.wait()

    def _feed(self, pipe: IO[bytes]) -> None:
        # A broken pipe: the reader of the hits has enough of them.
        with contextlib.suppress(BrokenPipeError), pipe:
            for segment, chunk in self._chunks():
                self._segments.append(segment)
                pipe.write(chunk)

    def _hit_at(self, place: int, text: bytes) -> Hit:
        index = bisect.bisect_right(self._segments, place, key=lambda s: s.start) - 1
        segment = self._segments[index]
        return Hit(segment.file, segment.offset + place - segment.start, text)

    def _hits_of_python(self) -> Iterator[Hit]:
        last = Hit(-1, 0)
        forms = [re.compile(form, re.MULTILINE) for form in self.forms]
        for segment, chunk in self._chunks():
            self._segments.append(segment)
            offsets = [offset for literal in self.literals for offset in _offsets(chunk, literal)]
            offsets += [match.start() for form in forms for match in form.finditer(chunk)]
            for offset in sorted(offsets):
                hit = Hit(segment.file, segment.offset + offset)
                if _is_after(hit, last):
                    yield hit
                    last = hit

    def _chunks(self) -> Iterator[tuple[_Segment, bytes]]:
        """The files in chunks that end with a line feed; a longer line is cut, with an overlap."""
        start = 0
        for number, file in enumerate(self.files):
            for offset, lines, chunk in self._chunks_of(number, file):
                yield _Segment(start, number, offset, lines), chunk
                start += len(chunk)
                if self.is_cancelled():
                    return

    def _chunks_of(self, number: int, file: ScannedFile) -> Iterator[tuple[int, int, bytes]]:
        try:
            with opened(file.path) as stream:
                yield from _whole_lines(stream.read, file.size, self.on_bytes)
        except OSError as error:
            self.unread.append(UnreadFile(number, error.strerror or ""))


@frozen
class _Segment:
    """A chunk: where it starts in what grep reads, its file, offset there, and the line feeds before that offset."""

    start: int
    file: int
    offset: int
    lines: int


def _place(segment: _Segment) -> tuple[int, int]:
    return segment.file, segment.offset


def _is_after(hit: Hit, last: Hit) -> bool:
    return (hit.file, hit.offset) > (last.file, last.offset)


def _whole_lines(
    read: Callable[[int], bytes | None], size: int, on_bytes: OnBytes
) -> Iterator[tuple[int, int, bytes]]:
    """Offset, line feeds before it, and chunk, for the first `size` bytes; each chunk ends with a line feed."""
    offset = lines = 0
    rest = b""
    while size > 0 and (data := read(min(_CHUNK, size))):
        size -= len(data)
        on_bytes(len(data))
        data = rest + data
        end = data.rfind(b"\n") + 1
        if end:
            chunk, rest = data[:end], data[end:]
            yield offset, lines, chunk
            offset += end
            lines += chunk.count(b"\n")
        elif len(data) >= _CHUNK:
            # A line of 100 MB: grep would hold all of it.
            yield offset, lines, data + b"\n"
            offset += len(data) - _OVERLAP
            rest = data[-_OVERLAP:]
        else:
            rest = data
    if rest:
        yield offset, lines, rest + b"\n"


def _offsets(chunk: bytes, literal: bytes) -> Iterator[int]:
    offset = chunk.find(literal)
    while offset >= 0:
        yield offset
        offset = chunk.find(literal, offset + len(literal))
