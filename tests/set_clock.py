"""A clock that a test sets, so that tests of time limits needn't wait."""

from __future__ import annotations

from eagleray.common.retry import Clock


class SetClock(Clock):
    """Changes only by `move`."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds

    def now(self) -> float:
        return self._seconds

    def move(self, seconds: float) -> None:
        self._seconds += seconds
