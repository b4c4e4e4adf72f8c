"""The texts of files, folders, archives and a pipe, as far as a bound; nothing is unpacked onto a disk."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO

from attrs import define, field, frozen

from eagleray.common.errors import cancelled
from eagleray.remote.injected.outside_files import opened

STDIN = "-"
# A dump of a process has some hundred kilobytes, with variables some megabytes; a log may be long.
LARGEST = 512 * 2**20
MOST_FILES = 20_000
_DEEPEST = 3
_CHUNK = 2**22
_CHECKED = 4096
_CORRUPT = (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)
_CORRUPT_ZIP = (*_CORRUPT, RuntimeError, NotImplementedError, ValueError)
_PACKED: tuple[tuple[bytes, Callable[[BinaryIO], Any]], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
)


@frozen
class GivenFile:
    """A file with its name, below the archive that has it."""

    name: str
    content: bytes


@define
class GivenFiles:
    """The readable files of `paths`; `unread` has the names of files that can't be, each with the reason."""

    paths: Sequence[str]
    stdin: BinaryIO | None = None
    unread: list[tuple[str, str]] = field(factory=list)
    _room: int = LARGEST
    _files: int = 0
    _cancelled: threading.Event = field(factory=threading.Event)

    def cancel(self) -> None:
        """Makes the thread that reads them stop."""
        self._cancelled.set()

    def check(self) -> None:
        """Raises the error of the catalogue after a cancellation."""
        if self._cancelled.is_set():
            raise cancelled()

    def checked(self, lines: Sequence[str]) -> Iterator[str]:
        """The lines, between which a cancellation is noticed."""
        for at in range(0, len(lines), _CHECKED):
            self.check()
            yield from lines[at : at + _CHECKED]

    def __iter__(self) -> Iterator[GivenFile]:
        for path in self.paths:
            if path == STDIN:
                stdin = self.stdin
                if stdin is not None:
                    yield from self._of(STDIN, self._content(stdin, STDIN), 0)
            else:
                yield from self._of_path(Path(path))

    def _of_path(self, path: Path) -> Iterator[GivenFile]:
        if path.is_dir():
            for folder, folders, names in os.walk(path):
                folders.sort()
                for name in sorted(names):
                    yield from self._of_file(Path(folder, name))
        else:
            yield from self._of_file(path)

    def _of_file(self, path: Path) -> Iterator[GivenFile]:
        try:
            with opened(path) as file:
                content = self._content(file, str(path))
        except OSError as error:
            self.unread.append((str(path), error.strerror or ""))
            return
        yield from self._of(str(path), content, 0)

    def _of(self, name: str, content: bytes, depth: int) -> Iterator[GivenFile]:
        if depth > _DEEPEST or self._files >= MOST_FILES:
            self.unread.append((name, "too many files"))
            return
        for start, unpacked in _PACKED:
            if content.startswith(start):
                try:
                    with unpacked(io.BytesIO(content)) as stream:
                        inner = self._content(stream, name)
                except _CORRUPT:
                    self.unread.append((name, "damaged"))
                    return
                yield from self._of(name.removesuffix(PurePosixPath(name).suffix), inner, depth + 1)
                return
        if content.startswith(b"PK\x03\x04"):
            yield from self._in_zip(name, content, depth)
        elif content[257:262] == b"ustar":
            yield from self._in_tar(name, content, depth)
        else:
            self._files += 1
            yield GivenFile(name, content)

    def _in_zip(self, name: str, content: bytes, depth: int) -> Iterator[GivenFile]:
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                for member in archive.infolist():
                    if not member.is_dir():
                        with archive.open(member) as file:
                            inner = self._content(file, f"{name}/{member.filename}")
                        yield from self._of(f"{name}/{member.filename}", inner, depth + 1)
        except _CORRUPT_ZIP:
            self.unread.append((name, "damaged"))

    def _in_tar(self, name: str, content: bytes, depth: int) -> Iterator[GivenFile]:
        try:
            with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                for member in archive:
                    file = archive.extractfile(member) if member.isreg() else None
                    if file is not None:
                        inner = self._content(file, f"{name}/{member.name}")
                        yield from self._of(f"{name}/{member.name}", inner, depth + 1)
        except _CORRUPT:
            self.unread.append((name, "damaged"))

    def _content(self, stream: IO[bytes], name: str) -> bytes:
        parts = []
        while part := stream.read(min(self._room, _CHUNK)):
            self.check()
            parts.append(part)
            self._room -= len(part)
        content = b"".join(parts)
        if not self._room and stream.read(1):
            self.unread.append((name, "only its beginning was read"))
        return content
