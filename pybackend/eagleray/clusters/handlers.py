"""Handles the panel's requests about clusters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from attrs import evolve

from eagleray.adapter_client.routes import AdapterRoutes
from eagleray.clusters import messages as wire
from eagleray.clusters.clusters import ClusterRegistry
from eagleray.clusters.connections import ConnectionMonitor
from eagleray.clusters.dashboard_page import DashboardPages
from eagleray.clusters.jobs import HostStatus, Jobs, choices, shown_job
from eagleray.clusters.model import (
    Choices,
    Cluster,
    ClusterList,
    ClusterProblem,
    DashboardPage,
    JobStatus,
)
from eagleray.clusters.node_access import Terminals
from eagleray.common.errors import with_retry
from eagleray.common.l10n import t

if TYPE_CHECKING:
    from eagleray.wire.requests import ReportProgress, RequestServer


def register(
    server: RequestServer,
    clusters: ClusterRegistry,
    jobs: Jobs,
    connection_monitor: ConnectionMonitor,
    terminals: Terminals,
    routes: AdapterRoutes,
    pages: DashboardPages,
) -> None:
    """Answers the requests of this feature."""
    handlers = ClusterHandlers(clusters, jobs)

    async def dashboard(params: wire.ClusterRef, report: ReportProgress) -> DashboardPage:
        report(t("Connecting"))
        return await pages.of(params.cluster)

    server.on_request(wire.LIST, handlers.list)
    server.on_request(wire.ADD, handlers.add)
    server.on_request(wire.REMOVE, lambda params: clusters.remove(params.cluster))
    server.on_request(wire.RENAME, handlers.rename)
    server.on_request(wire.DASHBOARD, dashboard)
    server.on_request(wire.SET_ACCESS, handlers.set_access)
    server.on_request(wire.REFRESH, handlers.refresh)
    server.on_request(wire.ID_OF, handlers.id_of)
    server.on_request(wire.CHOICES, handlers.choices)
    server.on_request(wire.LOOK_AT, handlers.look_at)
    server.on_request(wire.FORGET_HOST, handlers.forget_host)
    server.on_request(wire.RECONNECT, lambda params: connection_monitor.reconnect(params.cluster))
    server.on_request(wire.TERMINAL, lambda params: terminals.on(params.cluster, params.node_id))
    server.on_request(wire.ANSWER, lambda params: routes.answer(params.id, params.text))
    clusters.on_change(lambda: server.notify(wire.CHANGED, handlers.all()))
    server.in_background("clusters", clusters.run)
    server.in_background("jobs", jobs.run)

    async def follow() -> None:
        connection_monitor.follow_routes()
        routes.asks(
            lambda question: server.notify(wire.QUESTION, question),
            lambda over: server.notify(wire.QUESTION_OVER, wire.QuestionRef(over)),
        )

    server.in_background("routes", follow)


class ClusterHandlers:
    """One method per request about the list of clusters."""

    def __init__(self, clusters: ClusterRegistry, jobs: Jobs) -> None:
        self._clusters = clusters
        self._jobs = jobs

    def all(self) -> wire.Clusters:
        current = self._clusters.current()
        return wire.Clusters(
            clusters=tuple(shown_cluster(cluster) for cluster in current.clusters),
            hints=_shown(current.hints),
            jobs=tuple(shown_job(status, self._jobs) for status in self._offered(current)),
            hosts=tuple(_host(status) for status in self._jobs.hosts()),
        )

    async def list(self) -> wire.Clusters:
        await self._jobs.ready()
        return self.all()

    async def refresh(self) -> wire.Clusters:
        await self._clusters.refresh()
        await self._jobs.poll_all()
        return self.all()

    async def add(self, params: wire.AddCluster, report: ReportProgress) -> Cluster:
        access = (params.address, params.token, params.headers, params.ca_file)
        return shown_cluster(await self._clusters.add(*access, report=report, anyway=params.anyway))

    async def rename(self, params: wire.RenameCluster) -> Cluster:
        return shown_cluster(await self._clusters.rename(params.cluster, params.name))

    async def id_of(self, params: wire.ClusterRef) -> wire.ClusterRef:
        return wire.ClusterRef(await self._clusters.id_of(params.cluster))

    async def set_access(self, params: wire.Access) -> Cluster:
        access = (params.cluster, params.token, params.headers, params.ca_file)
        return shown_cluster(await self._clusters.set_access(*access))

    async def choices(self) -> Choices:
        offered = await choices(self._jobs)
        return evolve(offered, problems=_shown(offered.problems))

    async def look_at(self, params: wire.HostRef) -> wire.Clusters:
        await self._jobs.add_host(params.host)
        return self.all()

    async def forget_host(self, params: wire.HostRef) -> wire.Clusters:
        await self._jobs.remove_host(params.host)
        return self.all()

    def _offered(self, current: ClusterList) -> Iterable[JobStatus]:
        """Running jobs with a live Ray that are not clusters yet."""
        clusters = {cluster.id for cluster in current.clusters}
        return (s for s in self._jobs.all() if s.ray == "live" and s.address not in clusters)


def shown_cluster(cluster: Cluster) -> Cluster:
    """The cluster as a window shows it: the next steps of its problems end with what is retried."""
    return evolve(cluster, problems=_shown(cluster.problems))


def _host(status: HostStatus) -> wire.JobHost:
    problem = ClusterProblem.of(status.error) if status.error else None
    return wire.JobHost(status.host, status.state, _shown([problem])[0] if problem else None)


def _shown(problems: Iterable[ClusterProblem]) -> tuple[ClusterProblem, ...]:
    return tuple(
        evolve(problem, next_step=with_retry(problem.next_step, problem.retries))
        for problem in problems
    )
