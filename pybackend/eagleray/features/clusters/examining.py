"""Looking for what stands in the way of a cluster: seldom, in the background, and with few questions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from attrs import field, frozen

from eagleray.common import tasks
from eagleray.common.clock import Clock, SystemClock
from eagleray.common.errors import EaglerayError
from eagleray.common.gather import gather_bounded
from eagleray.features.clusters.cluster_status import Seen
from eagleray.features.clusters.cluster_watch import ClusterWatch
from eagleray.features.clusters.problems import Problem
from eagleray.features.clusters.reasons import Evidence, reasons
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.rows import JobRow, WorkerRow
from eagleray.tools import worker_processes
from eagleray.tools.processes import local_addresses
from eagleray.tools.worker_processes import WorkerEnvironment

AGAIN_S = 30.0
ENDED = frozenset({"SUCCEEDED", "FAILED", "STOPPED"})
# So many workers are looked at: those of one program are mostly alike.
PROCESSES = 32
LOGS = 6
LOG_LINES = 200

log = logging.getLogger(__name__)


@frozen
class Examined:
    """What an examination of one session of a cluster came to, and when."""

    session: str
    at: float
    problems: tuple[Problem, ...] = field(default=())


class Examiner:
    """Examines the clusters of `watch`; calls `changed` when the problems of one changed.

    `heard` and `problems` are called on the loop on which the examinations run; `close` ends them.
    """

    def __init__(
        self,
        watch: ClusterWatch,
        changed: Callable[[], None],
        *,
        clock: Clock | None = None,
        environment_of: Callable[[int], WorkerEnvironment | None] = worker_processes.environment_of,
        is_near: Callable[[str], bool] = lambda cluster: True,
    ) -> None:
        self._watch = watch
        self._changed = changed
        self._clock = clock or SystemClock()
        self._environment_of = environment_of
        self._is_near = is_near
        self._examined: dict[str, Examined] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        # By process: its environment stays the same for its life, and looking is not free.
        self._environments: dict[tuple[int, int], WorkerEnvironment | None] = {}

    async def close(self) -> None:
        running = list(self._running.values())
        self._running.clear()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def problems(self, seen: Seen) -> tuple[Problem, ...]:
        """What stands in the way of the session that is seen."""
        examined = self._examined.get(seen.cluster)
        current = examined is not None and examined.session == seen.session
        return examined.problems if examined and current and seen.state == "connected" else ()

    def look_again(self) -> None:
        """Examines, in the background, what has nothing paused: each session once, and again while somebody looks."""
        for seen in self._watch.all_seen():
            if seen.state == "connected" and not seen.paused and self._is_due(seen):
                self._start(seen.cluster)

    async def examine_all(self) -> None:
        """Examines every connected cluster now."""
        connected = [one for one in self._watch.all_seen() if one.state == "connected"]
        await asyncio.gather(*(self._start(one.cluster) for one in connected))

    def _is_due(self, seen: Seen) -> bool:
        examined = self._examined.get(seen.cluster)
        if examined is None or examined.session != seen.session:
            return True
        return self._watch.visible and self._clock.now() - examined.at >= AGAIN_S

    def _start(self, cluster: str) -> asyncio.Task[None]:
        task = self._running.get(cluster)
        if task is None or task.done():
            # One that failed is due again at the next change of the cluster.
            task = tasks.owned(self._examine(cluster), f"examine {cluster}", tasks.only_logged)
            self._running[cluster] = task
        return task

    async def _examine(self, cluster: str) -> None:
        try:
            seen = self._watch.seen(cluster)
            found = tuple(reasons(await self._evidence(seen)))
        except EaglerayError as error:
            log.info("%s could not be examined: %s", cluster, error)
            return
        before = self._examined.get(cluster)
        self._examined[cluster] = Examined(seen.session, self._clock.now(), found)
        for problem in found:
            log.info("%s: %s: %s", cluster, problem.code, problem.message)
        if found != (before.problems if before else ()):
            self._changed()

    async def _evidence(self, seen: Seen) -> Evidence:
        dashboard = self._watch.dashboard(seen.cluster)
        workers = await dashboard.all_workers()
        jobs = [job for job in await dashboard.jobs() if job.status not in ENDED]
        actors = await dashboard.actors()
        settings = [job.runtime_env.env for job in jobs]
        settings += [actor.runtime_env.env for actor in actors]
        # Beyond a route the same address is another machine's.
        near = local_addresses() if self._is_near(seen.cluster) else frozenset()
        here, elsewhere = _apart(workers, near)
        environments = await asyncio.to_thread(self._looked_into, here[:PROCESSES])
        unseen = elsewhere if environments else [*here, *elsewhere]
        return Evidence(
            ray_version=seen.ray_version,
            environments=environments,
            settings=tuple(settings),
            logs=tuple(await _logs(dashboard, unseen, jobs)),
        )

    def _looked_into(self, workers: Iterable[WorkerRow]) -> tuple[WorkerEnvironment, ...]:
        known = self._environments
        self._environments = {
            key: known[key] if key in known else self._environment_of(worker.pid)
            for worker in workers
            for key in [(worker.pid, worker.started_ms)]
        }
        return tuple(one for one in self._environments.values() if one is not None)


def _apart(
    workers: Iterable[WorkerRow], local: frozenset[str]
) -> tuple[list[WorkerRow], list[WorkerRow]]:
    """Workers and drivers of this machine and those of others, the youngest first."""
    youngest = sorted(workers, key=lambda worker: -worker.started_ms)
    asked = [worker for worker in youngest if worker.kind in ("worker", "driver") and worker.pid]
    here = [worker for worker in asked if worker.node_ip in local]
    return here, [worker for worker in asked if worker.node_ip not in local]


async def _logs(
    dashboard: Dashboard, workers: Iterable[WorkerRow], jobs: Iterable[JobRow]
) -> list[str]:
    """The ends of the error logs of some workers; what cannot be read is left out."""
    if not list(jobs):
        return []

    async def end_of(worker: WorkerRow) -> str:
        try:
            names = await dashboard.log_files(worker.node_id, f"worker-{worker.worker_id}-*.err")
            return await dashboard.log_file(worker.node_id, names[0], LOG_LINES) if names else ""
        except EaglerayError as error:
            log.debug("log of %s: %s", worker.worker_id, error)
            return ""

    chosen = [worker for worker in workers if worker.kind == "worker"][:LOGS]
    return await gather_bounded(end_of, chosen, at_once=2)
