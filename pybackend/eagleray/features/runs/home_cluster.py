"""Finds the Ray cluster with the workers of a run: the one that it was started on, or that it has started."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection
from typing import Protocol

import psutil
from attrs import frozen

from eagleray.common.errors import EaglerayError
from eagleray.features.clusters.discovery import address_of, dashboard_processes
from eagleray.features.runs.injected_config import VARIABLE
from eagleray.features.runs.model import RunState
from eagleray.ray.dashboard import Dashboard


@frozen
class OwnDashboard:
    """A dashboard of this user on this machine.

    `run` is the id of the run in whose environment it was started, if any, `gcs` where programs join its cluster.
    """

    address: str
    run: str
    gcs: str = ""


class ClusterResolver(Protocol):
    """What watches clusters by their ids: the clusters of the panel."""

    async def resolve(self, written: str, *, clicked: bool = True) -> str: ...


@frozen
class Home:
    """A cluster with the name of its session, which tells it from others at the same address."""

    cluster: str
    session: str
    dashboard: Dashboard


class HomeCluster:
    """Resolves the cluster of a run, which then stays the same.

    1. The cluster that the plan names.
    2. That of the SLURM job that the run has become.
    3. One whose dashboard runs on this machine with the id of the run in its environment.
    4. One whose dashboard runs on this machine and which a driver of the run reports to have `joined`.
    """

    def __init__(
        self,
        run: str,
        named: str,
        clusters: ClusterResolver,
        dashboard: Callable[[str], Dashboard],
        own: Callable[[], list[OwnDashboard]],
        joined: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._run = run
        self._named = named
        self._clusters = clusters
        self._dashboard = dashboard
        self._own = own
        self._joined = joined
        self.resolved: Home | None = None

    async def find(self, state: RunState) -> Home | None:
        """The cluster, None as long as it doesn't answer."""
        if self.resolved is None and (written := self._written(state)):
            try:
                cluster = await self._clusters.resolve(written, clicked=False)
                version = await self._dashboard(cluster).version()
            except EaglerayError:
                return None
            self.resolved = Home(cluster, version.session, self._dashboard(cluster))
        return self.resolved

    def _written(self, state: RunState) -> str:
        if self._named:
            return self._named
        if state.external_id:
            return (
                f"ssh://{state.ssh}/slurm://{state.external_id}"
                if state.ssh
                else f"slurm://{state.external_id}"
            )
        own, joined = self._own(), self._joined()
        started = [dashboard.address for dashboard in own if dashboard.run == self._run]
        return next(
            iter([*started, *(dashboard.address for dashboard in own if dashboard.gcs in joined)]),
            "",
        )


def own_dashboards() -> list[OwnDashboard]:
    """Ray hands the environment of a program on to the dashboard that it starts."""
    dashboards = []
    for process in dashboard_processes():
        if address := address_of(process):
            dashboards.append(
                OwnDashboard(address.address, _run_of(process.pid), _gcs(process.arguments))
            )
    return dashboards


def cluster_pythons() -> list[str]:
    """The interpreters that this user's clusters on this machine run on, each once."""
    first = (process.arguments[0] for process in dashboard_processes() if process.arguments)
    return [
        path for path in dict.fromkeys(first) if path.startswith("/") and os.access(path, os.X_OK)
    ]


def _gcs(arguments: tuple[str, ...]) -> str:
    addresses = (word.partition("=")[2] for word in arguments if word.startswith("--gcs-address="))
    return next(addresses, "")


def _run_of(pid: int) -> str:
    try:
        config = json.loads(psutil.Process(pid).environ().get(VARIABLE, "{}"))
    except (psutil.Error, OSError, ValueError):
        return ""
    return str(config.get("run", "")) if isinstance(config, dict) else ""
