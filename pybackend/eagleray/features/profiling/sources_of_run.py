"""The places in which reports of a run may lie: its own folder, and the nodes of its cluster as they come and go."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from eagleray.common.errors import EaglerayError
from eagleray.features.profiling.departed_nodes import LeftNodes
from eagleray.features.profiling.remote_folder import FarFolder
from eagleray.features.profiling.sources import Folder, Gone, Node, Source
from eagleray.features.runs.model import ProfiledWorker
from eagleray.protocol.control import OpenedSocket
from eagleray.protocol.route_spec import DIRECT, RouteSpec
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.endpoint import Endpoint, FindEndpoint
from eagleray.ray.logs import RayAgent
from eagleray.tools.host_names import host_of

# Where the agent of a node listens unless somebody said otherwise.
AGENT_PORT = 52365

log = logging.getLogger(__name__)


class OpensSockets(Protocol):
    """What owns the connections into a cluster."""

    async def open_socket(self, routes: list[RouteSpec], host: str, port: int) -> OpenedSocket: ...


class SourcesOfRun:
    """Belongs to who gathers, on its loop; owns connections to the agents of nodes, which end with `close`.

    `far` is a folder that the nodes share with each other and not with this machine, `left` knows of nodes without Ray.
    """

    def __init__(
        self,
        run: str,
        folder: Path,
        opens: OpensSockets,
        routes: Callable[[str, str], list[RouteSpec]],
        far: FarFolder | None = None,
        left: LeftNodes | None = None,
    ) -> None:
        self._run = run
        self._folder = Folder(folder)
        self._far = far
        self._left = left
        self._opens = opens
        self._routes = routes
        self._nodes: dict[str, Node] = {}
        self._agents: dict[str, RayAgent] = {}
        self._ports: dict[str, int] = {}

    async def now(
        self,
        home: tuple[str, Dashboard] | None,
        workers: Sequence[ProfiledWorker] = (),
        *,
        at_once: bool = True,
    ) -> Sequence[Source]:
        """All places that can be reached, also nodes of `workers` that have left; `home` is the cluster, if known.

        Unless `at_once`, nodes that have left are only looked at now and then.
        """

        def left(served: Collection[str] = ()) -> list[FarFolder]:
            return self._left.of(workers, served, at_once=at_once) if self._left else []

        if home is None:
            return [*self._folders, *left()]
        cluster, dashboard = home
        if self._left is not None:
            self._left.cluster = cluster
        try:
            nodes = await dashboard.nodes()
        except EaglerayError as error:
            # The cluster has ended, or its link is lost; what is in folders can be had.
            log.info("%s", error)
            return [*self._folders, *left(), Gone(error)]
        for node in nodes:
            if node.alive and node.node_id not in self._nodes:
                self._nodes[node.node_id] = self._node(cluster, dashboard, node.node_id, node.ip)
            elif not node.alive:
                self._nodes.pop(node.node_id, None)
        return [*self._folders, *self._nodes.values(), *left(self._nodes)]

    def ports(self, known: Mapping[str, int]) -> None:
        """Where agents listen, by the ids of their nodes, as our code on these nodes says."""
        self._ports.update(known)

    @property
    def is_shared_far(self) -> bool:
        """Whether nodes write where only commands on another machine see it, and see it a little later."""
        return self._far is not None

    async def remove_far(self) -> None:
        """Gives back the room on the cluster's file system; all of it must be here."""
        if self._far is not None:
            await self._far.remove()

    async def close(self) -> None:
        for agent in self._agents.values():
            await agent.close()

    @property
    def _folders(self) -> list[Source]:
        """What is there without any cluster."""
        return [self._folder, *([self._far] if self._far else [])]

    def _node(self, cluster: str, dashboard: Dashboard, node_id: str, ip: str) -> Node:
        def agent() -> RayAgent | None:
            if node_id not in self._agents:
                port = self._ports.get(node_id, AGENT_PORT)
                try:
                    name = host_of(ip)
                except EaglerayError as error:
                    log.warning("the agent of a node isn't asked: %s", error)
                    return None
                host = f"[{name}]" if ":" in name else name
                way = self._way(self._routes(cluster, ip), ip, port, f"http://{host}:{port}")
                self._agents[node_id] = RayAgent(f"http://{host}:{port}", way)
            return self._agents[node_id]

        return Node(dashboard, node_id, ip, self._run, agent)

    def _way(self, routes: list[RouteSpec], ip: str, port: int, url: str) -> FindEndpoint:
        async def find() -> Endpoint:
            if routes == [DIRECT]:
                return Endpoint(url)
            return Endpoint(url, (await self._opens.open_socket(routes, ip, port)).socket)

        return find
