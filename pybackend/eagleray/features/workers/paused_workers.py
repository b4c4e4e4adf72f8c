"""All paused and held workers of all watched clusters: the one place that puts the parts together."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from dataclasses import replace
from functools import cache
from typing import Any, Protocol

from eagleray.common import tasks
from eagleray.common.clock import Clock, SystemClock
from eagleray.common.listeners import Listeners
from eagleray.common.off_loop import off_loop
from eagleray.common.worker_errors import ambiguous_worker, unknown_worker
from eagleray.features.clusters.cluster_watch import ClusterWatch
from eagleray.features.clusters.model import ClusterStatus
from eagleray.features.workers.describing import Describer, Wanted
from eagleray.features.workers.grouping import group
from eagleray.features.workers.local_places import LocalFiles, LocalPlaces, SamePaths
from eagleray.features.workers.locating import Locator, Pause
from eagleray.features.workers.merging import Known, Listed, merge, waits
from eagleray.features.workers.names import clean
from eagleray.features.workers.rows import Key, Paused, PausedGroup, everyone
from eagleray.features.workers.waits import Waits
from eagleray.protocol.control import WorkerState
from eagleray.ray.rows import WorkerRow
from eagleray.tools.pyspy import PySpy

FACTS_LIMIT_S = 10.0
# How often the home is looked at for what is held on other machines.
ELSEWHERE_S = 5.0


class HeldWorkers(Protocol):
    """What is needed of the adapters' client."""

    async def workers(self) -> list[WorkerState]: ...

    def watch(self) -> AsyncIterator[list[WorkerState]]: ...


