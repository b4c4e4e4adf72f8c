"""A watch over clusters, dashboards and adapters that say what a test puts into them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.model import ClusterStatus
from eagleray.common.errors import EaglerayError
from eagleray.common.worker_errors import no_log
from eagleray.protocol.adapter_control import WorkerState
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.errors import dashboard_failed, unknown_cluster
from eagleray.ray.rows import ActorRow, JobRow, NodeRow, TaskRow, WorkerRow
from eagleray.tools.pyspy import Dump, PySpy

from tests.debug.workers.rows import CLUSTER, SESSION

LIMIT_S = 90.0


class FakeDashboard(Dashboard):
    """Answers with its attributes; `asked` names the methods in the order of the calls.

    A method in `broken` fails; one in `gates` waits until its event is set.
    """

    def __init__(self, address: str = CLUSTER) -> None:
        self.address = address
        self.workers: list[WorkerRow] = []
        self.tasks: list[TaskRow] = []
        self.actor_rows: list[ActorRow] = []
        self.job_rows: list[JobRow] = []
        self.node_rows: list[NodeRow] = []
        self.profiling = False
        self.traces: dict[int, str] = {}
        self.files: dict[str, str] = {}
        self.streams: dict[str, asyncio.Queue[str | None]] = {}
        self.closed_streams: list[str] = []
        self.asked: list[str] = []
        self.broken: set[str] = set()
        self.gates: dict[str, asyncio.Event] = {}
        self.now = 0
        self.most = 0

    async def all_workers(self) -> list[WorkerRow]:
        return await self._answer("all_workers", self.workers)

    async def running_tasks(self) -> list[TaskRow]:
        return await self._answer("running_tasks", self.tasks)

    async def actors(self) -> list[ActorRow]:
        return await self._answer("actors", self.actor_rows)

    async def jobs(self) -> list[JobRow]:
        return await self._answer("jobs", self.job_rows)

    async def nodes(self) -> list[NodeRow]:
        return await self._answer("nodes", self.node_rows)

    async def profiling_enabled(self) -> bool:
        return await self._answer("profiling_enabled", self.profiling)

    async def traceback(self, pid: int, node_ip: str) -> str:
        return await self._answer("traceback", self.traces.get(pid, ""))

    async def log_files(self, node_id: str, pattern: str) -> list[str]:
        ending = pattern.rsplit(".", 1)[-1]
        return await self._answer("log_files", [n for n in self.files if n.endswith(ending)])

    async def log_file(self, node_id: str, filename: str, lines: int) -> str:
        if filename not in self.files:
            raise no_log(filename)
        return await self._answer("log_file", self.files[filename])

    async def log_stream(
        self, node_id: str, filename: str, lines: int = 0, interval_s: float = 0.25
    ) -> AsyncIterator[str]:
        try:
            while (chunk := await self.streams[filename].get()) is not None:
                yield chunk
        finally:
            self.closed_streams.append(filename)

    async def _answer(self, method: str, value: Any) -> Any:
        self.asked.append(method)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(0)
            if method in self.gates:
                await self.gates[method].wait()
        finally:
            self.now -= 1
        if method in self.broken:
            raise dashboard_failed(self.address, 500)
        return value


class FakeWatch(ClusterWatch):
    """One watched cluster whose paused workers are set by `show`."""

    def __init__(self, dashboard: FakeDashboard) -> None:
        self.fake = dashboard
        self.listeners: list[Callable[[ClusterStatus], None]] = []
        self.seen_visible: list[bool] = []
        self.refreshed: list[str | None] = []
        self.watched: dict[str, ClusterStatus] = {}
        self.show([])

    def show(
        self,
        rows: list[WorkerRow],
        session: str = SESSION,
        error: EaglerayError | None = None,
        gone_nodes: frozenset[str] = frozenset(),
    ) -> None:
        workers = tuple(rows)
        seen = ClusterStatus(
            self.fake.address,
            "connected",
            session,
            "2.60.0",
            workers,
            len(workers),
            error,
            gone_nodes,
        )
        self.watched[self.fake.address] = seen
        for listener in list(self.listeners):
            listener(seen)

    def gone(self) -> None:
        seen = self.watched.pop(self.fake.address)
        for listener in list(self.listeners):
            listener(seen)

    def dashboard(self, cluster: str) -> Dashboard:
        if cluster != self.fake.address:
            raise unknown_cluster(cluster)
        return self.fake

    def status(self, cluster: str) -> ClusterStatus:
        return self.watched[cluster]

    def statuses(self) -> list[ClusterStatus]:
        return list(self.watched.values())

    def listen(self, listener: Callable[[ClusterStatus], None]) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def set_visible(self, visible: bool) -> None:
        self.seen_visible.append(visible)

    async def refresh(self, cluster: str | None = None) -> None:
        self.refreshed.append(cluster)


class FakeAdapters:
    """Adapters that hold what `hold` says."""

    def __init__(self) -> None:
        self.states: list[WorkerState] = []
        self._changes: asyncio.Queue[list[WorkerState]] = asyncio.Queue()
        self._told = False

    def hold(self, *states: WorkerState) -> None:
        self.states = list(states)
        self._changes.put_nowait(self.states)
        self._told = False

    def all_told(self) -> bool:
        """Whether the follower has dealt with everything and waits for more."""
        return self._told

    async def workers(self) -> list[WorkerState]:
        return self.states

    async def watch(self) -> AsyncIterator[list[WorkerState]]:
        yield self.states
        while True:
            self._told = self._changes.empty()
            yield await self._changes.get()


class FakeSpy(PySpy):
    """py-spy that finds what `dumps` says."""

    def __init__(self, dumps: dict[int, Dump] | None = None) -> None:
        super().__init__("")
        self.dumps = dumps or {}
        self.asked: list[int] = []

    async def dump(self, pid: int) -> Dump | None:
        self.asked.append(pid)
        return self.dumps.get(pid)


async def until(holds: Callable[[], bool], limit_s: float = LIMIT_S) -> None:
    """Lets the loop continue until `holds()`, within a generous time."""

    async def spin() -> None:
        while not holds():
            await asyncio.sleep(0.005)

    await asyncio.wait_for(spin(), limit_s)
