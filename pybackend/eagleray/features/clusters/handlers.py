"""The panel's requests about clusters: wire types in, wire types out."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from eagleray.common.errors import with_retry
from eagleray.features.clusters import messages as wire
from eagleray.features.clusters.choices import Choices, choices, sentence
from eagleray.features.clusters.clusters import Clusters
from eagleray.features.clusters.jobs import Jobs
from eagleray.features.clusters.known import AllKnown, Known
from eagleray.features.clusters.problems import Problem
from eagleray.features.clusters.reaching import Reach, Reaching
from eagleray.features.clusters.seen_jobs import SeenHost, SeenJob
from eagleray.features.clusters.terminals import Terminals

if TYPE_CHECKING:
    from eagleray.adapter_client.routes import AdapterRoutes
    from eagleray.protocol.control import SshQuestion
    from eagleray.wire.requests import ReportProgress, RequestServer


def register(
    server: RequestServer,
    clusters: Clusters,
    jobs: Jobs,
    reaching: Reaching,
    terminals: Terminals,
    routes: AdapterRoutes,
) -> None:
    """Answers the requests of this feature."""
    handlers = Handlers(clusters, jobs, reaching, terminals, routes)
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
        reaching.follow_routes()
        routes.asks(
            lambda question: server.notify(wire.QUESTION, _question(question)),
            lambda over: server.notify(wire.QUESTION_OVER, wire.QuestionRef(str(over))),
        )

    server.in_background("routes", follow)


class Handlers:
    """One method per request."""

    def __init__(
        self,
        clusters: Clusters,
        jobs: Jobs,
        reaching: Reaching,
        terminals: Terminals,
        routes: AdapterRoutes,
    ) -> None:
        self._clusters = clusters
        self._jobs = jobs
        self._reaching = reaching
        self._terminals = terminals
        self._routes = routes

    def all(self) -> wire.Clusters:
        known = self._clusters.known()
        return wire.Clusters(
            clusters=[wire_cluster(one) for one in known.clusters],
            hints=_problems(known.hints),
            jobs=[self._job(seen) for seen in self._offered(known)],
            hosts=[_host(seen) for seen in self._jobs.hosts()],
        )

    async def list(self) -> wire.Clusters:
        await self._jobs.ready()
        return self.all()

    async def refresh(self) -> wire.Clusters:
        await self._clusters.refresh()
        await self._jobs.look_everywhere()
        return self.all()

    async def add(self, asked: wire.AddCluster, report: ReportProgress) -> wire.Cluster:
        given = (asked.address, asked.token, asked.headers, asked.ca_file)
        return wire_cluster(await self._clusters.add(*given, say=report))

    async def remove(self, asked: wire.ClusterRef) -> None:
        await self._clusters.remove(asked.cluster)

    async def id_of(self, written: wire.ClusterRef) -> wire.ClusterRef:
        return wire.ClusterRef(await self._clusters.id_of(written.cluster))

    async def set_access(self, said: wire.Access) -> wire.Cluster:
        given = (said.cluster, said.token, said.headers, said.ca_file)
        return wire_cluster(await self._clusters.set_access(*given))

    async def choices(self) -> wire.Choices:
        return self._choices(await choices(self._jobs))

    async def look_at(self, asked: wire.HostRef, report: ReportProgress) -> wire.Clusters:
        report(f"Asking {asked.host} for jobs")
        await self._jobs.add_host(asked.host)
        return self.all()

    async def forget_host(self, asked: wire.HostRef) -> wire.Clusters:
        await self._jobs.remove_host(asked.host)
        return self.all()

    async def reconnect(self, asked: wire.ClusterRef) -> None:
        await self._reaching.reconnect(asked.cluster)

    async def terminal(self, asked: wire.TerminalRef) -> wire.Terminal:
        made = await self._terminals.on(asked.cluster, asked.node_id)
        return wire.Terminal(made.title, [*made.argv], {})

    async def answer(self, said: wire.Answer) -> None:
        if said.id.isdecimal():
            await self._routes.answer(int(said.id), said.text)

    def _offered(self, known: AllKnown) -> Iterable[SeenJob]:
        """Running jobs that hold a live Ray and are no clusters yet."""
        clusters = {one.id for one in known.clusters}
        return (s for s in self._jobs.all() if s.ray == "live" and s.address not in clusters)

    def _choices(self, found: Choices) -> wire.Choices:
        looked_at = {seen.host for seen in self._jobs.hosts()}
        return wire.Choices(
            jobs=[self._job(seen) for seen in found.jobs],
            ssh_hosts=[
                wire.SshHost(host.name, host.detail, host.name in looked_at)
                for host in found.ssh_hosts
            ],
            problems=_problems(found.problems),
        )

    def _job(self, seen: SeenJob) -> wire.Job:
        return wire_job(seen, self._jobs.time_left_s(seen))


def wire_job(seen: SeenJob, time_left_s: float | None) -> wire.Job:
    job, pending = seen.job, seen.job.state == "pending"
    return wire.Job(
        address=seen.address,
        job=job.id,
        host=seen.host,
        name=job.name,
        partition=job.partition,
        state=job.state if job.state in ("running", "pending") else "other",
        reason=job.reason,
        nodes=job.node_count,
        sentence=sentence(seen),
        ray=seen.ray,
        time_left_s=time_left_s,
        starts_s=max(0.0, job.started - time.time()) if pending and job.started else None,
    )


def wire_cluster(known: Known) -> wire.Cluster:
    reach = known.reach
    return wire.Cluster(
        id=known.id,
        name=known.name,
        origin=known.origin,
        state=known.state,
        session=known.session,
        ray_version=known.ray_version,
        sentence=known.sentence,
        problems=_problems(known.problems),
        route=_route(reach),
        job=reach.job,
        host=reach.host,
        time_left_s=reach.time_left_s,
        time_warning=reach.time_warning,
    )


def _route(reach: Reach) -> wire.Route | None:
    state = reach.route
    if state is None:
        return None
    kind = state.route.kind
    return wire.Route(kind, reach.via, state.state, state.reason, state.message)


def _host(seen: SeenHost) -> wire.JobHost:
    return wire.JobHost(seen.host, seen.state, seen.error.message if seen.error else "")


def _question(asked: SshQuestion) -> wire.Question:
    return wire.Question(str(asked.id), asked.ssh, asked.prompt, asked.kind)


def _problems(problems: Iterable[Problem]) -> list[wire.Problem]:
    return [wire.Problem(p.code, p.message, with_retry(p.next_step, p.retries)) for p in problems]
