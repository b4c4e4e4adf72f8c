"""The awaits of tasks in event loops."""

from __future__ import annotations

import _weakref
import contextlib
import gc
import types

from .descriptions import LONGEST_VALUE
from .exceptions import MOST_FRAMES
from .frames import frame_row, frames_of, has_more, locals_of, other_threads
from .limits import Refused, check
from .objects import (
    attributes_of,
    first_of,
    in_class,
    kind_of,
    mro_of,
    name_of,
    named,
    names_of,
    of_module,
    text_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Tasks that are read, tasks among which these are looked for, and kinds of them that are told apart.
MOST_TASKS = 5000
MOST_LISTED_TASKS = 100_000
MOST_CHAINS = 50
MOST_NAMES = 5


def awaits() -> dict[str, Any]:
    """Returns what the tasks of all event loops of the process await: tasks that await the same are one entry.

    `state` is `waits`, `runs` or `ready`, and `waits_for` the task or future at the end of the chain.  `lock` is the
    number of the lock of asyncio for which they wait, 0 for none, and `holds` are those in whose blocks they are.
    `is_cut` says that there are more: they are many, or time was up.
    """
    entries: dict[Any, dict[str, Any]] = {}
    tasks = _Tasks()
    count, is_cut = 0, False
    try:
        for task in tasks.pending():
            if count == MOST_TASKS:
                is_cut = True
                break
            count += 1
            _add(entries, tasks, task)
    except Refused:
        is_cut = True
    listed = sorted(entries.values(), key=lambda entry: -entry["count"])
    return {
        "awaits": listed[:MOST_CHAINS],
        "is_cut": is_cut or tasks.is_cut or len(listed) > MOST_CHAINS,
    }


def _add(entries: dict[Any, dict[str, Any]], tasks: _Tasks, task: Any) -> None:
    coroutine, waiter = tasks.read(task, "_coro"), tasks.read(task, "_fut_waiter")
    chain = _awaited(coroutine)
    frames = [frame_row(frame) for _, frame in chain]
    state = "runs" if _runs(coroutine) else "ready" if waiter is None else "waits"
    lock, holds, kind = tasks.locks(chain)
    places = tuple((frame["path"], frame["function"], frame["line"]) for frame in frames)
    key = (state, places, lock, tuple(holds))
    entry = entries.get(key)
    if entry is None:
        waits_for = kind or tasks.text(waiter)
        entry = {"state": state, "frames": frames, "waits_for": waits_for, "count": 0, "names": []}
        entry.update(lock=lock, holds=holds)
        entries[key] = entry
    entry["count"] += 1
    if len(entry["names"]) < MOST_NAMES:
        entry["names"].append(tasks.text(task))


class _Tasks:
    """The tasks of event loops, and what asyncio itself has of them, whose class may be one of the program.

    The classes of asyncio are looked up once.  `is_cut` says that not all tasks were listed.
    """

    def __init__(self) -> None:
        self.is_cut = False
        self._of_c = of_module("_asyncio", "Task")
        self._kinds = (*self._of_c, *of_module("asyncio.tasks", "_PyTask"))
        self._readers: dict[str, Any] = {}
        self._of_locks = of_module("asyncio.locks", "_ContextManagerMixin")
        self._of_timeouts = of_module("asyncio.timeouts", "Timeout")
        # With their numbers, from 1 on.
        self._locks: dict[int, tuple[int, Any]] = {}

    def locks(self, chain: list[tuple[Any, Any]]) -> tuple[int, list[int], str]:
        """Returns the lock for which a chain of awaits waits, and the locks in whose blocks it is, by their numbers; and
        the class of the first.

        In `async with`, the coroutine refers to the method that ends the block (Python 3.10 to 3.13), as well while it
        awaits the lock.  A condition releases its lock while a task waits for it, and `asyncio.timeout` ends any wait.
        """
        wanted: list[Any] = []
        held: list[Any] = []
        is_released = is_timed = False
        for coroutine, frame in chain:
            function = text_of(frame.f_code.co_name)
            # A coroutine of Python 3.10 refers to them through its frame.
            referred = gc.get_referents(coroutine, frame)
            locks = [value for value in referred if self._is_lock(value)]
            if function == "__aenter__" and any(each is held[-1] for each in locks if held):
                # The block before it has not begun.
                del held[-1]
            if function in ("__aenter__", "acquire"):
                wanted += locks
            is_released |= function == "wait" and bool(locks)
            blocks = [
                value.__self__
                for value in referred
                if type(value) is types.MethodType and _is_end(value.__func__)
            ]
            held += filter(self._is_lock, blocks)
            is_timed |= any(type(each) is kind for kind in self._of_timeouts for each in blocks)
        holds = [] if is_released else [self._number(each) for each in held]
        number = self._number(wanted[-1]) if wanted and not is_timed else 0
        return number, holds, name_of(type(wanted[-1])) if wanted else ""

    def _is_lock(self, value: Any) -> bool:
        return any(base is kind for kind in self._of_locks for base in mro_of(type(value)))

    def _number(self, lock: Any) -> int:
        number, _ = self._locks.setdefault(id(lock), (len(self._locks) + 1, lock))
        return number

    def pending(self) -> Iterator[Any]:
        """The tasks that have not ended."""
        for task in self._listed():
            check()
            if self._is_task(task) and text_of(self.read(task, "_state")) == "PENDING":
                yield task

    def read(self, task: Any, name: str) -> Any:
        """Returns what asyncio has of a task: in C, else in its dictionary."""
        kind = type(task)
        for of_c in self._of_c:
            if issubclass(kind, of_c):
                if name not in self._readers:
                    method = named(names_of(of_c), f"get{name}")
                    self._readers[name] = method[0] if method else in_class(of_c, name)[0].__get__
                return self._readers[name](task)
        return next(iter((*named(attributes_of(task), name), *in_class(kind, name))), None)

    def text(self, future: Any) -> str:
        """The name of a task, or the kind of a future; "" for None."""
        if future is None:
            return ""
        if self._is_task(future):
            return text_of(self.read(future, "_name"))[:LONGEST_VALUE]
        return name_of(type(future)).lstrip("_")

    def _is_task(self, task: Any) -> bool:
        return any(base is kind for kind in self._kinds for base in mro_of(type(task)))

    def _listed(self) -> list[Any]:
        """All tasks; from outside their threads no function of asyncio lists them."""
        listed: dict[int, Any] = {}
        # Up to 3.11 the first, since 3.12 the others; since 3.14 tasks of C are only listed by loop.
        for name in ("_all_tasks", "_scheduled_tasks", "_eager_tasks"):
            for tasks in of_module("asyncio.tasks", name):
                listed.update((id(task), task) for task in self._copied(tasks))
        for all_tasks in of_module("_asyncio", "all_tasks"):
            for loop in self._loops():
                with contextlib.suppress(Exception):
                    listed.update((id(task), task) for task in all_tasks(loop))
        return list(listed.values())

    def _copied(self, tasks: Any) -> list[Any]:
        """The tasks of a set, or of one that refers to them weakly."""
        references = next(iter(named(attributes_of(tasks), "data")), tasks)
        if kind_of(references) is not set:
            return []
        items = first_of(references, MOST_LISTED_TASKS)
        self.is_cut = self.is_cut or len(references) > len(items)
        return [item() if kind_of(item) is _weakref.ref else item for item in items]

    def _loops(self) -> list[Any]:
        loops = []
        for top in other_threads().values():
            frames = frames_of(top)
            self.is_cut = self.is_cut or has_more(frames)
            for frame in frames:
                if text_of(frame.f_code.co_name) == "run_forever":
                    loops += named(locals_of([frame]), "self")
        return loops


def _is_end(function: Any) -> bool:
    return type(function) is types.FunctionType and text_of(function.__name__) == "__aexit__"


def _runs(coroutine: Any) -> bool:
    kind = kind_of(coroutine)
    if kind is types.CoroutineType:
        return bool(coroutine.cr_running)
    if kind is types.GeneratorType:
        return bool(coroutine.gi_running)
    # Compiled by Cython.
    return _member(coroutine, "cr_running") is True


def _awaited(coroutine: Any) -> list[tuple[Any, Any]]:
    """A coroutine and what it awaits, each with its frame, outermost first."""
    chain: list[tuple[Any, Any]] = []
    for _step in range(2 * MOST_FRAMES):
        if coroutine is None or len(chain) == MOST_FRAMES:
            break
        kind, current = type(coroutine), coroutine
        if kind is types.CoroutineType:
            frame, coroutine = coroutine.cr_frame, coroutine.cr_await
        elif kind is types.GeneratorType:
            frame, coroutine = coroutine.gi_frame, coroutine.gi_yieldfrom
        elif kind is types.AsyncGeneratorType:
            frame, coroutine = coroutine.ag_frame, coroutine.ag_await
        elif kind_of(coroutine) is kind and name_of(kind) in (
            "async_generator_asend",
            "async_generator_athrow",
            "coroutine_wrapper",
        ):
            # Objects of C, which name what they run only to the garbage collector.
            frame, coroutine = None, _referred(coroutine)
        elif any(type(entry) is types.MemberDescriptorType for entry in in_class(kind, "cr_await")):
            # Compiled by Cython, as that is which runs the methods of an async actor of Ray.
            frame, coroutine = None, _member(coroutine, "cr_await")
        else:
            break
        if frame is not None:
            chain.append((current, frame))
    return chain


def _member(value: Any, name: str) -> Any:
    """The value of an attribute in memory of C; None if it has none."""
    for entry in in_class(type(value), name):
        if type(entry) is types.MemberDescriptorType:
            with contextlib.suppress(AttributeError):
                return entry.__get__(value)
    return None


def _referred(value: Any) -> Any:
    generators = (types.CoroutineType, types.AsyncGeneratorType)
    return next((item for item in gc.get_referents(value) if type(item) in generators), None)
