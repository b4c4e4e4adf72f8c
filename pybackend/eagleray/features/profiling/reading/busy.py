"""How much of the time at least one kernel runs on a GPU, and the longest pauses, of kernels in order of their start."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import accumulate, chain
from operator import sub

from attrs import frozen

# The curve of a recording has so many steps; so many pauses of a GPU are kept.
STEPS = 400
MOST_GAPS = 200
# What follows the last kernel.
END = -1


@frozen(order=True)
class Gap:
    """A pause of one GPU, and the number of what began behind it."""

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
        tops = list(accumulate(chain((self._top,), ends), max))
        holes = sum(pause for pause in map(sub, starts, tops) if pause > 0)
        self.total += tops[-1] - self._top - holes
        self._top = tops[-1]


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
        tops = list(accumulate(chain((self._top,), ends), max))
        pauses = list(map(sub, starts, tops))
        holes = [pause for pause in pauses if pause > 0]
        idle = sum(holes)
        if holes and max(holes) > self._floor():
            self._keep_longest(pauses, tops, what)
        self._idle += idle
        first = self._place(self._top)
        if first == self._place(tops[-1]):
            self._idle_of[first] += idle
        else:
            for pause, top in zip(pauses, tops, strict=False):
                if pause > 0:
                    self._spread(top, top + pause)
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
        return sorted(self._gaps, reverse=True)

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
        for pause, top, after in zip(pauses, tops, what, strict=False):
            if pause > floor:
                heapq.heappush(self._gaps, Gap(pause, top, self._device, after))
                if len(self._gaps) > MOST_GAPS:
                    heapq.heappop(self._gaps)
                floor = self._floor()

    def _floor(self) -> int:
        return self._gaps[0].duration if len(self._gaps) == MOST_GAPS else 0
