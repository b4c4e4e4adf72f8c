"""Who waits for whom in Ray, by its own state: cycles of `ray.get`, and tasks that no node can take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

# States of Ray 2.60 and what they say here.
RUNNING = "RUNNING"
# In a `ray.get` of Ray 2.60 a running task is in this state too.
RUNNING_IN_RAY_GET = "RUNNING_IN_RAY_GET"
RUNNING_IN_RAY_WAIT = "RUNNING_IN_RAY_WAIT"
QUEUED_AT_ACTOR = "SUBMITTED_TO_WORKER"
NEEDS_NODE = "PENDING_NODE_ASSIGNMENT"


@frozen
class TaskRow:
    """A task that has not ended; `actor_id` is "" for a task without an actor, `parent_id` the task that has called it."""

    task_id: str
    name: str
    state: str
    parent_id: str
    actor_id: str


@frozen
class Call:
    """`caller` waits for `called`, which runs on or is queued at `actor_id`."""

    caller: TaskRow
    called: TaskRow


def waits(tasks: Iterable[TaskRow]) -> list[Call]:
    """Which running task has called which task that has not ended."""
    by_id = {task.task_id: task for task in tasks}
    return [
        Call(caller, task)
        for task in by_id.values()
        if (caller := by_id.get(task.parent_id)) is not None and _is_running(caller)
    ]


def cycle(tasks: Sequence[TaskRow], waiting_actors: Iterable[str]) -> tuple[Call, ...]:
    """A cycle of calls between `waiting_actors`, which wait in `ray.get` and run one call at a time; () if there is none.

    A call that is queued at an actor closes a cycle, since its actor takes it only after the call that it runs.  A task
    may go on without the result of what it has called; so only actors count whose stack shows that they wait.
    """
    waiting = set(waiting_actors)
    by_actor: dict[str, list[Call]] = {}
    for call in waits(tasks):
        if call.caller.actor_id in waiting and call.called.actor_id in waiting:
            by_actor.setdefault(call.caller.actor_id, []).append(call)
    for actor in sorted(by_actor):
        path = _path_back(actor, by_actor)
        if path:
            return path
    return ()


def without_node(tasks: Iterable[TaskRow]) -> list[Call]:
    """Running tasks that have called a task for which no node has the resources."""
    return [call for call in waits(tasks) if call.called.state == NEEDS_NODE]


def _path_back(start: str, by_actor: Mapping[str, Sequence[Call]]) -> tuple[Call, ...]:
    """The shortest way of calls from `start` to itself."""
    paths: list[tuple[Call, ...]] = [(call,) for call in by_actor[start]]
    seen: set[str] = set()
    for path in paths:
        reached = path[-1].called.actor_id
        if reached == start:
            return path
        if reached not in seen:
            seen.add(reached)
            paths.extend((*path, call) for call in by_actor.get(reached, []))
    return ()


def _is_running(task: TaskRow) -> bool:
    return task.state in (RUNNING, RUNNING_IN_RAY_GET, RUNNING_IN_RAY_WAIT)
