"""The expected numbers of a report, computed nanosecond by nanosecond: slow, and too simple to be wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from tests.profile.reports.databases import Kernel, Range


def busy(kernels: Sequence[Kernel], device: int) -> set[int]:
    """Every nanosecond in which a kernel runs on that GPU."""
    return {
        at
        for kernel in kernels
        if kernel.device == device
        for at in range(kernel.start, kernel.end)
    }


def gaps(kernels: Sequence[Kernel], device: int) -> list[tuple[int, int]]:
    """The pauses as (begin, duration) between the first and the last kernel of all GPUs, the longest first."""
    begin, end = min(kernel.start for kernel in kernels), max(kernel.end for kernel in kernels)
    running = busy(kernels, device)
    result: list[tuple[int, int]] = []
    since = None
    for at in range(begin, end + 1):
        is_idle = at < end and at not in running
        if is_idle and since is None:
            since = at
        elif not is_idle and since is not None:
            result.append((since, at - since))
            since = None
    return sorted(result, key=lambda gap: (-gap[1], gap[0]))


def around(ranges: Sequence[Range], begin: int, duration: int) -> int | None:
    """How long the shortest range is that holds the whole pause."""
    return min(
        (
            range_.end - range_.start
            for range_ in ranges
            if range_.end is not None and range_.start <= begin and begin + duration <= range_.end
        ),
        default=None,
    )


def by_name(ranges: Sequence[Range], last: int) -> dict[str, tuple[int, int, int, int]]:
    """Count, total, p50 and max of each name; what has no end lasts to the last event."""
    result: dict[str, list[int]] = defaultdict(list)
    for range_ in ranges:
        result[range_.name].append((last if range_.end is None else range_.end) - range_.start)
    return {
        name: (len(times), sum(times), int(median(times)), max(times))
        for name, times in result.items()
    }
