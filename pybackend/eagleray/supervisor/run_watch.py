"""Finds the processes of a run and passes them to the adapter, which stops them at the breakpoints."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from attrs import evolve

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.folder_changes import FolderChanges
from eagleray.common.retry import UNSTOPPED_WORKERS, WORKER_TABLE, PollSchedule
from eagleray.common.tasks import wait_for_event
from eagleray.protocol.route_spec import DIRECT, RouteSpec
from eagleray.ray.rows import WorkerRow
from eagleray.runs.adapter_gateway import AdapterRunGateway, AdapterRunStatus
from eagleray.runs.errors import (
    ended_before_stopping,
    lost_cluster,
    missing_cluster,
    nothing_loaded,
    nsight_refused,
    several_clusters,
)
from eagleray.runs.model import RunPlan, RunState
from eagleray.runs.records import RunRecord
from eagleray.runs.run_discovery import (
    Home,
    HomeCluster,
    ProxyAddress,
    in_folder,
    in_table,
)
from eagleray.runs.run_status import with_workers
from eagleray.supervisor.launchers.launcher import ProgramEnd
from eagleray.supervisor.nsight_refusal import MISSING, nsight_refusal

# Drivers announce themselves by files, which are polled where the kernel does not report changes.
UNWATCHED_POLL_INTERVAL_S = 1.0
# A debug proxy that is not reached is tried again at increasing intervals, at most after this many polls.
MAX_POLLS_BETWEEN_TRIES = 64
OTHER_VERSION_CODE = "gate-of-another-version"
# Another run's worker, a debugger of the user's own, or a version with another protocol: none is tried again.
UNUSABLE_PROXY_CODES = ("not-a-gate", "gate-refused", OTHER_VERSION_CODE)

log = logging.getLogger(__name__)


class RunWatch:
    """Belongs to the supervisor of a run, on its loop; `run` runs until it is cancelled, `close` ends the run in the adapter.

    `write_output` gets the messages of log points.
    """

    def __init__(
        self,
        record: RunRecord,
        plan: RunPlan,
        cluster: HomeCluster,
        adapter: AdapterRunGateway,
        routes: Callable[[str, str], list[RouteSpec]],
        write_output: Callable[[str], None],
    ) -> None:
        self._record = record
        self._plan = plan
        self._cluster = cluster
        self._adapter = adapter
        self._routes = routes
        self._write_output = write_output
        self._state = record.state()
        self._polls = 0
        self._done: set[ProxyAddress] = set()
        self._failures: dict[ProxyAddress, int] = {}
        self._due: dict[ProxyAddress, int] = {}
        self._passing: dict[ProxyAddress, asyncio.Task[None]] = {}
        self._registered: Home | str | None = "not yet"
        self._status = AdapterRunStatus()
        self._problem = self._note = ""
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
            self._schedule = PollSchedule(self._schedule.steps[:1], UNWATCHED_POLL_INTERVAL_S)
        self._ends.append(changes.close)
        self._ends.append(self._adapter.on_change(self._wake.set))
        self._ends.append(self._adapter.on_output(self._record.id, self._write_output))
        while True:
            self._wake.clear()
            try:
                await self._poll()
            except EaglerayError as error:
                log.info("%s", error)
            except Exception:
                # A failure of one poll must not end the watch.
                log.exception("a poll of the run failed")
            await wait_for_event(self._wake, max(0.0, self._table_at - _now()))

    def _on_file(self, name: str) -> None:
        """A driver of this machine announces itself, and waits for the adapter."""
        if name.startswith(("proxy-", "driver-")):
            self._poll_soon()

    def _poll_soon(self) -> None:
        self._changed_at = self._table_at = _now()
        self._wake.set()

    async def last_poll(self) -> None:
        """Gets the last status from the adapter."""
        try:
            await self._get_status()
        except EaglerayError as error:
            log.info("%s", error)

    def update(self, state: RunState) -> RunState:
        """Returns the state of the run with the status of its processes and breakpoints."""
        self._state = state
        home = self._cluster.resolved
        # A note that the supervisor writes stays: it tells of one event, ours are repeated as long as they hold.
        others = "" if state.note == self._note else state.note
        self._note = self._problem or self._cluster_problem()
        is_lost = self._cluster.problem == "lost"
        state = evolve(
            state,
            cluster=home.cluster if home else "" if is_lost else state.cluster,
            session=home.session if home else "" if is_lost else state.session,
            note=others or self._note,
        )
        return with_workers(state, self._status)

    def _cluster_problem(self) -> str:
        """Why workers of the program's current cluster don't pause."""
        if not (self._plan.breakpoints or self._plan.post_mortem):
            return ""
        home = self._cluster.resolved
        if self._cluster.problem == "several" and home is not None:
            return several_clusters(home.cluster)
        return lost_cluster() if self._cluster.problem == "lost" else ""

    def end_note(self, end: ProgramEnd) -> str:
        """Why Ray's own nsys made the run fail, or why no breakpoint stopped it."""
        if end.code and (refused := nsight_refusal(self._record.output)):
            log.info("Ray could not start nsys: %s", refused.why)
            return nsight_refused(refused.node, is_missing=refused.why == MISSING)
        if self._cluster.problem:
            return self._cluster_problem()
        if self._stopped_once or not self._plan.breakpoints:
            return ""
        if self._cluster.resolved is None and not self._status.workers:
            # The error of a program that has failed says more.
            if end.code != 0:
                return ""
            if self._cluster.is_expected:
                return missing_cluster()
        pending = {line.path for line in self._status.lines if line.state == "pending"}
        unseen = [
            breakpoint_.path
            for breakpoint_ in self._plan.breakpoints
            if breakpoint_.path in pending
        ]
        if not unseen:
            return ended_before_stopping()
        is_selected = bool(self._plan.workers) or self._plan.ranks is not None
        return nothing_loaded(unseen, is_selected=is_selected)

    async def close(self) -> None:
        for end in self._ends:
            end()
        for task in self._passing.values():
            task.cancel()
        await asyncio.gather(*self._passing.values(), return_exceptions=True)
        try:
            await self._adapter.end(self._record.id)
        except EaglerayError as error:
            log.info("%s", error)

    async def _poll(self) -> None:
        if _now() >= self._table_at:
            self._table_at = _now() + self._schedule.interval_s(_now() - self._changed_at)
            await self._find_workers()
        await self._get_status()

    async def _find_workers(self) -> None:
        self._polls += 1
        home = await self._cluster.find(self._state)
        if self._registered != home:
            # Its breakpoints may have been changed since the start.
            await self._adapter.register(self._record, self._record.plan(), home)
            self._registered = home
        proxies = list(in_folder(self._record.folder))
        if home is not None:
            rows = await self._workers_of(home)
            if len(rows) != self._alive:
                self._alive, self._changed_at = len(rows), _now()
            announced = [proxy.port for proxy in proxies]
            proxies += in_table(rows, int(self._state.started * 1000), announced)
        for proxy in proxies:
            self._pass_on(proxy, home)

    async def _workers_of(self, home: Home) -> list[WorkerRow]:
        """Its worker table; empty where it doesn't answer, since processes of this machine don't need it."""
        try:
            return await home.dashboard.all_workers()
        except EaglerayError as error:
            log.info("%s", error)
            self._cluster.doubt()
            return []

    def _pass_on(self, proxy: ProxyAddress, home: Home | None) -> None:
        if proxy in self._passing or proxy in self._done or self._due.get(proxy, 0) > self._polls:
            return
        task = tasks.owned(
            self._attach(proxy, home), f"proxy {proxy.key}", lambda _: self._retry_later(proxy)
        )
        self._passing[proxy] = task

    async def _attach(self, proxy: ProxyAddress, home: Home | None) -> None:
        routes = (
            [DIRECT] if proxy.is_local or home is None else self._routes(home.cluster, proxy.host)
        )
        try:
            await self._adapter.worker(self._record.id, proxy, routes)
            self._done.add(proxy)
        except EaglerayError as error:
            log.info("%s: %s", proxy, error)
            if error.code in UNUSABLE_PROXY_CODES:
                self._done.add(proxy)
            if error.code == OTHER_VERSION_CODE:
                self._problem = str(error)
            self._retry_later(proxy)
        finally:
            self._passing.pop(proxy, None)

    def _retry_later(self, proxy: ProxyAddress) -> None:
        """Schedules the next try, at increasing intervals."""
        failures = self._failures.get(proxy, 0) + 1
        self._failures[proxy] = failures
        self._due[proxy] = self._polls + min(2**failures, MAX_POLLS_BETWEEN_TRIES)

    async def _get_status(self) -> None:
        status = await self._adapter.status(self._record.id)
        if status is None:
            # A new adapter has replaced the one that had the run.
            self._registered = "not yet"
            self._done.clear()
            self._table_at = min(self._table_at, _now() + self._schedule.interval_s(0.0))
            return
        if _ids(status) != _ids(self._status):
            # More workers are likely to start or end.
            self._changed_at = _now()
            self._table_at = min(self._table_at, _now() + self._schedule.interval_s(0.0))
        self._status = status
        stopped = any(worker.is_at_stop for worker in status.workers)
        self._stopped_once = self._stopped_once or stopped


def _ids(status: AdapterRunStatus) -> set[str]:
    return {worker.worker_id for worker in status.workers}


def _now() -> float:
    return asyncio.get_running_loop().time()
