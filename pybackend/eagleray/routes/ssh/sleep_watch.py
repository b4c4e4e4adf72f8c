"""Whether this machine has slept, or we have: what was connected before may be gone then."""

from __future__ import annotations

import time
from collections.abc import Callable

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
