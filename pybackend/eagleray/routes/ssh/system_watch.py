"""Whether this machine's network has changed: a connection that failed before may succeed now."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

# Routes and addresses of the kernel, whose text has no counters.  Other systems have none of them: there an
# attempt comes at its usual time.
_FILES = (Path("/proc/net/route"), Path("/proc/net/if_inet6"))


class NetworkWatch:
    """Is asked now and then; reading costs a fraction of a millisecond and touches no disk."""

    def __init__(self, files: tuple[Path, ...] = _FILES) -> None:
        self._files = files
        self._seen = self._state()

    def has_changed(self) -> bool:
        """Whether routes or addresses changed since the last call."""
        before, self._seen = self._seen, self._state()
        return self._seen != before

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
    """Is asked several times a second; the monotonic clock stands still in a sleep, the other one does not.

    A clock that was set looks the same; what comes of it is one more look at the connection.
    """

    def __init__(self, monotonic: Now = time.monotonic, wall: Now = time.time) -> None:
        self._monotonic = monotonic
        self._wall = wall
        self._looked = monotonic(), wall()

    def has_slept(self) -> bool:
        """Whether there was a sleep since the last call."""
        before, wall_before = self._looked
        self._looked = now, wall = self._monotonic(), self._wall()
        # A process that was stopped, or a machine in a virtual one that was, sees its own clock jump.
        return now - before > _JUMP_S or (wall - wall_before) - (now - before) > _JUMP_S
