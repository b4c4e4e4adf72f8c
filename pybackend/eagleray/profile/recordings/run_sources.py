"""The sources of one run's reports: its own folders, the nodes of its cluster, and nodes that have left it."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path

from eagleray.common.errors import EaglerayError
from eagleray.common.retry import DEPARTED_NODE
from eagleray.profile.recordings.sources import (
    LocalFolder,
    NodeLogs,
    RemoteFolder,
    Source,
    UnreachableCluster,
)
from eagleray.protocol.adapter_control import OpenedSocket
from eagleray.protocol.route_spec import DIRECT, RouteSpec, host_of
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.endpoint import Endpoint, FindEndpoint
from eagleray.ray.logs import RayAgent
from eagleray.runs.model import WorkerProfile
from eagleray.runs.remote_files import RemoteFiles
from eagleray.slurm.client import on_node
from eagleray.tools.commands import Commands

# Ray's default port of a node's agent (2.60, DEFAULT_DASHBOARD_AGENT_LISTEN_PORT).
AGENT_PORT = 52365

# The routes to a host of a cluster.
FindRoutes = Callable[[str, str], list[RouteSpec]]
OpenSocket = Callable[[list[RouteSpec], str, int], Awaitable[OpenedSocket]]

log = logging.getLogger(__name__)

# Cluster, host and folder.
_FolderKey = tuple[str, str, str]


class RunSources:
    """Used by the collector, on its loop; owns connections to the agents of nodes, which end with `close`.

    `remote` is a folder that the nodes share with each other and not with this machine.
    """

    def __init__(
        self,
        run: str,
        folder: Path,
        open_socket: OpenSocket,
        routes: FindRoutes,
        remote: RemoteFolder | None = None,
        departed: DepartedNodes | None = None,
    ) -> None:
        self._run = run
        self._folder = LocalFolder(folder)
        self._remote = remote
        self._departed = departed
        self._open_socket = open_socket
        self._routes = routes
        self._nodes: dict[str, NodeLogs] = {}
        self._agents: dict[str, RayAgent] = {}
        self._agent_ports: dict[str, int] = {}

    async def current(
        self,
        cluster: tuple[str, Dashboard] | None,
        workers: Sequence[WorkerProfile] = (),
        *,
        is_urgent: bool = True,
    ) -> Sequence[Source]:
        """All sources that can be reached, including nodes of `workers` that have left; `cluster` may be unknown.

        Unless `is_urgent`, nodes that have left are only included when their next poll is due.
        """

        def departed(served: Collection[str] = ()) -> list[RemoteFolder]:
            if self._departed is None:
                return []
            return self._departed.folders(workers, served, is_urgent=is_urgent)

        if cluster is None:
            return [*self._folders, *departed()]
        cluster_id, dashboard = cluster
        if self._departed is not None:
            self._departed.cluster = cluster_id
        try:
            nodes = await dashboard.nodes()
        except EaglerayError as error:
            # The cluster has ended, or its link is lost; the folders may still be reached.
            log.info("%s", error)
            return [*self._folders, *departed(), UnreachableCluster(error)]
        for node in nodes:
            if node.alive and node.node_id not in self._nodes:
                self._nodes[node.node_id] = self._node(cluster_id, dashboard, node.node_id, node.ip)
            elif not node.alive:
                self._nodes.pop(node.node_id, None)
        return [*self._folders, *self._nodes.values(), *departed(self._nodes)]

    def set_agent_ports(self, ports: Mapping[str, int]) -> None:
        """The ports of agents by node id, as the injected code on these nodes reports them."""
        self._agent_ports.update(ports)

    @property
    def has_remote_folder(self) -> bool:
        """Whether nodes write into a folder that commands on another machine see, a little later."""
        return self._remote is not None

    async def remove_remote_folder(self) -> None:
        """Frees the room on the cluster's file system; everything must have been collected."""
        if self._remote is not None:
            await self._remote.remove()

    async def close(self) -> None:
        for agent in self._agents.values():
            await agent.close()

    @property
    def _folders(self) -> list[Source]:
        """The sources that need no cluster."""
        return [self._folder, *([self._remote] if self._remote else [])]

    def _node(self, cluster: str, dashboard: Dashboard, node_id: str, ip: str) -> NodeLogs:
        def agent() -> RayAgent | None:
            if node_id not in self._agents:
                port = self._agent_ports.get(node_id, AGENT_PORT)
                try:
                    name = host_of(ip)
                except EaglerayError as error:
                    log.warning("the agent of a node isn't asked: %s", error)
                    return None
                host = f"[{name}]" if ":" in name else name
                endpoint = self._endpoint(cluster, ip, port, f"http://{host}:{port}")
                self._agents[node_id] = RayAgent(f"http://{host}:{port}", endpoint)
            return self._agents[node_id]

        return NodeLogs(dashboard, node_id, ip, self._run, agent)

    def _endpoint(self, cluster: str, ip: str, port: int, url: str) -> FindEndpoint:
        routes = self._routes(cluster, ip)

        async def find() -> Endpoint:
            if routes == [DIRECT]:
                return Endpoint(url)
            return Endpoint(url, (await self._open_socket(routes, ip, port)).socket)

        return find


class DepartedNodes:
    """Finds reports on nodes that have left the Ray cluster, over ssh or srun.

    `cluster` is where the workers ran, "" while that is unknown.  `routes` returns the hosts on which commands reach a
    host of a cluster; `clock` counts seconds.
    """

    def __init__(
        self,
        run: str,
        commands: Commands,
        routes: FindRoutes,
        cluster: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cluster = cluster
        self._run = run
        self._commands = commands
        self._routes = routes
        self._clock = clock
        self._folders: dict[_FolderKey, list[RemoteFolder]] = {}
        self._first_missed: dict[_FolderKey, float] = {}
        self._due: dict[_FolderKey, float] = {}

    def folders(
        self, workers: Sequence[WorkerProfile], served: Collection[str], *, is_urgent: bool = True
    ) -> list[RemoteFolder]:
        """The folders of workers on nodes that are not `served` any more, each once by each route.

        Unless `is_urgent`, because a caller waits for them, a node is left out until its next poll is due.
        """
        keys = dict.fromkeys(
            (self.cluster, worker.node, worker.folder)
            for worker in workers
            if worker.node_id not in served and self._is_run_folder(worker.folder)
        )
        polled = [key for key in keys if self._is_due(key) or is_urgent]
        return [folder for key in polled for folder in self._folders_by_route(*key)]

    def _is_due(self, key: _FolderKey) -> bool:
        """Whether to poll now; if so, the next poll is due after the interval of the schedule."""
        now = self._clock()
        if now < self._due.get(key, now):
            return False
        age = now - self._first_missed.setdefault(key, now)
        self._due[key] = now + DEPARTED_NODE.delay_s(age)
        return True

    def _is_run_folder(self, folder: str) -> bool:
        """Whether this can be the run's folder below the logs of a Ray; the remote script checks its owner."""
        is_inside = folder.startswith("/") and ".." not in folder.split("/")
        return is_inside and folder.endswith(f"/logs/eagleray/{self._run}")

    def _folders_by_route(self, cluster: str, host: str, folder: str) -> list[RemoteFolder]:
        key = (cluster, host, folder)
        if key not in self._folders:
            self._folders[key] = []
            for route in self._routes(cluster, host):
                try:
                    wrap = on_node(route, host)
                    files = RemoteFiles(self._commands, route.ssh, folder, host, wrap)
                except EaglerayError as error:
                    log.info("%s", error)
                else:
                    self._folders[key].append(RemoteFolder(files))
        return self._folders[key]
