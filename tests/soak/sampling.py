"""Samples of what could grow: descriptors, threads, tasks, objects, memory, processes, files and logs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

PROBE_S = 20.0


@dataclass(frozen=True)
class Sample:
    """Values by metric name (`adapter fds`), and the process lifetime of each role."""

    hours: float
    cycle: int
    lives: dict[str, str]
    values: dict[str, float]
    types: dict[str, dict[str, int]]


def of_process(pid: int, probes: Path) -> tuple[dict[str, float], dict[str, int]]:
    """One process; the second value is its object counts by type."""
    folder = Path("/proc") / str(pid)
    status = dict(
        line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line
    )
    rollup = (folder / "smaps_rollup").read_text()
    values = {
        "fds": float(len(list((folder / "fd").iterdir()))),
        "threads": float(status["Threads"]),
        "RSS kB": float(status["VmRSS"].split()[0]),
        # Not PSS: the share of common pages grows when other programs of this machine end.
        "USS kB": float(_field(rollup, "Private_Clean:")) + float(_field(rollup, "Private_Dirty:")),
    }
    probe = probed(pid, probes)
    values |= {name: float(probe[name]) for name in ("tasks", "objects") if name in probe}
    return values, probe.get("types", {})


def probed(pid: int, probes: Path) -> dict[str, Any]:
    """Returns what the process's own probe writes; empty for one that has none or does not answer."""
    if not handles(pid, signal.SIGUSR2):
        return {}
    path = probes / f"{pid}.json"
    path.unlink(missing_ok=True)
    os.kill(pid, signal.SIGUSR2)
    deadline = time.monotonic() + PROBE_S
    while time.monotonic() < deadline:
        with contextlib.suppress(FileNotFoundError):
            said: dict[str, Any] = json.loads(path.read_text())
            return said
        time.sleep(0.05)
    return {}


def handles(pid: int, number: int) -> bool:
    """Whether the process has a handler: the signal would end one that has none."""
    status = (Path("/proc") / str(pid) / "status").read_text()
    return bool(int(_field(status, "SigCgt:"), 16) >> (number - 1) & 1)


def of_folder(home: Path, temporary: Path) -> dict[str, float]:
    """Files and logs."""
    logs = list(home.glob("*.log"))
    return {
        "files in home": float(sum(_count(path, files) for path, _, files in os.walk(home))),
        "entries in run folder": float(sum(1 for _ in (home / "run").rglob("*"))),
        "temporary files": float(sum(1 for _ in temporary.rglob("*"))),
        "log bytes": float(sum(path.stat().st_size for path in logs)),
    }


def _count(folder: str, files: list[str]) -> int:
    """Without Python's caches beside the copies of our code: one for each module, once that is imported."""
    return 0 if folder.endswith("/__pycache__") else len(files)


def processes(variable: str, value: str, fits: Callable[[str], bool]) -> list[psutil.Process]:
    """Processes with that variable in their environment whose command fits."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            alive = process.status() != psutil.STATUS_ZOMBIE
            if alive and process.environ().get(variable) == value:
                command = " ".join(process.cmdline())
                if fits(command):
                    found.append(process)
    return found


def adapter_pid(home: Path) -> int:
    """The adapter of that home, 0 for none."""
    found = processes("EAGLERAY_HOME", str(home), lambda command: command.endswith(" adapter"))
    return found[0].pid if found else 0


def _field(text: str, name: str) -> str:
    return next(line.split()[1] for line in text.splitlines() if line.startswith(name))
