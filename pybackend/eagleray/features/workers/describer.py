"""Queries the names of paused workers and what they run, only when there are new pauses."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from attrs import Factory, define, frozen

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.features.workers.model import Key, WorkerFacts
from eagleray.features.workers.worker_facts import fetch_lists
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.rows import WorkerRow

log = logging.getLogger(__name__)

# Ray reports what a worker runs up to a second late: every new pause is queried twice, and again
# later while a worker has no task yet.
RETRY_DELAYS_S: tuple[float, ...] = (1.5, 2.0, 4.0)
ALWAYS = 2


@frozen
class ShownWorkers:
    """The shown workers of one cluster: their rows of Ray's list, None for held ones, and the numbers of their waits."""

    session: str
    rows: Mapping[str, WorkerRow | None]
    waits: frozenset[int]


@define(eq=False)
class _ClusterQuery:
    wanted: ShownWorkers
    wake: asyncio.Event = Factory(asyncio.Event)
    answered: asyncio.Event = Factory(asyncio.Event)
    task: asyncio.Task[None] | None = None


class Describer:
    """Keeps `facts` and `homes` of all shown workers; calls `on_change` when they are updated.

    One task per cluster, from its first paused worker until `forget` or `close`.
    """

    def __init__(
        self,
        dashboard_of: Callable[[str], Dashboard],
        on_change: Callable[[], None],
        again_s: Sequence[float] = RETRY_DELAYS_S,
    ) -> None:
        self.facts: dict[Key, WorkerFacts] = {}
        self.homes: dict[Key, WorkerRow] = {}
        self._dashboard_of = dashboard_of
        self._on_change = on_change
        self._again_s = again_s
        self._clusters: dict[str, _ClusterQuery] = {}

    def want(self, cluster: str, wanted: ShownWorkers) -> None:
        """Sets the shown workers of a cluster; queries them if one of their waits is new."""
        asked = self._clusters.get(cluster)
        before = asked.wanted if asked else ShownWorkers(wanted.session, {}, frozenset())
        self._drop(before, wanted)
        for worker_id, row in wanted.rows.items():
            if row is not None:
                self.homes[wanted.session, worker_id] = row
        new = before.session != wanted.session or bool(wanted.waits - before.waits)
        new = new or bool(wanted.rows.keys() - before.rows.keys())
        if asked is None:
            if not wanted.rows:
                return
            asked = self._clusters[cluster] = _ClusterQuery(wanted)
            asking = partial(self._query_repeatedly, cluster, asked)
            asked.task = tasks.lasting(asking, "names of workers")
        elif new:
            asked.answered.clear()
            asked.wake.set()
        asked.wanted = wanted

    @property
    def pending(self) -> bool:
        """Whether a shown worker has not been queried yet."""
        return any(not asked.answered.is_set() for asked in self._clusters.values())

    async def settled(self) -> None:
        """Returns when every shown worker has been queried once."""
        await asyncio.gather(*(asked.answered.wait() for asked in self._clusters.values()))

    def forget(self, cluster: str) -> None:
        """Ends the queries of a cluster that is not watched any more."""
        asked = self._clusters.pop(cluster, None)
        if asked is not None:
            self._drop(asked.wanted, ShownWorkers(asked.wanted.session, {}, frozenset()))
            asked.answered.set()
            if asked.task is not None:
                asked.task.cancel()

    async def close(self) -> None:
        asking = [asked.task for asked in self._clusters.values() if asked.task]
        for cluster in list(self._clusters):
            self.forget(cluster)
        await asyncio.gather(*asking, return_exceptions=True)

    def _drop(self, before: ShownWorkers, now: ShownWorkers) -> None:
        kept = {(now.session, worker_id) for worker_id in now.rows}
        for worker_id in before.rows:
            if (before.session, worker_id) not in kept:
                self.facts.pop((before.session, worker_id), None)
                self.homes.pop((before.session, worker_id), None)

    async def _query_repeatedly(self, cluster: str, asked: _ClusterQuery) -> None:
        round_ = 0
        while True:
            asked.wake.clear()
            complete = await self._ask(cluster, asked.wanted)
            if not asked.wake.is_set():
                asked.answered.set()
            self._on_change()
            round_ += 1
            done = (complete and round_ >= ALWAYS) or round_ > len(self._again_s)
            delay = None if done else self._again_s[round_ - 1]
            try:
                await asyncio.wait_for(asked.wake.wait(), delay)
                round_ = 0
            except asyncio.TimeoutError:
                continue

    async def _ask(self, cluster: str, wanted: ShownWorkers) -> bool:
        """Queries and stores the facts; returns whether every worker has a task."""
        if not wanted.rows:
            return True
        try:
            lists = await fetch_lists(self._dashboard_of(cluster), list(wanted.rows.values()))
        except EaglerayError as error:
            log.info("Names of paused workers of %s: %s %s", cluster, error, error.detail)
            return False
        complete = True
        for worker_id, listed in wanted.rows.items():
            row = listed or lists.home(worker_id)
            facts = lists.describe(worker_id, row)
            complete = complete and bool(facts.task_ids)
            key = (wanted.session, worker_id)
            if facts.task_ids or key not in self.facts:
                self.facts[key] = facts
            if row is not None:
                self.homes[key] = row
        return complete
