"""What is to be said of the way to a cluster, and what follows when a route or a job changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from attrs import frozen

from eagleray.common.listeners import Listeners
from eagleray.common.retry import JOB_STATE
from eagleray.common.slurm_errors import job_over, job_waits
from eagleray.features.clusters.addresses import place
from eagleray.features.clusters.cluster_watch import ClusterWatch
from eagleray.features.clusters.heads import Say, starts
from eagleray.features.clusters.jobs import Jobs
from eagleray.features.clusters.problems import Problem
from eagleray.features.clusters.seen_jobs import SeenJob
from eagleray.features.clusters.token_rules import TokenRules
from eagleray.features.clusters.ways import Ways, via
from eagleray.protocol.control import RouteState
from eagleray.ray.endpoint import FindEndpoint
from eagleray.ray.errors import listener_unchecked

# So much before its job ends somebody who stands at a breakpoint is warned.
WARN_S = 600.0

BACK = frozenset({"lost", "reconnecting"})


@frozen
class Reach:
    """How a cluster is reached, in what is shown; nothing for one that this machine reaches by itself.

    `waits_for` says what is being waited for on the way to it.  `is_pending`: its job has no nodes, whatever was
    seen before.
    """

    route: RouteState | None = None
    via: str = ""
    job: str = ""
    host: str = ""
    job_name: str = ""
    time_left_s: float | None = None
    time_warning: str = ""
    waits_for: str = ""
    is_pending: bool = False
    problem: Problem | None = None


class Reaches(Protocol):
    """What `Clusters` needs to reach them."""

    def find_way(self, cluster: str) -> FindEndpoint: ...

    async def prepare(
        self, cluster: str, say: Say, *, wait: bool = True, clicked: bool = True
    ) -> None: ...

    async def forget(self, cluster: str) -> None: ...

    def of(self, cluster: str) -> Reach: ...

    def is_spent(self, cluster: str) -> bool: ...

    def is_near(self, cluster: str) -> bool: ...


class OnlyDirect:
    """Reaches what this machine reaches by itself."""

    def __init__(self, access: TokenRules) -> None:
        self._access = access

    def find_way(self, cluster: str) -> FindEndpoint:
        return self._access.find_way(cluster)

    async def prepare(
        self, cluster: str, say: Say, *, wait: bool = True, clicked: bool = True
    ) -> None:
        """There is nothing to prepare."""

    async def forget(self, cluster: str) -> None:
        """Nothing was kept."""

    def of(self, cluster: str) -> Reach:
        return Reach()

    def is_spent(self, cluster: str) -> bool:
        return False

    def is_near(self, cluster: str) -> bool:
        return True


class Reaching:
    """Reaches clusters by their ways; listens to routes and jobs until `close`.

    1. A route that comes back after it was lost: its clusters are asked at once.
    2. A job that was requeued or began anew: its head is looked for again, under the same id.
    `standing` counts the workers of a cluster at which somebody stands.
    """

    def __init__(
        self,
        ways: Ways,
        jobs: Jobs,
        watch: ClusterWatch,
        standing: Callable[[str], int],
        listen_routes: Callable[[Callable[[list[RouteState]], None]], Callable[[], None]],
    ) -> None:
        self._ways = ways
        self._jobs = jobs
        self._watch = watch
        self._standing = standing
        self._listen_routes = listen_routes
        self._listeners = Listeners[[]]()
        self._routes: dict[str, str] = {}
        self._runs: dict[str, tuple[str, float]] = {}
        self._ends = [jobs.listen(self._on_jobs)]

    def follow_routes(self) -> None:
        """Hears of routes from now on, which keeps a look-out for adapters."""
        self._ends.append(self._listen_routes(lambda _: self._on_routes()))

    def close(self) -> None:
        for end in self._ends:
            end()
        self._ends.clear()

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls `listener` whenever `of` may answer something else."""
        self._listeners.add(listener)

    def find_way(self, cluster: str) -> FindEndpoint:
        return self._ways.find_way(cluster)

    def is_near(self, cluster: str) -> bool:
        return self._ways.is_near(cluster)

    async def prepare(
        self, cluster: str, say: Say, *, wait: bool = True, clicked: bool = True
    ) -> None:
        await self._ways.prepare(cluster, say, wait=wait, clicked=clicked)
        where = place(cluster)
        if where.job and self._jobs.host(where.ssh) and not self._jobs.job(where.ssh, where.job):
            # The host was asked before the job was there, which would be taken for one that is over.
            await self._jobs.look(where.ssh, JOB_STATE.interval_s(0))

    async def forget(self, cluster: str) -> None:
        """The cluster was removed: routes that only it needed are left."""
        self._runs.pop(cluster, None)
        self._routes.pop(cluster, None)
        others = [seen.cluster for seen in self._watch.all_seen() if seen.cluster != cluster]
        await self._ways.leave(cluster, others, [seen.host for seen in self._jobs.hosts()])

    async def reconnect(self, cluster: str) -> None:
        """Makes the connection anew and asks through it at once; raises `unknown-cluster`."""
        self._watch.seen(cluster)
        await self._ways.reconnect(cluster)
        self._watch.reset(cluster)

    def of(self, cluster: str) -> Reach:
        where = place(cluster)
        if where.is_direct:
            return Reach()
        seen = self._jobs.job(where.ssh, where.job) if where.job else None
        left = self._jobs.time_left_s(seen) if seen else None
        state = self._ways.state(cluster)
        return Reach(
            route=state,
            via=via(state.route) if state else "",
            job=where.job,
            host=where.ssh,
            job_name=seen.job.name if seen else "",
            time_left_s=left,
            time_warning=self._warning(cluster, where.job, left),
            waits_for=self._ways.said(cluster) or _waits(seen),
            is_pending=seen is not None and seen.job.state == "pending",
            problem=_problem(seen) or self._unchecked(cluster),
        )

    def is_spent(self, cluster: str) -> bool:
        """Whether it is a job that is over: such a cluster does not come back."""
        where = place(cluster)
        if not where.job:
            return False
        seen, host = self._jobs.job(where.ssh, where.job), self._jobs.host(where.ssh)
        return seen.job.state == "over" if seen else host is not None and host.state == "ok"

    def _unchecked(self, cluster: str) -> Problem | None:
        if not self._ways.is_unchecked(cluster):
            return None
        return Problem.of(listener_unchecked(place(cluster).ssh))

    def _warning(self, cluster: str, job: str, left_s: float | None) -> str:
        standing = self._standing(cluster) if left_s is not None and left_s < WARN_S else 0
        if not standing or left_s is None:
            return ""
        minutes = max(1, round(left_s / 60))
        ends = "1 minute" if minutes == 1 else f"{minutes} minutes"
        who = "a worker stands" if standing == 1 else f"{standing} workers stand"
        return f"Job {job} ends in {ends} while {who} at a breakpoint."

    def _on_routes(self) -> None:
        for seen in self._watch.all_seen():
            state = self._ways.state(seen.cluster)
            now = state.state if state else "ready"
            before = self._routes.get(seen.cluster, now)
            self._routes[seen.cluster] = now
            if now == "ready" and before in BACK:
                self._watch.reset(seen.cluster)
        self._tell()

    def _on_jobs(self) -> None:
        for seen in self._watch.all_seen():
            where = place(seen.cluster)
            job = self._jobs.job(where.ssh, where.job) if where.job else None
            if job is None:
                continue
            now = (job.job.state, job.job.started)
            before = self._runs.get(seen.cluster, now)
            self._runs[seen.cluster] = now
            if before != now and self._ways.reached(seen.cluster) is not None:
                self._ways.forget(seen.cluster)
                self._watch.forget(seen.cluster)
                self._watch.reset(seen.cluster)
        self._tell()

    def _tell(self) -> None:
        self._listeners.tell()


def jobs_of(clusters: Iterable[str]) -> list[tuple[str, str]]:
    """Host and id of each job that is one of these clusters."""
    places = (place(cluster) for cluster in clusters)
    return [(where.ssh, where.job) for where in places if where.job]


def _waits(seen: SeenJob | None) -> str:
    if seen is None or seen.job.state != "pending":
        return ""
    return job_waits(seen.job.id, seen.job.reason, starts(seen.job.started)).message


def _problem(seen: SeenJob | None) -> Problem | None:
    """What is wrong with the job itself, whatever its dashboard says: a Ray can outlive its job."""
    if seen is None or seen.job.state not in ("over", "ending"):
        return None
    return Problem.of(job_over(seen.job.id, seen.job.word))
