"""Finds the Ray cluster of a run, which it was started on or has started, and the debug proxies of its workers."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from attrs import frozen

from eagleray.clusters.clusters import ClusterRegistry
from eagleray.clusters.discovery import address_of, dashboard_processes
from eagleray.common.errors import UNREADABLE_JSON, EaglerayError
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.rows import WorkerRow
from eagleray.remote.injected.outside_files import content_of
from eagleray.runs.model import RunState

Trouble = Literal["", "lost", "several"]
# Ray's dashboard answers within this time, and ends within it.
LASTING_S = 30.0


@frozen
class OwnDashboard:
    """A dashboard of this user on this machine.

    `run` is the id of the run in whose environment it was started, if any, `gcs` where programs join its cluster.
    """

    address: str
    run: str
    gcs: str = ""


@frozen
class JoinedCluster:
    """A cluster that a driver of the run reports to have joined: where programs join it, and its session."""

    gcs: str
    session: str = ""


@frozen
class Home:
    """A cluster with the name of its session, which tells it from others at the same address."""

    cluster: str
    session: str
    dashboard: Dashboard


class HomeCluster:
    """Resolves the cluster of a run: the current one, since a program may leave a cluster and start or join another.

    1. The cluster that the plan names.
    2. The cluster of the SLURM job that the run has become.
    3. One whose dashboard runs on this machine with the id of the run in its environment.
    4. One whose dashboard runs on this machine and which a driver of the run reports to have `joined`.

    Of several of the last two kinds the one that a driver has joined last.  Unless it `is_searched`, it has none.
    `is_expected` once it is known that the program uses Ray.  `problem` is set once that lasts: the program's cluster
    is "lost", or is one of "several" at a time.
    """

    def __init__(
        self,
        run: str,
        named: str,
        clusters: ClusterRegistry,
        dashboard: Callable[[str], Dashboard],
        own: Callable[[], list[OwnDashboard]],
        joined: Callable[[], Sequence[JoinedCluster]] = tuple,
        *,
        is_searched: bool = True,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run = run
        self._named = named
        self._clusters = clusters
        self._dashboard = dashboard
        self._own = own
        self._joined = joined
        self._is_searched = is_searched
        self._now = now
        self._searched_with: Sequence[JoinedCluster] = ()
        self._resolved_with: set[JoinedCluster] = set()
        self._is_certain = False
        self._trouble: Trouble = ""
        self._trouble_since = 0.0
        self._last: Home | None = None
        self.is_expected = bool(named)
        self.problem: Trouble = ""

    @property
    def resolved(self) -> Home | None:
        """The cluster that was found last, unless the program is in another one by now."""
        return None if self.problem == "lost" else self._last

    async def find(self, state: RunState) -> Home | None:
        """The current cluster, None as long as none answers; one that is gone is replaced once another answers."""
        if self._is_searched:
            is_fixed = bool(self._named or state.external_id)
            joined = () if is_fixed else self._joined()
            if not self._is_certain or joined != self._searched_with:
                await self._search(state, joined)
        return self.resolved

    def doubt(self) -> None:
        """A request to its dashboard has failed, so that the next call of `find` searches again."""
        self._is_certain = False

    async def _search(self, state: RunState, joined: Sequence[JoinedCluster]) -> None:
        written = self._written(state, joined)
        home, used = None, 0
        for address, sessions in written.items():
            answer = await self._answering(address) if home is None or sessions else None
            if answer and sessions and _is_another(answer.session, sessions):
                continue
            home, used = home or answer, used + 1
        trouble: Trouble = "several" if home and used > 1 else ""
        if home:
            self._last = home
            self._resolved_with.update(joined[:1])
        elif self._last and joined and joined[0] not in self._resolved_with:
            trouble = "lost"
        self._searched_with, self._is_certain = joined, home is not None and not trouble
        # Between two clusters there is a moment with none, or with both.
        if trouble != self._trouble:
            self._trouble, self._trouble_since = trouble, self._now()
        self.problem = trouble if self._now() - self._trouble_since >= LASTING_S else ""

    async def _answering(self, written: str) -> Home | None:
        try:
            cluster = await self._clusters.resolve(written, clicked=False)
            version = await self._dashboard(cluster).version()
        except EaglerayError:
            return None
        return Home(cluster, version.session, self._dashboard(cluster))

    def _written(
        self, state: RunState, joined: Sequence[JoinedCluster]
    ) -> dict[str, Collection[str]]:
        """The addresses of the clusters that it may be with their sessions, if known, the likeliest first."""
        if self._named:
            return {self._named: ()}
        if state.external_id:
            self.is_expected = True
            job = f"slurm://{state.external_id}"
            return {f"ssh://{state.ssh}/{job}" if state.ssh else job: ()}
        self.is_expected = self.is_expected or bool(joined)
        order = [each.gcs for each in joined]
        ours = [each for each in self._own() if each.run == self._run or each.gcs in order]
        ours.sort(
            key=lambda each: (
                each.run != self._run,
                order.index(each.gcs) if each.gcs in order else len(order),
            )
        )
        return {
            each.address: () if each.run == self._run else _sessions(each.gcs, joined)
            for each in ours
        }


def _is_another(session: str, joined: Collection[str]) -> bool:
    """Whether this cluster has the port of one that is gone; the dashboard of an old Ray doesn't report its session's name."""
    return session.startswith("session_") and session not in joined


def _sessions(gcs: str, joined: Sequence[JoinedCluster]) -> set[str]:
    """The sessions that drivers have joined there; empty if one of them is unknown."""
    sessions = {each.session for each in joined if each.gcs == gcs}
    return set() if "" in sessions else sessions


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
        return content_of(Path(folder, "ray", "ray_current_cluster"), 1000).decode().strip()
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
    """The debug proxies among the debug ports of workers, without the proxies of drivers that are `announced` by files.

    A worker that began before the run has none of its proxies.  A worker that waits for a debugger shows that
    debugger's port, which takes one client only and must not be tried.
    """
    for row in rows:
        old = 0 < row.started_ms < since_ms
        is_announced = row.kind == "driver" and row.debug_port in announced
        if row.debug_port > 0 and row.paused_threads == 0 and not old and not is_announced:
            yield ProxyAddress(row.worker_id, row.node_ip, row.debug_port)


def in_folder(folder: Path) -> Iterator[ProxyAddress]:
    """The debug proxies that drivers of this machine, or with this home, have announced by files."""
    for path, announcement in _announced(folder):
        try:
            host, port = str(announcement["host"]), int(announcement["port"])
        except (ValueError, KeyError, TypeError, OverflowError):
            continue
        yield ProxyAddress(path.name, host, port, is_local=host.startswith("127."))


def joined_in(folder: Path) -> list[JoinedCluster]:
    """The clusters that drivers have joined, the last one first; some of these drivers have no debug proxy."""
    announced = [*_announced(folder), *_announced(folder, "driver")]
    announced.sort(key=lambda each: _written_at(each[0]), reverse=True)
    joined = (
        JoinedCluster(str(values.get("gcs") or ""), str(values.get("session") or ""))
        for _, values in announced
    )
    return list(dict.fromkeys(cluster for cluster in joined if cluster.gcs))


def _written_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _announced(folder: Path, kind: str = "proxy") -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(folder.glob(f"{kind}-*.json")):
        try:
            announcement = json.loads(content_of(path, 2**20))
        except UNREADABLE_JSON:
            # It ended, or is being written.
            continue
        if isinstance(announcement, dict):
            yield path, announcement
