"""Who is behind a debug proxy, as it says itself: a process of the run, which is not trusted with more than its own name."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import Any, Literal

from eagleray.common.errors import printable
from eagleray.protocol.control import PathMapping

_MOST_FILES = 2000
_LONGEST_PATH = 4096
_HOLD_S = 600.0
_LONGEST_S = 24 * 3600.0
# Each is a connection that we make at once.
_MOST_HELD = 256

Kind = Literal["driver", "worker", "child"]
_KINDS: dict[str, Kind] = {"driver": "driver", "child": "child"}


@dataclass(frozen=True)
class ProcessInfo:
    """`files` are paths of the worker by those of the run; `held`: what the debug proxy holds for nobody, 0 is the worker.

    `profile` is what nsys does with it.
    """

    worker_id: str
    session: str
    pid: int
    kind: Kind
    name: str
    rank: str
    python: str
    state: str
    hold_s: float
    matches: bool = True
    files: dict[str, str] = field(default_factory=dict)
    held: tuple[int, ...] = ()
    profile: str = ""


def read_process_info(said: dict[str, Any]) -> ProcessInfo:
    """Reads a hello; what is missing or no such value has its default."""
    known = said.get("pid")
    pid = known if isinstance(known, int) and 0 < known < 2**32 else 0
    kind = _KINDS.get(str(said.get("kind")), "worker")
    names = (_text(said, key) for key in ("name", "class", "function"))
    held, profile = said.get("held"), said.get("profile")
    return ProcessInfo(
        worker_id=_text(said, "worker_id") or f"{kind}-{pid}",
        session=_text(said, "session"),
        pid=pid,
        kind=kind,
        name=next((name for name in names if name), f"{kind} {pid}"),
        rank=_text(said, "rank")[:20],
        python=_text(said, "python")[:20],
        state=_text(said, "state"),
        hold_s=_seconds(said.get("hold_s")),
        matches=said.get("matches") is not False,
        files=_files(said.get("files")),
        held=_numbers(held),
        profile=_text(profile, "state")[:20] if isinstance(profile, dict) else "",
    )


def mappings(files: dict[str, str]) -> list[PathMapping]:
    """Where files of the run lie in the worker: each by itself, and the folders that differ as they do."""
    exact, folders = [], []
    for local, remote in files.items():
        if local != remote:
            exact.append(PathMapping(remote, local))
            folder = _folders(remote, local)
            if folder is not None and folder not in folders:
                folders.append(folder)
    return exact + folders


def _folders(remote: str, local: str) -> PathMapping | None:
    """`/pkg/a` is `/home/me/a` when /pkg/a/x/y.py is /home/me/a/x/y.py: without the end that both have."""
    there, here = posixpath.dirname(remote), posixpath.dirname(local)
    while posixpath.basename(there) and posixpath.basename(there) == posixpath.basename(here):
        there, here = posixpath.dirname(there), posixpath.dirname(here)
    is_root = there in ("", "/") or here in ("", "/")
    return None if is_root else PathMapping(there, here)


def _files(said: Any) -> dict[str, str]:
    if not isinstance(said, dict):
        return {}
    pairs = list(said.items())[:_MOST_FILES]
    return {
        local: remote
        for local, remote in pairs
        if isinstance(remote, str) and 0 < len(remote) <= _LONGEST_PATH
    }


def _seconds(said: Any) -> float:
    return float(said) if isinstance(said, int | float) and 0 < said < _LONGEST_S else _HOLD_S


def _numbers(said: Any) -> tuple[int, ...]:
    found = [one for one in said if isinstance(one, int)] if isinstance(said, list) else []
    return tuple(found[:_MOST_HELD])


def _text(said: dict[str, Any], key: str) -> str:
    value = said.get(key)
    return printable(value, 200) if isinstance(value, str) else ""
