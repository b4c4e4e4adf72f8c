"""Watching of all connected clusters: who is connected, and which workers are paused there.

It polls one cheap query per cluster and tells its listeners when something changed.  Details (tasks,
actors) are for the listener to ask, through `dashboard(cluster)`, and only when the set changed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from attrs import evolve

from eagleray.common.clock import Clock, SystemClock
from eagleray.common.listeners import Listeners
from eagleray.features.clusters.cluster_status import Listener, Seen
from eagleray.features.clusters.watched_cluster import WatchedCluster
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.errors import unknown_cluster

log = logging.getLogger(__name__)


class ClusterWatch:
    """Owns the dashboards of all connected clusters and one polling task each; lives on one event loop.

    The feature `clusters` adds and removes; others only look and listen.  A listener is called on the
    loop, with the new `Seen`, whenever `state`, `session`, `error` or the set of (worker, paused
    threads) changed, and must return quickly.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._watched: dict[str, WatchedCluster] = {}
        self._listeners = Listeners[[Seen]]()
        self._visible = False

    def add(self, dashboard: Dashboard, *, poll: bool = True) -> None:
        """Begins to watch; its address is the id of the cluster.  `poll` False: only `refresh` looks."""
        if dashboard.address in self._watched:
            raise ValueError(f"{dashboard.address} is watched already")
        watched = WatchedCluster(dashboard, self._clock, self._tell)
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
        return self._listeners.add(listener)

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

    def forget(self, cluster: str) -> None:
        """What was seen running there is gone, as its job said; the next answer says what there is."""
        watched = self._watched.get(cluster)
        if watched is not None:
            watched.forget()

    def reset(self, cluster: str) -> None:
        """The way to a cluster has come back or become another one: it is looked at through it, at once."""
        watched = self._watched.get(cluster)
        if watched is not None:
            watched.reset()

    async def close(self) -> None:
        """Ends all watching and closes all dashboards."""
        self._listeners.clear()
        for cluster in list(self._watched):
            await self.remove(cluster)

    def _of(self, cluster: str) -> WatchedCluster:
        if cluster not in self._watched:
            raise unknown_cluster(cluster)
        return self._watched[cluster]

    def _tell(self, seen: Seen) -> None:
        for listener in self._listeners:
            try:
                listener(seen)
            except Exception:
                # One listener that fails must not end the polling of the others.
                log.exception("a listener of %s failed", seen.cluster)
