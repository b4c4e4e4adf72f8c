"""What a run printed: a log of limited size, written by several, read while it grows."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

# Of a run that prints without end the beginning is thrown away.
MOST = 64 * 2**20
LOOK_S = 0.1
_PIECE = 2**16
_KEEP_SIZE, _PUNCH_HOLE = 1, 2

log = logging.getLogger(__name__)


class Output:
    """The end at which it is written; the program may hold the file itself, so that it outlives us."""

    def __init__(self, path: Path, most: int = MOST) -> None:
        self._most = most
        self._cut = 0
        self._is_anew = False
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def write(self, text: bytes) -> None:
        """What a full disk does not take is lost; the run is kept all the same."""
        try:
            if text and self._is_anew:
                self._is_anew = False
                os.truncate(self.fd, 0)
            while text:
                text = text[os.write(self.fd, text) :]
        except OSError as error:
            log.warning("%d bytes of what was printed are lost: %s", len(text), error)

    def begin_anew(self) -> None:
        """What comes next takes the place of all that is there, which stays as long as nothing comes."""
        self._is_anew = True

    def trim(self) -> None:
        """Gives the beginning back to the disk once there is too much; offsets stay what they were.

        Where the file system cannot do that, all that is there is thrown away.
        """
        size = os.fstat(self.fd).st_size
        if size - self._cut <= self._most:
            return
        cut = (size - self._most // 2) // _PIECE * _PIECE
        if _punch(self.fd, cut):
            self._cut = cut
        else:
            os.truncate(self.fd, 0)
            self._cut = 0
            self.write(b"(what was printed before was too much to be kept)\n")

    def close(self) -> None:
        os.close(self.fd)


async def follow(path: Path, is_over: Callable[[], bool]) -> AsyncIterator[bytes]:
    """All that is there and then what is appended, until the run is over and everything was said."""
    while not _has_begun(path):
        if is_over():
            return
        await asyncio.sleep(LOOK_S)
    with path.open("rb", buffering=0) as file:
        _to_first_data(file.fileno())
        while True:
            last = is_over()
            if os.fstat(file.fileno()).st_size < file.tell():
                file.seek(0)
            while piece := file.read(_PIECE):
                yield piece
            if last:
                return
            await asyncio.sleep(LOOK_S)


def _has_begun(path: Path) -> bool:
    """A run whose keeper never began has printed nothing."""
    return path.exists()


def _to_first_data(fd: int) -> None:
    """Past what was thrown away, which would read as zeros."""
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
