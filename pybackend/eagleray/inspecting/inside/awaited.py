"""What the tasks of event loops await."""

from __future__ import annotations

import contextlib
import gc
import sys
import types

from .descriptions import LONGEST_VALUE
from .exceptions import MOST_FRAMES
from .frames import frame_row, frames_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Of an event loop: tasks that are read, and kinds of them that are told apart.
MOST_TASKS = 5000
MOST_CHAINS = 50
MOST_NAMES = 5


def awaits() -> list[dict[str, Any]]:
    """What the tasks of all event loops of the process await: tasks that await the same are one entry.

    `state` is `waits`, `runs` or `ready`, and `waits_for` the task or future at the end of the chain.
    """
    entries: dict[Any, dict[str, Any]] = {}
    for task in _tasks():
        coroutine = task.get_coro()
        frames = _awaited_frames(coroutine)
        waiter = getattr(task, "_fut_waiter", None)
        runs = bool(getattr(coroutine, "cr_running", getattr(coroutine, "gi_running", False)))
        state = "runs" if runs else "ready" if waiter is None else "waits"
        key = (state, tuple((frame["path"], frame["function"], frame["line"]) for frame in frames))
        entry = entries.setdefault(
            key,
            {
                "state": state,
                "frames": frames,
                "waits_for": _future(waiter),
                "count": 0,
                "names": [],
            },
        )
        entry["count"] += 1
        if len(entry["names"]) < MOST_NAMES:
            entry["names"].append(str(task.get_name())[:LONGEST_VALUE])
    return sorted(entries.values(), key=lambda entry: -entry["count"])[:MOST_CHAINS]


def _tasks() -> list[Any]:
    """The tasks that have not ended; from outside their threads no function of asyncio lists them all."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return []
    listed: dict[int, Any] = {}
    # Up to 3.11 the first, since 3.12 the others; since 3.14 those of C are only listed by loop.
    for name in ("_all_tasks", "_scheduled_tasks", "_eager_tasks"):
        for task in _copied(getattr(asyncio.tasks, name, ())):
            listed[id(task)] = task
    for loop in _loops():
        with contextlib.suppress(Exception):
            listed.update((id(task), task) for task in asyncio.all_tasks(loop))
    tasks = [task for task in listed.values() if issubclass(type(task), asyncio.Task)]
    return [task for task in tasks if not asyncio.Future.done(task)][:MOST_TASKS]


def _copied(tasks: Any) -> list[Any]:
    """A copy of a set to which other threads add meanwhile."""
    for _attempt in range(1000):
        with contextlib.suppress(RuntimeError):
            return list(tasks)
    return []


def _loops() -> list[Any]:
    return [
        loop
        for top in sys._current_frames().values()
        for frame in frames_of(top)
        if frame.f_code.co_name == "run_forever"
        and (loop := frame.f_locals.get("self")) is not None
    ]


def _awaited_frames(coroutine: Any) -> list[dict[str, Any]]:
    """The frames of a coroutine and of what it awaits, outermost first."""
    frames: list[dict[str, Any]] = []
    for _step in range(2 * MOST_FRAMES):
        if coroutine is None or len(frames) == MOST_FRAMES:
            break
        kind = type(coroutine)
        if kind is types.CoroutineType:
            frame, coroutine = coroutine.cr_frame, coroutine.cr_await
        elif kind is types.GeneratorType:
            frame, coroutine = coroutine.gi_frame, coroutine.gi_yieldfrom
        elif kind is types.AsyncGeneratorType:
            frame, coroutine = coroutine.ag_frame, coroutine.ag_await
        elif kind.__name__ in (
            "async_generator_asend",
            "async_generator_athrow",
            "coroutine_wrapper",
        ):
            # Objects of C, which name what they run only to the garbage collector.
            frame, coroutine = None, _referred(coroutine)
        elif type(kind.__dict__.get("cr_await")) is types.MemberDescriptorType:
            # Compiled by Cython, as that is which runs the methods of an async actor of Ray.
            frame, coroutine = None, _member(coroutine, "cr_await")
        else:
            break
        if frame is not None:
            frames.append(frame_row(frame))
    return frames


def _member(value: Any, name: str) -> Any:
    """The value of an attribute of C, which runs no code of the program; None if it has none."""
    try:
        return type(value).__dict__[name].__get__(value)
    except AttributeError:
        return None


def _referred(value: Any) -> Any:
    generators = (types.CoroutineType, types.AsyncGeneratorType)
    return next((item for item in gc.get_referents(value) if type(item) in generators), None)


def _future(future: Any) -> str:
    if future is None:
        return ""
    task = getattr(sys.modules.get("asyncio"), "Task", None)
    if task is not None and issubclass(type(future), task):
        return str(future.get_name())[:LONGEST_VALUE]
    return type(future).__name__.lstrip("_")
