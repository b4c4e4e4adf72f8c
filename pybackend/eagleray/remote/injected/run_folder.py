"""The files that processes write about themselves into the run's folder, where the supervisor reads them.

`proxy-*.json` is the address of a debug proxy, `driver-*.json` the cluster that a driver has joined.
"""

from __future__ import annotations

import contextlib
import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .settings import RunSettings

_MARK_SIZE = 4
_marks: dict[int, str] = {}


def file_name(kind: str) -> str:
    """The same at each call in this process, and different from any other process's.

    Nodes and containers share the folder: pids are equal in them, and host names may be, too.
    """
    host = os.uname().nodename.replace("/", "_")
    return f"{kind}-{host}-{os.getpid()}-{image_mark()}.json"


def image_mark() -> str:
    """The mark of this process until it ends or runs another program by `exec`, which keeps its pid."""
    # A forked child has the marks of its parent, but another pid.
    return _marks.setdefault(os.getpid(), os.urandom(_MARK_SIZE).hex())


def proxy_path(settings: RunSettings) -> str:
    """The file for the debug proxy of a process that isn't in Ray's worker table; "" where no process reads it."""
    return _path(settings, "proxy")


def write_driver_file(settings: RunSettings) -> None:
    """Records which cluster this driver has joined, so that the supervisor finds its workers."""
    from . import ray_worker

    path = _path(settings, "driver")
    if path:
        _write(path, f"{path}.part", ray_worker.facts())


class ProxyFile:
    """The file at `path` that exists as long as its debug proxy; "" for none, as is a folder that doesn't exist."""

    def __init__(self, path: str, address: tuple[str, int]) -> None:
        self._path = path
        self._address = {"host": address[0], "port": address[1]}

    def write(self, info: dict[str, Any]) -> None:
        if self._path:
            with contextlib.suppress(OSError):
                _write(self._path, f"{self._path}.{os.getpid()}.new", {**info, **self._address})

    def remove(self) -> None:
        if self._path:
            with contextlib.suppress(OSError):
                os.unlink(self._path)


def is_over(settings: RunSettings) -> bool:
    """Whether the run is known to have ended, so that no debugger comes; a program may live on, and start processes."""
    # Without a folder this would be a file of the program.
    if not settings.folder:
        return False
    path = os.path.join(settings.folder, "state.json")
    try:
        with open(path, encoding="utf-8") as state:  # own file
            return bool(json.load(state)["ended"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _path(settings: RunSettings, kind: str) -> str:
    if settings.folder and os.path.isdir(settings.folder) and not is_over(settings):
        return os.path.join(settings.folder, file_name(kind))
    return ""


def _write(path: str, part: str, content: dict[str, Any]) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    with os.fdopen(os.open(part, flags, 0o600), "w", encoding="utf-8") as stream:
        json.dump(content, stream)
    os.replace(part, path)
