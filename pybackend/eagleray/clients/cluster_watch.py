"""Watching of all connected clusters: who is connected, and which workers are paused there.

It polls one cheap query per cluster and tells its listeners when something changed.  Details (tasks,
actors) are for the listener to ask, through `dashboard(cluster)`, and only when the set changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from attrs import frozen

from eagleray.clients.ray_dashboard import Dashboard
from eagleray.clients.ray_values import WorkerRow
from eagleray.common.errors import EaglerayError

State = Literal["connecting", "connected", "unreachable", "unauthorized", "not-ray", "failing"]


@frozen
class Seen:
    """What the last answers of one cluster said.

    `cluster` is its id (`http://host:port`).  `session` and `ray_version` are "" before the first
    answer.  While a cluster does not answer, `paused` keeps what was seen last and `error` says why.
    `live_workers` counts drivers and workers at the last look (-1: not yet known).
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

    def add(self, dashboard: Dashboard) -> None:
        """Begins to watch; its address is the id of the cluster."""
        raise NotImplementedError

    async def remove(self, cluster: str) -> None:
        """Ends watching of a cluster, closes its dashboard; listeners hear one last `Seen` with nothing paused."""
        raise NotImplementedError

    def dashboard(self, cluster: str) -> Dashboard:
        """The dashboard of a cluster; raises `unknown-cluster`."""
        raise NotImplementedError

    def seen(self, cluster: str) -> Seen:
        """What was seen last; raises `unknown-cluster`."""
        raise NotImplementedError

    def all_seen(self) -> list[Seen]:
        """The same of all clusters, in the order in which they were added."""
        raise NotImplementedError

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener` at changes; the answer ends that."""
        raise NotImplementedError

    def set_visible(self, visible: bool) -> None:
        """Polls every 0.5 s while the panel is visible, every 2 s else."""
        raise NotImplementedError

    async def refresh(self, cluster: str | None = None) -> None:
        """Polls now and returns when the answers are in `seen`; a failure is in `Seen.error`, not raised."""
        raise NotImplementedError

    async def close(self) -> None:
        """Ends all watching and closes all dashboards."""
        raise NotImplementedError
