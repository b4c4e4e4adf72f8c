"""Restores the adapter's sockets when its runtime folder, or a file in it, is removed."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from eagleray.common import private_socket
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError
from eagleray.common.paths import adapter_socket
from eagleray.protocol.adapter_control import MAX_LINE

log = logging.getLogger(__name__)

CHECK_S = 1.0


class AdapterLock:
    """The lock that decides which process serves a version; its socket can't, since a killed process leaves it behind."""

    def __init__(self) -> None:
        self._fd = -1

    def take(self, socket: Path) -> bool:
        """Whether the lock beside `socket` is ours now; another process may hold it."""
        path = socket.with_suffix(".lock")
        if self._fd >= 0 and private_socket.identity(path) == _identity_of(self._fd):
            return True
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        except OSError:
            os.close(fd)
            raise
        self.release()
        self._fd = fd
        return True

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Reachability:
    """Owns the control socket from `open` to `close`; `restore_others` does the same for the other sockets.

    Once a second, without blocking the event loop:

    1. The control socket at the usual path is ours, and the lock: nothing to do.
    2. No other process holds the lock: it is taken, and everything listens at the usual paths again.
    3. Another adapter of this version has started meanwhile: this one listens beside it, under a name with its
       process id.  Windows find both, so that the workers held here stay reachable.
    """

    def __init__(
        self,
        lock: AdapterLock,
        client: private_socket.Client,
        are_others_reachable: Callable[[], bool],
        restore_others: Callable[[Path], Awaitable[None]],
    ) -> None:
        self._lock = lock
        self._client = client
        self._are_others_reachable = are_others_reachable
        self._restore_others = restore_others
        self._served: private_socket.Served | None = None
        self._problem = ""

    async def open(self, path: Path) -> None:
        self._served = await private_socket.serve(path, self._client, limit=MAX_LINE)

    def close(self) -> None:
        if self._served is not None:
            self._served.stop()
        self._lock.release()

    async def run(self) -> None:
        """Checks until it is cancelled."""
        while True:
            await asyncio.sleep(CHECK_S)
            try:
                await self.restore()
                self._problem = ""
            except (EaglerayError, OSError) as error:
                if str(error) != self._problem:
                    self._problem = str(error)
                    log.warning("the adapter's sockets: %s", error)

    async def restore(self) -> None:
        """Checks once, and listens again if needed; raises EaglerayError and OSError."""
        path = await off_loop(self._path_to_serve)
        if path is None:
            return
        log.warning("sockets were removed; serving %s", path)
        served = self._served
        if served is None or served.path != path or not served.is_reachable():
            await self.open(path)
            if served is not None:
                served.stop()
        await self._restore_others(path.parent)

    def _path_to_serve(self) -> Path | None:
        """The path to serve from now on; None when every socket is in place."""
        usual, served = adapter_socket(), self._served
        is_usual = served is not None and served.path == usual and served.is_reachable()
        # Another adapter may have lost only its lock, and notices that within a second.
        is_free = is_usual or not private_socket.is_listened_on(usual)
        if is_free and self._lock.take(usual):
            return None if is_usual and self._are_others_reachable() else usual
        alternative = usual.with_name(f"{usual.stem}+{os.getpid()}.sock")
        is_alternative = served is not None and served.path == alternative and served.is_reachable()
        return None if is_alternative and self._are_others_reachable() else alternative


def _identity_of(fd: int) -> private_socket.FileIdentity:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino
