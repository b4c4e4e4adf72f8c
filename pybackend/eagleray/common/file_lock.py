"""Locks between the processes of this user: a lock file, waited for without blocking the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

from eagleray.common.blocking_calls import off_loop


@contextlib.asynccontextmanager
async def hold_lock(file: Callable[[], Path], poll_s: float) -> AsyncIterator[None]:
    """Holds the lock of `file()`, which stays; when a process dies, its lock is free.

    On a file system without locks, several processes hold it.
    """
    while True:
        fd = await off_loop(lambda: _locked_fd(file()), discard=_close)
        if fd is not None:
            break
        await asyncio.sleep(poll_s)
    try:
        yield
    finally:
        await off_loop(partial(_close, fd))


def _locked_fd(file: Path) -> int | None:
    """None while another process holds the lock."""
    fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.utime(fd)
    except BlockingIOError:
        os.close(fd)
        return None
    except OSError:
        # A file system without locks.
        pass
    return fd


def _close(fd: int | None) -> None:
    if fd is not None:
        os.close(fd)
