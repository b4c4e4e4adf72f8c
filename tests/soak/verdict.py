"""The table of what was measured and whether it grows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tests.soak.sampling import Sample
from tests.soak.trend import Point, Trend, trend

# The growth that is tolerated per hour by the last word of a metric's name: a share of the median, and an absolute
# amount. A process of Python keeps fragmenting its memory; a leak of one object in each cycle is beyond these.
TOLERATED = {
    "fds": (0.0, 2.0),
    "threads": (0.0, 1.0),
    "tasks": (0.0, 1.0),
    "objects": (0.01, 0.0),
    "kB": (0.03, 0.0),
}
COUNT = (0.0, 2.0)
# Logs record what happens, so they are bounded rather than level: by rotation, at this size in all.
LOG_BYTES = 8 * 2**20
# asyncio's pool starts a thread whenever none of it is idle, until it has this many; the main thread comes on top.
THREADS = 1 + min(32, (os.cpu_count() or 1) + 4)
BOUNDED = {"log bytes": LOG_BYTES, "sidecar threads": THREADS}
# Samples of each process lifetime that are left out.  The window and the home have a level only once as many runs
# are kept as are kept at most; an adapter, which is killed at times, knows no ended runs.
WARM_UP = {"adapter": 3}
LONG_WARM_UP = 12


@dataclass(frozen=True)
class Row:
    """One metric."""

    name: str
    found: Trend
    tolerated: float
    passed: bool
    verdict: str


def rows(samples: Sequence[Sample]) -> list[Row]:
    """One for each metric, in the order in which they were sampled."""
    names = list(dict.fromkeys(name for sample in samples for name in sample.values))
    return [_row(name, _points(name, samples)) for name in names]


def _points(name: str, samples: Sequence[Sample]) -> list[Point]:
    role = name.partition(" ")[0]
    warm_up = WARM_UP.get(role, LONG_WARM_UP)
    points, seen = [], dict[str, int]()
    for sample in samples:
        life = sample.lives.get(role, "")
        seen[life] = seen.get(life, 0) + 1
        if name in sample.values and seen[life] > warm_up:
            points.append(Point(life, sample.hours, sample.values[name]))
    return points


def _row(name: str, points: list[Point]) -> Row:
    if not points:
        empty = Trend(0, 0, 0, 0, 0, None)
        return Row(name, empty, 0, passed=False, verdict="not measured")
    found = trend(points)
    if bound := BOUNDED.get(name):
        small = max(point.value for point in points) <= bound
        return Row(name, found, bound, small, "bounded" if small else "too large")
    share, amount = TOLERATED.get(name.rpartition(" ")[2], COUNT)
    tolerated = share * found.median + amount
    grows = found.grows(tolerated)
    verdict = "grows" if grows else "level" if found.p is not None else "too few samples"
    return Row(name, found, tolerated, not grows, verdict)


def table(found: Sequence[Row]) -> str:
    head = ("what", "samples", "first", "last", "median", "per hour", "tolerated", "p", "")
    lines = [head, *(_cells(row) for row in found)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at in (0, len(head) - 1) else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def plain(found: Sequence[Row]) -> list[dict[str, Any]]:
    """For JSON."""
    return [{**asdict(row), **asdict(row.found)} for row in found]


def _cells(row: Row) -> tuple[str, ...]:
    found = row.found
    numbers = [f"{n:.0f}" for n in (found.first, found.last, found.median)]
    chance = "" if found.p is None else f"{found.p:.3f}"
    slopes = [f"{found.per_hour:+.1f}", f"{row.tolerated:.1f}", chance]
    return (row.name, str(found.count), *numbers, *slopes, row.verdict)
