"""The lists of one cluster, joined by worker: who it is, what it runs, whose actor or job it is."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from eagleray.common.errors import EaglerayError
from eagleray.features.workers.names import describe_worker
from eagleray.features.workers.rows import Facts
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.rows import ActorRow, JobRow, TaskRow, WorkerRow

T = TypeVar("T")
log = logging.getLogger(__name__)


class Lists:
    """The lists of one cluster, joined by worker."""

    def __init__(
        self,
        tasks: Sequence[TaskRow],
        actors: Sequence[ActorRow],
        jobs: Sequence[JobRow],
        workers: Sequence[WorkerRow],
    ) -> None:
        self._homes = {row.worker_id: row for row in workers}
        self._jobs = {job.job_id: job for job in jobs if job.job_id}
        self._drivers = {(job.driver_ip, job.driver_pid): job for job in jobs if job.driver_pid}
        self._actors = {actor.actor_id: actor for actor in actors}
        self._actor_at = {(actor.node_id, actor.pid): actor for actor in actors if actor.pid}
        self._tasks: dict[str, list[TaskRow]] = defaultdict(list)
        self._starting: dict[int, list[TaskRow]] = defaultdict(list)
        for task in tasks:
            if task.worker_id:
                self._tasks[task.worker_id].append(task)
            else:
                self._starting[task.pid].append(task)

    def home(self, worker_id: str) -> WorkerRow | None:
        return self._homes.get(worker_id)

    def tasks(self, worker_id: str, row: WorkerRow | None) -> list[TaskRow]:
        """What it runs.  During an actor's __init__ Ray names only the pid, on whatever node."""
        found = self._tasks.get(worker_id, [])
        if found or row is None:
            return found
        return [
            task for task in self._starting.get(row.pid, ()) if task.node_id in ("", row.node_id)
        ]

    def actor(self, row: WorkerRow | None, tasks: Sequence[TaskRow]) -> ActorRow | None:
        ids = (task.actor_id for task in tasks if task.actor_id in self._actors)
        actor_id = next(ids, None)
        if actor_id is not None:
            return self._actors[actor_id]
        return self._actor_at.get((row.node_id, row.pid)) if row else None

    def job(self, row: WorkerRow) -> JobRow | None:
        """The job of a driver, by its process; Ray pads the job id to make the driver's worker id."""
        found = self._drivers.get((row.node_ip, row.pid))
        return found or self._jobs.get(row.worker_id[:8])

    def describe(self, worker_id: str, row: WorkerRow | None) -> Facts:
        if row is not None and row.kind == "driver":
            return describe_worker(row, None, (), self.job(row))
        tasks = self.tasks(worker_id, row)
        return describe_worker(row, self.actor(row, tasks), tasks, None)


async def ask_lists(dashboard: Dashboard, rows: Sequence[WorkerRow | None]) -> Lists:
    """The lists that describe `rows`, None being a worker whose row is to be found.

    A list that cannot be had is empty, unless it is that of the tasks.
    """
    held = any(row is None for row in rows)
    drivers = held or any(row is not None and row.kind == "driver" for row in rows)
    no_actors: list[ActorRow] = []
    no_jobs: list[JobRow] = []
    no_workers: list[WorkerRow] = []
    tasks, actors, jobs, workers = await asyncio.gather(
        dashboard.running_tasks(),
        _or(dashboard.actors(), no_actors),
        _or(dashboard.jobs(), no_jobs) if drivers else _value(no_jobs),
        _or(dashboard.all_workers(), no_workers) if held else _value(no_workers),
    )
    return Lists(tasks, actors, jobs, workers)


async def _or(asked: Awaitable[T], otherwise: T) -> T:
    try:
        return await asked
    except EaglerayError as error:
        log.info("A list of a cluster could not be had: %s %s", error, error.detail)
        return otherwise


async def _value(value: T) -> T:
    return value
