"""Handles the panel's requests about clusters."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from eagleray.adapter_client.routes import AdapterRoutes
from eagleray.common.errors import with_retry
from eagleray.features.clusters import messages as wire
from eagleray.features.clusters.clusters import ClusterRegistry
from eagleray.features.clusters.connections import ConnectionMonitor
from eagleray.features.clusters.jobs import (
    AddOptions,
    HostStatus,
    Jobs,
    JobStatus,
    add_options,
    job_sentence,
)
from eagleray.features.clusters.model import ClusterList, ClusterProblem, ClusterView, Terminal
from eagleray.features.clusters.node_access import Terminals

if TYPE_CHECKING:
    from eagleray.protocol.control import SshQuestion
    from eagleray.wire.requests import ReportProgress, RequestServer


def register(
    server: RequestServer,
    clusters: ClusterRegistry,
    jobs: Jobs,
    connection_monitor: ConnectionMonitor,
    terminals: Terminals,
    routes: AdapterRoutes,
) -> None:
    """Answers the requests of this feature."""
    handlers = ClusterHandlers(clusters, jobs, connection_monitor, terminals, routes)
    server.on_request(wire.LIST, handlers.list)
    server.on_request(wire.ADD, handlers.add)
    server.on_request(wire.REMOVE, handlers.remove)
    server.on_request(wire.SET_ACCESS, handlers.set_access)
    server.on_request(wire.REFRESH, handlers.refresh)
    server.on_request(wire.ID_OF, handlers.id_of)
    server.on_request(wire.CHOICES, handlers.choices)
    server.on_request(wire.LOOK_AT, handlers.look_at)
    server.on_request(wire.FORGET_HOST, handlers.forget_host)
    server.on_request(wire.RECONNECT, handlers.reconnect)
    server.on_request(wire.TERMINAL, handlers.terminal)
    server.on_request(wire.ANSWER, handlers.answer)
    clusters.on_change(lambda: server.notify(wire.CHANGED, handlers.all()))
    server.in_background("clusters", clusters.run)
    server.in_background("jobs", jobs.run)

    async def follow() -> None:
        connection_monitor.follow_routes()
        routes.asks(
            lambda question: server.notify(wire.QUESTION, _question(question)),
            lambda over: server.notify(wire.QUESTION_OVER, wire.QuestionRef(str(over))),
        )

    server.in_background("routes", follow)


class ClusterHandlers:
    """One method per request."""

    def __init__(
        self,
        clusters: ClusterRegistry,
        jobs: Jobs,
        connection_monitor: ConnectionMonitor,
        terminals: Terminals,
        routes: AdapterRoutes,
    ) -> None:
        self._clusters = clusters
        self._jobs = jobs
        self._connection_monitor = connection_monitor
        self._terminals = terminals
        self._routes = routes

    def all(self) -> wire.Clusters:
        current = self._clusters.current()
        return wire.Clusters(
            clusters=[wire_cluster(view) for view in current.clusters],
            hints=_problems(current.hints),
            jobs=[self._job(status) for status in self._offered(current)],
            hosts=[_host(status) for status in self._jobs.hosts()],
        )

    async def list(self) -> wire.Clusters:
        await self._jobs.ready()
        return self.all()

    async def refresh(self) -> wire.Clusters:
        await self._clusters.refresh()
        await self._jobs.poll_all()
        return self.all()

    async def add(self, params: wire.AddCluster, report: ReportProgress) -> wire.Cluster:
        access = (params.address, params.token, params.headers, params.ca_file)
        return wire_cluster(await self._clusters.add(*access, report=report))

    async def remove(self, params: wire.ClusterRef) -> None:
        await self._clusters.remove(params.cluster)

    async def id_of(self, params: wire.ClusterRef) -> wire.ClusterRef:
        return wire.ClusterRef(await self._clusters.id_of(params.cluster))

    async def set_access(self, params: wire.Access) -> wire.Cluster:
        access = (params.cluster, params.token, params.headers, params.ca_file)
        return wire_cluster(await self._clusters.set_access(*access))

    async def choices(self) -> wire.Choices:
        return self._choices(await add_options(self._jobs))

    async def look_at(self, params: wire.HostRef, report: ReportProgress) -> wire.Clusters:
        report(f"Asking {params.host} for jobs")
        await self._jobs.add_host(params.host)
        return self.all()

    async def forget_host(self, params: wire.HostRef) -> wire.Clusters:
        await self._jobs.remove_host(params.host)
        return self.all()

    async def reconnect(self, params: wire.ClusterRef) -> None:
        await self._connection_monitor.reconnect(params.cluster)

    async def terminal(self, params: wire.TerminalRef) -> Terminal:
        return await self._terminals.on(params.cluster, params.node_id)

    async def answer(self, params: wire.Answer) -> None:
        if params.id.isdecimal():
            await self._routes.answer(int(params.id), params.text)

    def _offered(self, current: ClusterList) -> Iterable[JobStatus]:
        """Running jobs with a live Ray that are not clusters yet."""
        clusters = {view.id for view in current.clusters}
        return (s for s in self._jobs.all() if s.ray == "live" and s.address not in clusters)

    def _choices(self, options: AddOptions) -> wire.Choices:
        polled = {status.host for status in self._jobs.hosts()}
        return wire.Choices(
            jobs=[self._job(status) for status in options.jobs],
            ssh_hosts=[
                wire.SshHost(host.name, host.detail, host.name in polled)
                for host in options.ssh_hosts
            ],
            problems=_problems(options.problems),
        )

    def _job(self, status: JobStatus) -> wire.Job:
        return wire_job(status, self._jobs.time_left_s(status))


def wire_job(status: JobStatus, time_left_s: float | None) -> wire.Job:
    job, pending = status.job, status.job.state == "pending"
    return wire.Job(
        address=status.address,
        job=job.id,
        host=status.host,
        name=job.name,
        partition=job.partition,
        state=job.state if job.state in ("running", "pending") else "other",
        reason=job.reason,
        nodes=job.node_count,
        sentence=job_sentence(status),
        ray=status.ray,
        time_left_s=time_left_s,
        starts_s=max(0.0, job.started - time.time()) if pending and job.started else None,
    )


def wire_cluster(view: ClusterView) -> wire.Cluster:
    return wire.Cluster(
        id=view.id,
        name=view.name,
        origin=view.origin,
        state=view.state,
        session=view.session,
        ray_version=view.ray_version,
        sentence=view.sentence,
        problems=_problems(view.problems),
        route=view.route,
        job=view.job,
        host=view.host,
        time_left_s=view.time_left_s,
        time_warning=view.time_warning,
    )


def _host(status: HostStatus) -> wire.JobHost:
    return wire.JobHost(status.host, status.state, status.error.message if status.error else "")


def _question(question: SshQuestion) -> wire.Question:
    return wire.Question(str(question.id), question.ssh, question.prompt, question.kind)


def _problems(problems: Iterable[ClusterProblem]) -> list[wire.Problem]:
    return [wire.Problem(p.code, p.message, with_retry(p.next_step, p.retries)) for p in problems]
