"""Locates where paused workers are stopped before anyone attaches: once per pause, few at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial

from attrs import frozen

from eagleray.common import tasks
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError, printable
from eagleray.debug.workers.model import Key, Location, StopLocation
from eagleray.debug.workers.wait_times import waited_s
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.rows import WorkerRow
from eagleray.tools.processes import local_addresses
from eagleray.tools.pyspy import Dump, Frame, PySpy, Stack, parse_text

log = logging.getLogger(__name__)

TRACES_AT_ONCE = 4


@frozen
class WorkerPause:
    """One wait of one worker, with the number that `WaitTimer` gave it."""

    cluster: str
    session: str
    row: WorkerRow
    number: int

    @property
    def key(self) -> Key:
        return (self.session, self.row.worker_id)


class PauseLocator:
    """Keeps the stop locations (`stops`) of the current pauses; calls `on_change` after each lookup.

    For each pause once, in this order:
    1. The dashboard's trace endpoint, where it allows that.
    2. py-spy, for a process of this user on this machine, also when 1 gave only a shortened path.
    3. Otherwise the location is unknown until an editor attaches.
    """

    def __init__(
        self,
        dashboard_of: Callable[[str], Dashboard],
        spy: PySpy,
        on_change: Callable[[], None],
        addresses: Callable[[], frozenset[str]] = local_addresses,
        is_local: Callable[[str], bool] = lambda cluster: True,
        on_waited: Callable[[WorkerPause, float], None] = lambda pause, seconds: None,
    ) -> None:
        self.stops: dict[Key, StopLocation] = {}
        self._dashboard_of = dashboard_of
        self._spy = spy
        self._on_change = on_change
        self._addresses = addresses
        self._is_local = is_local
        self._on_waited = on_waited
        self._traces = asyncio.Semaphore(TRACES_AT_ONCE)
        self._numbers: dict[Key, int] = {}
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._may_trace: dict[Key, asyncio.Task[bool]] = {}

    def want(self, pauses: Iterable[WorkerPause], waiting: Callable[[Key], int | None]) -> None:
        """Locates `pauses`; a known location is kept as long as its wait lasts."""
        for key in [key for key, number in self._numbers.items() if waiting(key) != number]:
            self._forget(key)
        for pause in pauses:
            if pause.key not in self._numbers:
                self._numbers[pause.key] = pause.number
                self._tasks[pause.key] = tasks.owned(
                    self._find(pause),
                    f"stop of worker {pause.row.pid}",
                    partial(self._unknown, pause),
                )

    def is_locating(self, key: Key) -> bool:
        """Whether the lookup of this worker's location is running."""
        return key in self._tasks

    async def settled(self) -> None:
        """Returns when every current pause has been looked up."""
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def close(self) -> None:
        running = [*self._tasks.values(), *self._may_trace.values()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _forget(self, key: Key) -> None:
        del self._numbers[key]
        self.stops.pop(key, None)
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancel()

    async def _find(self, pause: WorkerPause) -> None:
        try:
            await self._find_begin(pause)
            stop = await self._locate(pause)
        except EaglerayError as error:
            log.info("stop location of worker %s: %s %s", pause.row.pid, error, error.logged)
            stop = None
        self._tasks.pop(pause.key, None)
        if stop is not None:
            self.stops[pause.key] = stop
        self._on_change()

    def _unknown(self, pause: WorkerPause, error: BaseException) -> None:
        """Ends the waits for a location that can't be found."""
        self._tasks.pop(pause.key, None)
        self._on_change()

    async def _locate(self, pause: WorkerPause) -> StopLocation | None:
        stop = await self._traced(pause)
        is_shortened = stop is None or (stop.location and not stop.location.path.startswith("/"))
        if is_shortened and self._is_here(pause):
            stop = await self._spied(pause) or stop
        if stop is None:
            log.info("stop location of worker %s: unknown until an editor attaches", pause.row.pid)
        return stop

    def _is_here(self, pause: WorkerPause) -> bool:
        # Behind a route the same address belongs to another machine.
        return self._is_local(pause.cluster) and pause.row.node_ip in self._addresses()

    async def _find_begin(self, pause: WorkerPause) -> None:
        """Reports since when a worker of this machine waits; a later thread writes the line of its log again."""
        row = pause.row
        if row.paused_threads <= 1 and self._is_here(pause):
            seconds = await off_loop(partial(waited_s, row.worker_id, row.pid))
            if seconds is not None:
                self._on_waited(pause, seconds)

    async def _traced(self, pause: WorkerPause) -> StopLocation | None:
        row = pause.row
        try:
            if not await self._tracing(pause.cluster, pause.session):
                return None
            async with self._traces:
                text = await self._dashboard_of(pause.cluster).traceback(row.pid, row.node_ip)
        except EaglerayError as error:
            log.info("Trace of worker %s by the dashboard: %s %s", row.pid, error, error.logged)
            return None
        dump = parse_text(text)
        if dump is None or dump.pid != row.pid:
            log.info("Trace of worker %s by the dashboard: it is of another process", row.pid)
            return None
        stop = stop_in_dump(dump, "" if row.kind == "driver" else "ray::")
        log.info("Trace of worker %s by the dashboard: %s", row.pid, stop)
        return stop

    async def _tracing(self, cluster: str, session: str) -> bool:
        """Whether the cluster allows traces, queried once per session of the cluster."""
        key = (cluster, session)
        if key not in self._may_trace:
            dashboard = self._dashboard_of(cluster)
            self._may_trace[key] = tasks.shared(dashboard.profiling_enabled(), "tracing")
        query = self._may_trace[key]
        try:
            # Other callers that wait for the same answer must not lose it when one is cancelled.
            return await asyncio.shield(query)
        except Exception:
            self._may_trace.pop(key, None)
            raise

    async def _spied(self, pause: WorkerPause) -> StopLocation | None:
        dump = await self._spy.dump(pause.row.pid)
        stop = stop_in_dump(dump) if dump else None
        log.info("Trace of worker %s by py-spy: %s", pause.row.pid, stop)
        return stop


_WAITING_IN = "ray/util/debugpy.py"
_RAYS_OWN = (_WAITING_IN, "ray/util/rpdb.py", "ray/util/pdb.py")
PATH_LIMIT = 4096


def stop_in_dump(dump: Dump, title_prefix: str = "") -> StopLocation | None:
    """The stop location of the dumped worker; None if it does not wait in Ray's set_trace.

    A dump whose title is known and lacks `title_prefix` is of another process: old dashboards
    answer for the first node when they do not know the address.
    """
    if dump.title and not dump.title.startswith(title_prefix):
        return None
    stops = [stop for stack in dump.stacks if (stop := _stop_of_thread(stack))]
    return next((stop for stop in stops if stop.location), stops[0] if stops else None)


def _stop_of_thread(stack: Stack) -> StopLocation | None:
    frames = stack.frames
    start = next((i for i, frame in enumerate(frames) if _waits(frame)), None)
    if start is None:
        return None
    end = start
    while end < len(frames) and frames[end].path.endswith(_RAYS_OWN):
        end += 1
    # The frames of an unhandled exception are gone from the stack: only the adapter sees its line.
    if any(frame.function.endswith("_post_mortem") for frame in frames[start:end]):
        return StopLocation("post-mortem")
    return StopLocation("breakpoint", _location(frames[end]) if end < len(frames) else None)


def _waits(frame: Frame) -> bool:
    return frame.path.endswith(_WAITING_IN) and frame.function.endswith("set_trace")


def _location(frame: Frame) -> Location:
    return Location(printable(frame.path, PATH_LIMIT), frame.line, printable(frame.function))
