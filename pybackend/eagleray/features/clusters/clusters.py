"""The clusters that one knows: one's own, those that were added, and what is seen of each.

It decides which clusters are watched and with which token; the watch does the polling.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

from eagleray.common.errors import EaglerayError
from eagleray.common.listeners import Listeners
from eagleray.common.off_loop import InOrder, off_loop
from eagleray.common.paths import home
from eagleray.features.clusters import discovery
from eagleray.features.clusters.addresses import normalised, place
from eagleray.features.clusters.checking import that_are_ray
from eagleray.features.clusters.cluster_status import Seen
from eagleray.features.clusters.cluster_watch import ClusterWatch
from eagleray.features.clusters.discovery import Found, Machine
from eagleray.features.clusters.examining import Examiner
from eagleray.features.clusters.heads import Say
from eagleray.features.clusters.known import AllKnown, Known, known_of
from eagleray.features.clusters.problems import Problem
from eagleray.features.clusters.reaching import OnlyDirect, Reaches
from eagleray.features.clusters.stored_clusters import StoredClusters
from eagleray.features.clusters.token_rules import TokenRules
from eagleray.features.clusters.twins import Twins
from eagleray.features.clusters.watching import MakeDashboard, Watching
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.errors import unknown_cluster

DISCOVER_S = 4.0
HIDDEN_DISCOVER_S = 15.0
STEP_S = 1.0

log = logging.getLogger(__name__)


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
        reaches: Reaches | None = None,
    ) -> None:
        self._watch = watch
        self._environ = environ
        self._own = which == "own"
        self._stored = StoredClusters((folder or home()) / "clusters.json")
        self._files = InOrder()
        self._machine = machine or discovery.this_machine()
        self._tokens = tokens or TokenRules(environ, folder=folder or home())
        self._reaches = reaches or OnlyDirect(self._tokens)
        self._watching = Watching(
            watch, make_dashboard, self._tokens, self._reaches, self._is_added
        )
        self._examiner = examiner or Examiner(watch, self.changed, is_near=self._reaches.is_near)
        self._found: dict[str, Found] = {}
        self._added: dict[str, None] = {}
        self._named: dict[str, None] = {}
        self._twins = Twins()
        self._hints: tuple[Problem, ...] = ()
        self._listeners = Listeners[[]]()
        self._changing = asyncio.Lock()
        self._end_listening = watch.listen(lambda _: self.changed())

    async def close(self) -> None:
        self._listeners.clear()
        self._end_listening()
        await self._examiner.close()

    async def run(self) -> None:
        """Looks for clusters until it is cancelled; those that are found are polled from now on."""
        self._watching.poll()
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
            # In small steps, since a panel that opens needs its clusters soon.
            await asyncio.sleep(STEP_S)
            waited += STEP_S

    async def discover(self) -> None:
        """Looks once which clusters there are, and has them watched."""
        async with self._changing:
            find = partial(discovery.find, self._environ, self._machine, own=self._own)
            findings = await off_loop(find)
            found = await that_are_ray(
                findings.found, self._watching.seen_of, self._is_added, self._watching.check
            )
            before = (self._hints, self._wanted())
            self._added = dict.fromkeys(await self._files.run(self._stored.addresses))
            self._found = {one.address: one for one in found}
            self._hints = findings.hints
            await self._watch_what_is_wanted()
            await self._leave_out_twins()
            await self._forget_spent()
        if before != (self._hints, self._wanted()):
            self.changed()

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

    async def add(
        self,
        address: str,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        ca_file: str | None = None,
        say: Say = lambda _: None,
    ) -> Known:
        """Adds a cluster after it has answered as Ray does, and stores its address.

        One that asks for a token that we lack, or is busy just now, is Ray all the same and is added.  A job
        that waits for its nodes is waited for; `say` hears about it.
        """
        cluster = normalised(address)
        is_new = cluster not in self._wanted()
        self._tokens.set_access(cluster, token, headers, ca_file)
        try:
            # Without the lock: it may take as long as a person or a queue takes.
            await self._reaches.prepare(cluster, say)
            async with self._changing:
                await self._watching.check(cluster)
                await self._files.run(partial(self._stored.add, cluster))
                self._added[cluster] = None
                self._twins.forget(cluster)
                await self._watch_what_is_wanted()
        except BaseException:
            if is_new and cluster not in self._wanted():
                self._tokens.forget(cluster)
                await self._reaches.forget(cluster)
            raise
        self._watch.reset(cluster)
        await self._watch.refresh(cluster)
        self.changed()
        return self._known(self._watch.seen(cluster))

    async def remove(self, cluster: str) -> None:
        """Forgets an added cluster and its token; one's own stays while it runs."""
        async with self._changing:
            if cluster not in self._wanted():
                raise unknown_cluster(cluster)
            await self._files.run(partial(self._stored.remove, cluster))
            self._added.pop(cluster, None)
            self._named.pop(cluster, None)
            self._tokens.forget(cluster)
            await self._watch_what_is_wanted()
        await self._reaches.forget(cluster)
        self.changed()

    async def set_access(
        self,
        cluster: str,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        ca_file: str | None = None,
    ) -> Known:
        """Takes what the person gave for a cluster, and asks again with it; an empty value takes it back.

        It is kept also for a cluster that is not known yet: the editor brings it at the start.
        """
        cluster = normalised(cluster)
        self._tokens.set_access(cluster, token, headers, ca_file)
        if cluster not in self._wanted():
            await self.discover()
        self._watch.reset(cluster)
        await self._watch.refresh(cluster)
        return self._known(self._watch.seen(cluster))

    async def named(self, written: str, say: Say = lambda _: None, *, clicked: bool = True) -> str:
        """The id of the cluster that the user named by its address; it is watched once, and not stored.

        Raises what went wrong if it does not answer; a job that waits for its nodes is not waited for.
        `clicked` False: on behalf of a run, again and again until it is found.
        """
        cluster = self._as_watched(written)
        is_new = cluster not in self._wanted()
        try:
            await self._name(cluster, say, clicked=clicked)
            await self._watch.refresh(cluster)
            if error := self._watch.seen(cluster).error:
                raise error
            if is_new and self._twins.same(cluster, self._watch.all_seen()) != cluster:
                self._named.pop(cluster, None)
                await self._watch_what_is_wanted()
        except EaglerayError:
            if is_new:
                self._named.pop(cluster, None)
                await self._watch_what_is_wanted()
            raise
        return self._twins.of(cluster)

    async def look_at(self, written: str, say: Say = lambda _: None) -> str:
        """Like `named`, for one that is to be shown whether it answers or not."""
        cluster = self._as_watched(written)
        with contextlib.suppress(EaglerayError):
            await self._name(cluster, say)
        await self._watch.refresh(cluster)
        await self._examiner.examine_all()
        return cluster

    async def _name(self, cluster: str, say: Say, *, clicked: bool = True) -> None:
        if cluster in self._wanted():
            return
        self._named[cluster] = None
        try:
            await self._reaches.prepare(cluster, say, wait=False, clicked=clicked)
        finally:
            await self._watch_what_is_wanted()

    async def id_of(self, written: str) -> str:
        """Like `named`, but one that is watched already is not asked, and may fail."""
        cluster = self._as_watched(written)
        return cluster if cluster in self._wanted() else await self.named(cluster)

    def _as_watched(self, written: str) -> str:
        return self._twins.of(normalised(written))

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls `listener` whenever `known()` may answer something else; the answer ends that."""
        return self._listeners.add(listener)

    def _wanted(self) -> list[str]:
        """The addresses that are to be watched: added ones first, each once."""
        every = dict.fromkeys([*self._added, *self._named, *self._found])
        return [address for address in every if address not in self._twins]

    async def _watch_what_is_wanted(self) -> None:
        await self._watching.only(self._wanted())

    def _is_added(self, address: str) -> bool:
        return address in self._added or address in self._named

    async def _leave_out_twins(self) -> None:
        """One cluster that was found at two addresses is watched once: at the one that stands first."""
        self._twins.keep(self._wanted())
        unasked = [one.cluster for one in self._watch.all_seen() if one.state == "connecting"]
        unasked = [cluster for cluster in unasked if place(cluster).is_direct]
        if unasked and len(self._wanted()) > 1:
            await asyncio.gather(*(self._watch.refresh(cluster) for cluster in unasked))
        sessions = {seen.cluster: seen.session for seen in self._watch.all_seen()}
        self._twins.find(sessions, self._wanted(), self._is_added)
        await self._watch_what_is_wanted()

    async def _forget_spent(self) -> None:
        """Takes out what was stored of jobs that are over, unless it was connected since we began."""
        for seen in self._watch.all_seen():
            if not seen.session and self._reaches.is_spent(seen.cluster):
                log.info("%s is over and is forgotten", seen.cluster)
                await self._files.run(partial(self._stored.remove, seen.cluster))
                self._added.pop(seen.cluster, None)
        await self._watch_what_is_wanted()

    def _known(self, seen: Seen) -> Known:
        of_credentials = self._tokens.problem(seen.cluster)
        problems = (*([of_credentials] if of_credentials else []), *self._examiner.problems(seen))
        reach = self._reaches.of(seen.cluster)
        return known_of(seen, self._is_added(seen.cluster), problems, reach)

    def changed(self) -> None:
        """Has everybody who listens ask `known()` again."""
        self._listeners.tell()
