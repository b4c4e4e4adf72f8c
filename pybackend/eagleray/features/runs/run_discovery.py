"""Finds the Ray cluster of a run, which it was started on or has started, and the debug proxies of its workers."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from eagleray.common.errors import UNREADABLE_JSON, EaglerayError
from eagleray.features.clusters.clusters import ClusterRegistry
from eagleray.features.clusters.discovery import address_of, dashboard_processes
from eagleray.features.runs.model import RunState
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.rows import WorkerRow


@frozen
class OwnDashboard:
    """A dashboard of this user on this machine.

    `run` is the id of the run in whose environment it was started, if any, `gcs` where programs join its cluster.
    """

    address: str
    run: str
    gcs: str = ""


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

    Unless it `is_searched`, it has none.
    """

    def __init__(
        self,
        run: str,
        named: str,
        clusters: ClusterRegistry,
        dashboard: Callable[[str], Dashboard],
        own: Callable[[], list[OwnDashboard]],
        joined: Callable[[], Collection[str]] = tuple,
        *,
        is_searched: bool = True,
    ) -> None:
        self._run = run
        self._named = named
        self._clusters = clusters
        self._dashboard = dashboard
        self._own = own
        self._joined = joined
        self._is_searched = is_searched
        self.resolved: Home | None = None

    async def find(self, state: RunState) -> Home | None:
        """The cluster, None as long as it doesn't answer."""
        if self.resolved is None and self._is_searched and (written := self._written(state)):
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
    """The dashboards of this user on this machine, with the runs that have started them."""
    dashboards = []
    for process in dashboard_processes():
        if address := address_of(process):
            dashboards.append(OwnDashboard(address.address, process.run, _gcs(process.arguments)))
    return dashboards


def cluster_pythons() -> list[str]:
    """The interpreters that this user's clusters on this machine run on, each once."""
    first = (process.arguments[0] for process in dashboard_processes() if process.arguments)
    return [
        path for path in dict.fromkeys(first) if path.startswith("/") and os.access(path, os.X_OK)
    ]


def joined_python(environ: Mapping[str, str]) -> str:
    """The interpreter of the local cluster that `ray.init()` joins in this environment; "" if it joins none of ours.

    1. RAY_ADDRESS, as HOST:PORT; `local`, an address of a server or of a client names no such cluster.
    2. Without one or with `auto`: the address that the last `ray start` has written down, as long as that cluster runs.
    """
    address = environ.get("RAY_ADDRESS", "")
    if address in ("", "auto"):
        address = _started_last(environ)
    if not address or address == "local" or "://" in address:
        return ""
    return next(
        (
            process.arguments[0]
            for process in dashboard_processes()
            if _gcs(process.arguments) == address and process.arguments[0].startswith("/")
        ),
        "",
    )


def _started_last(environ: Mapping[str, str]) -> str:
    folder = environ.get("RAY_TMPDIR") or tempfile.gettempdir()
    try:
        return Path(folder, "ray", "ray_current_cluster").read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _gcs(arguments: tuple[str, ...]) -> str:
    addresses = (word.partition("=")[2] for word in arguments if word.startswith("--gcs-address="))
    return next(addresses, "")


@frozen
class ProxyAddress:
    """A debug proxy; `key` is its process, `is_local`: it is on this machine, whatever its address."""

    key: str
    host: str
    port: int
    is_local: bool = False


def in_table(
    rows: Iterable[WorkerRow], since_ms: int, announced: Collection[int] = ()
) -> Iterator[ProxyAddress]:
    """The debug proxies among the debug ports of workers, without those of drivers that are `announced` by files.

    A worker that began before the run has none of its proxies.  A worker that waits for a debugger shows the port of
    that debugger, which takes one client only and must not be tried.
    """
    for row in rows:
        old = 0 < row.started_ms < since_ms
        is_announced = row.kind == "driver" and row.debug_port in announced
        if row.debug_port > 0 and row.paused_threads == 0 and not old and not is_announced:
            yield ProxyAddress(row.worker_id, row.node_ip, row.debug_port)


def in_folder(folder: Path) -> Iterator[ProxyAddress]:
    """The debug proxies that drivers of this machine, or with this home, have announced by files."""
    for name, announcement in _announced(folder):
        try:
            host, port = str(announcement["host"]), int(announcement["port"])
        except (ValueError, KeyError, TypeError, OverflowError):
            continue
        yield ProxyAddress(name, host, port, is_local=host.startswith("127."))


def joined_in(folder: Path) -> set[str]:
    """The clusters that drivers have joined, as the addresses at which programs join; some have no debug proxy."""
    announced = [*_announced(folder), *_announced(folder, "driver")]
    addresses = (str(announcement.get("gcs") or "") for _, announcement in announced)
    return {address for address in addresses if address}


def _announced(folder: Path, kind: str = "proxy") -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(folder.glob(f"{kind}-*.json")):
        try:
            announcement = json.loads(path.read_text("utf-8"))
        except UNREADABLE_JSON:
            # It ended, or is being written.
            continue
        if isinstance(announcement, dict):
            yield path.name, announcement
