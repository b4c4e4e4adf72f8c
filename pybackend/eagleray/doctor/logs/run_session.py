"""Finds the logs of a run's Ray on this machine, which remain after Ray has ended."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from eagleray.common.paths import host_name
from eagleray.doctor.logs.cluster_copies import is_log
from eagleray.runs.model import RunPlan, RunState

_SESSION = re.compile(r"session_[\w-]{1,100}")
# Sessions in /tmp/ray on a node that many use.
_MOST_SESSIONS = 200


def session_logs(plan: RunPlan, state: RunState) -> list[Path]:
    """The logs in the folders of the sessions of the run, those written since its start; [] without one on this machine.

    1. The session of its cluster, by its name.
    2. Else sessions with the log of a driver that is a process of the run.
    """
    if state.host != host_name():
        return []
    folders = [folder for parent in _parents(plan) for folder in _sessions(parent, state)]
    return [log for folder in dict.fromkeys(folders) for log in _logs(folder, state.started)]


def _parents(plan: RunPlan) -> Iterator[Path]:
    """Where Ray puts its sessions (2.60 _private/utils.py get_ray_temp_dir)."""
    named = (plan.env.get(name, "") for name in ("RAY_TMPDIR", "TMPDIR"))
    for folder in dict.fromkeys((*filter(None, named), tempfile.gettempdir())):
        yield Path(folder, "ray")


def _sessions(parent: Path, state: RunState) -> list[Path]:
    if _SESSION.fullmatch(state.session):
        logs = parent / state.session / "logs"
        return [logs] if logs.is_dir() else []
    pids = {worker.pid for worker in state.workers if worker.kind == "driver"}
    pids |= {state.program.pid} if state.program else set()
    try:
        folders = [path for path in parent.iterdir() if _SESSION.fullmatch(path.name)]
    except OSError:
        return []
    # Their names begin with their times.
    newest = sorted((path for path in folders if not path.is_symlink()), reverse=True)
    return [
        path / "logs" for path in newest[:_MOST_SESSIONS] if _has_driver(path, pids, state.started)
    ]


def _has_driver(session: Path, pids: set[int], started: float) -> bool:
    return any(
        log.stat().st_mtime >= started
        for pid in pids
        for log in session.glob(f"logs/python-core-driver-*_{pid}.log")
    )


def _logs(folder: Path, started: float) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if is_log(path.name) and path.is_file() and path.stat().st_mtime >= started:
            yield path
