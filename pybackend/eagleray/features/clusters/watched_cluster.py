"""One cluster under watch: its dashboard, what was seen last, and the task that polls."""

from __future__ import annotations

import asyncio
import logging

from attrs import evolve

from eagleray.common import tasks
from eagleray.common.clock import Clock
from eagleray.common.errors import EaglerayError, internal
from eagleray.common.retry import WORKER_COUNT, Backoff
from eagleray.features.clusters.cluster_status import (
    Listener,
    Seen,
    is_news,
    of_failure,
    of_nodes,
    of_version,
)
from eagleray.ray.dashboard import Dashboard

VISIBLE_S = 0.5
HIDDEN_S = 2.0
# Who runs there and how many workers live changes slowly.
HIDDEN_SURVEY_S = 30.0
BACKOFF = Backoff(first_s=1.0, longest_s=15.0)

log = logging.getLogger(__name__)


class WatchedCluster:
    """Owned by the watch, on its loop; `tell` is called with what is seen whenever that is news."""

    def __init__(self, dashboard: Dashboard, clock: Clock, tell: Listener) -> None:
        self.dashboard = dashboard
        self.seen = Seen(dashboard.address, "connecting", "", "", (), -1, None)
        self._clock = clock
        self._tell = tell
        self._visible = False
        self._wake = asyncio.Event()
        self._looking = asyncio.Lock()
        self._looks: set[asyncio.Task[None]] = set()
        self._next: asyncio.Task[None] | None = None
        self._failures = 0
        self._answered_at = clock.now()
        self._surveyed_at: float | None = None
        self._changed_at = clock.now()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = tasks.lasting(self._poll, f"watch {self.dashboard.address}")

    def set_visible(self, visible: bool) -> None:
        if visible and not self._visible:
            self._wake.set()
        self._visible = visible

    def reset(self) -> None:
        """Asks at once through a way that has come back or become another one."""
        self.dashboard.reset()
        self._failures = 0
        self._surveyed_at = None
        self._wake.set()

    def forget(self) -> None:
        """Nothing that was seen runs any more."""
        before = self.seen
        self.seen = evolve(before, paused=(), live_workers=-1, gone_nodes=frozenset())
        if is_news(before, self.seen):
            self._tell(self.seen)

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        # Whoever waits for a look gets its failure, which comes as soon as the connections are gone.
        await self.dashboard.close()
        await asyncio.gather(*self._looks, return_exceptions=True)

    async def look(self) -> None:
        """Asks once, after what is being asked now, and tells what changed.

        All who want a look that has not begun share it: questions must not pile up for a cluster that
        does not answer.
        """
        if self._next is None:
            self._next = tasks.shared(self._look(), f"look at {self.dashboard.address}")
            self._looks.add(self._next)
            self._next.add_done_callback(self._looks.discard)
        await asyncio.shield(self._next)

    async def _look(self) -> None:
        async with self._looking:
            self._next = None
            try:
                seen = await self._ask()
            except EaglerayError as error:
                seen = self._failed(error)
            except Exception as error:
                # A fault of ours is shown as this cluster's; the watch would stand still for good if it ended the task.
                log.exception("looking at %s failed", self.dashboard.address)
                seen = self._failed(internal(f"{type(error).__name__}: {error}"))
            else:
                self._failures = 0
                self._answered_at = self._clock.now()
            before, self.seen = self.seen, seen
        if is_news(before, seen):
            self._tell(seen)

    async def _poll(self) -> None:
        while True:
            self._wake.clear()
            await self.look()
            try:
                await asyncio.wait_for(self._wake.wait(), self._wait_s())
            except asyncio.TimeoutError:
                continue

    def _wait_s(self) -> float:
        if self._failures:
            return BACKOFF.wait_s(self._failures)
        return VISIBLE_S if self._visible else HIDDEN_S

    async def _ask(self) -> Seen:
        now = self._clock.now()
        age_s = now - self._changed_at
        every = WORKER_COUNT.interval_s(age_s) if self._visible else HIDDEN_SURVEY_S
        # After a failure another cluster may answer at this address, hence the question who it is.
        due = self._surveyed_at is None or self._failures or now - self._surveyed_at >= every
        seen = evolve(self.seen, state="connected", error=None)
        if due:
            seen = of_version(seen, await self.dashboard.version())
        paused = await self.dashboard.paused_workers()
        seen = evolve(seen, paused=tuple(sorted(paused, key=lambda worker: worker.worker_id)))
        if due:
            workers = await self.dashboard.all_workers()
            live = sum(worker.kind == "worker" for worker in workers)
            if live != seen.live_workers:
                self._changed_at = now
            seen = evolve(seen, live_workers=live)
            if seen.paused:
                seen = of_nodes(seen, await self.dashboard.nodes())
            self._surveyed_at = now
        return seen

    def _failed(self, error: EaglerayError) -> Seen:
        self._failures += 1
        return of_failure(self.seen, error, self._clock.now() - self._answered_at)
