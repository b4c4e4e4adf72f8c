"""The clock as a value, so that tests of time limits needn't wait."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Monotonic seconds."""

    def now(self) -> float: ...


class SystemClock:
    """The machine's monotonic clock."""

    def now(self) -> float:
        return time.monotonic()


class SetClock:
    """A clock for tests that changes only by `move`."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds

    def now(self) -> float:
        return self._seconds

    def move(self, seconds: float) -> None:
        self._seconds += seconds
