"""Locks for which threads wait, and those that hold them, read from the source of their frames.

A frame within the block of a `with` holds its lock.  Two names are of one lock if they are the same attribute of a class, or the
same name in a file; of two objects of a class the locks can't be told apart.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath

from attrs import frozen

from eagleray.common.l10n import t
from eagleray.observe.hangs import wording
from eagleray.observe.hangs.evidence import SampledProcess
from eagleray.observe.hangs.wait_paths import Path, Wait
from eagleray.remote.sampling.frames import PythonFrame, is_users
from eagleray.remote.sampling.merging import ThreadStack
from eagleray.remote.sampling.source_blocks import around, holds
from eagleray.remote.sampling.wait_records import OWN

_THREADING, _MULTIPROCESSING = "/threading.py", "/multiprocessing/synchronize.py"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@frozen
class Lock:
    """A lock by its name in the source; `owner` is the class or the file that has the name."""

    owner: str
    name: str


# Locks that the functions of `logging` take themselves; each handler has its own (Python 3.10 to 3.14).
_HANDLER = Lock("logging", "the lock of a log handler")
_OF_LOGGING = Lock("logging", "the lock of logging")
_LOGGING = re.compile(r"/logging/(__init__|config)\.py$")
_HOLDERS = ("configure", "fileConfig", "basicConfig")
_IMPORTS = "<frozen importlib._bootstrap>"


@frozen
class LockingThread:
    """A thread that waits for locks at `place`, or holds some; `is_shared`: processes share those for which it waits."""

    process: SampledProcess
    stack: ThreadStack
    place: PythonFrame | None
    waits_for: frozenset[Lock]
    holds: frozenset[Lock]
    is_shared: bool


@frozen
class LockWait:
    """`thread` waits for `lock`, which `holder` holds."""

    thread: LockingThread
    lock: Lock
    holder: LockingThread


def lock_path(processes: Iterable[SampledProcess]) -> Path | None:
    """The waits for locks up to a thread that waits for none, or the shortest cycle of them; None if no thread waits.

    Its `processes` hold the locks, the last one in the thread with the stack of the last wait.
    """
    threads = [thread for process in processes for thread in _threads(process)]
    # Locks of `threading` belong to one process, locks of `multiprocessing` to one machine.
    holders: dict[tuple[object, Lock], list[LockingThread]] = defaultdict(list)
    for thread in threads:
        for lock in thread.holds:
            holders[id(thread.process), lock].append(thread)
            holders[thread.process.host, lock].append(thread)
    waits: dict[int, LockWait] = {}
    for thread in threads:
        where = thread.process.host if thread.is_shared else id(thread.process)
        for lock in sorted(thread.waits_for, key=lambda lock: (lock.owner, lock.name)):
            # Two threads can't hold the same lock, so that these are locks of several objects.
            if len(holding := holders[where, lock]) == 1:
                waits.setdefault(id(thread), LockWait(thread, lock, holding[0]))
    paths = [_path(start, waits) for start in waits]
    cycles = sorted(filter(_is_cycle, paths), key=len)
    longest = max(paths, key=len, default=())
    return _as_path(cycles[0] if cycles else longest) if paths else None


def held_at_fork(child: SampledProcess, parent: SampledProcess) -> str:
    """A sentence on the lock for which the only thread of `child` waits, a copy of one of `parent`.

    Only a fork leaves the command of the parent, and it copies locks but not the threads that hold them.
    """
    waiting = [thread for thread in _threads(child) if thread.waits_for]
    if len(waiting) != 1 or child.others or child.process.title != parent.process.title:
        return ""
    name = t("a thread")
    for stack in (*([parent.stack] if parent.stack else []), *parent.others):
        frames = filter(is_users, stack.frames)
        taken = (lock for each in frames for lock in _taken_in_function(each.file, each.line))
        if not waiting[0].waits_for.isdisjoint(taken):
            name = stack.thread or name
    process = wording.ranks([parent])
    text = t("{thread} of {process} may have held it at the fork.", thread=name, process=process)
    return f" {text[:1].upper()}{text[1:]}"


def _as_path(links: Sequence[LockWait]) -> Path:
    """`MainThread waits for Cache.lock in get (cache.py:9), which Thread-1 holds, which waits for …`"""
    start = links[0].thread
    several = len({each.thread.process.rank for each in links}) > 1
    waits = tuple(
        Wait(
            t(
                "{lock}{place}, which {holder} holds",
                lock=each.lock.name,
                place=_place(each.thread),
                holder=t("it") if each.thread is each.holder else _name(each.holder, several),
            ),
            stack=each.holder.stack,
        )
        for each in links
    )
    holders = tuple(each.holder.process for each in links)
    is_cycle = _is_cycle(links)
    name = _name(start, several)
    return Path(start.process, name, waits, holders, None, is_cycle, is_cycle)


def _is_cycle(links: Sequence[LockWait]) -> bool:
    return links[-1].holder is links[0].thread


def _path(start: int, waits: dict[int, LockWait]) -> tuple[LockWait, ...]:
    path = [waits[start]]
    while (following := waits.get(id(path[-1].holder))) is not None and following not in path:
        path.append(following)
    if following is not None:
        # Without the waits that only lead to the cycle.
        path = path[path.index(following) :]
    return tuple(path)


def _threads(process: SampledProcess) -> Iterator[LockingThread]:
    if process.goes_on:
        return
    # Waits of a thread that has a lock already, in the line that takes it.
    outward = {wait.thread for wait in process.last.waits if wait.kind != OWN}
    for stack in (*([process.stack] if process.stack else []), *process.others):
        inner = max((at for at, frame in enumerate(stack.frames) if is_users(frame)), default=-1)
        place = stack.frames[inner] if inner >= 0 else None
        below = stack.frames[inner + 1 :]
        may_wait = stack.thread not in outward and all(
            frame.file.endswith((_THREADING, _MULTIPROCESSING)) for frame in below
        )
        waits_for = _taken_at(place.file, place.line) if place and may_wait else frozenset()
        waits_for |= _taken_by_library(stack.frames, place)
        held = frozenset(
            lock
            for frame in stack.frames
            if is_users(frame)
            for lock in _held_at(frame.file, frame.line)
        ) | frozenset(_held_by_library(stack.frames))
        if waits_for or held:
            is_shared = any(frame.file.endswith(_MULTIPROCESSING) for frame in below)
            yield LockingThread(process, stack, place, waits_for, held, is_shared)


def _taken_by_library(frames: Sequence[PythonFrame], place: PythonFrame | None) -> frozenset[Lock]:
    """The lock of `logging`, or of a module, for which the innermost frame waits."""
    last = frames[-1] if frames else None
    if last and _LOGGING.search(last.file):
        names = {lock.name for lock in _taken_at(last.file, last.line)}
        by_name = {"self.lock": _HANDLER, "_lock": _OF_LOGGING, "logging._lock": _OF_LOGGING}
        return frozenset(lock for name, lock in by_name.items() if name in names)
    if last and place and last.file == _IMPORTS and last.function.endswith("acquire"):
        nodes = [*around(place.file, place.line)][-1:]
        names = {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
        names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
        return frozenset(_lock_of_module(name.rpartition(".")[2]) for name in names)
    return frozenset()


def _held_by_library(frames: Sequence[PythonFrame]) -> Iterator[Lock]:
    """The locks of `logging`, and of modules that the frames import."""
    is_import = False
    for frame, inner in pairwise(frames):
        function = frame.function.rpartition(".")[2]
        if _LOGGING.search(frame.file):
            if function == "handle" and inner.function.endswith("emit"):
                yield _HANDLER
            elif function in _HOLDERS:
                yield _OF_LOGGING
        is_import |= frame.file == _IMPORTS
        if is_import and inner.function == "<module>":
            path = PurePosixPath(inner.file)
            yield _lock_of_module(path.parent.name if path.stem == "__init__" else path.stem)


def _lock_of_module(name: str) -> Lock:
    return Lock("import", t("the import of {module}", module=name))


@lru_cache(1024)
def _taken_at(file: str, line: int) -> frozenset[Lock]:
    """The locks that `line` takes: by `with`, or by a call of `acquire`."""
    taken: set[Lock] = set()
    owner = file
    for node in around(file, line):
        owner = node.name if isinstance(node, ast.ClassDef) else owner
        if isinstance(node, ast.With) and _is_in_head(node, line):
            taken.update(_locks(node, file, owner))
        elif isinstance(node, ast.Expr | ast.Assign | ast.If | ast.Return):
            calls = (each for each in ast.walk(node) if isinstance(each, ast.Call))
            taken.update(
                lock
                for call in calls
                if isinstance(call.func, ast.Attribute)
                and call.func.attr == "acquire"
                and call.lineno <= line <= (call.end_lineno or line)
                and (lock := _lock(call.func.value, file, owner))
            )
    return frozenset(taken)


@lru_cache(1024)
def _held_at(file: str, line: int) -> frozenset[Lock]:
    """The locks of the `with` blocks around `line`, within its function."""
    held: set[Lock] = set()
    owner = file
    for node in around(file, line):
        owner = node.name if isinstance(node, ast.ClassDef) else owner
        if isinstance(node, _FUNCTIONS):
            held.clear()
        elif isinstance(node, ast.With) and holds(node.body, line) and not _is_in_head(node, line):
            held.update(_locks(node, file, owner))
    return frozenset(held)


@lru_cache(1024)
def _taken_in_function(file: str, line: int) -> frozenset[Lock]:
    """The locks of the `with` blocks anywhere in the function around `line`."""
    owner, function = file, None
    for node in around(file, line):
        owner = node.name if isinstance(node, ast.ClassDef) else owner
        function = node if isinstance(node, _FUNCTIONS) else function
    blocks = (each for each in ast.walk(function) if isinstance(each, ast.With)) if function else ()
    return frozenset(lock for each in blocks for lock in _locks(each, file, owner))


def _is_in_head(node: ast.With, line: int) -> bool:
    """Whether `line` has the locks of `node`; its block may begin there, too."""
    last = node.items[-1].context_expr.end_lineno or node.lineno
    return node.lineno <= line <= last


def _locks(node: ast.With, file: str, owner: str) -> Iterator[Lock]:
    for item in node.items:
        if lock := _lock(item.context_expr, file, owner):
            yield lock


def _lock(value: ast.expr, file: str, owner: str) -> Lock | None:
    if isinstance(value, ast.Name):
        return Lock(file, value.id)
    if isinstance(value, ast.Attribute):
        is_own = isinstance(value.value, ast.Name) and value.value.id in ("self", "cls")
        return Lock(owner if is_own else file, ast.unparse(value))
    return None


def _name(thread: LockingThread, with_process: bool = False) -> str:
    name = thread.stack.thread or t("a thread")
    if not with_process:
        return name
    return t("{thread} of {process}", thread=name, process=wording.ranks([thread.process]))


def _place(thread: LockingThread) -> str:
    return wording.place_of([thread.place]) if thread.place else ""
