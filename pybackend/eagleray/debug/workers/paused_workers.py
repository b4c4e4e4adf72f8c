"""All paused and held workers of all watched clusters: joins Ray's lists, the adapters' states and local files."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

from attrs import frozen

from eagleray.adapter_client.sessions import AdapterSessions
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.model import ClusterStatus
from eagleray.clusters.stop_counts import StopCounts
from eagleray.common import tasks
from eagleray.common.blocking_calls import off_loop
from eagleray.common.listeners import Listeners
from eagleray.common.retry import Clock
from eagleray.common.worker_errors import ambiguous_worker, unknown_worker
from eagleray.debug.workers.model import Key, PausedGroup, PausedWorker, all_workers
from eagleray.debug.workers.paused_rows import (
    ListedWorker,
    RowSources,
    count_stops,
    group,
    merge,
    waits,
)
from eagleray.debug.workers.stop_location import PauseLocator, WorkerPause
from eagleray.debug.workers.worker_facts import clean
from eagleray.debug.workers.worker_names import Describer, ShownWorkers
from eagleray.protocol.adapter_control import WorkerState
from eagleray.ray.rows import WorkerRow
from eagleray.tools.pyspy import PySpy

FACTS_LIMIT_S = 10.0
# How often the home is polled for workers that adapters on other machines hold.
POLL_ELSEWHERE_S = 5.0


class PausedWorkers:
    """The paused, held and attached workers; lives on one event loop, owns its lookups until `close`.

    The sidecar runs `run` and listens; the command line calls `refresh` once.
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
        self._local_files = LocalFileLookup(files or LocalFiles(), self._changed)
        self._elsewhere = elsewhere
        self._states_here: list[WorkerState] = []
        self._changes_here = 0
        self._states_elsewhere: list[WorkerState] = []
        self._states: list[WorkerState] = []
        self._waits = WaitTimer(clock or Clock())
        self._holds = WaitTimer(clock or Clock())
        self._describer = Describer(watch.dashboard, self._changed)
        self._locator = PauseLocator(
            watch.dashboard,
            spy or PySpy(),
            self._changed,
            is_local=is_local,
            on_waited=lambda pause, seconds: self._waits.start(pause.key, pause.number, seconds),
        )
        self._listeners = Listeners[[]]()
        self._explained: Callable[[PausedGroup], PausedGroup] = lambda group: group
        self._clusters: set[str] = set()
        # Sessions whose list was known before: a worker that is new in it has just begun to wait.
        self._listed_sessions: set[str] = set()

    def groups(self, clusters: Collection[str] | None = None) -> tuple[PausedGroup, ...]:
        """The current groups, of all clusters or of some."""
        sources = RowSources(
            self._describer.facts,
            self._describer.homes,
            self._locator.stops,
            self._waits.seconds,
            # Most workers are stopped in the same few files.
            cache(self._local_files.of),
            lambda key: self._holds.seconds(key) or 0.0,
        )
        states = [s for s in self._states if clusters is None or s.cluster in clusters]
        rows = merge(self._listed(clusters), states, sources)
        return tuple(map(self._explained, group(rows, self._describer.facts)))

    def count_stops(self, cluster: str) -> StopCounts:
        """How many workers of a cluster are stopped, as its rows show it."""
        states = [state for state in self._states if state.cluster == cluster]
        return count_stops(self._listed([cluster]), states)

    def explain(self, explained: Callable[[PausedGroup], PausedGroup]) -> None:
        """Lets `explained` say of each group who waits for it; `notify_changed` says that this may have changed."""
        self._explained = explained

    def notify_changed(self) -> None:
        self._changed()

    def located(self) -> list[PausedWorker]:
        """All workers except those whose stop location is still being looked up."""
        workers = all_workers(self.groups())
        return [worker for worker in workers if not self._locator.is_locating(worker.key)]

    def _adopt(self) -> None:
        """Updates the adapters' states; a cluster may have been attached to under another address.

        Those that adapters of other machines wrote to files count only in a cluster that is watched here, and are
        older than Ray's list.
        """
        statuses = self._watch.statuses()
        ids = {status.cluster for status in statuses}
        sessions = {status.session: status.cluster for status in statuses if status.session}
        own = {(state.session, state.worker_id) for state in self._states_here}
        own |= {(entry.session, entry.row.worker_id) for entry in self._listed()}
        elsewhere = [
            state
            for state in self._states_elsewhere
            if state.session in sessions and (state.session, state.worker_id) not in own
        ]
        self._states = [
            state
            if state.cluster in ids
            else replace(state, cluster=sessions.get(state.session, state.cluster))
            for state in [*self._states_here, *elsewhere]
        ]

    async def refresh(
        self, clusters: Collection[str] | None = None, locate_s: float = 0.0
    ) -> tuple[PausedGroup, ...]:
        """Queries everything again; waits at most `locate_s` for stop locations.

        Of a cluster that is not watched, only the adapters' workers are returned.
        """
        watched = {status.cluster for status in self._watch.statuses()}
        queried = (
            [None] if clusters is None else [cluster for cluster in clusters if cluster in watched]
        )
        await asyncio.gather(
            self.refresh_states(), *(self._watch.refresh(cluster) for cluster in queried)
        )
        self._adopt()
        self._update()
        await self.described(FACTS_LIMIT_S)
        if locate_s > 0:
            await _at_most(self._locator.settled(), locate_s)
        self.groups(clusters)
        await self._local_files.settled()
        return self.groups(clusters)

    async def refresh_states(self) -> None:
        """Queries the adapters for the workers that they have."""
        changes = self._changes_here
        states_here, self._states_elsewhere = await asyncio.gather(
            self._sessions.workers(), off_loop(self._elsewhere)
        )
        # Changes that the adapters sent meanwhile are newer than their response.
        if changes == self._changes_here:
            self._states_here = states_here
        self._adopt()

    async def described(self, limit_s: float) -> None:
        """Waits until all workers have been described, but not longer than `limit_s`."""
        loop = asyncio.get_running_loop()
        end = loop.time() + limit_s
        # Workers that are paused meanwhile are waited for too: their rows need names as well.
        while self._describer.pending and (left := end - loop.time()) > 0:
            await _at_most(self._describer.settled(), left)

    async def find(self, cluster: str, worker: str) -> PausedWorker:
        """The worker with this id, this name or this rank, or the only one whose id begins with this text.

        `cluster` may also be the address at which a run found a cluster that is watched under another address.
        """
        matches = _matching(all_workers(self.groups(self._listed_as(cluster))), worker)
        if not matches:
            await self.refresh([cluster])
            matches = _matching(all_workers(self.groups(self._listed_as(cluster))), worker)
        if not matches:
            raise unknown_worker(worker)
        if len(matches) > 1:
            raise ambiguous_worker(worker, len(matches))
        return matches[0]

    def _listed_as(self, cluster: str) -> set[str]:
        """The addresses under which `_adopt` lists workers of a cluster: a driver of a run keeps the run's address."""
        pairs = zip(self._states_here, self._states, strict=False)
        return {cluster, *(listed.cluster for state, listed in pairs if state.cluster == cluster)}

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls `listener`, which must return quickly, whenever `groups` may have changed; returns a function that ends that."""
        return self._listeners.add(listener)

    async def run(self) -> None:
        """Follows the watched clusters and the adapters until it is cancelled."""
        end = self._watch.listen(self._on_status)
        polling = tasks.lasting(self._poll_elsewhere, "workers elsewhere")
        try:
            self._update()
            async for states in self._sessions.watch():
                self._changes_here += 1
                self._states_here = states
                self._adopt()
                self._update()
        finally:
            polling.cancel()
            end()

    async def _poll_elsewhere(self) -> None:
        """Reads off the loop, since the home may be on a slow file system."""
        while True:
            states = await off_loop(self._elsewhere)
            if states != self._states_elsewhere:
                self._states_elsewhere = states
                self._adopt()
                self._update()
            await asyncio.sleep(POLL_ELSEWHERE_S)

    async def close(self) -> None:
        await self._describer.close()
        await self._locator.close()
        await self._local_files.close()

    def _on_status(self, _status: ClusterStatus) -> None:
        self._adopt()
        self._update()

    def _listed(self, clusters: Collection[str] | None = None) -> list[ListedWorker]:
        return [
            ListedWorker(status.cluster, status.session, row, row.node_id in status.gone_nodes)
            for status in self._watch.statuses()
            if clusters is None or status.cluster in clusters
            for row in status.paused
        ]

    def _update(self) -> None:
        listed = self._listed()
        states = {(s.session, s.worker_id): s for s in self._states if s.state != "gone"}
        waiting = {(entry.session, entry.row.worker_id) for entry in listed}
        waiting = {key for key in waiting if key not in states} | {
            key for key, state in states.items() if waits(state)
        }
        stops = {key: state.stop.number for key, state in states.items() if state.stop}
        self._waits.update(
            waiting,
            lambda key: 0.0 if key in states or key[0] in self._listed_sessions else None,
            stops,
        )
        self._listed_sessions = {
            status.session for status in self._watch.statuses() if status.state == "connected"
        }
        held = {key: s.held_s for key, s in states.items() if s.state == "stopped" and not s.editor}
        self._holds.update(held, held.get, stops)
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
        sessions = {status.cluster: status.session for status in self._watch.statuses()}
        for cluster, session in sessions.items():
            workers = rows.get((cluster, session), {})
            numbers = (self._waits.number((session, worker_id)) for worker_id in workers)
            wanted = ShownWorkers(session, workers, frozenset(n for n in numbers if n is not None))
            self._describer.want(cluster, wanted)
        for cluster in self._clusters - sessions.keys():
            self._describer.forget(cluster)
        self._clusters = set(sessions)

    def _changed(self) -> None:
        self._listeners.notify()


def _matching(workers: list[PausedWorker], text: str) -> list[PausedWorker]:
    exact = [worker for worker in workers if worker.worker_id == text]
    names = (clean(text), f"driver · {clean(text)}")
    named = [worker for worker in workers if worker.name and worker.name in names]
    by_prefix = [worker for worker in workers if text and worker.worker_id.startswith(text)]
    ranked = [worker for worker in workers if text.isdecimal() and text == str(worker.rank)]
    return exact or named or ranked or by_prefix


async def _at_most(waiting: Coroutine[Any, Any, None], limit_s: float) -> None:
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(waiting, limit_s)


class WaitTimer:
    """Times waits, each with its own number.

    A wait starts when it is first listed.  It ends when the worker runs, or has another stop: it may have run unseen.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[Key, float] = {}
        self._number: dict[Key, int] = {}
        self._stops: dict[Key, int] = {}
        self._count = 0

    def update(
        self,
        waiting: Collection[Key],
        before: Callable[[Key], float | None] = lambda key: 0.0,
        stops: Mapping[Key, int] = MappingProxyType({}),
    ) -> None:
        """`waiting` are all workers that wait now; `before` are the seconds for which a new one has waited already.

        None: the start of its wait is unknown.  `stops` are the numbers that debug adapters gave the stops.
        """
        others = {key for key, stop in stops.items() if self._stops.get(key, stop) != stop}
        for ended in self._number.keys() & (others | self._number.keys() - set(waiting)):
            self._since.pop(ended, None)
            del self._number[ended]
        self._stops = {
            key: stop for key, stop in {**self._stops, **stops}.items() if key in waiting
        }
        for key in waiting:
            if key not in self._number:
                self._count += 1
                self._number[key] = self._count
                seconds = before(key)
                if seconds is not None:
                    self._since[key] = self._clock.now() - seconds

    def start(self, key: Key, number: int, seconds: float) -> None:
        """Sets since when the wait with this number lasts, unless that is known."""
        if self._number.get(key) == number:
            self._since.setdefault(key, self._clock.now() - seconds)

    def seconds(self, key: Key) -> float | None:
        """The seconds of its current wait; None if they are unknown, 0.0 if it does not wait."""
        since = self._since.get(key)
        if since is None:
            return None if key in self._number else 0.0
        return max(0.0, self._clock.now() - since)

    def number(self, key: Key) -> int | None:
        """The number of its current wait, never used twice; None if it does not wait."""
        return self._number.get(key)


