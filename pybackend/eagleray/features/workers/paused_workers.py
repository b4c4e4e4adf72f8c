"""All paused and held workers of all watched clusters: joins Ray's lists, the adapters' states and local files."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Coroutine
from dataclasses import replace
from functools import cache
from typing import Any, Protocol

from eagleray.adapter_client.sessions import AdapterSessions
from eagleray.common import tasks
from eagleray.common.clock import Clock, SystemClock
from eagleray.common.file_checks import FileChecks
from eagleray.common.listeners import Listeners
from eagleray.common.off_loop import off_loop
from eagleray.common.worker_errors import ambiguous_worker, unknown_worker
from eagleray.features.clusters.cluster_watch import ClusterWatch
from eagleray.features.clusters.model import ClusterStatus
from eagleray.features.workers.describer import Describer, ShownWorkers
from eagleray.features.workers.model import Key, PausedGroup, PausedWorker, all_workers
from eagleray.features.workers.paused_rows import ListedWorker, RowSources, group, merge, waits
from eagleray.features.workers.stop_location import PauseLocator, WorkerPause
from eagleray.features.workers.worker_facts import clean
from eagleray.protocol.control import WorkerState
from eagleray.ray.rows import WorkerRow
from eagleray.tools.pyspy import PySpy

FACTS_LIMIT_S = 10.0
# How often the home is looked at for what is held on other machines.
ELSEWHERE_S = 5.0


class PausedWorkers:
    """The paused, held and attached workers; lives on one event loop, owns its lookups until `close`.

    The sidecar keeps `run` going and listens; the command line calls `refresh` once.
    """

    def __init__(
        self,
        watch: ClusterWatch,
        sessions: AdapterSessions,
        spy: PySpy | None = None,
        clock: Clock | None = None,
        files: LocalFiles | None = None,
        is_local: Callable[[str], bool] = lambda cluster: True,
        elsewhere: Callable[[], list[WorkerState]] = list,
    ) -> None:
        self._watch = watch
        self._sessions = sessions
        self._places = LocalFileLookup(files or SamePaths(), self._changed)
        self._elsewhere = elsewhere
        self._said: list[WorkerState] = []
        self._states_elsewhere: list[WorkerState] = []
        self._states: list[WorkerState] = []
        self._waits = WaitTimer(clock or SystemClock())
        self._describer = Describer(watch.dashboard, self._changed)
        self._locator = PauseLocator(
            watch.dashboard, spy or PySpy(), self._changed, is_local=is_local
        )
        self._listeners = Listeners[[]]()
        self._clusters: set[str] = set()

    def groups(self, clusters: Collection[str] | None = None) -> tuple[PausedGroup, ...]:
        """The current groups, of all clusters or of some."""
        known = RowSources(
            self._describer.facts,
            self._describer.homes,
            self._locator.stands,
            self._waits.seconds,
            # Most workers are stopped in the same few files.
            cache(self._places.of),
        )
        states = [s for s in self._states if clusters is None or s.cluster in clusters]
        return group(merge(self._listed(clusters), states, known))

    def located(self) -> list[PausedWorker]:
        """All workers except those whose stop location is still being looked up."""
        looking = self._locator.is_looking
        return [w for w in all_workers(self.groups()) if not looking((w.session, w.worker_id))]

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
            for state in self._states_elsewhere
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
        """Queries everything again; waits at most `locate_s` for stop locations.

        Of a cluster that is not watched, only the adapters' workers are returned.
        """
        watched = {seen.cluster for seen in self._watch.statuses()}
        asked = (
            [None] if clusters is None else [cluster for cluster in clusters if cluster in watched]
        )
        _, self._said, self._states_elsewhere = await asyncio.gather(
            asyncio.gather(*(self._watch.refresh(cluster) for cluster in asked)),
            self._sessions.workers(),
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
        """WaitTimer until all workers have been asked about, but not longer than `limit_s`."""
        loop = asyncio.get_running_loop()
        end = loop.time() + limit_s
        # A worker that is paused meanwhile is waited for too: its row must not be nameless either.
        while self._describer.pending and (left := end - loop.time()) > 0:
            await _at_most(self._describer.settled(), left)

    async def find(self, cluster: str, worker: str) -> PausedWorker:
        """The worker with this id, with this name, or whose id alone begins like this.

        `cluster` may also be an address at which a run found a cluster that is watched here under another one.
        """
        found = _fitting(all_workers(self.groups(self._listed_as(cluster))), worker)
        if not found:
            await self.refresh([cluster])
            found = _fitting(all_workers(self.groups(self._listed_as(cluster))), worker)
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
        """Calls `listener`, which must return quickly, whenever `groups` may have changed; returns a function that ends that."""
        return self._listeners.add(listener)

    async def run(self) -> None:
        """Follows the watched clusters and the adapters until it is cancelled."""
        end = self._watch.listen(self._seen)
        looking = tasks.lasting(self._poll_elsewhere, "workers elsewhere")
        try:
            self._update()
            async for states in self._sessions.watch():
                self._said = states
                self._adopt()
                self._update()
        finally:
            looking.cancel()
            end()

    async def _poll_elsewhere(self) -> None:
        """Reads beside the loop, since the home may lie on a slow file system."""
        while True:
            said = await off_loop(self._elsewhere)
            if said != self._states_elsewhere:
                self._states_elsewhere = said
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

    def _listed(self, clusters: Collection[str] | None = None) -> list[ListedWorker]:
        return [
            ListedWorker(seen.cluster, seen.session, row, row.node_id in seen.gone_nodes)
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
        # A stop location of the adapter is certain and is not looked up.
        self._locator.want(
            (
                WorkerPause(entry.cluster, entry.session, entry.row, number)
                for entry in listed
                if (key := (entry.session, entry.row.worker_id)) not in states
                and not entry.gone
                and (number := self._waits.number(key)) is not None
            ),
            self._waits.number,
        )
        self._changed()

    def _describe(self, listed: list[ListedWorker], states: dict[Key, WorkerState]) -> None:
        rows: dict[tuple[str, str], dict[str, WorkerRow | None]] = defaultdict(dict)
        for (session, worker_id), state in states.items():
            rows[state.cluster, session][worker_id] = None
        for entry in listed:
            rows[entry.cluster, entry.session][entry.row.worker_id] = entry.row
        sessions = {seen.cluster: seen.session for seen in self._watch.statuses()}
        for cluster, session in sessions.items():
            workers = rows.get((cluster, session), {})
            numbers = (self._waits.number((session, worker_id)) for worker_id in workers)
            wanted = ShownWorkers(session, workers, frozenset(n for n in numbers if n is not None))
            self._describer.want(cluster, wanted)
        for cluster in self._clusters - sessions.keys():
            self._describer.forget(cluster)
        self._clusters = set(sessions)

    def _changed(self) -> None:
        self._listeners.tell()


def _fitting(workers: list[PausedWorker], text: str) -> list[PausedWorker]:
    exact = [worker for worker in workers if worker.worker_id == text]
    named = [worker for worker in workers if worker.name and worker.name == clean(text)]
    begun = [worker for worker in workers if text and worker.worker_id.startswith(text)]
    return exact or named or begun


async def _at_most(waiting: Coroutine[Any, Any, None], limit_s: float) -> None:
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(waiting, limit_s)


class WaitTimer:
    """Times waits: a wait starts when it is first listed and ends when the worker runs; each has its own number."""

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
        """The seconds of its current wait; 0.0 if it does not wait."""
        since = self._since.get(key)
        return 0.0 if since is None else max(0.0, self._clock.now() - since)

    def number(self, key: Key) -> int | None:
        """The number of its current wait, never used twice; None if it does not wait."""
        return self._number.get(key)


# A file of a worker: its cluster, and its path there.
WorkerFile = tuple[str, str]


class LocalFiles(Protocol):
    """Knows which local file a worker's file is."""

    def local(self, cluster: str, path: str) -> str:
        """The local file by the last lookup; "" if there is none, or before the lookup."""

    async def look(self, files: Collection[WorkerFile]) -> bool:
        """Looks up local files; returns whether a result of `local` may have changed."""


