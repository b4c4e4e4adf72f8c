"""How each cluster that this machine does not reach by itself is reached: through ssh, or into a SLURM job."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Protocol
from urllib.parse import urlsplit

from attrs import frozen

from eagleray.common.errors import EaglerayError
from eagleray.common.off_loop import off_loop
from eagleray.features.clusters.addresses import Place, place
from eagleray.features.clusters.heads import Head, Heads, Say, is_loopback
from eagleray.features.clusters.into_job import OpensRoutes, bridges_up, head_of
from eagleray.features.clusters.job_steps import JobSteps
from eagleray.features.clusters.remote_listeners import owner_check
from eagleray.protocol.control import OpenedSocket, RouteState
from eagleray.protocol.route_spec import DIRECT, RouteSpec
from eagleray.ray.endpoint import CheckListener, Endpoint, FindEndpoint, HeaderSource, no_check
from eagleray.tools.commands import Commands
from eagleray.tools.host_names import HOST_NAME

# The worse of two states of one route is shown.
WORST = ("lost", "reconnecting", "degraded", "connecting", "ready")

# Nothing listens there: seen from here, or from where ssh leads.
_REFUSED = ("port-refused", "far-port-refused")

log = logging.getLogger(__name__)


class Access(Protocol):
    """What a cluster asks for besides the way: `TokenRules`."""

    def ca_file(self, cluster: str) -> str: ...

    def header_source(self, cluster: str) -> HeaderSource: ...

    def find_way(self, url: str) -> FindEndpoint: ...


@frozen
class Reached:
    """How a cluster is reached: its dashboard at `url` by `route`, all other nodes by `routes`.

    `socket` leads to the dashboard, "" where this machine reaches it by itself.
    """

    url: str
    route: RouteSpec
    socket: str
    routes: tuple[RouteSpec, ...]
    head: Head | None = None


class Ways:
    """Finds ways and remembers them by cluster; lives on one event loop, owns nothing that is to be closed."""

    def __init__(
        self, opens: OpensRoutes, commands: Commands, heads: Heads, access: Access
    ) -> None:
        self._opens = opens
        self._commands = commands
        self._heads = heads
        self._access = access
        self._reached: dict[str, Reached] = {}
        self._prepared: dict[str, list[Endpoint]] = {}
        self._said: dict[str, str] = {}
        self._unchecked: set[str] = set()
        self._clicked: dict[str, JobSteps] = {}
        self._started: dict[str, JobSteps] = {}

    def find_way(self, cluster: str) -> FindEndpoint:
        """For the dashboard of a cluster: asked before its first request and after each failure.

        It starts a step of a job only right after a click on Reconnect.
        """
        where = place(cluster)
        if where.is_direct:
            return self._access.find_way(where.url)

        async def find() -> Endpoint:
            if prepared := self._prepared.get(cluster, []):
                return prepared.pop()
            say = partial(self._say, cluster)
            clicked = self._clicked.pop(cluster, None)
            steps = clicked or JobSteps(clicked=False)
            return await self._find(where, say, steps, wait=False, at_once=clicked is not None)

        return find

    async def prepare(
        self, cluster: str, say: Say, *, wait: bool = True, clicked: bool = True
    ) -> None:
        """Finds the way to a cluster that is about to be added, however long its job waits if `wait`.

        Without `clicked` it is asked for again and again on behalf of one action of the user, such as the start of a
        run: all of that together starts no more steps than one click.
        """
        where = place(cluster)
        if where.is_direct:
            return
        steps = JobSteps() if clicked else self._started.setdefault(cluster, JobSteps())
        way = await self._find(where, say, steps, wait=wait, at_once=clicked)
        # Once for the question who is there, once for the watch.
        self._prepared[cluster] = [way] * 2

    def forget(self, cluster: str) -> None:
        """The cluster is left, or where it was found before is of no more use."""
        for kept in (self._reached, self._prepared, self._said, self._clicked, self._started):
            kept.pop(cluster, None)
        self._unchecked.discard(cluster)

    async def leave(self, cluster: str, others: Iterable[str], hosts: Iterable[str]) -> None:
        """Gives up the routes that only this cluster needs, not `others` nor the looking for jobs on `hosts`."""
        needed = {route for other in others for route in self._needs(other)}
        needed |= {RouteSpec(ssh=host) for host in hosts}
        given_up = [route for route in self._needs(cluster) if route not in needed]
        self.forget(cluster)
        if given_up:
            await self._opens.leave(given_up)

    def _needs(self, cluster: str) -> list[RouteSpec]:
        where, reached = place(cluster), self._reached.get(cluster)
        of_head = (reached.route, *reached.routes) if reached else ()
        routes = dict.fromkeys([*of_head, RouteSpec(ssh=where.ssh)])
        return [route for route in routes if route != DIRECT]

    def reached(self, cluster: str) -> Reached | None:
        """How the cluster was reached last; None before that."""
        return self._reached.get(cluster)

    def said(self, cluster: str) -> str:
        """What is being waited for on the way to the cluster."""
        return self._said.get(cluster, "")

    def is_unchecked(self, cluster: str) -> bool:
        """Whether credentials were sent to a port of a shared host that doesn't say whose it is."""
        return cluster in self._unchecked

    def is_near(self, cluster: str) -> bool:
        """Whether an address of the cluster is that of the same machine here."""
        reached = self._reached.get(cluster)
        is_here = not cluster or place(cluster).is_direct
        return is_here or (reached is not None and reached.route == DIRECT)

    def routes(self, cluster: str, node_ip: str) -> list[RouteSpec]:
        """The routes on which a port of a node of the cluster is tried, in this order.

        A worker on localhost is on the localhost of the head, which only a route that ends there has.
        A driver of a run that has no Ray is of no cluster, and here.
        """
        if not cluster or place(cluster).is_direct:
            return [DIRECT]
        where = place(cluster)
        reached = self._reached.get(cluster)
        if reached is None:
            return [RouteSpec(ssh=where.ssh)]
        inside = [route for route in reached.routes if route.job]
        return inside if inside and is_loopback(node_ip) else list(reached.routes)

    def of_node(self, cluster: str, host: str) -> list[RouteSpec]:
        """Where a command is run that is to reach a node which the cluster's Ray has left; none if nobody knows."""
        where = place(cluster) if cluster else Place()
        node = host.partition(".")[0]
        in_job = [RouteSpec(ssh=where.ssh, job=where.job, node=node)] if where.job else []
        return [*in_job, *([RouteSpec(ssh=where.ssh)] if where.ssh else [])]

    def state(self, cluster: str) -> RouteState | None:
        """The state of the route of a cluster; None for one that is reached directly."""
        where, reached = place(cluster), self._reached.get(cluster)
        route = reached.route if reached else RouteSpec(ssh=where.ssh)
        if route == DIRECT and where.job and reached is None:
            # A click on Reconnect may find a way into a job of this machine.
            return RouteState(RouteSpec(job=where.job), "lost", "", "", 0.0)
        if route == DIRECT:
            return None
        parts = (route, RouteSpec(ssh=route.ssh))
        states = [state for state in self._opens.route_states() if state.route in parts]
        if not states:
            return RouteState(route, "connecting", "", "", 0.0)
        worst = min(states, key=lambda state: WORST.index(state.state))
        return replace(worst, route=route)

    def control(self, ssh: str) -> str:
        """The control socket of the live connection to an ssh destination, "" if there is none."""
        for state in self._opens.route_states():
            if state.route == RouteSpec(ssh=ssh) and state.state == "ready":
                return state.control
        return ""

    async def reconnect(self, cluster: str) -> None:
        """Makes a new connection now, after a click; it may start a step of the job."""
        self._clicked[cluster] = JobSteps()
        state = self.state(cluster)
        if state is not None:
            await self._opens.reconnect(state.route)

    def dashboard_at(self, cluster: str) -> tuple[str, int]:
        """Host and port of the dashboard as they are known where the route ends."""
        reached = self._reached.get(cluster)
        parts = urlsplit(reached.url if reached else place(cluster).url)
        return parts.hostname or "", parts.port or 0

    async def open(
        self, cluster: str, host: str, port: int, tcp_port: int, *, shared: bool
    ) -> OpenedSocket:
        """A listener on 127.0.0.1 whose connections lead to `host:port` of the cluster.

        With `shared`, every user of this machine can connect.
        """
        routes = self.routes(cluster, host)
        return await self._opens.open_socket(routes, host, port, tcp_port, shared=shared)

    async def _find(
        self, where: Place, say: Say, steps: JobSteps, *, wait: bool, at_once: bool
    ) -> Endpoint:
        if where.job:
            find = partial(self._heads.find, where.ssh, where.job, steps, say)
            before = self._reached.get(where.id)
            head = await head_of(find(wait=wait, at_once=at_once), before.head if before else None)
            reached = await self._into_job(where, head, steps)
        else:
            reached = await self._beyond_ssh(where, say)
        self._said.pop(where.id, None)
        self._reached[where.id] = reached
        log.info("%s is reached by %s", where.id, via(reached.route) or "the network")
        return Endpoint(
            url=reached.url,
            socket=reached.socket,
            ca_file=await off_loop(partial(self._access.ca_file, where.id)),
            headers=self._access.header_source(where.id),
            check=self._check(where),
        )

    def _check(self, where: Place) -> CheckListener:
        """Ports of a login node itself are taken by whoever comes first; a job's nodes are the person's own."""
        parts = urlsplit(where.url)
        if where.job or not is_loopback(parts.hostname or ""):
            return no_check

        def on_unknown(is_unknown: bool) -> None:
            (self._unchecked.add if is_unknown else self._unchecked.discard)(where.id)

        return owner_check(self._commands.run, where.ssh, parts.port or 0, where.id, on_unknown)

    async def _into_job(self, where: Place, head: Head, steps: JobSteps) -> Reached:
        if head.routes[0] == DIRECT:
            return Reached(head.url, DIRECT, "", head.beyond, head)
        routes = await bridges_up(self._opens, head.routes, where.job, steps)
        opened = await self._opens.open_socket(routes, head.host, head.port)
        return Reached(head.url, opened.route, opened.socket, head.beyond, head)

    async def _beyond_ssh(self, where: Place, say: Say) -> Reached:
        """The dashboard as the person named it; on the host itself it may listen on its address only."""
        parts = urlsplit(where.url)
        host, port = parts.hostname or "", parts.port or 0
        route = RouteSpec(ssh=where.ssh)
        say(f"Connecting through {where.ssh}")
        try:
            opened = await self._opens.open_socket([route], host, port)
        except EaglerayError as error:
            refused = error.code in _REFUSED and is_loopback(host)
            name = await self._own_name(where.ssh) if refused else ""
            if not name:
                raise
            opened = await self._opens.open_socket([route], name, port)
        return Reached(where.url, opened.route, opened.socket, (route,))

    async def _own_name(self, ssh: str) -> str:
        ran = await self._commands.run(ssh, ["hostname"])
        name = ran.stdout.strip().splitlines()[-1:] if ran.code == 0 else []
        return name[0] if name and HOST_NAME.fullmatch(name[0]) else ""

    def _say(self, cluster: str, said: str) -> None:
        self._said[cluster] = said


def via(route: RouteSpec) -> str:
    """A route in words: "login", "job 12345 on node-1, through login"; "" for the direct one."""
    if not route.job:
        return route.ssh
    through = f", through {route.ssh}" if route.ssh else ""
    on = f" on {route.node}" if route.node else ""
    return f"job {route.job}{on}{through}"