# A file of a worker: its cluster, and its path there.
WorkerFile = tuple[str, str]


async def _find_nothing(files: Collection[WorkerFile]) -> bool:
    return False


@frozen
class LocalFiles:
    """Finds the local files of workers' files: none by default.

    `local` returns the local file by the last lookup, "" without one.  `look_up` looks up local files and returns
    whether a result of `local` may have changed.
    """

    local: Callable[[str, str], str] = lambda cluster, path: ""
    look_up: Callable[[Collection[WorkerFile]], Awaitable[bool]] = _find_nothing


class LocalFileLookup:
    """Answers from memory and looks up in the background; calls `changed` when a lookup has another result.

    Owns one task, which looks up all files that were requested meanwhile.
    """

    def __init__(self, files: LocalFiles, changed: Callable[[], None]) -> None:
        self._files = files
        self._changed = changed
        self._requested: set[WorkerFile] = set()
        self._task: asyncio.Task[None] | None = None

    def of(self, cluster: str, path: str) -> str:
        self._requested.add((cluster, path))
        if self._task is None or self._task.done():
            self._task = tasks.owned(self._look_up(), "local files", tasks.only_logged)
        return self._files.local(cluster, path)

    async def settled(self) -> None:
        """Returns when all requested files have been looked up, or given up."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _look_up(self) -> None:
        while self._requested:
            requested, self._requested = self._requested, set()
            if await self._files.look_up(requested):
                self._changed()
