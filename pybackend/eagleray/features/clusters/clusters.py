"""The clusters that one knows: one's own, those that were added, and what is seen of each.

It decides which clusters are watched and with which token; the watch does the polling.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

from eagleray.clients.cluster_watch import ClusterWatch
from eagleray.clients.ray_dashboard import Dashboard
from eagleray.clients.ray_way import TokenSource
from eagleray.clients.seen import Seen
from eagleray.common.errors import EaglerayError, unknown_cluster
from eagleray.common.paths import home
from eagleray.features.clusters import discovery
from eagleray.features.clusters.addresses import normalised
from eagleray.features.clusters.discovery import Found, Machine
from eagleray.features.clusters.examining import Examiner
from eagleray.features.clusters.known import AllKnown, Known, known_of
from eagleray.features.clusters.problems import Problem
from eagleray.features.clusters.stored_clusters import StoredClusters
from eagleray.features.clusters.token_rules import TokenRules

DISCOVER_S = 4.0
HIDDEN_DISCOVER_S = 15.0
STEP_S = 1.0

# Answers that only Ray's dashboard gives, though not the one that was wanted.
RAY_ALL_THE_SAME = frozenset({"token-needed", "token-refused", "dashboard-busy"})
# Answers that Ray's dashboard never gives.
NO_RAY = frozenset({"not-ray", "redirected"})

log = logging.getLogger(__name__)

MakeDashboard = Callable[[str, TokenSource], Dashboard]


class Clusters:
    """Lives on one event loop; `run` looks for clusters again and again, `discover` once.

    It adds to and removes from `watch`, whose dashboards it makes; `close` ends what it started, but
    not the watch, which belongs to whoever made it.
    """

    def __init__(
        self,
        watch: ClusterWatch,
        environ: Mapping[str, str],
        which: Literal["own", "off"] = "own",
        *,
        folder: Path | None = None,
        machine: Machine | None = None,
        make_dashboard: MakeDashboard = Dashboard,
        examiner: Examiner | None = None,
        tokens: TokenRules | None = None,
    ) -> None:
        self._watch = watch
        self._environ = environ
        self._own = which == "own"
        self._stored = StoredClusters((folder or home()) / "clusters.json")
        self._machine = machine or discovery.this_machine()
        self._make_dashboard = make_dashboard
        self._tokens = tokens or TokenRules(environ)
        self._examiner = examiner or Examiner(watch, self._changed)
        self._found: dict[str, Found] = {}
        self._added: dict[str, None] = {}
        self._named: dict[str, None] = {}
        self._twins: dict[str, str] = {}
        self._hints: tuple[Problem, ...] = ()
        self._listeners: list[Callable[[], None]] = []
        self._changing = asyncio.Lock()
        self._polling = False
        self._end_listening = watch.listen(lambda _: self._changed())

    async def close(self) -> None:
        self._listeners.clear()
        self._end_listening()
        await self._examiner.close()

    async def run(self) -> None:
        """Looks for clusters until it is cancelled; those that are found are polled from now on."""
        self._polling = True
        self._watch.poll()
        while True:
            try:
                await self.discover()
                self._examiner.look_again()
            except Exception:
                # A fault of one look must not end all looking.
                log.exception("looking for clusters failed")
            await self._until_next()

    async def _until_next(self) -> None:
        waited = 0.0
        while waited < (DISCOVER_S if self._watch.visible else HIDDEN_DISCOVER_S):
            # In small steps: once the panel is seen, one's clusters are wanted soon.
            await asyncio.sleep(STEP_S)
            waited += STEP_S

    async def discover(self) -> None:
        """Looks once which clusters there are, and has them watched."""
        async with self._changing:
            findings = await asyncio.to_thread(
                discovery.find, self._environ, self._machine, own=self._own
            )
            found = await self._that_are_ray(findings.found)
            before = (self._hints, self._wanted())
            self._added = dict.fromkeys(self._stored.addresses())
            self._found = {one.address: one for one in found}
            self._hints = findings.hints
            await self._watch_what_is_wanted()
            await self._leave_out_twins()
        if before != (self._hints, self._wanted()):
            self._changed()

    def known(self) -> AllKnown:
        """All clusters with what was seen of them last; asks nobody."""
        shown = [self._known(seen) for seen in self._watch.all_seen()]
        shown.sort(key=lambda known: known.origin != "added")
        return AllKnown(tuple(shown), self._hints)

    async def refresh(self) -> AllKnown:
        """Looks for clusters, asks them all, and examines why one may look empty."""
        await self.discover()
        await self._watch.refresh()
        await self._examiner.examine_all()
        return self.known()

    async def add(self, address: str, token: str | None = None) -> Known:
        """Adds a cluster after it has answered as Ray does, and stores its address.

        One that asks for a token that we lack, or is busy just now, is Ray all the same and is added.
        """
        cluster = normalised(address)
        async with self._changing:
            if token is not None:
                self._tokens.type_in(cluster, token)
            try:
                await self._check(cluster)
            except EaglerayError:
                if cluster not in self._wanted():
                    self._tokens.forget(cluster)
                raise
            self._stored.add(cluster)
            self._added[cluster] = None
            self._twins.pop(cluster, None)
            await self._watch_what_is_wanted()
        await self._watch.refresh(cluster)
        self._changed()
        return self._known(self._watch.seen(cluster))

    async def remove(self, cluster: str) -> None:
        """Forgets an added cluster and its token; one's own stays while it runs."""
        async with self._changing:
            if cluster not in self._wanted():
                raise unknown_cluster(cluster)
            self._stored.remove(cluster)
            self._added.pop(cluster, None)
            self._named.pop(cluster, None)
            self._tokens.forget(cluster)
            await self._watch_what_is_wanted()
        self._changed()

    async def set_token(self, cluster: str, token: str) -> Known:
        """Takes a token that the person typed in, and asks again with it; "" takes it back.

        It is kept also for a cluster that is not known yet: the editor brings its tokens at the start.
        """
        cluster = normalised(cluster)
        self._tokens.type_in(cluster, token)
        if cluster not in self._wanted():
            await self.discover()
        await self._watch.refresh(cluster)
        return self._known(self._watch.seen(cluster))

    async def named(self, written: str) -> str:
        """The id of the cluster that a person named by its address; it is watched, but not stored.

        Raises what went wrong if it does not answer.
        """
        cluster = self._as_watched(written)
        is_new = cluster not in self._wanted()
        if is_new:
            self._named[cluster] = None
            await self._watch_what_is_wanted()
        await self._watch.refresh(cluster)
        if error := self._watch.seen(cluster).error:
            if is_new:
                self._named.pop(cluster, None)
                await self._watch_what_is_wanted()
            raise error
        return cluster

    async def id_of(self, written: str) -> str:
        """Like `named`, but one that is watched already is not asked, and may fail."""
        cluster = self._as_watched(written)
        return cluster if cluster in self._wanted() else await self.named(cluster)

    def _as_watched(self, written: str) -> str:
        cluster = normalised(written)
        return self._twins.get(cluster, cluster)

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls `listener` whenever `known()` may answer something else; the answer ends that."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def _wanted(self) -> list[str]:
        """The addresses that are to be watched: added ones first, each once."""
        every = dict.fromkeys([*self._added, *self._named, *self._found])
        return [address for address in every if address not in self._twins]

    async def _watch_what_is_wanted(self) -> None:
        wanted = self._wanted()
        watched = [seen.cluster for seen in self._watch.all_seen()]
        for address in wanted:
            if address not in watched:
                source = self._tokens.source(address, partial(self._is_added, address))
                self._watch.add(self._make_dashboard(address, source), poll=self._polling)
        for address in watched:
            if address not in wanted:
                await self._watch.remove(address)

    def _is_added(self, address: str) -> bool:
        return address in self._added or address in self._named

    async def _that_are_ray(self, found: Iterable[Found]) -> list[Found]:
        """`found` without what listens on the usual port and is no Ray."""
        kept = []
        for one in found:
            seen = self._seen_of(one.address)
            if seen is not None and (seen.error is None or seen.error.code not in NO_RAY):
                # It was Ray before, and may be slow now: its rows stay.
                kept.append(one)
                continue
            if one.source == "port" and not self._is_added(one.address):
                try:
                    await self._check(one.address)
                except EaglerayError as error:
                    log.debug("left alone: %s", error)
                    continue
            kept.append(one)
        return kept

    async def _check(self, address: str) -> None:
        """Asks who is there; raises unless it is a Ray dashboard."""
        dashboard = self._make_dashboard(
            address, self._tokens.source(address, partial(self._is_added, address))
        )
        try:
            await dashboard.version()
        except EaglerayError as error:
            if error.code not in RAY_ALL_THE_SAME:
                raise
        finally:
            await dashboard.close()

    async def _leave_out_twins(self) -> None:
        """One cluster that was found at two addresses is watched once: at the one that stands first."""
        wanted = [*self._wanted(), *self._twins]
        self._twins = {twin: of for twin, of in self._twins.items() if {twin, of} <= set(wanted)}
        unasked = [one.cluster for one in self._watch.all_seen() if one.state == "connecting"]
        if unasked and len(self._wanted()) > 1:
            await asyncio.gather(*(self._watch.refresh(cluster) for cluster in unasked))
        first: dict[str, str] = {}
        for address in self._wanted():
            seen = self._seen_of(address)
            same = first.setdefault(seen.session, address) if seen and seen.session else address
            if same != address and not self._is_added(address):
                log.info("%s is the same cluster as %s", address, same)
                self._twins[address] = same
        await self._watch_what_is_wanted()

    def _seen_of(self, address: str) -> Seen | None:
        return next((one for one in self._watch.all_seen() if one.cluster == address), None)

    def _known(self, seen: Seen) -> Known:
        return known_of(seen, self._is_added(seen.cluster), self._examiner.problems(seen))

    def _changed(self) -> None:
        for listener in list(self._listeners):
            listener()
