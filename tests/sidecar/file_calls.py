"""Records the file calls that the thread of an event loop makes itself, instead of another thread for it."""

from __future__ import annotations

import asyncio
import functools
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import field, mutable
from eagleray.common import folder_changes

# Python reports these calls to audit hooks; the first argument is a path.
_AUDITED = frozenset(
    {
        "open",
        "os.chmod",
        "os.link",
        "os.listdir",
        "os.mkdir",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.scandir",
        "os.symlink",
        "os.truncate",
        "os.utime",
        "shutil.rmtree",
        "sqlite3.connect",
        "tempfile.mkstemp",
    }
)
# It reports none of these.
_NOT_AUDITED = ("access", "lstat", "readlink", "stat", "statvfs")


@mutable
class FileCalls:
    """Calls with a path below `folders`, each with the lines of Eagleray that led to it."""

    folders: tuple[str, ...]
    found: dict[str, None] = field(factory=dict)

    def check(self, call: str, path: object) -> None:
        loop = asyncio._get_running_loop()
        if loop is None or not isinstance(path, str | bytes | os.PathLike):
            return
        if os.fsdecode(path).startswith(self.folders):
            self.found[f"{call} {Path(os.fsdecode(path)).name}: {_origin()}"] = None


_active: list[FileCalls] = []


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> Iterator[FileCalls]:
    """Records all event loops of this process, so code that isn't under test runs in another process or leaves files
    alone.
    """
    calls = FileCalls(tuple(str(folder) for folder in folders))
    for name in _NOT_AUDITED:
        monkeypatch.setattr(os, name, _checked(name, getattr(os, name)))
    if (libc := folder_changes._libc()) is not None:
        libc.inotify_add_watch = _checked_watch(libc.inotify_add_watch)  # type: ignore[method-assign]
        monkeypatch.setattr(folder_changes, "_libc", lambda: libc)
    _add_hook()
    _active.append(calls)
    try:
        yield calls
    finally:
        _active.remove(calls)


def _checked(name: str, call: Any) -> Any:
    def checked(path: Any, *arguments: Any, **options: Any) -> Any:
        for calls in _active:
            calls.check(f"os.{name}", path)
        return call(path, *arguments, **options)

    return checked


def _checked_watch(add: Any) -> Any:
    def checked(fd: int, path: bytes, mask: int) -> int:
        for calls in _active:
            calls.check("inotify_add_watch", path)
        return int(add(fd, path, mask))

    return checked


@functools.cache
def _add_hook() -> None:
    """Once: a hook can't be removed, so without a recording it does nothing."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if _active and event in _AUDITED:
            for calls in _active:
                calls.check(event, arguments[0])

    sys.addaudithook(hook)


def _origin() -> str:
    """The functions of Eagleray that called, the outermost first."""
    frames = [
        f"{Path(frame.filename).stem}.{frame.name}:{frame.lineno}"
        for frame in traceback.extract_stack()
        if "/pybackend/" in frame.filename
    ]
    return " > ".join(frames[-6:])
