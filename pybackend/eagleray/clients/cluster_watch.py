"""Watching of all connected clusters: who is connected, and which workers are paused there.

It polls one cheap query per cluster and tells its listeners when something changed.  Details (tasks,
actors) are for the listener to ask, through `dashboard(cluster)`, and only when the set changed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Literal

from attrs import evolve, frozen

from eagleray.clients.ray_dashboard import Dashboard
from eagleray.clients.ray_values import Version, WorkerRow
from eagleray.common.clock import Clock, SystemClock
from eagleray.common.errors import EaglerayError, internal, unknown_cluster
from eagleray.common.retry import Backoff

State = Literal["connecting", "connected", "unreachable", "unauthorized", "not-ray", "failing"]

STATES: dict[str, State] = {
    "cluster-unreachable": "unreachable",
    "token-needed": "unauthorized",
    "token-refused": "unauthorized",
    "not-ray": "not-ray",
    "redirected": "not-ray",
    "bad-address": "not-ray",
}

VISIBLE_S = 0.5
HIDDEN_S = 2.0
# Who runs there and how many workers live changes slowly.
SURVEY_S = 5.0
HIDDEN_SURVEY_S = 30.0
# A head node that is gone for so long took its paused workers with it.
FORGET_S = 8.0
BACKOFF = Backoff(first_s=1.0, longest_s=15.0)

log = logging.getLogger(__name__)


@frozen
class Seen:
    """What the last answers of one cluster said.

    `cluster` is its id (`http://host:port`).  `session` and `ray_version` are "" before the first
    answer.  While a cluster does not answer, `paused` keeps what was seen last and `error` says why;
    one that cannot be reached, or is something else, for 8 s has nothing paused.  `live_workers` counts worker processes,
    drivers not among them, at the last look (-1: not yet known).
    """

    cluster: str
    state: State
    session: str
    ray_version: str
    paused: tuple[WorkerRow, ...]
    live_workers: int
    error: EaglerayError | None


Listener = Callable[[Seen], None]


class ClusterWatch:
    """Owns the dashboards of all connected clusters and one polling task each; lives on one event loop.

    The feature `clusters` adds and removes; others only look and listen.  A listener is called on the
    loop, with the new `Seen`, whenever `state`, `session`, `error` or the set of (worker, paused
    threads) changed, and must return quickly.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._watched: dict[str, _Watched] = {}
        self._listeners: list[Listener] = []
        self._visible = False

    def add(self, dashboard: Dashboard, *, poll: bool = True) -> None:
        """Begins to watch; its address is the id of the cluster.  `poll` False: only `refresh` looks."""
        if dashboard.address in self._watched:
            raise ValueError(f"{dashboard.address} is watched already")
        watched = _Watched(dashboard, self._clock, self._tell)
        self._watched[dashboard.address] = watched
        watched.set_visible(self._visible)
        if poll:
            watched.start()
        self._tell(watched.seen)

    def poll(self) -> None:
        """Begins to poll what was added without."""
        for watched in self._watched.values():
            watched.start()

    async def remove(self, cluster: str) -> None:
        """Ends watching of a cluster, closes its dashboard; listeners hear one last `Seen` with nothing paused."""
        watched = self._watched.pop(cluster, None)
        if watched is not None:
            await watched.close()
            self._tell(evolve(watched.seen, state="unreachable", paused=(), error=None))

    def dashboard(self, cluster: str) -> Dashboard:
        """The dashboard of a cluster; raises `unknown-cluster`."""
        return self._of(cluster).dashboard

    def seen(self, cluster: str) -> Seen:
        """What was seen last; raises `unknown-cluster`."""
        return self._of(cluster).seen

    def all_seen(self) -> list[Seen]:
        """The same of all clusters, in the order in which they were added."""
        return [watched.seen for watched in self._watched.values()]

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener` at changes; the answer ends that."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    @property
    def visible(self) -> bool:
        """Whether the panel is visible."""
        return self._visible

    def set_visible(self, visible: bool) -> None:
        """Polls every 0.5 s while the panel is visible, every 2 s else."""
        self._visible = visible
        for watched in self._watched.values():
            watched.set_visible(visible)

    async def refresh(self, cluster: str | None = None) -> None:
        """Polls now and returns when the answers are in `seen`; a failure is in `Seen.error`, not raised."""
        asked = list(self._watched.values()) if cluster is None else [self._of(cluster)]
        await asyncio.gather(*(watched.look() for watched in asked))

    async def close(self) -> None:
        """Ends all watching and closes all dashboards."""
        self._listeners.clear()
        for cluster in list(self._watched):
            await self.remove(cluster)

    def _of(self, cluster: str) -> _Watched:
        if cluster not in self._watched:
            raise unknown_cluster(cluster)
        return self._watched[cluster]

    def _tell(self, seen: Seen) -> None:
        for listener in list(self._listeners):
            try:
                listener(seen)
            except Exception:
                # One listener that fails must not end the polling of the others.
                log.exception("a listener of %s failed", seen.cluster)


class _Watched:
    """One cluster under watch: its dashboard, what was seen last, and the task that polls."""

    def __init__(self, dashboard: Dashboard, clock: Clock, tell: Listener) -> None:
        self.dashboard = dashboard
        self.seen = Seen(dashboard.address, "connecting", "", "", (), -1, None)
        self._clock = clock
        self._tell = tell
        self._visible = False
        self._wake = asyncio.Event()
        self._looking = asyncio.Lock()
        self._failures = 0
        self._answered_at = clock.now()
        self._surveyed_at: float | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._poll(), name=f"watch {self.dashboard.address}")

    def set_visible(self, visible: bool) -> None:
        if visible and not self._visible:
            self._wake.set()
        self._visible = visible

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await self.dashboard.close()

    async def look(self) -> None:
        """Asks once and tells what changed; two looks at a time are one after the other."""
        async with self._looking:
            try:
                seen = await self._ask()
            except EaglerayError as error:
                self._failures += 1
                seen = self._failed(error)
            except Exception as error:
                log.exception("looking at %s failed", self.dashboard.address)
                self._failures += 1
                seen = self._failed(internal(f"{type(error).__name__}: {error}"))
            else:
                self._failures = 0
                self._answered_at = self._clock.now()
            before, self.seen = self.seen, seen
        if _told(before) != _told(seen):
            self._tell(seen)

    async def _poll(self) -> None:
        while True:
            await self.look()
            self._wake.clear()
            try:
                await asyncio.wait_for(self._wake.wait(), self._wait_s())
            except asyncio.TimeoutError:
                continue

    def _wait_s(self) -> float:
        if self._failures:
            return BACKOFF.wait_s(self._failures)
        return VISIBLE_S if self._visible else HIDDEN_S

    async def _ask(self) -> Seen:
        now = self._clock.now()
        every = SURVEY_S if self._visible else HIDDEN_SURVEY_S
        # After a failure another cluster may answer at this address, hence the question who it is.
        due = self._surveyed_at is None or self._failures or now - self._surveyed_at >= every
        seen = evolve(self.seen, state="connected", error=None)
        if due:
            seen = _of_version(seen, await self.dashboard.version())
        paused = await self.dashboard.paused_workers()
        seen = evolve(seen, paused=tuple(sorted(paused, key=lambda worker: worker.worker_id)))
        if due:
            workers = await self.dashboard.all_workers()
            live = sum(worker.kind == "worker" for worker in workers)
            seen = evolve(seen, live_workers=live)
            self._surveyed_at = now
        return seen

    def _failed(self, error: EaglerayError) -> Seen:
        state = STATES.get(error.code, "failing")
        silent_s = self._clock.now() - self._answered_at
        gone = state in ("unreachable", "not-ray") and silent_s >= FORGET_S
        if before := self.seen.error:
            # The same failure again is no news, even if its details differ.
            error = before if before.code == error.code else error
        return evolve(self.seen, state=state, error=error, paused=() if gone else self.seen.paused)


def _of_version(seen: Seen, version: Version) -> Seen:
    """`seen` of that version and session; nothing of another session is kept."""
    if seen.session and seen.session != version.session:
        seen = evolve(seen, paused=(), live_workers=-1)
    return evolve(seen, session=version.session, ray_version=version.ray)


def _told(seen: Seen) -> object:
    """That of `seen` whose change is news."""
    paused = tuple((worker.worker_id, worker.paused_threads) for worker in seen.paused)
    code = seen.error.code if seen.error else ""
    return (seen.state, seen.session, seen.ray_version, paused, seen.live_workers, code)
