"""Examines why a cluster may look empty although its program reached breakpoint(): rarely, with few queries."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterable, Mapping

from attrs import field, frozen

from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.model import ClusterProblem, ClusterStatus
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import counted, t
from eagleray.common.retry import Clock
from eagleray.common.tasks import gather_bounded
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.rows import JobRow, WorkerRow
from eagleray.tools import worker_processes
from eagleray.tools.processes import local_addresses
from eagleray.tools.worker_processes import WorkerEnvironment

AGAIN_S = 30.0
ENDED = frozenset({"SUCCEEDED", "FAILED", "STOPPED"})
# At most this many workers are examined: workers of one program are mostly alike.
PROCESSES = 32
LOGS = 6
LOG_LINES = 200

log = logging.getLogger(__name__)


@frozen
class Examination:
    """The result of an examination of one session of a cluster, and its time."""

    session: str
    at: float
    problems: tuple[ClusterProblem, ...] = field(default=())


class Examiner:
    """Examines the clusters of `watch`; calls `changed` when the problems of one changed.

    `problems` is called on the loop on which the examinations run; `close` ends them.
    """

    def __init__(
        self,
        watch: ClusterWatch,
        changed: Callable[[], None],
        *,
        clock: Clock | None = None,
        environment_of: Callable[[int], WorkerEnvironment | None] = worker_processes.environment_of,
        is_local: Callable[[str], bool] = lambda cluster: True,
    ) -> None:
        self._watch = watch
        self._changed = changed
        self._clock = clock or Clock()
        self._environment_of = environment_of
        self._is_local = is_local
        self._examined: dict[str, Examination] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        # By process: its environment never changes, and reading it is not free.
        self._environments: dict[tuple[int, int], WorkerEnvironment | None] = {}

    async def close(self) -> None:
        running = list(self._running.values())
        self._running.clear()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def problems(self, status: ClusterStatus) -> tuple[ClusterProblem, ...]:
        """The problems of the current session."""
        examined = self._examined.get(status.cluster)
        current = examined is not None and examined.session == status.session
        return examined.problems if examined and current and status.state == "connected" else ()

    def examine_due(self) -> None:
        """Examines clusters without paused workers in the background: each session once, and again while the panel is visible."""
        for status in self._watch.statuses():
            if status.state == "connected" and not status.paused and self._is_due(status):
                self._start(status.cluster)

    async def examine_all(self) -> None:
        """Examines every connected cluster now."""
        connected = [s for s in self._watch.statuses() if s.state == "connected"]
        await asyncio.gather(*(self._start(status.cluster) for status in connected))

    def _is_due(self, status: ClusterStatus) -> bool:
        examined = self._examined.get(status.cluster)
        if examined is None or examined.session != status.session:
            return True
        return self._watch.visible and self._clock.now() - examined.at >= AGAIN_S

    def _start(self, cluster: str) -> asyncio.Task[None]:
        task = self._running.get(cluster)
        if task is None or task.done():
            # A failed examination is due again with the next change of the cluster.
            task = tasks.owned(self._examine(cluster), f"examine {cluster}", tasks.only_logged)
            self._running[cluster] = task
        return task

    async def _examine(self, cluster: str) -> None:
        try:
            status = self._watch.status(cluster)
            problems = tuple(diagnose(await self._evidence(status)))
        except EaglerayError as error:
            log.info("%s could not be examined: %s", cluster, error)
            return
        before = self._examined.get(cluster)
        self._examined[cluster] = Examination(status.session, self._clock.now(), problems)
        for problem in problems:
            log.info("%s: %s: %s", cluster, problem.code, problem.message)
        if problems != (before.problems if before else ()):
            self._changed()

    async def _evidence(self, status: ClusterStatus) -> Evidence:
        dashboard = self._watch.dashboard(status.cluster)
        workers = await dashboard.all_workers()
        jobs = [job for job in await dashboard.jobs() if job.status not in ENDED]
        actors = await dashboard.actors()
        settings = [job.runtime_env.env for job in jobs]
        settings += [actor.runtime_env.env for actor in actors]
        # Behind a route the same address belongs to another machine.
        near = local_addresses() if self._is_local(status.cluster) else frozenset()
        here, elsewhere = _split_by_machine(workers, near)
        environments = await asyncio.to_thread(self._read_environments, here[:PROCESSES])
        unseen = elsewhere if environments else [*here, *elsewhere]
        return Evidence(
            ray_version=status.ray_version,
            environments=environments,
            settings=tuple(settings),
            logs=tuple(await _logs(dashboard, unseen, jobs)),
        )

    def _read_environments(self, workers: Iterable[WorkerRow]) -> tuple[WorkerEnvironment, ...]:
        before = self._environments
        self._environments = {
            key: before[key] if key in before else self._environment_of(worker.pid)
            for worker in workers
            for key in [(worker.pid, worker.started_ms)]
        }
        return tuple(e for e in self._environments.values() if e is not None)


def _split_by_machine(
    workers: Iterable[WorkerRow], local: frozenset[str]
) -> tuple[list[WorkerRow], list[WorkerRow]]:
    """Workers and drivers of this machine, then other machines', the youngest first."""
    youngest = sorted(workers, key=lambda worker: -worker.started_ms)
    processes = [
        worker for worker in youngest if worker.kind in ("worker", "driver") and worker.pid
    ]
    here = [worker for worker in processes if worker.node_ip in local]
    return here, [worker for worker in processes if worker.node_ip not in local]


