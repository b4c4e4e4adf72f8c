"""The user's clusters: discovered, added and named ones, with the status of each.

Decides which clusters are watched and with which token; the watch polls them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from attrs import evolve

from eagleray.clusters import discovery
from eagleray.clusters.addresses import normalised, parse_address
from eagleray.clusters.cluster_names import ClusterNames
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.connections import ConnectionMonitor, ConnectionStatus
from eagleray.clusters.credentials import TokenRules
from eagleray.clusters.discovery import DiscoveredCluster, Machine
from eagleray.clusters.empty_list_reason import Examiner
from eagleray.clusters.job_head import ShowProgress, is_loopback
from eagleray.clusters.model import (
    Cluster,
    ClusterJob,
    ClusterList,
    ClusterProblem,
    ClusterRoute,
    ClusterStatus,
)
from eagleray.clusters.stop_counts import StopCounts
from eagleray.clusters.stored_lists import StoredClusters
from eagleray.clusters.watch_list import Duplicates, MakeDashboard, WatchList
from eagleray.common.blocking_calls import InOrder, off_loop
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import counted, t
from eagleray.common.listeners import Listeners
from eagleray.common.paths import home
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.errors import unknown_cluster
from eagleray.wire.records import fields_in

DISCOVER_S = 4.0
HIDDEN_DISCOVER_S = 15.0
STEP_S = 1.0

log = logging.getLogger(__name__)


class ClusterRegistry:
    """Lives on one event loop; `run` discovers clusters repeatedly, `discover` once.

    It adds clusters to `watch`, makes their dashboards and removes them; `close` ends what it started, but
    not the watch, which its creator owns.
    """

    def __init__(
        self,
        watch: ClusterWatch,
        environ: Mapping[str, str],
        which: Literal["own", "off"] = "own",
        *,
        tokens: TokenRules,
        connections: ConnectionMonitor,
        folder: Path | None = None,
        machine: Machine | None = None,
        make_dashboard: MakeDashboard = Dashboard,
        examiner: Examiner | None = None,
    ) -> None:
        self._watch = watch
        self._environ = environ
        self._own = which == "own"
        self._stored = StoredClusters((folder or home()) / "clusters.json")
        self._stored_names = ClusterNames((folder or home()) / "cluster_names.json")
        self._names: dict[str, str] = {}
        self._files = InOrder()
        self._machine = machine or discovery.this_machine()
        self._tokens = tokens
        self._connections = connections
        self._watch_list = WatchList(watch, make_dashboard, tokens, connections, self._is_added)
        self._examiner = examiner or Examiner(
            watch, self.notify_changed, is_local=connections.is_local
        )
        self._discovered: dict[str, DiscoveredCluster] = {}
        self._added: dict[str, None] = {}
        self._named: dict[str, None] = {}
        self._duplicates = Duplicates()
        self._hints: tuple[ClusterProblem, ...] = ()
        self._listeners = Listeners[[]]()
        self._changing = asyncio.Lock()
        self._is_due = False
        self._end_listening = watch.listen(self._status_changed)

    async def close(self) -> None:
        self._listeners.clear()
        self._end_listening()
        await self._examiner.close()

    async def run(self) -> None:
        """Discovers clusters until it is cancelled, and starts to poll the watched ones."""
        self._watch_list.start_polling()
        while True:
            try:
                await self.discover()
                self._examiner.examine_due()
            except Exception:
                # A failed round must not end discovery.
                log.exception("discovering clusters failed")
            await self._wait_for_next_round()

    async def _wait_for_next_round(self) -> None:
        waited = 0.0
        while not self._is_due and waited < (
            DISCOVER_S if self._watch.visible else HIDDEN_DISCOVER_S
        ):
            # In small steps: an opened panel needs its clusters soon.
            await asyncio.sleep(STEP_S)
            waited += STEP_S

    def _status_changed(self, status: ClusterStatus) -> None:
        if self._has_ended(status):
            # Its process is looked for at once.
            self._is_due = True
        self.notify_changed()

    async def discover(self) -> None:
        """Discovers the clusters once and watches them."""
        self._is_due = False
        async with self._changing:
            search = partial(discovery.discover, self._environ, self._machine, own=self._own)
            result = await off_loop(search)
            clusters = await self._watch_list.without_other_servers(result.clusters)
            before = (self._hints, self._wanted(), self._names)
            self._names = await self._files.run(self._stored_names.all)
            self._added = dict.fromkeys(await self._files.run(self._stored.addresses))
            self._forget_ended_runs(clusters)
            self._discovered = {cluster.address: cluster for cluster in clusters}
            self._hints = result.hints
            await self._update_watch()
            await self._leave_out_duplicates()
            await self._forget_ended_jobs()
        if before != (self._hints, self._wanted(), self._names):
            self.notify_changed()

    def _forget_ended_runs(self, discovered: Iterable[DiscoveredCluster]) -> None:
        """A cluster that a run has started goes with it, even if it was attached to by its address."""
        live = {cluster.address for cluster in discovered}
        for address, before in self._discovered.items():
            if before.run and address not in live:
                self._named.pop(address, None)

    def current(self) -> ClusterList:
        """All clusters with their last status, without any request; clusters of ended runs are left out."""
        statuses = self._watch.statuses()
        clusters = [self._shown(status) for status in statuses if not self._has_ended(status)]
        clusters.sort(key=lambda cluster: cluster.origin != "added")
        return ClusterList(tuple(clusters), self._hints)

    async def refresh(self) -> ClusterList:
        """Discovers clusters, polls them all, and examines why one may look empty."""
        await self.discover()
        await self._watch.refresh()
        await self._examiner.examine_all()
        return self.current()

    async def add(
        self,
        address: str,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        ca_file: str | None = None,
        report: ShowProgress = lambda _: None,
        *,
        anyway: bool = False,
    ) -> Cluster:
        """Adds a cluster after a Ray dashboard has answered, and stores its address.

        One that needs another token, or is busy, is Ray too and is added.  A pending job is waited for;
        `report` is called meanwhile.  With `anyway` it is added at once, whether or not it answers.
        """
        cluster = normalised(address)
        is_new = cluster not in self._wanted()
        self._tokens.set_access(cluster, token, headers, ca_file)
        try:
            if not anyway:
                # Without the lock: it may wait for the user or for SLURM's queue.
                await self._connections.prepare(cluster, report)
            async with self._changing:
                if not anyway:
                    await self._watch_list.check(cluster)
                await self._files.run(partial(self._stored.add, cluster))
                self._added[cluster] = None
                self._duplicates.forget(cluster)
                await self._update_watch()
        except BaseException:
            if is_new and cluster not in self._wanted():
                self._tokens.forget(cluster)
                await self._connections.forget(cluster)
            raise
        self._watch.reset(cluster)
        await self._watch.refresh(cluster)
        self.notify_changed()
        return self._shown(self._watch.status(cluster))

    async def remove(self, cluster: str) -> None:
        """Forgets an added cluster and its token; a discovered one is kept while it runs."""
        async with self._changing:
            if cluster not in self._wanted():
                raise unknown_cluster(cluster)
            await self._files.run(partial(self._stored.remove, cluster))
            self._added.pop(cluster, None)
            self._named.pop(cluster, None)
            self._tokens.forget(cluster)
            await self._store_name(cluster, "")
            await self._update_watch()
        await self._connections.forget(cluster)
        self.notify_changed()

    async def rename(self, cluster: str, name: str) -> Cluster:
        """Shows a cluster under the user's own name for it, in every window; "" restores its own name."""
        status = self._watch.status(cluster)
        own = cluster_name(cluster, self._connections.status(cluster).job_name)
        async with self._changing:
            await self._store_name(cluster, "" if name.strip() == own else name)
        self.notify_changed()
        return self._shown(status)

    async def _store_name(self, cluster: str, name: str) -> None:
        await self._files.run(partial(self._stored_names.set, cluster, name))
        self._names = await self._files.run(self._stored_names.all)

    async def set_access(
        self,
        cluster: str,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        ca_file: str | None = None,
    ) -> Cluster:
        """Sets the user's credentials for a cluster and polls it with them; an empty value removes one.

        They are stored for a cluster that is not watched yet, too: the editor sends them when it starts.
        """
        cluster = normalised(cluster)
        self._tokens.set_access(cluster, token, headers, ca_file)
        if cluster not in self._wanted():
            await self.discover()
        self._watch.reset(cluster)
        await self._watch.refresh(cluster)
        return self._shown(self._watch.status(cluster))

    async def resolve(
        self, written: str, report: ShowProgress = lambda _: None, *, clicked: bool = True
    ) -> str:
        """The id of the cluster with this address; the cluster is watched from now on, but not stored.

        Raises the error of a cluster that does not answer; a pending job is not waited for.
        `clicked` False: called repeatedly on behalf of a run until the cluster is found.
        """
        cluster = self._watched_id(written)
        is_new = cluster not in self._wanted()
        try:
            await self._connect(cluster, report, clicked=clicked)
            await self._watch.refresh(cluster)
            if error := self._watch.status(cluster).error:
                raise error
            if is_new and self._duplicates.find_for(cluster, self._watch.statuses()) != cluster:
                self._named.pop(cluster, None)
                await self._update_watch()
        except EaglerayError:
            if is_new:
                self._named.pop(cluster, None)
                await self._update_watch()
            raise
        return self._duplicates.watched_address(cluster)

    async def inspect(self, written: str, report: ShowProgress = lambda _: None) -> str:
        """As `resolve`, for a cluster that is shown even if it does not answer."""
        cluster = self._watched_id(written)
        with contextlib.suppress(EaglerayError):
            await self._connect(cluster, report)
        await self._watch.refresh(cluster)
        await self._examiner.examine_all()
        return cluster

    async def _connect(self, cluster: str, report: ShowProgress, *, clicked: bool = True) -> None:
        if cluster in self._wanted():
            return
        self._named[cluster] = None
        try:
            await self._connections.prepare(cluster, report, wait=False, clicked=clicked)
        finally:
            await self._update_watch()

    async def id_of(self, written: str) -> str:
        """As `resolve`, but a cluster that is watched already is not polled, and may be failing."""
        cluster = self._watched_id(written)
        return cluster if cluster in self._wanted() else await self.resolve(cluster)

    def _watched_id(self, written: str) -> str:
        return self._duplicates.watched_address(normalised(written))

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls `listener` whenever the result of `current` may have changed; returns a function that ends that."""
        return self._listeners.add(listener)

    def _wanted(self) -> list[str]:
        """The addresses to watch: added ones first, each once."""
        every = dict.fromkeys([*self._added, *self._named, *self._discovered])
        return [address for address in every if address not in self._duplicates]

    async def _update_watch(self) -> None:
        await self._watch_list.update(self._wanted())

    def _is_added(self, address: str) -> bool:
        return address in self._added or address in self._named

    async def _leave_out_duplicates(self) -> None:
        """Watches a cluster that was discovered at two addresses only at the first of them."""
        self._duplicates.prune(self._wanted())
        statuses = self._watch.statuses()
        new = [status.cluster for status in statuses if status.state == "connecting"]
        new = [cluster for cluster in new if parse_address(cluster).is_direct]
        if new and len(self._wanted()) > 1:
            await asyncio.gather(*(self._watch.refresh(cluster) for cluster in new))
        sessions = {status.cluster: status.session for status in self._watch.statuses()}
        self._duplicates.update(sessions, self._wanted(), self._is_added)
        await self._update_watch()

    async def _forget_ended_jobs(self) -> None:
        """Removes stored jobs that are over, unless they were connected since Eagleray started."""
        for status in self._watch.statuses():
            if not status.session and self._connections.is_job_over(status.cluster):
                log.info("%s is over and is forgotten", status.cluster)
                await self._files.run(partial(self._stored.remove, status.cluster))
                self._added.pop(status.cluster, None)
        await self._update_watch()

    def _shown(self, status: ClusterStatus) -> Cluster:
        credentials = self._tokens.problem(status.cluster)
        problems = (*([credentials] if credentials else []), *self._examiner.problems(status))
        connection = self._connections.status(status.cluster)
        run = self._run_of(status.cluster)
        is_added = status.cluster in self._added if run else self._is_added(status.cluster)
        shown = _cluster(status, is_added, problems, connection)
        name = self._names.get(status.cluster) or shown.name
        return evolve(shown, name=name, run=run)

    def _run_of(self, cluster: str) -> str:
        discovered = self._discovered.get(cluster)
        return discovered.run if discovered else ""

    def _has_ended(self, status: ClusterStatus) -> bool:
        """Whether it is the cluster of a run and nothing listens there any more."""
        is_refused = status.error is not None and status.error.code == "cluster-unreachable"
        return (
            is_refused and bool(self._run_of(status.cluster)) and status.cluster not in self._added
        )

    def notify_changed(self) -> None:
        """Tells the listeners to call `current` again."""
        self._listeners.notify()


def _cluster(
    status: ClusterStatus,
    added: bool,
    problems: tuple[ClusterProblem, ...],
    connection: ConnectionStatus,
) -> Cluster:
    """The cluster as it is shown; `problems` come from its examination and its credentials."""
    if connection.is_pending:
        status = evolve(status, state="connecting")
    failure = (
        [ClusterProblem.of(status.error)] if status.error and status.state != "connecting" else []
    )
    job_problem = [connection.problem] if connection.problem else []
    by_code = {problem.code: problem for problem in (*job_problem, *failure)}
    return Cluster(
        id=status.cluster,
        name=cluster_name(status.cluster, connection.job_name),
        origin="added" if added else "own",
        state=status.state,
        session=status.session,
        ray_version=status.ray_version,
        sentence=status_sentence(status, connection.stops, connection.waits_for),
        problems=(*by_code.values(), *problems),
        route=_route(connection),
        workers=status.live_workers,
        **fields_in(connection, ClusterJob),
    )


def _route(connection: ConnectionStatus) -> ClusterRoute | None:
    state = connection.route
    if state is None:
        return None
    return ClusterRoute(state.route.kind, connection.via, state.state, state.reason, state.message)


def cluster_name(cluster: str, job_name: str = "") -> str:
    """The name of a cluster: "local (8265)", "node-1:8265", "login:8265" behind ssh, "train (job 12345)"."""
    address = parse_address(cluster)
    if address.job:
        return f"{job_name} (job {address.job})" if job_name else f"job {address.job}"
    parts = urlsplit(address.url)
    host = parts.hostname or ""
    if address.is_direct and is_loopback(host):
        return t("local ({port})", port=f"{parts.port}{parts.path}")
    if address.ssh and is_loopback(host):
        host = address.ssh.rpartition("@")[2]
    return (
        f"[{host}]:{parts.port}{parts.path}" if ":" in host else f"{host}:{parts.port}{parts.path}"
    )


def status_sentence(status: ClusterStatus, stops: StopCounts, waits_for: str = "") -> str:
    """ "Connected, Ray 2.60.0, 6 workers, none paused", or the error, or what is waited for."""
    if status.state == "connecting":
        return waits_for or t("Connecting…")
    if status.error is not None:
        return status.error.message
    parts = [t("Connected"), f"Ray {status.ray_version}"]
    workers = status.live_workers
    if workers >= 0:
        parts.append(counted(workers, "{n} worker", "{n} workers") if workers else t("no workers"))
    return ", ".join((*parts, *stops.parts))
