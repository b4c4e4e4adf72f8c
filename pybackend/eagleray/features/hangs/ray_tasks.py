"""The tasks that Ray lists, as rows of the graph of who waits for whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from eagleray.common.errors import printable
from eagleray.features.hangs.ray_names import job_of_driver
from eagleray.features.hangs.task_graph import RUNNING, OpenTask
from eagleray.ray.rows import ActorRow, TaskRow, WorkerRow

_CREATION = "ACTOR_CREATION_TASK"
# Ray lists no task for a driver; its children name this one.
_DRIVERS_TASK = "f" * 40


def rows(
    tasks: Sequence[TaskRow],
    actors: Iterable[ActorRow],
    workers: Iterable[WorkerRow],
    hosts: Mapping[str, str],
    room: Mapping[str, float],
) -> tuple[OpenTask, ...]:
    """The `tasks`, and one that runs for each driver.  `room`: the most that a single node has of each resource."""
    names = {row.actor_id: printable(row.name or row.class_name, 100) for row in actors}
    needs = {task.actor_id: task.resources for task in tasks if task.kind == _CREATION}
    listed = []
    for task in tasks:
        needed = task.resources or needs.get(task.actor_id, {})
        listed.append(
            OpenTask(
                task.task_id,
                printable(task.name, 100),
                task.state,
                task.parent_task_id,
                task.actor_id,
                names.get(task.actor_id, ""),
                (hosts.get(task.node_id, ""), task.pid),
                amounts_text(needed),
                all(amount <= room.get(name, 0.0) for name, amount in needed.items()),
            )
        )
    return (*listed, *_drivers(workers, hosts))


def steady(before: Iterable[TaskRow], after: Iterable[TaskRow]) -> list[TaskRow]:
    """The tasks of `after` that were in the same state `before`: what changes is no part of a hang."""
    earlier = {(task.task_id, task.attempt, task.state) for task in before}
    return [task for task in after if (task.task_id, task.attempt, task.state) in earlier]


def amounts_text(resources: Mapping[str, float]) -> str:
    return ", ".join(f"{printable(name, 60)}: {amount:g}" for name, amount in resources.items())


def _drivers(workers: Iterable[WorkerRow], hosts: Mapping[str, str]) -> list[OpenTask]:
    return [
        OpenTask(
            _DRIVERS_TASK + job_of_driver(row.worker_id),
            "",
            RUNNING,
            "",
            "",
            "",
            (hosts.get(row.node_id, ""), row.pid),
        )
        for row in workers
        if row.kind == "driver"
    ]
