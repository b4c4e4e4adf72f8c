"""How long each worker has been seen to wait: a wait begins when it is first seen and ends when it runs."""

from __future__ import annotations

from collections.abc import Collection

from eagleray.common.clock import Clock
from eagleray.features.workers.rows import Key


class Waits:
    """The beginning of every present wait.  One wait is one pause: its number tells it from the next one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[Key, float] = {}
        self._number: dict[Key, int] = {}
        self._count = 0

    def update(self, waiting: Collection[Key]) -> None:
        """`waiting` are all workers that wait now, whoever holds them."""
        for gone in self._since.keys() - set(waiting):
            del self._since[gone], self._number[gone]
        for key in waiting:
            if key not in self._since:
                self._count += 1
                self._since[key] = self._clock.now()
                self._number[key] = self._count

    def seconds(self, key: Key) -> float:
        """How long it waits; 0.0 if it does not."""
        since = self._since.get(key)
        return 0.0 if since is None else max(0.0, self._clock.now() - since)

    def number(self, key: Key) -> int | None:
        """The number of its present wait, never used twice; None if it does not wait."""
        return self._number.get(key)
