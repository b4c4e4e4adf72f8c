"""Waits between processes in Ray, by its own state: cycles of `ray.get`, and tasks that no node can take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from attrs import frozen

# States of Ray 2.60 and what they say here.
RUNNING = "RUNNING"
# In a `ray.get` of Ray 2.60 a running task is in this state too.
RUNNING_IN_RAY_GET = "RUNNING_IN_RAY_GET"
RUNNING_IN_RAY_WAIT = "RUNNING_IN_RAY_WAIT"
QUEUED_AT_ACTOR = ("SUBMITTED_TO_WORKER", "PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY")
NEEDS_NODE = "PENDING_NODE_ASSIGNMENT"
NEEDS_ARGUMENTS = "PENDING_ARGS_AVAIL"
# The id of the task of a constructor is this prefix and the id of its actor.
_CONSTRUCTORS = "f" * 16

# A process: its host and pid.
Process = tuple[str, int]


@frozen
class OpenTask:
    """A task that has not ended; `actor_id` is "" for a task without an actor, `parent_id` the task that has called it.

    `name` is "" for a driver's.  `actor` is the name of its actor, `process` where it runs, and `needs` the
    resources that it or its actor needs; `fits`: some node has as many, if nothing else runs there.  `is_constructor`:
    it makes its actor.  `is_steady`: it was in the same state before the samples.
    """

    task_id: str
    name: str
    state: str
    parent_id: str
    actor_id: str
    actor: str = ""
    process: Process = ("", 0)
    needs: str = ""
    fits: bool = True
    is_constructor: bool = False
    is_steady: bool = True


@frozen
class Call:
    """`caller` waits for `called`, which runs on or is queued at `actor_id`."""

    caller: OpenTask
    called: OpenTask


def waits(tasks: Iterable[OpenTask], waiting: Collection[Process]) -> list[Call]:
    """Which running task in a process that waits in `ray.get` has called which task that has not ended.

    A task may continue without the result of what it has called; so only processes count whose stacks show that they wait.
    """
    by_id = {task.task_id: task for task in tasks}
    by_actor = {
        task.actor_id: task for task in by_id.values() if task.actor_id and is_running(task)
    }
    return [
        Call(caller, task)
        for task in by_id.values()
        if (caller := by_id.get(task.parent_id) or by_actor.get(_actor_of(task.parent_id)))
        is not None
        and is_running(caller)
        and caller.process in waiting
    ]


def _actor_of(parent_id: str) -> str:
    """The actor whose constructor is the task `parent_id`, else "".

    In a method of an async actor, Ray 2.60 names the actor's constructor as the task that calls.
    """
    return parent_id.removeprefix(_CONSTRUCTORS) if parent_id.startswith(_CONSTRUCTORS) else ""


def cycle(tasks: Sequence[OpenTask], waiting: Collection[Process]) -> tuple[Call, ...]:
    """The shortest cycle of calls between processes `waiting` in `ray.get`; () if there is none.

    A call that runs leads to what it has called itself.  A call that is queued at an actor leads to what the only call
    has called that runs there: the actor takes the next one after that.
    """
    by_caller: dict[str, list[Call]] = defaultdict(list)
    for call in waits(filter(_is_steady, tasks), waiting):
        by_caller[call.caller.task_id].append(call)
    running: dict[str, list[OpenTask]] = defaultdict(list)
    for task in tasks:
        if task.actor_id and is_running(task):
            running[task.actor_id].append(task)
    cycles = [
        path for start in sorted(by_caller) if (path := _path_back(start, by_caller, running))
    ]
    return _from_outside(min(cycles, key=len, default=()))


def without_node(tasks: Iterable[OpenTask], waiting: Collection[Process]) -> list[Call]:
    """The calls of processes `waiting` in `ray.get` for which no node has the resources.

    Ray 2.60 lists a method in the same state while the constructor of its actor runs, and while it is queued behind
    another method whose arguments are not there: only a constructor in this state needs a node.
    """
    listed = list(filter(_is_steady, tasks))
    unplaced = {
        task.actor_id for task in listed if task.is_constructor and task.state == NEEDS_NODE
    }
    return [
        call
        for call in waits(listed, waiting)
        if call.called.state == NEEDS_NODE and call.called.actor_id in ("", *unplaced)
    ]


def _from_outside(path: tuple[Call, ...]) -> tuple[Call, ...]:
    """The cycle from the call on whose caller something outside has called, if there is one."""
    inside = {task_id for call in path for task_id in (call.caller.task_id, call.called.task_id)}
    for at, call in enumerate(path):
        if call.caller.parent_id not in inside:
            return (*path[at:], *path[:at])
    return path


def _path_back(
    start: str,
    by_caller: Mapping[str, Sequence[Call]],
    running: Mapping[str, Sequence[OpenTask]],
) -> tuple[Call, ...]:
    """The shortest way of calls from the task `start` to what waits for itself."""
    paths: list[tuple[Call, ...]] = [(call,) for call in by_caller[start]]
    visited: set[str] = set()
    for path in paths:
        next_task = _holder(path[-1].called, running)
        if next_task == start:
            return path
        if next_task not in visited:
            visited.add(next_task)
            paths.extend((*path, call) for call in by_caller.get(next_task, []))
    return ()


def _holder(called: OpenTask, running: Mapping[str, Sequence[OpenTask]]) -> str:
    """The id of the task that has to end first: `called` itself, or what keeps its actor from it."""
    if called.state not in QUEUED_AT_ACTOR:
        return called.task_id
    occupying = running.get(called.actor_id, ())
    return occupying[0].task_id if len(occupying) == 1 else called.task_id


def _is_steady(task: OpenTask) -> bool:
    return task.is_steady


def is_running(task: OpenTask) -> bool:
    return task.state in (RUNNING, RUNNING_IN_RAY_GET, RUNNING_IN_RAY_WAIT)
