"""The description of a process that its debug proxy reports; nothing of it is trusted."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import Any

from eagleray.common.errors import printable
from eagleray.protocol.adapter_control import PathMapping, ProcessKind
from eagleray.protocol.runs import ProcessFacts

_MAX_FILES = 2000
_MAX_PATH = 4096
_HOLD_S = 600.0
_MAX_HOLD_S = 24 * 3600.0
# Each becomes a connection at once.
_MAX_HELD = 256

_KINDS: dict[str, ProcessKind] = {"driver": "driver", "child": "child"}


@dataclass(frozen=True)
class ProcessInfo(ProcessFacts):
    """A process of the run.

    `files` maps paths of the run to paths of the worker.  `held` are the processes that the debug proxy holds without a
    client, 0 is the worker itself.  `matches`: the run's filter includes it.  `profile` is the state of its profiling.
    """

    state: str
    hold_s: float
    class_name: str = ""
    matches: bool = True
    files: dict[str, str] = field(default_factory=dict)
    held: tuple[int, ...] = ()
    profile: str = ""


def read_process_info(hello: dict[str, Any]) -> ProcessInfo:
    """Reads a hello; a value that is missing or invalid becomes its default."""
    number = hello.get("pid")
    pid = number if isinstance(number, int) and 0 < number < 2**32 else 0
    kind = _KINDS.get(str(hello.get("kind")), "worker")
    # A process keeps its pid when it runs another program by `exec`, and nodes have equal ones.
    image = _text(hello, "image")[:20]
    names = (_text(hello, key) for key in ("name", "class", "function"))
    name = next((name for name in names if name), "")
    if name and kind == "child":
        # It runs the same file as its parent, and its siblings.
        name += f" · process {pid}"
    held, profile = hello.get("held"), hello.get("profile")
    return ProcessInfo(
        worker_id=_text(hello, "worker_id") or "-".join(filter(None, (kind, str(pid), image))),
        session=_text(hello, "session"),
        pid=pid,
        kind=kind,
        name=name or f"{kind} {pid}",
        rank=_text(hello, "rank")[:20],
        python=_text(hello, "python")[:20],
        state=_text(hello, "state"),
        hold_s=_seconds(hello.get("hold_s")),
        class_name=_text(hello, "class"),
        matches=hello.get("matches") is not False,
        files=_files(hello.get("files")),
        held=_numbers(held),
        profile=_text(profile, "state")[:20] if isinstance(profile, dict) else "",
    )


def mappings(files: dict[str, str]) -> list[PathMapping]:
    """Maps each file that lies elsewhere in the worker, and the folders that differ in the same way."""
    exact, folders = [], []
    for local, remote in files.items():
        if local != remote:
            exact.append(PathMapping(remote, local))
            folder = _folders(remote, local)
            if folder is not None and folder not in folders:
                folders.append(folder)
    return exact + folders


def _folders(remote: str, local: str) -> PathMapping | None:
    """The folders without the end that both have: /pkg is /home/me when /pkg/a/x.py is /home/me/a/x.py."""
    remote, local = posixpath.dirname(remote), posixpath.dirname(local)
    while posixpath.basename(remote) and posixpath.basename(remote) == posixpath.basename(local):
        remote, local = posixpath.dirname(remote), posixpath.dirname(local)
    is_root = remote in ("", "/") or local in ("", "/")
    return None if is_root else PathMapping(remote, local)


def _files(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    pairs = list(value.items())[:_MAX_FILES]
    return {
        local: remote
        for local, remote in pairs
        if isinstance(remote, str) and 0 < len(remote) <= _MAX_PATH
    }


def _seconds(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and 0 < value < _MAX_HOLD_S else _HOLD_S


def _numbers(value: Any) -> tuple[int, ...]:
    items = value if isinstance(value, list) else []
    return tuple([item for item in items if isinstance(item, int)][:_MAX_HELD])


def _text(hello: dict[str, Any], key: str) -> str:
    value = hello.get(key)
    return printable(value, 200) if isinstance(value, str) else ""
