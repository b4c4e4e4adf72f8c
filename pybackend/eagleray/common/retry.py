"""How long to wait before asking again somebody who did not answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Backoff:
    """Waits that double from `first_s` up to `longest_s`."""

    first_s: float
    longest_s: float

    def wait_s(self, failures: int) -> float:
        """The wait after that many failures in a row, from 1 on."""
        return min(self.longest_s, self.first_s * 2.0 ** min(max(failures, 1) - 1, 30))