class PausedWorkers:
    """Who is paused, held or attached; lives on one event loop, owns its lookups until `close`.

    The sidecar keeps `run` going and listens; the command line calls `refresh` once.
    """

    def __init__(
        self,
        watch: ClusterWatch,
        adapters: HeldWorkers,
        spy: PySpy | None = None,
        clock: Clock | None = None,
        files: LocalFiles | None = None,
        is_local: Callable[[str], bool] = lambda cluster: True,
        elsewhere: Callable[[], list[WorkerState]] = list,
    ) -> None:
        self._watch = watch
        self._adapters = adapters
        self._places = LocalPlaces(files or SamePaths(), self._changed)
        self._elsewhere = elsewhere
        self._said: list[WorkerState] = []
        self._said_elsewhere: list[WorkerState] = []
        self._states: list[WorkerState] = []
        self._waits = Waits(clock or SystemClock())
        self._describer = Describer(watch.dashboard, self._changed)
        self._locator = Locator(watch.dashboard, spy or PySpy(), self._changed, is_local=is_local)
        self._listeners = Listeners[[]]()
        self._clusters: set[str] = set()

    def groups(self, clusters: Collection[str] | None = None) -> tuple[PausedGroup, ...]:
        """What is known now, of all clusters or of some."""
        known = Known(
            self._describer.facts,
            self._describer.homes,
            self._locator.stands,
            self._waits.seconds,
            # Most rows stand in the same few files.
            cache(self._places.of),
        )
        states = [s for s in self._states if clusters is None or s.cluster in clusters]
        return group(merge(self._listed(clusters), states, known))

    def looked_at(self) -> list[Paused]:
        """All workers but those whose line is still being looked for."""
        looking = self._locator.is_looking
        return [w for w in everyone(self.groups()) if not looking((w.session, w.worker_id))]

    def _adopt(self) -> None:
        """Keeps what the adapters said; a cluster may have been attached to under another address.

        What other machines' adapters wrote down counts only in a cluster that is watched here, and is
        older than Ray's list.
        """
        seen = self._watch.statuses()
        ids = {one.cluster for one in seen}
        sessions = {one.session: one.cluster for one in seen if one.session}
        here = {(state.session, state.worker_id) for state in self._said}
        here |= {(entry.session, entry.row.worker_id) for entry in self._listed()}
        there = [
            state
            for state in self._said_elsewhere
            if state.session in sessions and (state.session, state.worker_id) not in here
        ]
        self._states = [
            state
            if state.cluster in ids
            else replace(state, cluster=sessions.get(state.session, state.cluster))
            for state in [*self._said, *there]
        ]

    async def refresh(
        self, clusters: Collection[str] | None = None, locate_s: float = 0.0
    ) -> tuple[PausedGroup, ...]:
        """Asks everything anew; lines of paused workers are waited for at most `locate_s`.

        Of a cluster that nobody watches there is what the adapters hold.
        """
        watched = {seen.cluster for seen in self._watch.statuses()}
        asked = [None] if clusters is None else [one for one in clusters if one in watched]
        _, self._said, self._said_elsewhere = await asyncio.gather(
            asyncio.gather(*(self._watch.refresh(cluster) for cluster in asked)),
            self._adapters.workers(),
            off_loop(self._elsewhere),
        )
        self._adopt()
        self._update()
        await self.described(FACTS_LIMIT_S)
        if locate_s > 0:
            await _at_most(self._locator.settled(), locate_s)
        self.groups(clusters)
        await self._places.settled()
        return self.groups(clusters)

    async def described(self, limit_s: float) -> None:
        """Waits until all workers have been asked about, but not longer than `limit_s`."""
        loop = asyncio.get_running_loop()
        end = loop.time() + limit_s
        # A worker that came while we waited is waited for too: its row must not be nameless either.
        while self._describer.pending and (left := end - loop.time()) > 0:
            await _at_most(self._describer.settled(), left)

    async def find(self, cluster: str, worker: str) -> Paused:
        """The worker with this id, with this name, or whose id alone begins like this.

        `cluster` may also be an address at which a run found a cluster that is watched here under another one.
        """
        found = _fitting(everyone(self.groups(self._listed_as(cluster))), worker)
        if not found:
            await self.refresh([cluster])
            found = _fitting(everyone(self.groups(self._listed_as(cluster))), worker)
        if not found:
            raise unknown_worker(worker)
        if len(found) > 1:
            raise ambiguous_worker(worker, len(found))
        return found[0]

    def _listed_as(self, cluster: str) -> set[str]:
        """The addresses under which `_adopt` lists workers of a cluster: a driver of a run keeps that of the run."""
        listed = zip(self._said, self._states, strict=False)
        return {cluster, *(to.cluster for said, to in listed if said.cluster == cluster)}

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls `listener`, which must return quickly, whenever `groups` may have changed; the answer ends that."""
        return self._listeners.add(listener)

    async def run(self) -> None:
        """Follows the watched clusters and the adapters until it is cancelled."""
        end = self._watch.listen(self._seen)
        looking = tasks.lasting(self._look_elsewhere, "workers elsewhere")
        try:
            self._update()
            async for states in self._adapters.watch():
                self._said = states
                self._adopt()
                self._update()
        finally:
            looking.cancel()
            end()

    async def _look_elsewhere(self) -> None:
        """Reads beside the loop, since the home may lie on a slow file system."""
        while True:
            said = await off_loop(self._elsewhere)
            if said != self._said_elsewhere:
                self._said_elsewhere = said
                self._adopt()
                self._update()
            await asyncio.sleep(ELSEWHERE_S)

    async def close(self) -> None:
        await self._describer.close()
        await self._locator.close()
        await self._places.close()

    def _seen(self, _seen: ClusterStatus) -> None:
        self._adopt()
        self._update()

    def _listed(self, clusters: Collection[str] | None = None) -> list[Listed]:
        return [
            Listed(seen.cluster, seen.session, row, row.node_id in seen.gone_nodes)
            for seen in self._watch.statuses()
            if clusters is None or seen.cluster in clusters
            for row in seen.paused
        ]

    def _update(self) -> None:
        listed = self._listed()
        states = {(s.session, s.worker_id): s for s in self._states if s.state != "gone"}
        waiting = {(entry.session, entry.row.worker_id) for entry in listed}
        waiting = {key for key in waiting if key not in states} | {
            key for key, state in states.items() if waits(state)
        }
        self._waits.update(waiting)
        self._describe(listed, states)
        # A stand that the adapter knows is certain and must not be asked for.
        self._locator.want(
            (
                Pause(entry.cluster, entry.session, entry.row, number)
                for entry in listed
                if (key := (entry.session, entry.row.worker_id)) not in states
                and not entry.gone
                and (number := self._waits.number(key)) is not None
            ),
            self._waits.number,
        )
        self._changed()

    def _describe(self, listed: list[Listed], states: dict[Key, WorkerState]) -> None:
        rows: dict[tuple[str, str], dict[str, WorkerRow | None]] = defaultdict(dict)
        for (session, worker_id), state in states.items():
            rows[state.cluster, session][worker_id] = None
        for entry in listed:
            rows[entry.cluster, entry.session][entry.row.worker_id] = entry.row
        sessions = {seen.cluster: seen.session for seen in self._watch.statuses()}
        for cluster, session in sessions.items():
            workers = rows.get((cluster, session), {})
            numbers = (self._waits.number((session, worker_id)) for worker_id in workers)
            wanted = Wanted(session, workers, frozenset(n for n in numbers if n is not None))
            self._describer.want(cluster, wanted)
        for cluster in self._clusters - sessions.keys():
            self._describer.forget(cluster)
        self._clusters = set(sessions)

    def _changed(self) -> None:
        self._listeners.tell()


def _fitting(workers: list[Paused], text: str) -> list[Paused]:
    exact = [worker for worker in workers if worker.worker_id == text]
    named = [worker for worker in workers if worker.name and worker.name == clean(text)]
    begun = [worker for worker in workers if text and worker.worker_id.startswith(text)]
    return exact or named or begun


async def _at_most(waiting: Coroutine[Any, Any, None], limit_s: float) -> None:
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(waiting, limit_s)
