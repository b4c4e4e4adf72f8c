"""Having exactly the clusters watched that are wanted, each with a dashboard that may get what is its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from eagleray.features.clusters.checking import check
from eagleray.features.clusters.cluster_status import Seen
from eagleray.features.clusters.cluster_watch import ClusterWatch
from eagleray.features.clusters.reaching import Reaches
from eagleray.features.clusters.token_rules import TokenRules
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.endpoint import FindEndpoint, TokenSource

MakeDashboard = Callable[[str, TokenSource, FindEndpoint], Dashboard]


class Watching:
    """Makes the dashboards of `watch`, which closes them."""

    def __init__(
        self,
        watch: ClusterWatch,
        make_dashboard: MakeDashboard,
        tokens: TokenRules,
        reaches: Reaches,
        is_added: Callable[[str], bool],
    ) -> None:
        self._watch = watch
        self._make_dashboard = make_dashboard
        self._tokens = tokens
        self._reaches = reaches
        self._is_added = is_added
        self._polling = False

    def poll(self) -> None:
        """From now on what is watched is polled."""
        self._polling = True
        self._watch.poll()

    async def only(self, wanted: Iterable[str]) -> None:
        """Watches these and no others."""
        wanted = list(wanted)
        watched = [seen.cluster for seen in self._watch.all_seen()]
        for address in wanted:
            if address not in watched:
                self._watch.add(self._dashboard(address), poll=self._polling)
        for address in watched:
            if address not in wanted:
                await self._watch.remove(address)

    async def check(self, address: str) -> None:
        """Asks who is there; raises unless it is a Ray dashboard."""
        await check(self._dashboard(address))

    def seen_of(self, address: str) -> Seen | None:
        return next((one for one in self._watch.all_seen() if one.cluster == address), None)

    def _dashboard(self, address: str) -> Dashboard:
        source = self._tokens.source(address, partial(self._is_added, address))
        return self._make_dashboard(address, source, self._reaches.find_way(address))
