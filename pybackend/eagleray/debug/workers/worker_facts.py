"""Names, titles and ranks of workers, from Ray's lists of actors, tasks and jobs."""

from __future__ import annotations

import asyncio
import logging
import re
import shlex
import string
from collections import defaultdict
from collections.abc import Awaitable, Iterable, Sequence
from typing import TypeVar

from eagleray.common.errors import EaglerayError, printable
from eagleray.debug.workers.model import DRIVER, WorkerFacts
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.rows import ActorRow, JobRow, TaskRow, WorkerRow

NAME_LIMIT = 80
# A cluster gives commands of any length; splitting one takes the square of it.
_LONGEST_COMMAND = 4096

_LETTERS_AND_DIGITS = string.ascii_letters + string.digits
_NUMBERED = re.compile(r"[A-Za-z]*?([0-9]{1,6})\Z")
_HEX_ID = re.compile(r"(?=.*[a-fA-F])(?=.*[0-9])[0-9a-fA-F]{6,}\Z")
_VERSION = re.compile(r"[vV][0-9]+\Z")


def rank_of_text(text: str) -> int | None:
    """RANK as an environment gives it; None when it isn't a rank."""
    stripped = text.strip()
    return int(stripped) if re.fullmatch(r"[0-9]{1,7}", stripped) else None


def rank_of_name(name: str) -> int | None:
    """The number that ends an actor's name: `policy_3`, `WorkerDict_0:3`, `worker3`; never part of an id or version."""
    last = name[len(name.rstrip(_LETTERS_AND_DIGITS)) :]
    if not last or _HEX_ID.match(last) or _VERSION.match(last):
        return None
    number = _NUMBERED.match(last)
    return int(number[1]) if number else None


def rank_of(facts: WorkerFacts, attached_rank: str) -> int | None:
    """The rank of a worker.

    1. RANK in its runtime_env.  2. The number that ends its actor's name.  3. RANK of its
    environment, known once the adapter attached.  4. None.
    """
    if facts.env_rank is not None:
        return facts.env_rank
    if facts.name_rank is not None:
        return facts.name_rank
    return rank_of_text(attached_rank)


def script_of(entrypoint: str) -> str:
    """The program of an entrypoint: `train.py`, `-m pkg.train`; "" when it shows none."""
    entrypoint = entrypoint[:_LONGEST_COMMAND]
    try:
        tokens = shlex.split(entrypoint)
    except ValueError:
        tokens = entrypoint.split()
    for token, following in zip(tokens, [*tokens, ""][1:], strict=True):
        if token == "-m" and following:  # noqa: S105 (an option, no password)
            return f"-m {following}"
        if token.endswith(".py"):
            return token.rsplit("/", 1)[-1]
    return ""


def describe_worker(
    row: WorkerRow | None, actor: ActorRow | None, tasks: Iterable[TaskRow], job: JobRow | None
) -> WorkerFacts:
    """The facts of one worker from its rows; anything may be missing."""
    if row is not None and row.kind == "driver":
        return driver_facts(script_of(job.entrypoint) if job else "", _driver_tasks(job))
    ordered = sorted(tasks, key=lambda task: task.started_ms)
    titles = tuple(dict.fromkeys(clean(task.name or task.function) for task in ordered))
    name = _name_of(actor, titles, row)
    envs = [task.runtime_env.env for task in ordered] + ([actor.runtime_env.env] if actor else [])
    ranks = [rank_of_text(env["RANK"]) for env in envs if "RANK" in env]
    return WorkerFacts(
        name,
        titles or (clean(actor.class_name) if actor else name,),
        env_rank=next((rank for rank in ranks if rank is not None), None),
        name_rank=rank_of_name(actor.name) if actor else None,
        attempt=max((task.attempt for task in ordered), default=0),
        task_ids=frozenset(task.task_id for task in ordered),
        parent_ids=frozenset(task.parent_task_id for task in ordered if task.parent_task_id),
        class_name=clean(actor.class_name) if actor else "",
    )


def driver_facts(script: str, task_ids: frozenset[str] = frozenset()) -> WorkerFacts:
    """The facts of a driver, named "driver · train.py"."""
    name = clean(f"driver · {script}" if script else "driver")
    return WorkerFacts(name, (DRIVER,), task_ids=task_ids, is_driver=True)


def clean(text: str) -> str:
    """A name of the cluster on one line, without control characters, not longer than a row."""
    return printable(text, NAME_LIMIT).strip()


def _name_of(actor: ActorRow | None, titles: tuple[str, ...], row: WorkerRow | None) -> str:
    candidates = [actor.name, actor.repr_name, actor.class_name] if actor else []
    candidates += [title.rsplit(".", 1)[0] for title in titles if title.endswith(".__init__")]
    candidates += titles
    cleaned = (clean(candidate) for candidate in candidates)
    return next((name for name in cleaned if name), f"worker {row.pid}" if row else "worker")


def _driver_tasks(job: JobRow | None) -> frozenset[str]:
    # Ray gives the driver's own "task" an id of ones that ends in the job id (2.60, DRIVER_TASK_ID_PREFIX).
    return frozenset({"f" * 40 + job.job_id}) if job and job.job_id else frozenset()


T = TypeVar("T")
log = logging.getLogger(__name__)


class ClusterLists:
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
        """Returns what it runs. During an actor's __init__ Ray's task has only a pid, perhaps without a node."""
        tasks = self._tasks.get(worker_id, [])
        if tasks or row is None:
            return tasks
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
        """The job of a driver, by its process or worker id, a padded job id (Ray's `compute_driver_id_from_job`)."""
        job = self._drivers.get((row.node_ip, row.pid))
        return job or self._jobs.get(row.worker_id[:8])

    def describe(self, worker_id: str, row: WorkerRow | None) -> WorkerFacts:
        if row is not None and row.kind == "driver":
            return describe_worker(row, None, (), self.job(row))
        tasks = self.tasks(worker_id, row)
        return describe_worker(row, self.actor(row, tasks), tasks, None)


async def fetch_lists(dashboard: Dashboard, rows: Sequence[WorkerRow | None]) -> ClusterLists:
    """The lists that describe `rows`; None is a worker whose row is still to be found.

    A list that fails is empty, except the list of tasks.
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
    return ClusterLists(tasks, actors, jobs, workers)


async def _or(query: Awaitable[T], otherwise: T) -> T:
    try:
        return await query
    except EaglerayError as error:
        log.info("a list of a cluster failed: %s %s", error, error.logged)
        return otherwise


async def _value(value: T) -> T:
    return value
