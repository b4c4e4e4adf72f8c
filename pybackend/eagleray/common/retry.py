"""How long to wait before the next attempt."""

from __future__ import annotations

import random
from dataclasses import dataclass

# The longest pause with jitter is longer by this share.
_JITTER = 0.25


@dataclass(frozen=True)
class Backoff:
    """Waits that double from `first_s` up to `longest_s`."""

    first_s: float
    longest_s: float

    def wait_s(self, failures: int) -> float:
        """The wait after that many failures in a row, from 1 on."""
        return min(self.longest_s, self.first_s * 2.0 ** min(max(failures, 1) - 1, 30))

    def jittered_s(self, failures: int) -> float:
        """The same with jitter, for callers that would otherwise retry at the same moment."""
        return jittered(self.wait_s(failures))


def jittered(seconds: float) -> float:
    """Only longer: a budget of polls or attempts is never exceeded."""
    return seconds * random.uniform(1.0, 1.0 + _JITTER)  # noqa: S311 (nothing depends on it being secret)
