"""One GPU while its kernels pass by in the order of their start."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from operator import gt

from attrs import frozen

from eagleray.features.reports.busy import Busy, Union


class Strange(Exception):
    """The rows do not lie in the order of their start, or are no intervals."""


@frozen
class Gpu:
    """Times in nanoseconds; `nccl_alone` is how long kernels of NCCL ran and nothing else did."""

    id: int
    name: str
    kernels: int
    begin: int
    end: int
    busy: int
    idle: int
    nccl: int
    nccl_alone: int
    curve: tuple[float, ...]

    @property
    def busy_share(self) -> float:
        return self.busy / (self.end - self.begin) if self.end > self.begin else 0.0


class Device:
    """Takes kernels in lists; raises `Strange` or TypeError for what is no interval or not in order."""

    def __init__(self, device: int, begin: int, end: int) -> None:
        self.every = Busy(device, begin, end)
        self._nccl, self._other = Union(begin), Union(begin)
        self._device, self._begin, self._end = device, begin, end
        self._last = begin
        self._kernels = 0

    def add(
        self,
        starts: Sequence[int],
        ends: Sequence[int],
        rows: Sequence[int],
        nccl: Sequence[int] | None,
    ) -> None:
        """`rows` are their numbers in the table; `nccl` holds 1 for each of NCCL, None if the recording has none."""
        if not (isinstance(sum(starts), int) and isinstance(sum(ends), int)):
            raise Strange
        is_ordered = starts[0] >= self._last and sorted(starts) == list(starts)
        if not is_ordered or any(map(gt, starts, ends)) or max(ends) > self._end:
            raise Strange
        self._last = starts[-1]
        self._kernels += len(starts)
        self.every.add(starts, ends, rows)
        if nccl is None:
            return
        if not any(nccl):
            self._other.add(starts, ends)
            return
        other = [not one for one in nccl]
        for union, wanted in ((self._nccl, nccl), (self._other, other)):
            if any(wanted):
                union.add(list(compress(starts, wanted)), list(compress(ends, wanted)))

    def result(self, name: str) -> Gpu:
        self.every.close()
        busy, nccl = self.every.busy, self._nccl.total
        return Gpu(
            id=self._device,
            name=name,
            kernels=self._kernels,
            begin=self._begin,
            end=self._end,
            busy=busy,
            idle=self.every.idle,
            nccl=nccl,
            nccl_alone=busy - self._other.total if nccl else 0,
            curve=tuple(self.every.curve()),
        )
