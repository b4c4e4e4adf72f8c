"""Polls the status of all watched clusters: whether each answers, and which workers are paused.

One cheap query per cluster is polled and listeners are notified of changes.  Listeners query details
(tasks, actors) themselves, through `dashboard(cluster)`, and only when the set of workers changed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from attrs import evolve

from eagleray.clusters.model import ClusterState, ClusterStatus
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError, internal
from eagleray.common.listeners import Listeners
from eagleray.common.retry import WORKER_COUNT, Backoff, Clock
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.errors import unknown_cluster
from eagleray.ray.rows import NodeRow, RayVersion
from eagleray.routes.ssh import errors as ssh_errors

log = logging.getLogger(__name__)

# Called with the new status of a cluster.
StatusListener = Callable[[ClusterStatus], None]


class ClusterWatch:
    """Owns the dashboards of all connected clusters and one polling task each; lives on one event loop.

    The feature `clusters` adds and removes; others only read and listen.  A listener is called on the
    loop, with the new status, whenever `state`, `session`, `error` or the set of (worker, paused
    threads) changed, and must return quickly.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._watched: dict[str, WatchedCluster] = {}
        self._listeners = Listeners[[ClusterStatus]]()
        self._visible = False

    def add(self, dashboard: Dashboard, *, poll: bool = True) -> None:
        """Starts to watch a cluster, whose id is the dashboard's address.  `poll` False: only `refresh` queries it."""
        if dashboard.address in self._watched:
            raise ValueError(f"{dashboard.address} is watched already")
        watched = WatchedCluster(dashboard, self._clock, self._notify)
        self._watched[dashboard.address] = watched
        watched.set_visible(self._visible)
        if poll:
            watched.start()
        self._notify(watched.status)

    def start_polling(self) -> None:
        """Starts to poll the clusters that were added without polling."""
        for watched in self._watched.values():
            watched.start()

    async def remove(self, cluster: str) -> None:
        """Stops watching a cluster and closes its dashboard; listeners get a last status with nothing paused."""
        watched = self._watched.pop(cluster, None)
        if watched is not None:
            await watched.close()
            self._notify(evolve(watched.status, state="unreachable", paused=(), error=None))

    def dashboard(self, cluster: str) -> Dashboard:
        """The dashboard of a cluster; raises `unknown-cluster`."""
        return self._watched_cluster(cluster).dashboard

    def status(self, cluster: str) -> ClusterStatus:
        """The last status; raises `unknown-cluster`."""
        return self._watched_cluster(cluster).status

    def statuses(self) -> list[ClusterStatus]:
        """The last status of all clusters, in the order in which they were added."""
        return [watched.status for watched in self._watched.values()]

    def listen(self, listener: StatusListener) -> Callable[[], None]:
        """Calls `listener` with each change; returns a function that ends that."""
        return self._listeners.add(listener)

    @property
    def visible(self) -> bool:
        """Whether the panel is visible."""
        return self._visible

    def set_visible(self, visible: bool) -> None:
        """Polls every 0.5 s while the panel is visible, every 2 s otherwise."""
        self._visible = visible
        for watched in self._watched.values():
            watched.set_visible(visible)

    async def refresh(self, cluster: str | None = None) -> None:
        """Polls now and returns when `status` has the answers; a failure is in `ClusterStatus.error`, not raised."""
        queried = (
            list(self._watched.values()) if cluster is None else [self._watched_cluster(cluster)]
        )
        await asyncio.gather(*(watched.refresh() for watched in queried))

    def forget(self, cluster: str) -> None:
        """Drops what ran in a cluster whose job has changed; the next answer replaces it."""
        watched = self._watched.get(cluster)
        if watched is not None:
            watched.forget()

    def reset(self, cluster: str) -> None:
        """Polls a cluster at once, through a connection that is back or new."""
        watched = self._watched.get(cluster)
        if watched is not None:
            watched.reset()

    async def close(self) -> None:
        """Stops watching and closes all dashboards."""
        self._listeners.clear()
        for cluster in list(self._watched):
            await self.remove(cluster)

    def _watched_cluster(self, cluster: str) -> WatchedCluster:
        if cluster not in self._watched:
            raise unknown_cluster(cluster)
        return self._watched[cluster]

    def _notify(self, status: ClusterStatus) -> None:
        for listener in self._listeners:
            try:
                listener(status)
            except Exception:
                # A failing listener must not end the polling.
                log.exception("a listener of %s failed", status.cluster)


