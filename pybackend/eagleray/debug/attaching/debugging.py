"""Debugging: attaches to workers, acts on several of them, ignores breakpoints and reminds of held workers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from eagleray.adapter_client.sessions import AdapterSessions
from eagleray.clusters.clusters import ClusterRegistry
from eagleray.clusters.connections import ConnectionResolver
from eagleray.common.errors import EaglerayError
from eagleray.common.retry import Clock
from eagleray.common.worker_errors import worker_ran_on
from eagleray.debug.attaching.actions import WorkerActions
from eagleray.debug.attaching.attacher import WorkerAttacher
from eagleray.debug.attaching.hold_reminder import REMIND_AFTER_S, HoldReminder
from eagleray.debug.attaching.ignored_breakpoints import BreakpointIgnorer
from eagleray.debug.attaching.model import HeldLong
from eagleray.debug.source_mapping.source_mapping import SourceMapping
from eagleray.debug.workers.model import PausedWorker, all_workers
from eagleray.debug.workers.paused_workers import PausedWorkers

_WHOLE_ID = re.compile(r"[0-9a-f]{56}")


class Debugging:
    """Used by `handlers.py` and the command line; owns nothing that must be closed."""

    def __init__(
        self,
        sessions: AdapterSessions,
        clusters: ClusterRegistry,
        connections: ConnectionResolver,
        workers: PausedWorkers,
        source_mapping: SourceMapping,
        clock: Clock,
        ignored_file: Path,
        remind_s: float = REMIND_AFTER_S,
    ) -> None:
        self._sessions = sessions
        self._clusters = clusters
        self._workers = workers
        self._clock = clock
        self._remind_s = remind_s
        routes = connections.routes
        self.attacher = WorkerAttacher(sessions, self.find, source_mapping, routes)
        self.ignorer = BreakpointIgnorer(sessions, ignored_file, routes)
        self.actions = WorkerActions(
            sessions, self.attacher, self.ignorer, self.find, self._workers_of
        )

    async def find(self, cluster: str, worker: str) -> PausedWorker:
        """The worker with this id or name; a whole id that is not listed any more raises `worker-ran-on`."""
        try:
            return await self._workers.find(await self._cluster_id(cluster), worker)
        except EaglerayError as error:
            if error.code == "unknown-worker" and _WHOLE_ID.fullmatch(worker):
                raise worker_ran_on(f"Worker {worker[:8]}") from error
            raise

    async def _workers_of(self, cluster: str) -> Sequence[PausedWorker]:
        """All workers of a cluster that are paused, held or attached."""
        return all_workers(await self._workers.refresh([await self._cluster_id(cluster)]))

    async def _cluster_id(self, cluster: str) -> str:
        # A worker may be held of a cluster that is not watched any more, and a driver of a run has no cluster.
        held = not cluster or any(
            state.cluster == cluster for state in self._sessions.last_workers()
        )
        return cluster if held else await self._clusters.id_of(cluster)

    def reminder(self, remind: Callable[[HeldLong], None]) -> HoldReminder:
        return HoldReminder(self._clock, remind, self._remind_s)

    async def continue_ignored(self) -> None:
        """Continues workers at ignored breakpoints until it is cancelled."""
        changed = asyncio.Event()
        latest: list[Sequence[PausedWorker]] = [()]

        def update() -> None:
            latest[0] = self._workers.located()
            changed.set()

        end = self._workers.on_change(update)
        try:
            while True:
                await changed.wait()
                changed.clear()
                await self.ignorer.continue_ignored(latest[0])
        finally:
            end()
