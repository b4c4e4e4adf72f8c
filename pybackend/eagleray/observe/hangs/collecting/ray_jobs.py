"""The part of a cluster that belongs to jobs of Ray, or to some workers: a picture of these shows only that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from attrs import evolve, frozen

from eagleray.debug.workers.model import DRIVER
from eagleray.debug.workers.worker_facts import clean
from eagleray.observe.hangs import ray_tasks
from eagleray.observe.hangs.evidence import DeadActor
from eagleray.observe.hangs.ray_names import NodeNames, job_of_driver
from eagleray.observe.hangs.task_graph import OpenTask
from eagleray.ray.rows import (
    ActorRow,
    JobRow,
    NodeRow,
    PlacementGroupRow,
    TaskRow,
    WorkerRow,
)
from eagleray.remote.injected.worker_patterns import first_match, matchable_names, split_patterns
from eagleray.runs.model import RunState

_RUNNING = "RUNNING"


@frozen
class ClusterRows:
    """The rows that Ray lists; `tasks` have not ended.  `others` are actors of other jobs, which may hold resources, and
    `live_jobs` the jobs whose drivers run.
    """

    actors: tuple[ActorRow, ...]
    workers: tuple[WorkerRow, ...]
    tasks: tuple[TaskRow, ...]
    others: tuple[ActorRow, ...] = ()
    live_jobs: frozenset[str] = frozenset()


def live_jobs_of(workers: Iterable[WorkerRow]) -> frozenset[str]:
    return frozenset(job_of_driver(row.worker_id) for row in workers if row.kind == "driver")


def jobs_of(rows: Iterable[JobRow], written: str) -> frozenset[str]:
    """The ids of Ray's jobs that `written` names: by that id, or by the one under which the job was submitted."""
    return frozenset(
        row.job_id for row in rows if row.job_id and written in (row.job_id, row.submission_id)
    )


def jobs_of_run(
    rows: Iterable[JobRow], workers: Iterable[WorkerRow], state: RunState
) -> frozenset[str]:
    """The ids of the jobs of a run: the id as which it was submitted, and the ids of its drivers.

    A driver is one by the id of its worker: another process may have its pid on another node.
    """
    drivers = {worker.worker_id for worker in state.workers if worker.kind == "driver"}
    submitted = jobs_of(rows, state.external_id) if state.external_id else frozenset()
    return submitted | frozenset(
        job_of_driver(row.worker_id)
        for row in workers
        if row.kind == "driver" and row.worker_id in drivers
    )


def restricted(rows: ClusterRows, jobs: Collection[str]) -> ClusterRows:
    """The rows of these jobs; all of them without any."""
    if not jobs:
        return rows
    return ClusterRows(
        tuple(row for row in rows.actors if row.job_id in jobs),
        tuple(
            row
            for row in rows.workers
            if row.kind == "driver" and job_of_driver(row.worker_id) in jobs
        ),
        tuple(row for row in rows.tasks if row.job_id in jobs),
        tuple(row for row in rows.actors if row.job_id not in jobs),
        rows.live_jobs,
    )


def of_workers(rows: ClusterRows, written: str) -> ClusterRows:
    """The rows of the workers that `written` names; all of them for "".

    It is the title of a group ("Policy.train", "Driver"), or patterns for the names of a class, function or actor.
    """
    if not written:
        return rows
    return ClusterRows(
        tuple(row for row in rows.actors if _is_named(written, row.class_name, row.name)),
        tuple(row for row in rows.workers if row.kind == "driver" and _is_named(written, DRIVER)),
        tuple(
            row
            for row in rows.tasks
            if not row.actor_id and _is_named(written, row.name or row.function)
        ),
    )


def _is_named(written: str, name: str, actor: str = "") -> bool:
    """Whether `written` names the class or function `name`; a group of actors that call a method has both in its title."""
    if written in (title := clean(name), actor) or written.rpartition(".")[0] == title:
        return True
    names = [*matchable_names("", name, actor), title.lower()]
    return bool(first_match(split_patterns([written]), names)[0])


def with_jobs(
    names: Mapping[str, NodeNames],
    tasks: Sequence[TaskRow],
    jobs: Collection[str],
    is_part: bool = False,
) -> dict[str, NodeNames]:
    """The nodes, which then sample only processes of these jobs; all processes without any.

    `is_part`: they sample only the named processes, and the processes of `tasks`.
    """
    if not jobs and not is_part:
        return dict(names)
    workers: dict[str, set[int]] = defaultdict(set)
    for task in tasks:
        if task.state == _RUNNING and task.pid:
            workers[task.node_id].add(task.pid)
    return {
        node_id: evolve(
            each,
            workers=tuple(sorted(workers[node_id])),
            jobs=tuple(sorted(jobs)),
            is_part=is_part,
        )
        for node_id, each in names.items()
    }


def dead_in(listed: Iterable[ActorRow], jobs: Collection[str]) -> list[DeadActor]:
    return [
        DeadActor(row.class_name, row.name, row.pid, row.death)
        for row in listed
        if row.state == "DEAD" and row.job_id in jobs
    ]


def graph_of(
    before: ClusterRows,
    after: ClusterRows,
    nodes: Sequence[NodeRow],
    hosts: Mapping[str, str],
    groups: Iterable[PlacementGroupRow],
) -> tuple[OpenTask, ...]:
    """The tasks `after` the samples, with those marked that were in the same state `before`.

    `hosts` has the names of nodes.
    """
    room = _room(nodes)
    free = [node.available for node in nodes if node.alive]
    return ray_tasks.rows(
        *(after.tasks, before.actors, before.workers, hosts, room, groups, before.tasks, free),
        *(before.others, before.live_jobs),
    )


def _room(nodes: Sequence[NodeRow]) -> dict[str, float]:
    """The most that one living node has of each resource."""
    room: dict[str, float] = {}
    for node in nodes:
        for name, amount in node.resources.items() if node.alive else ():
            room[name] = max(room.get(name, 0.0), amount)
    return room
