"""The core of debugging: attaching, actions on workers, ignored breakpoints, the reminder."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from eagleray.adapter_client.sessions import AdapterSessions
from eagleray.common.clock import Clock
from eagleray.common.errors import EaglerayError
from eagleray.common.worker_errors import worker_ran_on
from eagleray.features.debugging.actions import WorkerActions
from eagleray.features.debugging.attacher import WorkerAttacher
from eagleray.features.debugging.hold_reminder import REMIND_AFTER_S, Held, HoldReminder
from eagleray.features.debugging.ignored_breakpoints import BreakpointIgnorer
from eagleray.features.debugging.needs import Find, ListTargets, Maps, RoutesTo, Target, directly

_WHOLE_ID = re.compile(r"[0-9a-f]{56}")

# Calls back with all paused and held workers whenever they change; the answer ends that.
ListenTargets = Callable[[Callable[[Sequence[Target]], None]], Callable[[], None]]


class Debugging:
    """What `handlers.py` and the command line use; owns nothing that must be closed."""

    def __init__(
        self,
        sessions: AdapterSessions,
        find: Find,
        targets: ListTargets,
        listen: ListenTargets,
        maps: Maps,
        clock: Clock,
        ignored_file: Path,
        remind_s: float = REMIND_AFTER_S,
        routes: RoutesTo = directly,
    ) -> None:
        self._clock = clock
        self._remind_s = remind_s
        self._listen = listen
        self._find = find
        self.attaching = WorkerAttacher(sessions, self.find, maps, routes)
        self.ignoring = BreakpointIgnorer(sessions, ignored_file, routes)
        self.actions = WorkerActions(sessions, self.attaching, self.ignoring, self.find, targets)

    async def find(self, cluster: str, worker: str) -> Target:
        """The worker; one that is named by its whole id stood in a list before, and has run on."""
        try:
            return await self._find(cluster, worker)
        except EaglerayError as error:
            if error.code == "unknown-worker" and _WHOLE_ID.fullmatch(worker):
                raise worker_ran_on(f"Worker {worker[:8]}") from error
            raise

    def reminder(self, say: Callable[[Held], None]) -> HoldReminder:
        return HoldReminder(self._clock, say, self._remind_s)

    async def continue_ignored(self) -> None:
        """Lets workers go by at ignored breakpoints until it is cancelled."""
        changed = asyncio.Event()
        latest: list[Sequence[Target]] = [()]

        def update(targets: Sequence[Target]) -> None:
            latest[0] = targets
            changed.set()

        end = self._listen(update)
        try:
            while True:
                await changed.wait()
                changed.clear()
                await self.ignoring.continue_ignored(latest[0])
        finally:
            end()
