"""The reminder: a worker that is held for a long time is said once, for it holds up a training run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from attrs import frozen

from eagleray.common.clock import Clock
from eagleray.protocol.control import WorkerState

REMIND_AFTER_S = 15 * 60.0
_LOOK_S = 15.0


@frozen
class Held:
    """A worker that has been held for `minutes`."""

    cluster: str
    worker_id: str
    name: str
    minutes: int


class HoldReminder:
    """Watches how long workers are held, by an injected clock.  A hold begins when the last editor goes."""

    def __init__(
        self, clock: Clock, say: Callable[[Held], None], long_s: float = REMIND_AFTER_S
    ) -> None:
        self._clock = clock
        self._say = say
        self._long_s = long_s
        self._since: dict[tuple[str, str], float] = {}
        self._held: dict[tuple[str, str], WorkerState] = {}
        self._said: set[tuple[str, str]] = set()

    def update(self, states: Sequence[WorkerState]) -> None:
        """What the adapters hold now."""
        held = {
            (s.session, s.worker_id): s
            for s in states
            if s.state == "stopped" and s.seen and not s.editor
        }
        now = self._clock.now()
        # A hold that we have seen begin keeps its beginning; `held_s` is what others saw before us.
        self._since = {k: self._since.get(k, now - state.held_s) for k, state in held.items()}
        self._held = held
        self._said &= held.keys()
        self.look()

    def look(self) -> None:
        """Says those that are held for long by now and were not said yet."""
        now = self._clock.now()
        for key, state in self._held.items():
            seconds = now - self._since[key]
            if seconds >= self._long_s and key not in self._said:
                self._said.add(key)
                minutes = int(seconds // 60)
                self._say(Held(state.cluster, state.worker_id, state.name, minutes))

    async def run(self) -> None:
        """Looks again and again until it is cancelled."""
        while True:
            self.look()
            await asyncio.sleep(_LOOK_S)
