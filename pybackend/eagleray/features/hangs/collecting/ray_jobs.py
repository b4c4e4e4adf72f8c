"""The part of a cluster that belongs to jobs of Ray: a picture of a job or of a run shows only that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from attrs import evolve, frozen

from eagleray.features.hangs.ray_names import NodeNames, job_of_driver
from eagleray.features.runs.model import RunState
from eagleray.ray.rows import ActorRow, JobRow, TaskRow, WorkerRow

_RUNNING = "RUNNING"


@frozen
class ClusterRows:
    """What Ray lists; `tasks` have not ended."""

    actors: tuple[ActorRow, ...]
    workers: tuple[WorkerRow, ...]
    tasks: tuple[TaskRow, ...]


def jobs_of(rows: Iterable[JobRow], written: str) -> frozenset[str]:
    """The ids of Ray's jobs that `written` names: by that id, or by the one under which the job was submitted."""
    return frozenset(
        row.job_id for row in rows if row.job_id and written in (row.job_id, row.submission_id)
    )


def jobs_of_run(
    rows: Iterable[JobRow], workers: Iterable[WorkerRow], state: RunState
) -> frozenset[str]:
    """The ids of the jobs of a run: that as which it was submitted, and those of its drivers.

    A driver is one by the id of its worker: its pid may be that of another process on another node.
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
    )


def with_jobs(
    names: Mapping[str, NodeNames], tasks: Sequence[TaskRow], jobs: Collection[str]
) -> dict[str, NodeNames]:
    """The nodes, which then sample only processes of these jobs; all processes without any."""
    if not jobs:
        return dict(names)
    workers: dict[str, set[int]] = defaultdict(set)
    for task in tasks:
        if task.state == _RUNNING and task.pid:
            workers[task.node_id].add(task.pid)
    return {
        node_id: evolve(each, workers=tuple(sorted(workers[node_id])), jobs=tuple(sorted(jobs)))
        for node_id, each in names.items()
    }
