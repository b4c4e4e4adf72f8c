"""How much of the time at least one kernel runs on a GPU, and the longest pauses, of kernels in order of their start."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from operator import sub
from typing import NamedTuple

# The curve of a recording has so many steps; so many pauses of a GPU are kept.
STEPS = 400
MOST_GAPS = 200
# What follows the last kernel.
END = -1


class Gap(NamedTuple):
    """A pause of one GPU, and the number of what began behind it; tuples are compared fast."""

    duration: int
    begin: int
    device: int
    after: int

    @property
    def end(self) -> int:
        return self.begin + self.duration


class Union:
    """How long at least one of the intervals lasts; they come in lists, in order of their start."""

    def __init__(self, begin: int) -> None:
        self._top = begin
        self.total = 0

    def add(self, starts: Sequence[int], ends: Sequence[int]) -> None:
        tops = _tops(self._top, ends)
        holes = sum([pause for pause in map(sub, starts, tops) if pause > 0])
        self.total += tops[-1] - self._top - holes
        self._top = tops[-1]


def _tops(top: int, ends: Sequence[int]) -> list[int]:
    """When the last of all before each ends, and of all; most GPUs end their kernels in the order of their start."""
    tops = [top, *ends]
    return tops if sorted(tops) == tops else list(accumulate(tops, max))


class Busy:
    """Takes the intervals of one GPU in lists, in order of their start, none before `begin` or behind `end`.

    Lists are worked through by functions of C: a recording has millions of kernels.
    """

    def __init__(self, device: int, begin: int, end: int) -> None:
        self._device = device
        self._begin = self._top = begin
        self._end = end
        self._idle = 0
        self._step = (end - begin) / STEPS or 1.0
        self._idle_of = [0.0] * STEPS
        self._gaps: list[Gap] = []

    def add(self, starts: Sequence[int], ends: Sequence[int], what: Sequence[int]) -> None:
        tops = _tops(self._top, ends)
        pauses = [pause if pause > 0 else 0 for pause in map(sub, starts, tops)]
        if max(pauses) > self._floor():
            self._keep_longest(pauses, tops, what)
        self._idle += sum(pauses)
        at = 0
        while at < len(pauses):
            # All pauses that begin in one step of the curve; only the last of them can end behind it.
            place = self._place(tops[at])
            until = bisect_right(tops, place, at, len(pauses), key=self._place)
            self._idle_of[place] += sum(pauses[at : until - 1])
            if pauses[until - 1]:
                self._spread(tops[until - 1], starts[until - 1])
            at = until
        self._top = tops[-1]

    def close(self) -> None:
        """What follows the last kernel of this GPU is a pause too, as long as another GPU works on."""
        self.add((self._end,), (self._end,), (END,))

    @property
    def idle(self) -> int:
        return self._idle

    @property
    def busy(self) -> int:
        return self._end - self._begin - self._idle

    def gaps(self) -> list[Gap]:
        return self._gaps

    def curve(self) -> list[float]:
        """The busy share of each step; nothing when there is no time to look at."""
        if self._end == self._begin:
            return []
        return [round(min(1.0, max(0.0, 1 - idle / self._step)), 4) for idle in self._idle_of]

    def _place(self, time: int) -> int:
        return min(STEPS - 1, int((time - self._begin) / self._step))

    def _spread(self, begin: int, end: int) -> None:
        first, last = self._place(begin), self._place(end)
        for place in range(first, last + 1):
            left = self._begin + place * self._step
            right = left + self._step if place < STEPS - 1 else max(left + self._step, self._end)
            self._idle_of[place] += max(0.0, min(end, right) - max(begin, left))

    def _keep_longest(
        self, pauses: Sequence[int], tops: Sequence[int], what: Sequence[int]
    ) -> None:
        floor = self._floor()
        found = [(pause, at) for at, pause in enumerate(pauses) if pause > floor]
        longest = heapq.nlargest(MOST_GAPS, found)
        gaps = [Gap(pause, tops[at], self._device, what[at]) for pause, at in longest]
        self._gaps = sorted((*self._gaps, *gaps), reverse=True)[:MOST_GAPS]

    def _floor(self) -> int:
        return self._gaps[-1].duration if len(self._gaps) == MOST_GAPS else 0
