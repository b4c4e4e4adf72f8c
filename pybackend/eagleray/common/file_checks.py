"""Local files whose file system may never answer: whether they exist, and in which file system they are.

Existence is answered from memory and looked up by threads: an event loop that asked the file system itself would stop,
with every connection that it carries.  The kernel's mount table can be read even if a file system hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import posixpath
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

# The time limit of a lookup; afterwards its file system counts as silent until it answers.
LIMIT_S = 2.0
# The age at which an answer is looked up again.
FRESH_S = 2.0
_MOST_SILENT = 16
_MOST_ANSWERS = 20_000

Answers = dict[str, bool]


class FileChecks:
    """Used from one event loop at a time.

    Each file system, or folder of the root, has a separate thread while paths are looked up there.  One that
    doesn't answer costs one thread and delays no other; it gets no further lookups meanwhile.
    """

    def __init__(self, exists: Callable[[str], bool] = os.path.exists) -> None:
        self._exists = exists
        self._answers: dict[str, tuple[float, bool]] = {}
        self._places: dict[str, _Place] = {}
        self._last_mounts: tuple[float, Mounts] = (-FRESH_S, {})

    def answer(self, path: str) -> bool:
        """Returns the last result; False before the first one."""
        return self._answers.get(path, (0.0, False))[1]

    def is_fresh(self, path: str) -> bool:
        at, _ = self._answers.get(path, (-FRESH_S, False))
        return time.monotonic() - at < FRESH_S

    async def check(self, paths: Iterable[str]) -> bool:
        """Looks up the paths whose answers aren't fresh, up to the time limit; returns whether an answer has changed."""
        by_place: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            if not self.is_fresh(path):
                by_place[self._place_of(path)].append(path)
        before = {path: self.answer(path) for several in by_place.values() for path in several}
        waiting = [
            answers
            for name, several in by_place.items()
            if (answers := self._ask(name, several)) is not None
        ]
        if waiting:
            await asyncio.wait(waiting, timeout=LIMIT_S)
        return any(self.answer(path) != answer for path, answer in before.items())

    def is_unmounted(self, path: str) -> bool:
        """Whether a mere lookup of the path would make autofs mount something, such as another host's disk."""
        return mount_of(path, self._mounts()).type == "autofs"

    def _ask(self, name: str, paths: list[str]) -> asyncio.Future[Answers] | None:
        place = self._places.get(name)
        if place is None:
            place = self._places[name] = _Place(self._exists)
        if (
            place.is_silent
            or sum(place.is_silent for place in self._places.values()) >= _MOST_SILENT
        ):
            return None
        answers = place.ask(paths)
        answers.add_done_callback(lambda done: self._keep(done.result()))
        return answers

    def _keep(self, answers: Answers) -> None:
        if len(self._answers) > _MOST_ANSWERS:
            self._answers.clear()
        now = time.monotonic()
        self._answers |= {path: (now, answer) for path, answer in answers.items()}

    def _place_of(self, path: str) -> str:
        point = mount_of(path, self._mounts()).point
        # A link of the root folder may lead to another file system.
        return point if point not in ("", "/") else "/" + path.lstrip("/").partition("/")[0]

    def _mounts(self) -> Mounts:
        at, mounts = self._last_mounts
        if time.monotonic() - at >= FRESH_S:
            mounts = parse_table(read_table())
            self._last_mounts = (time.monotonic(), mounts)
        return mounts


class _Place:
    """The lookups in one file system; its thread ends when none is left."""

    def __init__(self, exists: Callable[[str], bool]) -> None:
        self._exists = exists
        self._lock = threading.Lock()
        self._requests: list[tuple[list[str], asyncio.Future[Answers]]] = []
        self._is_running = False
        self._began = 0.0

    @property
    def is_silent(self) -> bool:
        return self._is_running and time.monotonic() - self._began > LIMIT_S

    def ask(self, paths: list[str]) -> asyncio.Future[Answers]:
        answers: asyncio.Future[Answers] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._requests.append((paths, answers))
            if not self._is_running:
                self._is_running = True
                self._began = time.monotonic()
                # Not of a pool, whose threads the process waits for when it ends.
                threading.Thread(target=self._run, daemon=True, name="files").start()
        return answers

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._requests:
                    self._is_running = False
                    return
                paths, answers = self._requests.pop(0)
                self._began = time.monotonic()
            results = {path: self._check(path) for path in paths}
            # An event loop that has ended takes no answer.
            with contextlib.suppress(RuntimeError):
                answers.get_loop().call_soon_threadsafe(_answer, answers, results)

    def _check(self, path: str) -> bool:
        try:
            return self._exists(path)
        except (OSError, ValueError):
            return False


def _answer(future: asyncio.Future[Answers], answers: Answers) -> None:
    if not future.done():
        future.set_result(answers)


# The type of each mounted file system, by its path.
Mounts = Mapping[str, str]


@dataclass(frozen=True)
class MountedFileSystem:
    """Where a file system is mounted, and its type; both "" if unknown."""

    point: str = ""
    type: str = ""


def read_table() -> str:
    """Returns the text of /proc/self/mounts, "" on systems that have none."""
    try:
        return Path("/proc/self/mounts").read_text(errors="replace")
    except OSError:
        return ""


def parse_table(table: str) -> Mounts:
    """Returns the mounts of the table; a later mount at the same path hides an earlier one."""
    rows = (line.split() for line in table.splitlines())
    return {row[1].replace("\\040", " "): row[2] for row in rows if len(row) >= 3}


def mount_of(path: str, mounts: Mounts) -> MountedFileSystem:
    """Returns the file system that holds `path`; doesn't follow links."""
    while path not in mounts:
        folder = posixpath.dirname(path)
        if folder == path:
            return MountedFileSystem()
        path = folder
    return MountedFileSystem(path, mounts[path])
