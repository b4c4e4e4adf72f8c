"""Limits the steps of a SLURM job, each of which a site's accounting shows: none starts without a click."""

from __future__ import annotations

from eagleray.common.clock import Clock, SystemClock

# After a click, the minimum time from one step to the next while the job starts its Ray.
_GAPS_S = (0.0, 15.0, 30.0, 60.0, 120.0, 240.0)


class JobSteps:
    """How many steps one click allows, and when; without a click (`allowed` False) it allows none."""

    def __init__(self, clock: Clock | None = None, *, clicked: bool = True) -> None:
        self._clock = clock or SystemClock()
        self.allowed = clicked
        self._left = list(_GAPS_S) if clicked else []
        self._last = float("-inf")

    def take(self) -> bool:
        """Whether a step may be started now, which is then counted."""
        if not self._left or self._clock.now() - self._last < self._left[0]:
            return False
        self._left.pop(0)
        self._last = self._clock.now()
        return True
