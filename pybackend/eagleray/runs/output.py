"""The output of a run: a log of limited size with several writers, read while it grows."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from attrs import frozen

from eagleray.common.folder_changes import FolderChanges
from eagleray.common.retry import GROWING_FILE
from eagleray.common.tasks import wait_for_event

# The beginning of longer output is removed.
MOST = 64 * 2**20
# Many small pieces of output are read as one larger one.
_PAUSE_S = 0.05
_PIECE = 2**16
_KEEP_SIZE, _PUNCH_HOLE = 1, 2
# The note at the place of lost output, for all that write a log.
MISSING = "\n(eagleray: %d bytes of output are missing here: %s)\n"
_TOO_MUCH = b"(earlier output was too large to keep)\n"

log = logging.getLogger(__name__)


class Output:
    """Writes the log of a run; another process may hold the file too, so that the output outlives us."""

    def __init__(self, path: Path, most: int = MOST) -> None:
        self._path = path
        self._most = most
        self._cut = 0
        self._replaces = False
        self._lost = 0
        self._reason = ""
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def write(self, text: bytes) -> None:
        """Output that a full disk doesn't take is lost, which the next that it takes says; the run continues."""
        try:
            if text and self._replaces:
                self._replaces = False
                _forget_older(self._path)
                os.truncate(self.fd, 0)
            if self._lost:
                os.write(self.fd, (MISSING % (self._lost, self._reason)).encode())
                self._lost = 0
            while text:
                text = text[os.write(self.fd, text) :]
        except OSError as error:
            self._lost += len(text)
            if self._reason != (reason := error.strerror or str(error)):
                log.warning("what is printed is lost: %s", error)
            self._reason = reason

    def replace_on_write(self) -> None:
        """The next output replaces everything before it, which stays until then."""
        self._replaces = True

    def trim(self) -> None:
        """Frees the beginning once the output is too large; offsets stay the same.

        Where the file system can't do that (NFS 3), the last half moves to a file beside it, see `Older`.
        """
        size = os.fstat(self.fd).st_size
        if size - self._cut <= self._most:
            return
        cut = (size - self._most // 2) // _PIECE * _PIECE
        if _punch(self.fd, cut):
            self._cut = cut
        else:
            self._cut = 0
            self._move_to_older(size - self._most // 2)

    def _move_to_older(self, start: int) -> None:
        """The program holds the file itself, so that it is copied and then emptied; in between nothing is waited for."""
        before = older(self._path)
        copy = self._path.with_name(f"{self._path.name}.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        try:
            with (
                self._path.open("rb") as source,  # own file
                os.fdopen(os.open(copy, flags, 0o600), "wb") as out,
            ):
                source.seek(start)
                out.write(_TOO_MUCH)
                while os.fstat(self.fd).st_size > source.tell():
                    shutil.copyfileobj(source, out, _PIECE)
                    out.flush()
                    end = (before.end if before else 0) + source.tell()
                    # It gets its name before the log is emptied, which is when followers look for it.
                    copy = copy.rename(_older_path(self._path, end))
                os.truncate(self.fd, 0)
        except OSError as error:
            # Without free space none of it can be kept.
            log.warning("what was printed before is lost: %s", error)
            copy.unlink(missing_ok=True)
            os.truncate(self.fd, 0)
            self.write(_TOO_MUCH)
        else:
            if before is not None:
                before.path.unlink(missing_ok=True)

    def size(self) -> int:
        """Changes with each output, also where the beginning is removed."""
        return os.fstat(self.fd).st_size

    def close(self) -> None:
        # Later output notes lost output, except at the end.
        self.write(b"")
        os.close(self.fd)


@frozen
class Older:
    """The output before the first byte of the current log: `end` bytes, of which `path` has the last.

    The number is part of its name, so that both appear at once.
    """

    path: Path
    end: int

    def last(self, size: int) -> bytes:
        """The last `size` bytes, or all that is stored."""
        with contextlib.suppress(OSError), self.path.open("rb") as file:  # own file
            file.seek(max(0, os.fstat(file.fileno()).st_size - size))
            return file.read()
        return b""


def older(path: Path) -> Older | None:
    """The part that was moved away from the log at `path`."""
    parts = [
        Older(part, int(end))
        for part in path.parent.glob(f"{path.name}.*")
        if (end := part.name.removeprefix(f"{path.name}.")).isdecimal()
    ]
    return max(parts, key=lambda part: part.end, default=None)


def _older_path(path: Path, end: int) -> Path:
    return path.with_name(f"{path.name}.{end}")


def _forget_older(path: Path) -> None:
    while (part := older(path)) is not None:
        part.path.unlink(missing_ok=True)


async def follow(path: Path, is_over: Callable[[], bool]) -> AsyncIterator[bytes]:
    """Yields the output so far and then what is appended, until the run is over and everything was read."""
    growth = Growth(path.parent)
    try:
        await growth.begin()
        while not _has_output(path):
            if is_over():
                return
            await growth.wait()
        with path.open("rb", buffering=0) as file:  # own file
            # Bytes that were printed before the log's first one.
            before = 0
            if (moved := older(path)) is not None:
                before = moved.end
                yield moved.last(moved.end)
            else:
                _to_first_data(file.fileno())
            while True:
                last = is_over()
                if os.fstat(file.fileno()).st_size < file.tell():
                    moved = older(path)
                    unread = moved.end - before - file.tell() if moved else 0
                    if moved is not None and unread > 0:
                        yield moved.last(unread)
                    before = moved.end if moved else 0
                    file.seek(0)
                while piece := file.read(_PIECE):
                    growth.grew()
                    yield piece
                if last:
                    return
                await growth.wait()
    finally:
        growth.close()


class Growth:
    """Waits until the kernel reports that a file of the folder has grown, or for increasing times while none grows."""

    def __init__(self, folder: Path) -> None:
        self._now = asyncio.get_running_loop().time
        self._wake = asyncio.Event()
        self._changes = FolderChanges(lambda name: self._wake.set())
        self._folder = folder
        self._grew_at = self._now()

    async def begin(self) -> None:
        """Awaited before the file is read the first time."""
        await self._changes.watch(self._folder, written=True)

    def grew(self) -> None:
        self._grew_at = self._now()

    async def wait(self) -> None:
        await asyncio.sleep(_PAUSE_S)
        await wait_for_event(self._wake, GROWING_FILE.interval_s(self._now() - self._grew_at))
        self._wake.clear()

    def close(self) -> None:
        self._changes.close()


def _has_output(path: Path) -> bool:
    """A run whose supervisor never began has no output file."""
    return path.exists()


def _to_first_data(fd: int) -> None:
    """Skips the removed beginning, which would read as zeros."""
    with contextlib.suppress(OSError, AttributeError):
        os.lseek(fd, 0, os.SEEK_DATA)


def _punch(fd: int, length: int) -> bool:
    """Whether the kernel freed the beginning of a file."""
    try:
        fallocate = ctypes.CDLL(None, use_errno=True).fallocate
    except (OSError, AttributeError):
        return False
    fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    return bool(fallocate(fd, _KEEP_SIZE | _PUNCH_HOLE, 0, length) == 0)