class SamePaths:
    """A file of a worker that this machine has under the same path."""

    def __init__(self) -> None:
        self._files = FileChecks(os.path.isfile)

    def local(self, cluster: str, path: str) -> str:
        return path if self._is_lookable(path) and self._files.answer(path) else ""

    async def look(self, files: Collection[WorkerFile]) -> bool:
        return await self._files.look(path for _, path in files if self._is_lookable(path))

    def _is_lookable(self, path: str) -> bool:
        return path.startswith("/") and not self._files.is_unmounted(path)


class LocalFileLookup:
    """Answers at once; `changed` is called when a later lookup has another result.

    Owns one task, which looks for all that was asked meanwhile.
    """

    def __init__(self, files: LocalFiles, changed: Callable[[], None]) -> None:
        self._files = files
        self._changed = changed
        self._asked: set[WorkerFile] = set()
        self._looking: asyncio.Task[None] | None = None

    def of(self, cluster: str, path: str) -> str:
        self._asked.add((cluster, path))
        if self._looking is None or self._looking.done():
            self._looking = tasks.owned(self._look(), "local files", tasks.only_logged)
        return self._files.local(cluster, path)

    async def settled(self) -> None:
        """Returns when all requested files have been looked up, or given up."""
        if self._looking is not None:
            await asyncio.wait([self._looking])

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _look(self) -> None:
        while self._asked:
            asked, self._asked = self._asked, set()
            if await self._files.look(asked):
                self._changed()