VISIBLE_S = 0.5
HIDDEN_S = 2.0
# Session, version and number of workers change slowly.
HIDDEN_SURVEY_S = 30.0
BACKOFF = Backoff(first_s=1.0, longest_s=15.0)


class WatchedCluster:
    """One watched cluster: its dashboard, last status and polling task; calls `notify` with each changed status.

    Owned by the watch, on its loop.
    """

    def __init__(self, dashboard: Dashboard, clock: Clock, notify: StatusListener) -> None:
        self.dashboard = dashboard
        self.status = ClusterStatus(dashboard.address, "connecting", "", "", (), -1, None)
        self._clock = clock
        self._notify = notify
        self._visible = False
        self._wake = asyncio.Event()
        self._querying = asyncio.Lock()
        self._refreshes: set[asyncio.Task[None]] = set()
        self._next: asyncio.Task[None] | None = None
        self._failures = 0
        self._answered_at = clock.now()
        self._surveyed_at: float | None = None
        self._changed_at = clock.now()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = tasks.lasting(self._poll, f"watch {self.dashboard.address}")

    def set_visible(self, visible: bool) -> None:
        if visible and not self._visible:
            self._wake.set()
        self._visible = visible

    def reset(self) -> None:
        """Polls at once through a connection that is back or new."""
        self.dashboard.reset()
        self._failures = 0
        self._surveyed_at = None
        self._wake.set()

    def forget(self) -> None:
        """Drops what ran in the cluster."""
        before = self.status
        self.status = evolve(before, paused=(), live_workers=-1, gone_nodes=frozenset())
        if is_changed(before, self.status):
            self._notify(self.status)

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        # Callers that wait for a refresh get its failure as soon as the connections are closed.
        await self.dashboard.close()
        await asyncio.gather(*self._refreshes, return_exceptions=True)

    async def refresh(self) -> None:
        """Queries the cluster once, after a query that is running, and notifies of changes.

        Callers share a refresh that has not started yet: queries must not pile up for a cluster that
        does not answer.
        """
        if self._next is None:
            self._next = tasks.shared(self._refresh(), f"refresh {self.dashboard.address}")
            self._refreshes.add(self._next)
            self._next.add_done_callback(self._refreshes.discard)
        await asyncio.shield(self._next)

    async def _refresh(self) -> None:
        async with self._querying:
            self._next = None
            try:
                status = await self._query()
            except EaglerayError as error:
                status = self._failed(error)
            except Exception as error:
                # An internal error is shown as this cluster's: it must not end the polling for good.
                log.exception("refreshing %s failed", self.dashboard.address)
                status = self._failed(internal(f"{type(error).__name__}: {error}"))
            else:
                self._failures = 0
                self._answered_at = self._clock.now()
            before, self.status = self.status, status
        if is_changed(before, status):
            self._notify(status)

    async def _poll(self) -> None:
        while True:
            self._wake.clear()
            await self.refresh()
            await tasks.wait_for_event(self._wake, self._wait_s())

    def _wait_s(self) -> float:
        if self._failures:
            return BACKOFF.wait_s(self._failures)
        return VISIBLE_S if self._visible else HIDDEN_S

    async def _query(self) -> ClusterStatus:
        now = self._clock.now()
        age_s = now - self._changed_at
        every = WORKER_COUNT.interval_s(age_s) if self._visible else HIDDEN_SURVEY_S
        # After a failure another cluster may answer at this address, hence the query for its session.
        due = self._surveyed_at is None or self._failures or now - self._surveyed_at >= every
        status = evolve(self.status, state="connected", error=None)
        if due:
            status = with_version(status, await self.dashboard.version())
        paused = await self.dashboard.paused_workers()
        status = evolve(status, paused=tuple(sorted(paused, key=lambda worker: worker.worker_id)))
        if due:
            workers, actors = await asyncio.gather(
                self.dashboard.all_workers(), self.dashboard.actors()
            )
            internal = {(actor.node_id, actor.pid) for actor in actors if actor.is_internal}
            live = sum(
                worker.kind == "worker" and (worker.node_id, worker.pid) not in internal
                for worker in workers
            )
            if live != status.live_workers:
                self._changed_at = now
            status = evolve(status, live_workers=live)
            if status.paused:
                status = with_nodes(status, await self.dashboard.nodes())
            self._surveyed_at = now
        return status

    def _failed(self, error: EaglerayError) -> ClusterStatus:
        self._failures += 1
        return after_failure(self.status, error, self._clock.now() - self._answered_at)


