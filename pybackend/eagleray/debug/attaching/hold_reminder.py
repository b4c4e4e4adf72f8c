"""Reminds once of a worker that is held for a long time, since it blocks a training run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from eagleray.common.retry import Clock
from eagleray.debug.attaching.model import HeldLong
from eagleray.protocol.adapter_control import WorkerState

REMIND_AFTER_S = 15 * 60.0
_POLL_S = 15.0


class HoldReminder:
    """Measures how long workers are held, by an injected clock.  A hold starts when the last editor leaves."""

    def __init__(
        self, clock: Clock, remind: Callable[[HeldLong], None], long_s: float = REMIND_AFTER_S
    ) -> None:
        self._clock = clock
        self._remind = remind
        self._long_s = long_s
        self._since: dict[tuple[str, str], float] = {}
        self._held: dict[tuple[str, str], WorkerState] = {}
        self._reminded: set[tuple[str, str]] = set()

    def update(self, states: Sequence[WorkerState]) -> None:
        """Updates the workers that adapters hold."""
        held = {
            (s.session, s.worker_id): s
            for s in states
            if s.state == "stopped" and s.seen and not s.editor
        }
        now = self._clock.now()
        # A hold keeps its first start; `held_s` covers the time before this process.
        self._since = {k: self._since.get(k, now - state.held_s) for k, state in held.items()}
        self._held = held
        self._reminded &= held.keys()
        self.remind()

    def remind(self) -> None:
        """Reminds of workers that have been held for long and were not reminded of yet."""
        now = self._clock.now()
        for key, state in self._held.items():
            seconds = now - self._since[key]
            if seconds >= self._long_s and key not in self._reminded:
                self._reminded.add(key)
                self._remind(HeldLong(state.cluster, state.worker_id, state.name, int(seconds)))

    async def run(self) -> None:
        """Reminds repeatedly until it is cancelled."""
        while True:
            self.remind()
            await asyncio.sleep(_POLL_S)
