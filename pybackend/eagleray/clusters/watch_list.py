"""Reconciles the watched clusters with the wanted ones, and leaves out second addresses of one cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.connections import ConnectionMonitor
from eagleray.clusters.credentials import TokenRules
from eagleray.clusters.discovery import DiscoveredCluster
from eagleray.clusters.model import ClusterStatus
from eagleray.common.errors import EaglerayError
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.endpoint import FindEndpoint, TokenSource

MakeDashboard = Callable[[str, TokenSource, FindEndpoint], Dashboard]

# Errors that only Ray's dashboard answers with.
RAY_ERRORS = frozenset({"token-needed", "token-refused", "token-expired", "dashboard-busy"})
# Errors that Ray's dashboard never answers with.
NOT_RAY_ERRORS = frozenset({"not-ray", "redirected"})

log = logging.getLogger(__name__)


class WatchList:
    """Makes the dashboards of `watch`, each with the credentials of its own cluster; the watch closes them."""

    def __init__(
        self,
        watch: ClusterWatch,
        make_dashboard: MakeDashboard,
        tokens: TokenRules,
        connections: ConnectionMonitor,
        is_added: Callable[[str], bool],
    ) -> None:
        self._watch = watch
        self._make_dashboard = make_dashboard
        self._tokens = tokens
        self._connections = connections
        self._is_added = is_added
        self._polling = False

    def start_polling(self) -> None:
        """Polls the watched clusters from now on."""
        self._polling = True
        self._watch.start_polling()

    async def update(self, wanted: Iterable[str]) -> None:
        """Watches exactly these clusters."""
        wanted = list(wanted)
        watched = [status.cluster for status in self._watch.statuses()]
        for address in wanted:
            if address not in watched:
                self._watch.add(self._dashboard(address), poll=self._polling)
        for address in watched:
            if address not in wanted:
                await self._watch.remove(address)

    async def check(self, address: str) -> None:
        """Raises unless a Ray dashboard answers at the address."""
        dashboard = self._dashboard(address)
        try:
            await dashboard.version()
        except EaglerayError as error:
            if error.code not in RAY_ERRORS:
                raise
        finally:
            await dashboard.close()

    async def without_other_servers(
        self, discovered: Iterable[DiscoveredCluster]
    ) -> list[DiscoveredCluster]:
        """Leaves out servers on the usual port that are not Ray; one that was Ray before is kept, it may be slow."""
        return [cluster for cluster in discovered if await self._may_be_ray(cluster)]

    async def _may_be_ray(self, cluster: DiscoveredCluster) -> bool:
        status = self.status_of(cluster.address)
        if status is not None and (status.error is None or status.error.code not in NOT_RAY_ERRORS):
            return True
        if cluster.source != "port" or self._is_added(cluster.address):
            return True
        try:
            await self.check(cluster.address)
        except EaglerayError as error:
            log.debug("%s is ignored: %s", cluster.address, error)
            return False
        return True

    def status_of(self, address: str) -> ClusterStatus | None:
        """The status of a cluster; None if it is not watched."""
        statuses = self._watch.statuses()
        return next((status for status in statuses if status.cluster == address), None)

    def _dashboard(self, address: str) -> Dashboard:
        tokens = self._tokens.source(address, partial(self._is_added, address))
        return self._make_dashboard(address, tokens, self._connections.find_endpoint(address))


class Duplicates:
    """The addresses that are left out because their cluster is watched at an earlier address."""

    def __init__(self) -> None:
        self._watched: dict[str, str] = {}

    def __contains__(self, address: str) -> bool:
        return address in self._watched

    def watched_address(self, address: str) -> str:
        """The address at which the cluster is watched."""
        return self._watched.get(address, address)

    def forget(self, address: str) -> None:
        self._watched.pop(address, None)

    def prune(self, wanted: Sequence[str]) -> None:
        """Forgets pairs of which one address is not wanted any more."""
        every = {*wanted, *self._watched}
        self._watched = {
            left_out: watched
            for left_out, watched in self._watched.items()
            if {left_out, watched} <= every
        }

    def find_for(self, address: str, statuses: Iterable[ClusterStatus]) -> str:
        """The address at which the cluster of `address` is watched already, else `address`; it is remembered."""
        sessions = {s.cluster: s.session for s in statuses if s.state == "connected"}
        others = [other for other in sessions if other != address]
        self.update(sessions, [*others, address], lambda other: other != address)
        return self.watched_address(address)

    def update(
        self, sessions: Mapping[str, str], wanted: Sequence[str], is_added: Callable[[str], bool]
    ) -> None:
        """Leaves out each address whose session an earlier one has; added ones are always kept."""
        first: dict[str, str] = {}
        for address in wanted:
            session = sessions.get(address)
            same = first.setdefault(session, address) if session else address
            if same != address and not is_added(address):
                log.info("%s is the same cluster as %s", address, same)
                self._watched[address] = same
