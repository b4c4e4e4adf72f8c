"""Resolves how each cluster is reached (directly, through ssh, into a SLURM job) and follows its route and job."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

from attrs import frozen

from eagleray.adapter_client.routes import AdapterRoutes
from eagleray.clusters.addresses import ClusterAddress, parse_address
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.credentials import TokenRules, owner_check
from eagleray.clusters.job_head import (
    JobHead,
    JobHeadFinder,
    JobSteps,
    ShowProgress,
    is_loopback,
    start_time,
)
from eagleray.clusters.jobs import Jobs
from eagleray.clusters.model import ClusterJob, ClusterProblem, JobStatus
from eagleray.clusters.stop_counts import CountStops, StopCounts
from eagleray.common.blocking_calls import off_loop
from eagleray.common.durations import duration_text
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import counted, t
from eagleray.common.listeners import Listeners
from eagleray.common.retry import JOB_STATE
from eagleray.common.slurm_errors import bridge_needs_click, job_over, job_waits
from eagleray.protocol.adapter_control import OpenedSocket, RouteState
from eagleray.protocol.route_spec import DIRECT, HOST_NAME, RouteSpec
from eagleray.ray.endpoint import CheckListener, Endpoint, FindEndpoint, no_check
from eagleray.ray.errors import listener_unchecked
from eagleray.tools.commands import Commands

# The worst state of the parts of a route is shown.
WORST_FIRST = ("lost", "reconnecting", "degraded", "connecting", "ready")
LOST = frozenset({"lost", "reconnecting"})

# Nothing listens on the port, on this machine or on the host behind ssh.
_REFUSED = ("port-refused", "far-port-refused")

# How long before the end of a job a warning is shown, if workers are stopped in it.
WARN_S = 600.0

log = logging.getLogger(__name__)


@frozen
class ClusterConnection:
    """The connection to a cluster: its dashboard at `url` by `route`, all other nodes by `routes`.

    `socket` leads to the dashboard, "" where this machine reaches it directly.
    """

    url: str
    route: RouteSpec
    socket: str
    routes: tuple[RouteSpec, ...]
    head: JobHead | None = None


@frozen(kw_only=True)
class ConnectionStatus(ClusterJob):
    """How a cluster is reached, for display, and its stopped workers; else empty for one that this machine reaches directly.

    `waits_for` says what the connection waits for.
    """

    route: RouteState | None = None
    via: str = ""
    job_name: str = ""
    waits_for: str = ""
    problem: ClusterProblem | None = None


class ConnectionResolver:
    """Resolves connections and remembers them by cluster; lives on one event loop and owns nothing to close."""

    def __init__(
        self, routes: AdapterRoutes, commands: Commands, heads: JobHeadFinder, tokens: TokenRules
    ) -> None:
        self._routes = routes
        self._commands = commands
        self._heads = heads
        self._tokens = tokens
        self._connections: dict[str, ClusterConnection] = {}
        self._prepared: dict[str, list[Endpoint]] = {}
        self._progress: dict[str, str] = {}
        self._unchecked: set[str] = set()
        self._clicked: dict[str, JobSteps] = {}
        self._started: dict[str, JobSteps] = {}

    def find_endpoint(self, cluster: str) -> FindEndpoint:
        """The endpoint source of a cluster's dashboard: called before its first request and after each failure.

        It starts a step of a job only right after a click on Reconnect.
        """
        address = parse_address(cluster)
        if address.is_direct:
            return self._tokens.find_endpoint(address.url)

        async def find() -> Endpoint:
            if prepared := self._prepared.get(cluster, []):
                return prepared.pop()
            report = partial(self._set_progress, cluster)
            clicked = self._clicked.pop(cluster, None)
            steps = clicked or JobSteps(clicked=False)
            return await self._find(address, report, steps, wait=False, at_once=clicked is not None)

        return find

    async def prepare(
        self, cluster: str, report: ShowProgress, *, wait: bool = True, clicked: bool = True
    ) -> None:
        """Connects to a cluster that is about to be added; with `wait`, however long its job is pending.

        Without `clicked` it is called repeatedly on behalf of one action of the user, such as the start of a
        run: all of these calls together start no more steps than one click.
        """
        address = parse_address(cluster)
        if address.is_direct:
            return
        steps = JobSteps() if clicked else self._started.setdefault(cluster, JobSteps())
        endpoint = await self._find(address, report, steps, wait=wait, at_once=clicked)
        # Once for the check that it is Ray, once for the watch.
        self._prepared[cluster] = [endpoint] * 2

    def forget(self, cluster: str) -> None:
        """Forgets the connection of a cluster that was removed or has moved."""
        for stored in (
            self._connections,
            self._prepared,
            self._progress,
            self._clicked,
            self._started,
        ):
            stored.pop(cluster, None)
        self._unchecked.discard(cluster)

    async def release(self, cluster: str, others: Iterable[str], hosts: Iterable[str]) -> None:
        """Releases the routes that only this cluster needs, not the routes of `others` or for polling jobs on `hosts`."""
        needed = {route for other in others for route in self._routes_of(other)}
        needed |= {RouteSpec(ssh=host) for host in hosts}
        unneeded = [route for route in self._routes_of(cluster) if route not in needed]
        self.forget(cluster)
        if unneeded:
            await self._routes.leave(unneeded)

    def _routes_of(self, cluster: str) -> list[RouteSpec]:
        address, connection = parse_address(cluster), self._connections.get(cluster)
        connected = (connection.route, *connection.routes) if connection else ()
        routes = dict.fromkeys([*connected, RouteSpec(ssh=address.ssh)])
        return [route for route in routes if route != DIRECT]

    def connection(self, cluster: str) -> ClusterConnection | None:
        """The last connection to the cluster; None before the first."""
        return self._connections.get(cluster)

    def progress(self, cluster: str) -> str:
        """Returns what the connection to the cluster waits for."""
        return self._progress.get(cluster, "")

    def is_unchecked(self, cluster: str) -> bool:
        """Whether credentials were sent to a port of a shared host that doesn't show who listens."""
        return cluster in self._unchecked

    def is_local(self, cluster: str) -> bool:
        """Whether an address of the cluster means the same machine as it does here."""
        connection = self._connections.get(cluster)
        is_direct = not cluster or parse_address(cluster).is_direct
        return is_direct or (connection is not None and connection.route == DIRECT)

    def routes(self, cluster: str, node_ip: str) -> list[RouteSpec]:
        """The routes on which a port of a node of the cluster is tried, in this order.

        A worker on localhost is on the localhost of the head, which only a route that ends there reaches.
        A driver of a run without Ray belongs to no cluster and runs on this machine.
        """
        if not cluster or parse_address(cluster).is_direct:
            return [DIRECT]
        address = parse_address(cluster)
        connection = self._connections.get(cluster)
        if connection is None:
            return [RouteSpec(ssh=address.ssh)]
        inside = [route for route in connection.routes if route.job]
        return inside if inside and is_loopback(node_ip) else list(connection.routes)

    def routes_to_departed_node(self, cluster: str, host: str) -> list[RouteSpec]:
        """Where a command runs that is to reach a node which has left the cluster's Ray; [] if unknown."""
        address = parse_address(cluster) if cluster else ClusterAddress()
        node = host.partition(".")[0]
        in_job = [RouteSpec(ssh=address.ssh, job=address.job, node=node)] if address.job else []
        return [*in_job, *([RouteSpec(ssh=address.ssh)] if address.ssh else [])]

    def route_state(self, cluster: str) -> RouteState | None:
        """The state of the route of a cluster; None for one that is reached directly."""
        address, connection = parse_address(cluster), self._connections.get(cluster)
        route = connection.route if connection else RouteSpec(ssh=address.ssh)
        if route == DIRECT and address.job and connection is None:
            # A click on Reconnect may find a route into a job of this machine.
            return RouteState(RouteSpec(job=address.job), "lost", "", "", 0.0)
        if route == DIRECT:
            return None
        parts = (route, RouteSpec(ssh=route.ssh))
        states = [state for state in self._routes.route_states() if state.route in parts]
        if not states:
            return RouteState(route, "connecting", "", "", 0.0)
        worst = min(states, key=lambda state: WORST_FIRST.index(state.state))
        return replace(worst, route=route)

    def control_socket(self, ssh: str) -> str:
        """The control socket of the live connection to an ssh destination, "" if there is none."""
        for state in self._routes.route_states():
            if state.route == RouteSpec(ssh=ssh) and state.state == "ready":
                return state.control
        return ""

    async def reconnect(self, cluster: str) -> None:
        """Makes a new connection now, after a click; it may start a step of the job."""
        self._clicked[cluster] = JobSteps()
        state = self.route_state(cluster)
        if state is not None:
            await self._routes.reconnect(state.route)

    def dashboard_address(self, cluster: str) -> tuple[str, int]:
        """Host and port of the dashboard as they are known where the route ends."""
        connection = self._connections.get(cluster)
        parts = urlsplit(connection.url if connection else parse_address(cluster).url)
        return parts.hostname or "", parts.port or 0

    async def open_port(
        self, cluster: str, host: str, port: int, tcp_port: int, *, shared: bool
    ) -> OpenedSocket:
        """Opens a listener on 127.0.0.1 whose connections lead to `host:port` of the cluster.

        With `shared`, every user of this machine can connect.
        """
        routes = self.routes(cluster, host)
        return await self._routes.open_socket(routes, host, port, tcp_port, shared=shared)

    async def _find(
        self,
        address: ClusterAddress,
        report: ShowProgress,
        steps: JobSteps,
        *,
        wait: bool,
        at_once: bool,
    ) -> Endpoint:
        if address.job:
            find = partial(self._heads.find, address.ssh, address.job, steps, report)
            before = self._connections.get(address.id)
            head = await _head_or_previous(
                find(wait=wait, at_once=at_once), before.head if before else None
            )
            connection = await self._connect_into_job(address, head, steps)
        else:
            connection = await self._connect_through_ssh(address, report)
        self._progress.pop(address.id, None)
        self._connections[address.id] = connection
        log.info("%s is reached by %s", address.id, route_text(connection.route) or "the network")
        return Endpoint(
            url=connection.url,
            socket=connection.socket,
            ca_file=await off_loop(partial(self._tokens.ca_file, address.id)),
            headers=self._tokens.header_source(address.id),
            check=self._check(address),
        )

    def _check(self, address: ClusterAddress) -> CheckListener:
        """Any user of a login node can take a port of it; the nodes of a job are the user's own."""
        parts = urlsplit(address.url)
        if address.job or not is_loopback(parts.hostname or ""):
            return no_check

        def on_unknown(is_unknown: bool) -> None:
            (self._unchecked.add if is_unknown else self._unchecked.discard)(address.id)

        return owner_check(self._commands.run, address.ssh, parts.port or 0, address.id, on_unknown)

    async def _connect_into_job(
        self, address: ClusterAddress, head: JobHead, steps: JobSteps
    ) -> ClusterConnection:
        if head.routes[0] == DIRECT:
            return ClusterConnection(head.url, DIRECT, "", head.node_routes, head)
        routes = await self._allowed_routes(head.routes, address.job, steps)
        opened = await self._routes.open_socket(routes, head.host, head.port)
        return ClusterConnection(head.url, opened.route, opened.socket, head.node_routes, head)

    async def _allowed_routes(
        self, routes: Sequence[RouteSpec], job: str, steps: JobSteps
    ) -> list[RouteSpec]:
        """Returns the `routes` that may be tried; a bridge into a job is a step, too.

        1. After a click all of them, and a lost bridge is reconnected.
        2. Otherwise routes outside the job, and bridges that are up or about to be: their step has started.
        """
        states = {state.route: state.state for state in self._routes.route_states()}
        if steps.allowed:
            for route in routes:
                if route.job and states.get(route) == "lost":
                    await self._routes.reconnect(route)
            return list(routes)
        up = ("connecting", "ready", "degraded")
        allowed = [route for route in routes if not route.job or states.get(route) in up]
        if not allowed:
            raise bridge_needs_click(job)
        return allowed

    async def _connect_through_ssh(
        self, address: ClusterAddress, report: ShowProgress
    ) -> ClusterConnection:
        """Connects to the dashboard as the user wrote it; on the ssh host itself it may listen on its address only."""
        parts = urlsplit(address.url)
        host, port = parts.hostname or "", parts.port or 0
        route = RouteSpec(ssh=address.ssh)
        report(t("Opening the SSH connection to {host}", host=address.ssh))
        try:
            opened = await self._routes.open_socket([route], host, port)
        except EaglerayError as error:
            refused = error.code in _REFUSED and is_loopback(host)
            name = await self._host_name(address.ssh) if refused else ""
            if not name:
                raise
            opened = await self._routes.open_socket([route], name, port)
        return ClusterConnection(address.url, opened.route, opened.socket, (route,))

    async def _host_name(self, ssh: str) -> str:
        ran = await self._commands.run(ssh, ["hostname"])
        name = ran.stdout.strip().splitlines()[-1:] if ran.code == 0 else []
        return name[0] if name and HOST_NAME.fullmatch(name[0]) else ""

    def _set_progress(self, cluster: str, message: str) -> None:
        self._progress[cluster] = message


