"""The dashboards of this user on this machine, with the runs that have started them."""

from __future__ import annotations

import json
import os

import psutil

from eagleray.features.clusters.discovery import address_of, dashboard_processes
from eagleray.features.runs.home_cluster import OwnDashboard
from eagleray.features.runs.injected_config import VARIABLE


def own_dashboards() -> list[OwnDashboard]:
    """Ray hands the environment of a program on to the dashboard that it starts."""
    found = []
    for process in dashboard_processes():
        if one := address_of(process):
            found.append(OwnDashboard(one.address, _run_of(process.pid), _gcs(process.arguments)))
    return found


def cluster_pythons() -> list[str]:
    """The interpreters that this user's clusters on this machine run on, each once."""
    first = (process.arguments[0] for process in dashboard_processes() if process.arguments)
    return [
        path for path in dict.fromkeys(first) if path.startswith("/") and os.access(path, os.X_OK)
    ]


def _gcs(arguments: tuple[str, ...]) -> str:
    told = (word.partition("=")[2] for word in arguments if word.startswith("--gcs-address="))
    return next(told, "")


def _run_of(pid: int) -> str:
    try:
        said = json.loads(psutil.Process(pid).environ().get(VARIABLE, "{}"))
    except (psutil.Error, OSError, ValueError):
        return ""
    return str(said.get("run", "")) if isinstance(said, dict) else ""
