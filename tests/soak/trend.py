"""Decides whether a measured quantity grows: Theil-Sen slope and a Mann-Kendall test, both within process lifetimes.

A restart sets a process back to its start, so values are compared only within one lifetime. The test
statistic and its variance are summed over lifetimes, as the seasonal Mann-Kendall test does over seasons.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

# Growth is reported where chance would produce it in fewer than one of a hundred runs.
SIGNIFICANT = 0.01
# With fewer values even a strictly rising series is not significant.
FEWEST = 8


@dataclass(frozen=True)
class Point:
    """A value at `hours` since the start, measured in the process lifetime `life`."""

    life: str
    hours: float
    value: float


@dataclass(frozen=True)
class Trend:
    """`per_hour` is the slope, `p` the probability of such a rise by chance (None with too few values)."""

    count: int
    first: float
    last: float
    median: float
    per_hour: float
    p: float | None

    def grows(self, tolerance_per_hour: float) -> bool:
        """Whether the rise is significant and larger than what is tolerated."""
        return self.p is not None and self.p < SIGNIFICANT and self.per_hour > tolerance_per_hour


def trend(points: Sequence[Point]) -> Trend:
    """The trend of at least one point."""
    lives = list(_lives(points))
    values = [point.value for point in points]
    return Trend(
        count=len(points),
        first=values[0],
        last=values[-1],
        median=median(values),
        per_hour=_slope(lives),
        p=_chance(lives) if len(points) >= FEWEST else None,
    )


def _lives(points: Sequence[Point]) -> Iterable[list[Point]]:
    names = dict.fromkeys(point.life for point in points)
    return ([point for point in points if point.life == name] for name in names)


def _slope(lives: Iterable[list[Point]]) -> float:
    slopes = [
        (later.value - earlier.value) / (later.hours - earlier.hours)
        for life in lives
        for at, later in enumerate(life)
        for earlier in life[:at]
        if later.hours > earlier.hours
    ]
    return median(slopes) if slopes else 0.0


def _chance(lives: Iterable[list[Point]]) -> float | None:
    statistic, variance = 0, 0.0
    for life in lives:
        values = [point.value for point in life]
        statistic += sum(
            (later > earlier) - (later < earlier)
            for at, later in enumerate(values)
            for earlier in values[:at]
        )
        variance += _variance(values)
    if variance == 0:
        return 1.0
    # The statistic moves in steps of two, hence the correction by one.
    z = (statistic - math.copysign(1, statistic)) / math.sqrt(variance) if statistic else 0.0
    return 0.5 * math.erfc(z / math.sqrt(2))


def _variance(values: Sequence[float]) -> float:
    """Returns the variance of the statistic under no trend, corrected for equal values."""
    ties = Counter(values).values()
    return (_term(len(values)) - sum(_term(count) for count in ties)) / 18


def _term(count: int) -> int:
    return count * (count - 1) * (2 * count + 5)
