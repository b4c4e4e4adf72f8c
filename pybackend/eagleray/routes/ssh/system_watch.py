"""Notices changes of this machine's network, and sleeps of the machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

# Routes and addresses of the kernel; their text has no counters.  Systems without these files retry at the
# usual times.
_FILES = (Path("/proc/net/route"), Path("/proc/net/if_inet6"))


class NetworkWatch:
    """Notices changes of the network, after which a connection that failed may succeed.

    A poll costs a fraction of a millisecond and reads no disk.
    """

    def __init__(self, files: tuple[Path, ...] = _FILES) -> None:
        self._files = files
        self._last = self._state()

    def has_changed(self) -> bool:
        """Whether routes or addresses changed since the last call."""
        before, self._last = self._last, self._state()
        return self._last != before

    def _state(self) -> tuple[bytes, ...]:
        return tuple(_read(file) for file in self._files)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


_JUMP_S = 5.0

Now = Callable[[], float]


class SleepWatch:
    """Notices sleeps, after which connections may be gone; polled several times a second.

    The monotonic clock stops in a sleep, the wall clock doesn't.

    A wall clock that was set looks the same, and costs one more check of the connection.
    """

    def __init__(self, monotonic: Now = time.monotonic, wall: Now = time.time) -> None:
        self._monotonic = monotonic
        self._wall = wall
        self._polled = monotonic(), wall()

    def has_slept(self) -> bool:
        """Whether the machine slept since the last call."""
        before, wall_before = self._polled
        self._polled = now, wall = self._monotonic(), self._wall()
        # A stopped process or a paused virtual machine sees its monotonic clock jump.
        return now - before > _JUMP_S or (wall - wall_before) - (now - before) > _JUMP_S