async def _logs(
    dashboard: Dashboard, workers: Iterable[WorkerRow], jobs: Iterable[JobRow]
) -> list[str]:
    """The ends of the error logs of some workers; unreadable ones are left out."""
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


OLDEST_RAY = (2, 9)
# From this version on breakpoint() opens debugpy unless RAY_DEBUG says otherwise (Ray's page on its debugger).
DEBUGPY_BY_DEFAULT = (2, 39)

# Lines that Ray's workers write to stderr (ray/util/debugpy.py, ray/util/rpdb.py).
NO_DEBUGPY_LINE = "Ray Debugpy Debugger will not work without"
LEGACY_LINE = "RemotePdb session open at"


@frozen
class Evidence:
    """The facts about one cluster that rules are applied to.

    `environments` come from the user's own workers on this machine; `settings` the env_vars of running
    jobs, tasks and actors; `logs` the ends of the error logs of some other workers.
    """

    ray_version: str
    environments: tuple[WorkerEnvironment, ...] = ()
    settings: tuple[Mapping[str, str], ...] = ()
    logs: tuple[str, ...] = ()


def diagnose(evidence: Evidence) -> list[ClusterProblem]:
    """The problems of a cluster, the most certain first.

    1. The version is too old to list paused workers.
    2. Ray's old debugger is on, or all debugging off: by an environment, a runtime_env, or a log.
    3. debugpy is missing: by an environment, or a log.
    """
    version = _version(evidence.ray_version)
    if version and version < OLDEST_RAY:
        return [_too_old(evidence.ray_version)]
    problems = [_debugger_setting(evidence, version), *_without_debugpy(evidence)]
    return [problem for problem in problems if problem is not None]


def _too_old(ray_version: str) -> ClusterProblem:
    return ClusterProblem(
        "ray-too-old",
        t("Ray {version} doesn't report paused workers.", version=printable(ray_version, 40)),
        t("Use Ray 2.9.1 or newer."),
    )


def _debugger_setting(evidence: Evidence, version: tuple[int, int] | None) -> ClusterProblem | None:
    values = [environment.ray_debug for environment in evidence.environments]
    values += [setting.get("RAY_DEBUG") for setting in evidence.settings if "RAY_DEBUG" in setting]
    legacy = "legacy" in values or any(LEGACY_LINE in text for text in evidence.logs)
    if version and version < DEBUGPY_BY_DEFAULT:
        unset = bool(evidence.environments) and not any(values)
        return _needs_ray_debug(evidence.ray_version) if legacy or unset else None
    if legacy:
        return ClusterProblem(
            "legacy-debugger",
            t("breakpoint() opens Ray's own pdb, which is not listed here."),
            t(
                "Open its Ray pdb session. Or remove RAY_DEBUG=legacy from environment and runtime_env,"
                " and restart the program."
            ),
        )
    off = next((value for value in values if value is not None and value != "1"), None)
    if off is None:
        return None
    return ClusterProblem(
        "debugger-off",
        t("breakpoint() is off, because RAY_DEBUG is “{value}”.", value=printable(off, 40)),
        t("Unset RAY_DEBUG or set it to 1, then restart the program."),
    )


def _needs_ray_debug(ray_version: str) -> ClusterProblem:
    return ClusterProblem(
        "legacy-debugger",
        t(
            "Without RAY_DEBUG, breakpoint() opens Ray's own pdb (Ray {version}).",
            version=printable(ray_version, 40),
        ),
        t("Open its Ray pdb session, or restart cluster and program with RAY_DEBUG=1."),
    )


def _without_debugpy(evidence: Evidence) -> Iterable[ClusterProblem]:
    lacking = [e.folder for e in evidence.environments if not e.has_debugpy]
    for folder in dict.fromkeys(lacking):
        yield ClusterProblem(
            "no-debugpy",
            counted(
                lacking.count(folder),
                "breakpoint() does nothing in {n} worker, because debugpy is missing.",
                "breakpoint() does nothing in {n} workers, because debugpy is missing.",
            ),
            t(
                "Install debugpy>=1.8 into {folder}, then restart the program.",
                folder=printable(folder, 300),
            ),
        )
    if not lacking and any(NO_DEBUGPY_LINE in text for text in evidence.logs):
        yield ClusterProblem(
            "no-debugpy",
            t("breakpoint() did nothing in a worker, because debugpy is missing."),
            t("Install debugpy>=1.8 in the workers' environment, then restart the program."),
        )


def _version(text: str) -> tuple[int, int] | None:
    numbers = re.match(r"(\d{1,4})\.(\d{1,4})", text)
    return (int(numbers[1]), int(numbers[2])) if numbers else None
