"""Watching over a run: its processes are looked for and handed to the adapter, which stops them at the breakpoints."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from attrs import evolve

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.folder_changes import FolderChanges
from eagleray.common.profile_errors import nsight_refused
from eagleray.common.retry import UNSTOPPED_WORKERS, WORKER_TABLE, PollSchedule
from eagleray.common.tasks import wait_for_event
from eagleray.features.runs.adapter_gateway import Seen
from eagleray.features.runs.errors import (
    ended_before_stopping,
    found_no_cluster,
    nothing_imported,
)
from eagleray.features.runs.home_cluster import Home, HomeCluster
from eagleray.features.runs.model import RunPlan, RunState
from eagleray.features.runs.proxy_addresses import ProxyAddress, in_folder, in_table
from eagleray.features.runs.records import Record
from eagleray.protocol.route_spec import DIRECT, RouteSpec
from eagleray.supervisor.launchers.launcher import Ending
from eagleray.supervisor.nsight_refusal import refusal

# Drivers announce themselves by files, which are polled where the kernel does not tell of them.
UNTOLD_S = 1.0
# One that is not reached is tried again, ever more rarely: so many looks later at most.
RARELY = 64
OTHER_VERSION = "gate-of-another-version"
# Another run's worker, a debugger of the user's own, or one we can't talk to: none is tried again.
STRANGERS = ("not-a-gate", "gate-refused", OTHER_VERSION)

log = logging.getLogger(__name__)


class RunsOfAdapter(Protocol):
    """What the adapter is asked, see `OfAdapter`."""

    async def register(self, record: Record, plan: RunPlan, home: Home | None) -> None: ...

    async def worker(self, run: str, proxy: ProxyAddress, routes: list[RouteSpec]) -> None: ...

    async def seen(self, run: str) -> Seen | None: ...

    async def end(self, run: str) -> None: ...

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]: ...

    def on_output(self, run: str, listener: Callable[[str], None]) -> Callable[[], None]: ...


class Watching:
    """Belongs to the keeper of a run, on its loop; `run` goes on until it is cancelled, `close` gives the run up.

    `say` takes what log points say.
    """

    def __init__(
        self,
        record: Record,
        plan: RunPlan,
        cluster: HomeCluster,
        adapter: RunsOfAdapter,
        routes: Callable[[str, str], list[RouteSpec]],
        say: Callable[[str], None],
    ) -> None:
        self._record = record
        self._plan = plan
        self._cluster = cluster
        self._adapter = adapter
        self._routes = routes
        self._say = say
        self._state = record.state()
        self._looks = 0
        self._done: set[ProxyAddress] = set()
        self._failures: dict[ProxyAddress, int] = {}
        self._due: dict[ProxyAddress, int] = {}
        self._handing: dict[ProxyAddress, asyncio.Task[None]] = {}
        self._registered: Home | str | None = "not yet"
        self._seen = Seen()
        self._problem = ""
        self._wake = asyncio.Event()
        self._ends: list[Callable[[], None]] = []
        self._stopped_once = False
        self._alive = -1
        self._changed_at = self._table_at = 0.0
        stops = plan.breakpoints or plan.post_mortem
        self._schedule = WORKER_TABLE if stops else UNSTOPPED_WORKERS

    async def run(self) -> None:
        """Polls the adapter when it reports a change, and the worker table by the schedule."""
        self._changed_at = self._table_at = _now()
        changes = FolderChanges(self._on_file)
        if not await changes.watch(self._record.folder):
            self._schedule = PollSchedule(self._schedule.steps[:1], UNTOLD_S)
        self._ends.append(changes.close)
        self._ends.append(self._adapter.on_change(self._wake.set))
        self._ends.append(self._adapter.on_output(self._record.id, self._say))
        while True:
            self._wake.clear()
            try:
                await self._look()
            except EaglerayError as error:
                log.info("%s", error)
            except Exception:
                # A fault of one look must not end all looking.
                log.exception("a look at the run failed")
            await wait_for_event(self._wake, max(0.0, self._table_at - _now()))

    def _on_file(self, name: str) -> None:
        """A driver of this machine announces itself, and waits."""
        if name.startswith(("proxy-", "driver-")):
            self._look_soon()

    def _look_soon(self) -> None:
        self._changed_at = self._table_at = _now()
        self._wake.set()

    async def last_look(self) -> None:
        """What the adapter has seen up to the end."""
        try:
            await self._ask_seen()
        except EaglerayError as error:
            log.info("%s", error)

    def update(self, state: RunState) -> RunState:
        """The state of the run with what is known of its processes."""
        self._state = state
        home = self._cluster.found
        return evolve(
            state,
            cluster=home.cluster if home else state.cluster,
            session=home.session if home else state.session,
            workers=self._seen.workers,
            lines=self._seen.lines,
            note=next(iter(self._seen.problems), "") or self._problem or state.note,
        )

    def note(self, ending: Ending) -> str:
        """Why Ray's own nsys made it fail, or why nothing stopped in a run that was to stop somewhere."""
        if ending.code and (refused := refusal(self._record.output)):
            return nsight_refused(refused.node, refused.why)
        if self._stopped_once or not self._plan.breakpoints:
            return ""
        if self._cluster.found is None and not self._seen.workers:
            return found_no_cluster() if ending.code == 0 else ""
        pending = {line.path for line in self._seen.lines if line.state == "pending"}
        unseen = [one.path for one in self._plan.breakpoints if one.path in pending]
        return nothing_imported(unseen) if unseen else ended_before_stopping()

    async def close(self) -> None:
        for end in self._ends:
            end()
        for task in self._handing.values():
            task.cancel()
        await asyncio.gather(*self._handing.values(), return_exceptions=True)
        try:
            await self._adapter.end(self._record.id)
        except EaglerayError as error:
            log.info("%s", error)

    async def _look(self) -> None:
        if _now() >= self._table_at:
            self._table_at = _now() + self._schedule.interval_s(_now() - self._changed_at)
            await self._look_for_workers()
        await self._ask_seen()

    async def _look_for_workers(self) -> None:
        self._looks += 1
        home = await self._cluster.look(self._state)
        if self._registered != home:
            # Its lines may have been changed since the start.
            await self._adapter.register(self._record, self._record.plan(), home)
            self._registered = home
        proxies = list(in_folder(self._record.folder))
        if home is not None:
            rows = await home.dashboard.all_workers()
            if len(rows) != self._alive:
                self._alive, self._changed_at = len(rows), _now()
            announced = [proxy.port for proxy in proxies]
            proxies += in_table(rows, int(self._state.started * 1000), announced)
        for proxy in proxies:
            self._hand(proxy, home)

    def _hand(self, proxy: ProxyAddress, home: Home | None) -> None:
        if proxy in self._handing or proxy in self._done or self._due.get(proxy, 0) > self._looks:
            return
        task = tasks.owned(
            self._hand_over(proxy, home), f"proxy {proxy.key}", lambda _: self._later(proxy)
        )
        self._handing[proxy] = task

    async def _hand_over(self, proxy: ProxyAddress, home: Home | None) -> None:
        routes = [DIRECT] if proxy.here or home is None else self._routes(home.cluster, proxy.host)
        try:
            await self._adapter.worker(self._record.id, proxy, routes)
            self._done.add(proxy)
        except EaglerayError as error:
            log.info("%s: %s", proxy, error)
            if error.code in STRANGERS:
                self._done.add(proxy)
            if error.code == OTHER_VERSION:
                self._problem = str(error)
            self._later(proxy)
        finally:
            self._handing.pop(proxy, None)

    def _later(self, proxy: ProxyAddress) -> None:
        """Retries one that failed, at increasing intervals."""
        failures = self._failures.get(proxy, 0) + 1
        self._failures[proxy] = failures
        self._due[proxy] = self._looks + min(2**failures, RARELY)

    async def _ask_seen(self) -> None:
        seen = await self._adapter.seen(self._record.id)
        if seen is None:
            # The adapter is another one now, and knows nothing of the run.
            self._registered = "not yet"
            self._done.clear()
            self._table_at = min(self._table_at, _now() + self._schedule.interval_s(0.0))
            return
        if _ids(seen) != _ids(self._seen):
            # More of them are likely to come or go.
            self._changed_at = _now()
            self._table_at = min(self._table_at, _now() + self._schedule.interval_s(0.0))
        self._seen = seen
        stopped = any(worker.state == "stopped" for worker in seen.workers)
        self._stopped_once = self._stopped_once or stopped


def _ids(seen: Seen) -> set[str]:
    return {worker.worker_id for worker in seen.workers}


def _now() -> float:
    return asyncio.get_running_loop().time()
