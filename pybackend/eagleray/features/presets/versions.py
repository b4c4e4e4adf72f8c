"""Versions of a framework: which of two is older, and whether one lies in the range that a table was read from."""

from __future__ import annotations

import re
from dataclasses import dataclass

_STAGES = {"dev": 0, "a": 1, "alpha": 1, "b": 2, "beta": 2, "rc": 3, "pre": 3, "": 4, "post": 5}
_VERSION = re.compile(
    r"v?(?P<numbers>\d+(?:\.\d+){0,5})(?:[._-]?(?P<stage>[a-z]+)[._-]?(?P<count>\d{0,9}))?(?:\+\S*)?"
)

Order = tuple[tuple[int, ...], int, int]


def order_of(version: str) -> Order | None:
    """What versions are compared by; None for what is no version."""
    found = _VERSION.fullmatch(version.strip())
    if found is None or (found["stage"] or "") not in _STAGES:
        return None
    numbers = [int(one) for one in found["numbers"].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), _STAGES[found["stage"] or ""], int(found["count"] or 0)


@dataclass(frozen=True)
class Range:
    """From one version through another, both included, which are the first and the last that were read."""

    first: str
    last: str

    def holds(self, version: str) -> bool:
        """Whether `version` was read; an unknown one was not."""
        order, first, last = order_of(version), order_of(self.first), order_of(self.last)
        return bool(order and first and last and first <= order <= last)

    def __str__(self) -> str:
        return f"{self.first} to {self.last}" if self.first else ""
