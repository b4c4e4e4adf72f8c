"""How long reading may take, and how it is given up."""

from __future__ import annotations

import threading

from eagleray.common.clock import Clock, SystemClock

LIMIT_S = 180.0


class Limits:
    """Asked from the threads that read; `cancel` is called from any other one."""

    def __init__(self, limit_s: float = LIMIT_S, clock: Clock | None = None) -> None:
        self.limit_s = limit_s
        self._clock = clock or SystemClock()
        self._end = self._clock.now() + limit_s
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        self._cancelled.set()

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    def are_reached(self) -> bool:
        """Whether to stop, cancelled or late."""
        return self.is_cancelled or self._clock.now() > self._end
