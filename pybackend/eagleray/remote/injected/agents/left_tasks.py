"""Names the asyncio tasks that a run of an agent leaves behind, by the line of the user's code that created them."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import weakref

from .code_locations import line_of, location_of, user_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

# How long a task that was cancelled takes to end: its future, then the task.
_TURNS = 2


class RunTasks:
    """The tasks of one run; tasks that they create belong to it, too.

    It holds no task: the loop holds none either, so that a task may be collected, which is a fault of the agent.
    """

    def __init__(self) -> None:
        self._created: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()

    def add(self, task: Any, place: dict[str, Any]) -> None:
        self._created[task] = place

    async def left(self) -> list[dict[str, Any]] | None:
        """The places that created tasks which still run, once the run has returned; not of tasks that it has cancelled.

        None if the agent has made a factory of its own the loop's, which hides tasks.
        """
        if asyncio.get_running_loop().get_task_factory() is not _task:
            return None
        for _ in range(_TURNS):
            if not any(not task.done() for task in list(self._created)):
                return []
            await asyncio.sleep(0)
        lines: dict[tuple[str, int], dict[str, Any]] = {}
        for task, place in list(self._created.items()):
            # Python 3.10 and earlier don't count cancellations.
            if task.done() or (hasattr(task, "cancelling") and task.cancelling()):
                continue
            line = lines.setdefault((place["file"], place["line"]), {**place, "tasks": 0})
            line["tasks"] += 1
        return list(lines.values())


_current: contextvars.ContextVar[RunTasks | None] = contextvars.ContextVar(
    "eagleray_tasks", default=None
)
_places: dict[tuple[Any, int], dict[str, Any]] = {}


def watch_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Tasks that are made without the loop, by `asyncio.Task(…)`, aren't observed."""
    loop.set_task_factory(_task)


def begin_tasks() -> RunTasks:
    """Returns the tasks that the current task or thread creates from now on."""
    tasks = RunTasks()
    _current.set(tasks)
    return tasks


def _task(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any] | Any, **options: Any
) -> asyncio.Task[Any]:
    task = asyncio.Task(coroutine, loop=loop, **options)
    tasks = _current.get()
    # Tasks that a library's task creates have no line of the user.
    frame = None if tasks is None else user_frame(sys._getframe(1))
    if tasks is not None and frame is not None:
        key = (frame.f_code, line_of(frame))
        place = _places.get(key)
        if place is None:
            place = _places[key] = location_of(frame) or {}
        tasks.add(task, place)
    return task