STATE_BY_ERROR: dict[str, ClusterState] = {
    "cluster-connecting": "connecting",
    "job-waits": "connecting",
    "job-over": "unreachable",
    "no-ray-in-job": "unreachable",
    "not-surely-yours": "unreachable",
    "ray-not-on-usual-port": "unreachable",
    "bridge-needs-click": "unreachable",
    "job-not-looked-into": "unreachable",
    "slurm-failed": "unreachable",
    "no-slurm": "unreachable",
    "command-slow": "unreachable",
    "command-missing": "unreachable",
    "no-srun": "unreachable",
    "srun-failed": "unreachable",
    "node-not-in-job": "unreachable",
    "no-python": "unreachable",
    "job-waits-for-step": "unreachable",
    "port-refused": "unreachable",
    "port-silent": "unreachable",
    "link-lost": "unreachable",
    "cluster-unreachable": "unreachable",
    "token-needed": "unauthorized",
    "token-refused": "unauthorized",
    "token-expired": "unauthorized",
    "proxy-refused": "unauthorized",
    "ca-needed": "unauthorized",
    "certificate-refused": "unauthorized",
    "bad-ca-file": "unauthorized",
    "bad-access-file": "unauthorized",
    "headers-kept-back": "not-ray",
    "stranger-listens": "not-ray",
    "not-ray": "not-ray",
    "redirected": "not-ray",
    "bad-address": "not-ray",
}

# Errors of the connection, which say nothing about the cluster behind it: its workers count as still paused.
CONNECTION_ERRORS = frozenset({
    "link-lost", "bridge-needs-click", "no-srun", "srun-failed", "no-python", "job-waits-for-step",
    "job-not-looked-into", "slurm-failed", "no-slurm", "command-slow", "command-missing",
})  # fmt: skip

# After this time without a head node its paused workers count as gone.
FORGET_S = 8.0


def with_version(status: ClusterStatus, version: RayVersion) -> ClusterStatus:
    """`status` with that version and session; everything of another session is dropped."""
    if status.session and status.session != version.session:
        status = evolve(status, paused=(), live_workers=-1, gone_nodes=frozenset())
    return evolve(status, session=version.session, ray_version=version.ray)


def with_nodes(status: ClusterStatus, nodes: list[NodeRow]) -> ClusterStatus:
    """`status` with the nodes of its paused workers that are dead by the newer list of nodes.

    A node that comes back has another id, at the same address.
    """
    alive = {node.node_id for node in nodes if node.alive}
    return evolve(status, gone_nodes=frozenset(w.node_id for w in status.paused) - alive)


def after_failure(status: ClusterStatus, error: EaglerayError, silent_s: float) -> ClusterStatus:
    """`status` after a failed request, `silent_s` after the last answer."""
    by_ssh = error.code in ssh_errors.CODES
    state = STATE_BY_ERROR.get(error.code, "unreachable" if by_ssh else "failing")
    is_connection = by_ssh or error.code in CONNECTION_ERRORS
    gone = state in ("unreachable", "not-ray") and silent_s >= FORGET_S and not is_connection
    if before := status.error:
        # The same failure again isn't a change, even if its details differ.
        error = before if before.code == error.code else error
    return evolve(status, state=state, error=error, paused=() if gone else status.paused)


def is_changed(before: ClusterStatus, after: ClusterStatus) -> bool:
    """Whether listeners must be notified."""
    return _compared(before) != _compared(after)


def _compared(status: ClusterStatus) -> object:
    paused = tuple((worker.worker_id, worker.paused_threads) for worker in status.paused)
    code = status.error.code if status.error else ""
    live = (status.live_workers, status.gone_nodes)
    return (status.state, status.session, status.ray_version, paused, live, code)