async def _head_or_previous(head: Awaitable[JobHead], before: JobHead | None) -> JobHead:
    """The head, or the previous one if only a step could find it again: its bridge may still be up."""
    try:
        return await head
    except EaglerayError as error:
        if error.code != "ray-not-on-usual-port" or before is None:
            raise
        return before


def route_text(route: RouteSpec) -> str:
    """A route as text: "login", "job 12345 on node-1, through login"; "" for the direct one."""
    if not route.job:
        return route.ssh
    through = f", through {route.ssh}" if route.ssh else ""
    on = f" on {route.node}" if route.node else ""
    return f"job {route.job}{on}{through}"


class ConnectionMonitor:
    """Reports the status of connections and reacts to routes and jobs that change, until `close`.

    1. A lost route is back: its clusters are polled at once.
    2. A job was requeued or has restarted: its head is looked up again, under the same id.
    """

    def __init__(
        self,
        resolver: ConnectionResolver,
        jobs: Jobs,
        watch: ClusterWatch,
        adapter_routes: AdapterRoutes,
        count_stops: CountStops,
    ) -> None:
        self._resolver = resolver
        self._jobs = jobs
        self._watch = watch
        self._adapter_routes = adapter_routes
        self._count_stops = count_stops
        self._stops: dict[str, StopCounts] = {}
        self._listeners = Listeners[[]]()
        self._routes: dict[str, str] = {}
        self._runs: dict[str, tuple[str, float]] = {}
        self._ends = [jobs.listen(self._on_jobs)]

    def follow_routes(self) -> None:
        """Starts to follow the states of routes, which keeps a connection to each adapter."""
        self._ends.append(self._adapter_routes.listen_routes(lambda _: self._on_routes()))

    def close(self) -> None:
        for end in self._ends:
            end()
        self._ends.clear()

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls `listener` whenever the result of `status` may have changed."""
        self._listeners.add(listener)

    def recount(self) -> None:
        """Calls the listeners if the numbers of stopped workers have changed."""
        ids = [status.cluster for status in self._watch.statuses()]
        stops = {cluster: self._count_stops(cluster) for cluster in ids}
        if stops != self._stops:
            self._stops = stops
            self._listeners.notify()

    def find_endpoint(self, cluster: str) -> FindEndpoint:
        return self._resolver.find_endpoint(cluster)

    def is_local(self, cluster: str) -> bool:
        return self._resolver.is_local(cluster)

    async def prepare(
        self, cluster: str, report: ShowProgress, *, wait: bool = True, clicked: bool = True
    ) -> None:
        """Connects to a cluster that is about to be added, as `ConnectionResolver.prepare`."""
        await self._resolver.prepare(cluster, report, wait=wait, clicked=clicked)
        address = parse_address(cluster)
        polled = address.job and self._jobs.host(address.ssh)
        if polled and not self._jobs.job(address.ssh, address.job):
            # The host was polled before the job was submitted; the job would be taken for one that is over.
            await self._jobs.poll(address.ssh, JOB_STATE.interval_s(0))

    async def forget(self, cluster: str) -> None:
        """Releases the routes that only a removed cluster needed."""
        self._runs.pop(cluster, None)
        self._routes.pop(cluster, None)
        others = [status.cluster for status in self._watch.statuses() if status.cluster != cluster]
        await self._resolver.release(
            cluster, others, [status.host for status in self._jobs.hosts()]
        )

    async def reconnect(self, cluster: str) -> None:
        """Makes a new connection and polls through it at once; raises `unknown-cluster`."""
        self._watch.status(cluster)
        await self._resolver.reconnect(cluster)
        self._watch.reset(cluster)

    def status(self, cluster: str) -> ConnectionStatus:
        """How the cluster is reached now."""
        address = parse_address(cluster)
        if address.is_direct:
            return ConnectionStatus(stops=self._count_stops(cluster))
        job = self._jobs.job(address.ssh, address.job) if address.job else None
        left = self._jobs.time_left_s(job) if job else None
        state = self._resolver.route_state(cluster)
        return ConnectionStatus(
            stops=self._count_stops(cluster),
            route=state,
            via=route_text(state.route) if state else "",
            job=address.job,
            host=address.ssh,
            job_name=job.job.name if job else "",
            time_left_s=left,
            time_warning=self._warning(cluster, address.job, left),
            waits_for=self._resolver.progress(cluster) or _waiting_text(job),
            is_pending=job is not None and job.job.state == "pending",
            problem=_job_problem(job) or self._unchecked(cluster),
        )

    def is_job_over(self, cluster: str) -> bool:
        """Whether the cluster is a job that is over: it does not come back."""
        address = parse_address(cluster)
        if not address.job:
            return False
        job, host = self._jobs.job(address.ssh, address.job), self._jobs.host(address.ssh)
        return job.job.state == "over" if job else host is not None and host.state == "ok"

    def _unchecked(self, cluster: str) -> ClusterProblem | None:
        if not self._resolver.is_unchecked(cluster):
            return None
        return ClusterProblem.of(listener_unchecked(parse_address(cluster).ssh))

    def _warning(self, cluster: str, job: str, left_s: float | None) -> str:
        if left_s is None or left_s >= WARN_S or not (stopped := self._count_stops(cluster).total):
            return ""
        minutes = max(1, round(left_s / 60))
        return counted(
            stopped,
            "Job {job} ends in {time}, and {n} worker is paused.",
            "Job {job} ends in {time}, and {n} workers are paused.",
            job=job,
            time=duration_text(minutes * 60),
        )

    def _on_routes(self) -> None:
        for status in self._watch.statuses():
            state = self._resolver.route_state(status.cluster)
            now = state.state if state else "ready"
            before = self._routes.get(status.cluster, now)
            self._routes[status.cluster] = now
            if now == "ready" and before in LOST:
                self._watch.reset(status.cluster)
        self._listeners.notify()

    def _on_jobs(self) -> None:
        for status in self._watch.statuses():
            address = parse_address(status.cluster)
            job = self._jobs.job(address.ssh, address.job) if address.job else None
            if job is None:
                continue
            now = (job.job.state, job.job.started)
            before = self._runs.get(status.cluster, now)
            self._runs[status.cluster] = now
            if before != now and self._resolver.connection(status.cluster) is not None:
                self._resolver.forget(status.cluster)
                self._watch.forget(status.cluster)
                self._watch.reset(status.cluster)
        self._listeners.notify()


def jobs_of(clusters: Iterable[str]) -> list[tuple[str, str]]:
    """Host and id of each job that is one of these clusters."""
    addresses = (parse_address(cluster) for cluster in clusters)
    return [(address.ssh, address.job) for address in addresses if address.job]


def _waiting_text(job: JobStatus | None) -> str:
    if job is None or job.job.state != "pending":
        return ""
    return job_waits(job.job.id, job.job.reason, start_time(job.job.started)).message


def _job_problem(job: JobStatus | None) -> ClusterProblem | None:
    """Returns the problem of the job itself, whatever its dashboard answers: a Ray can outlive its job."""
    if job is None or job.job.state not in ("over", "ending"):
        return None
    return ClusterProblem.of(job_over(job.job.id, job.job.word))
