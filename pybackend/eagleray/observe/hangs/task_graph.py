"""Waits of processes in Ray for tasks, by its own list and by the references in `ray.get`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from attrs import frozen

from eagleray.remote.sampling.ray_objects import MORE

# States of Ray 2.60 and what they say here.
RUNNING = "RUNNING"
# In a `ray.get` of Ray 2.60 a running task is in this state too.
RUNNING_IN_RAY_GET = "RUNNING_IN_RAY_GET"
RUNNING_IN_RAY_WAIT = "RUNNING_IN_RAY_WAIT"
QUEUED_AT_ACTOR = ("SUBMITTED_TO_WORKER", "PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY")
NEEDS_NODE = "PENDING_NODE_ASSIGNMENT"
NEEDS_ARGUMENTS = "PENDING_ARGS_AVAIL"
# The id of the task of a constructor is this prefix and the id of its actor.
CONSTRUCTORS = "f" * 16
_TASK_DIGITS, _GROUP_DIGITS = 48, 36

# A process: its host and pid.
Process = tuple[str, int]


@frozen
class Holder:
    """The actors or running tasks of a name that hold `amounts` of what a task needs; `is_left`: their job has ended.  Groups have no `processes`."""

    name: str
    amounts: str
    processes: tuple[Process, ...] = ()
    is_left: bool = False


@frozen
class OpenTask:
    """A task that has not ended; `actor_id` is "" for a task without an actor, `parent_id` the task that has called it.

    `name` is "" for a driver's.  `actor` is the name of its actor, `process` where it runs, and `needs` the
    resources that it or its actor needs; `fits`: some node has as many, if nothing else runs there.  `is_constructor`:
    it makes its actor.  `is_steady`: it was in the same state before the samples.  `is_group`: it stands for a placement group.
    `held_by` has the resources that it needs; `has_room`: some node has them now.
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
    is_group: bool = False
    held_by: tuple[Holder, ...] = ()
    has_room: bool = False


@frozen
class Call:
    """The task `called`, whose result a process waits for; `is_sure`: nothing else that it has called may be meant."""

    called: OpenTask
    is_sure: bool


def waits(
    tasks: Iterable[OpenTask], waiting: Mapping[Process, Collection[str]]
) -> dict[Process, list[Call]]:
    """The tasks for which processes wait in `ray.get`; `waiting` has the memory of their references (`ray_objects.py`).

    1. Open tasks whose ids these references have.
    2. Without references: what a task in the process has called, and what has not ended.  Nothing tells which of several
       it waits for.
    3. References to other objects: placement groups, for which Ray 2.60 lists no task.
    """
    by_id = {task.task_id: task for task in tasks}
    by_actor = {
        task.actor_id: task for task in by_id.values() if task.actor_id and is_running(task)
    }
    own: dict[Process, list[OpenTask]] = defaultdict(list)
    for task in by_id.values():
        caller = by_id.get(task.parent_id) or by_actor.get(_actor_of(task.parent_id))
        if caller is not None and is_running(caller):
            own[caller.process].append(task)
    calls = {}
    for process, contents in waiting.items():
        called = shown = [by_id[each] for each in dict.fromkeys(_ids(contents)) if each in by_id]
        if not shown:
            is_other = contents and MORE not in contents
            called = [each for each in own[process] if each.is_group or not is_other]
        is_sure = bool(shown) or len(called) == 1
        if called:
            calls[process] = [Call(each, is_sure) for each in called]
    return calls


def _ids(contents: Iterable[str]) -> Iterator[str]:
    """The parts of the memory of references that have the length of the id of a task or a placement group."""
    for content in contents:
        for at in range(0, len(content), 2):
            yield content[at : at + _TASK_DIGITS]
            yield content[at : at + _GROUP_DIGITS]


def _actor_of(parent_id: str) -> str:
    """The actor whose constructor is the task `parent_id`, else "".

    In a method of an async actor, Ray 2.60 names the actor's constructor as the task that calls.
    """
    return parent_id.removeprefix(CONSTRUCTORS) if parent_id.startswith(CONSTRUCTORS) else ""


def is_running(task: OpenTask) -> bool:
    return task.state in (RUNNING, RUNNING_IN_RAY_GET, RUNNING_IN_RAY_WAIT)
