"""Queries the names of paused workers and what they run, only when there are new pauses."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from attrs import Factory, define, frozen

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.debug.workers.model import Key, WorkerFacts
from eagleray.debug.workers.worker_facts import fetch_lists
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.rows import WorkerRow

log = logging.getLogger(__name__)

# Ray reports what a worker runs up to a second late (task_events_report_interval_ms in `ray_config_def.h`): every new
# pause is queried twice, and again later while a worker has no task yet.
RETRY_DELAYS_S: tuple[float, ...] = (1.5, 2.0, 4.0)
QUERIES_OF_A_PAUSE = 2


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
        retry_delays_s: Sequence[float] = RETRY_DELAYS_S,
    ) -> None:
        self.facts: dict[Key, WorkerFacts] = {}
        self.homes: dict[Key, WorkerRow] = {}
        self._dashboard_of = dashboard_of
        self._on_change = on_change
        self._retry_delays_s = retry_delays_s
        self._clusters: dict[str, _ClusterQuery] = {}

    def want(self, cluster: str, wanted: ShownWorkers) -> None:
        """Sets the shown workers of a cluster; queries them if one of their waits is new."""
        query = self._clusters.get(cluster)
        before = query.wanted if query else ShownWorkers(wanted.session, {}, frozenset())
        self._drop(before, wanted)
        for worker_id, row in wanted.rows.items():
            if row is not None:
                self.homes[wanted.session, worker_id] = row
        new = before.session != wanted.session or bool(wanted.waits - before.waits)
        new = new or bool(wanted.rows.keys() - before.rows.keys())
        if query is None:
            if not wanted.rows:
                return
            query = self._clusters[cluster] = _ClusterQuery(wanted)
            run = partial(self._query_repeatedly, cluster, query)
            query.task = tasks.lasting(run, "names of workers")
        elif new:
            query.answered.clear()
            query.wake.set()
        query.wanted = wanted

    @property
    def pending(self) -> bool:
        """Whether a shown worker has not been queried yet."""
        return any(not query.answered.is_set() for query in self._clusters.values())

    async def settled(self) -> None:
        """Returns when every shown worker has been queried once."""
        await asyncio.gather(*(query.answered.wait() for query in self._clusters.values()))

    def forget(self, cluster: str) -> None:
        """Ends the queries of a cluster that is not watched any more."""
        query = self._clusters.pop(cluster, None)
        if query is not None:
            self._drop(query.wanted, ShownWorkers(query.wanted.session, {}, frozenset()))
            query.answered.set()
            if query.task is not None:
                query.task.cancel()

    async def close(self) -> None:
        running = [query.task for query in self._clusters.values() if query.task]
        for cluster in list(self._clusters):
            self.forget(cluster)
        await asyncio.gather(*running, return_exceptions=True)

    def _drop(self, before: ShownWorkers, now: ShownWorkers) -> None:
        remaining = {(now.session, worker_id) for worker_id in now.rows}
        for worker_id in before.rows:
            if (before.session, worker_id) not in remaining:
                self.facts.pop((before.session, worker_id), None)
                self.homes.pop((before.session, worker_id), None)

    async def _query_repeatedly(self, cluster: str, query: _ClusterQuery) -> None:
        round_number = 0
        while True:
            query.wake.clear()
            complete = await self._describe(cluster, query.wanted)
            if not query.wake.is_set():
                query.answered.set()
            self._on_change()
            round_number += 1
            done = (complete and round_number >= QUERIES_OF_A_PAUSE) or round_number > len(
                self._retry_delays_s
            )
            delay = None if done else self._retry_delays_s[round_number - 1]
            if await tasks.wait_for_event(query.wake, delay):
                round_number = 0

    async def _describe(self, cluster: str, wanted: ShownWorkers) -> bool:
        """Queries and stores the facts; returns whether every worker has a task."""
        if not wanted.rows:
            return True
        try:
            lists = await fetch_lists(self._dashboard_of(cluster), list(wanted.rows.values()))
        except EaglerayError as error:
            log.info("Names of paused workers of %s: %s %s", cluster, error, error.logged)
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
