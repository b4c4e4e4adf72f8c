"""Changes in folders, reported by the kernel (inotify), so that files of a home need not be polled.

inotify reports only changes by this machine.  Changes by another machine with the same home, and all changes on systems
without inotify, need a poll.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path

from eagleray.common.blocking_calls import off_loop

# include/uapi/linux/inotify.h
_MODIFY, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x2, 0x40, 0x80, 0x100, 0x200
_ENTRIES = _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_HEADER = struct.Struct("iIII")
_BUFFER = 2**16


class FolderChanges:
    """Calls `changed` on the running loop, with the name of the entry that was made, replaced or removed.

    Several changes of one entry may come as one call.  Its owner closes it.
    """

    def __init__(self, changed: Callable[[str], None]) -> None:
        self._changed = changed
        self._folders: dict[Path, int] = {}
        self._libc = _libc()
        self._fd = (
            -1 if self._libc is None else self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        )
        if self._fd >= 0:
            asyncio.get_running_loop().add_reader(self._fd, self._read)

    async def watch(self, folder: Path, *, written: bool = False) -> bool:
        """Whether the folder is watched for the first time; `written`: also files that are written to."""
        if folder in self._folders or self._fd < 0 or self._libc is None:
            return False
        mask = _ENTRIES | (_MODIFY if written else 0)
        # It looks up the path, which blocks where the home hangs.
        add = partial(self._libc.inotify_add_watch, self._fd, os.fsencode(folder), mask)
        number: int = await off_loop(add)
        if number >= 0:
            self._folders[folder] = number
        return number >= 0

    def forget(self, folder: Path) -> None:
        number = self._folders.pop(folder, None)
        if number is not None and self._libc is not None:
            self._libc.inotify_rm_watch(self._fd, number)

    def folders(self) -> list[Path]:
        return list(self._folders)

    def close(self) -> None:
        if self._fd >= 0:
            asyncio.get_running_loop().remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _read(self) -> None:
        names: dict[str, None] = {}
        with contextlib.suppress(OSError):
            text = os.read(self._fd, _BUFFER)
            while len(text) >= _HEADER.size:
                *_, length = _HEADER.unpack_from(text)
                end = _HEADER.size + length
                names[os.fsdecode(text[_HEADER.size : end].rstrip(b"\0"))] = None
                text = text[end:]
        for name in names:
            self._changed(name)


def _libc() -> ctypes.CDLL | None:
    """The C library where it has inotify, as on Linux."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.inotify_add_watch.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32]
    except (OSError, AttributeError):
        return None
    return libc
