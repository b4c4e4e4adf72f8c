"""Lines of paused workers before attaching: once per pause, few at a time, in the order of the rules."""

from __future__ import annotations

import asyncio
from pathlib import Path

from eagleray.debug.workers.model import Key, Location, StopLocation
from eagleray.debug.workers.stop_location import TRACES_AT_ONCE, PauseLocator, WorkerPause
from eagleray.tools.pyspy import Dump, Frame, Stack

from tests.debug.workers.fakes import FakeDashboard, FakeSpy, until
from tests.debug.workers.rows import CLUSTER, IP, SESSION, worker_row

TRACE = (Path(__file__).parent / "recorded" / "trace-actor.txt").read_text()
SHORT = StopLocation("breakpoint", Location("prog.py", 11, "PolicyWorker.train"))
WHOLE = StopLocation("breakpoint", Location("/code/prog.py", 11, "PolicyWorker.train"))
FRAMES = (
    Frame("set_trace", "/v/ray/util/debugpy.py", 94),
    Frame("PolicyWorker.train", "/code/prog.py", 11),
)


def dump(pid: int) -> Dump:
    return Dump(pid, "", (Stack("MainThread", FRAMES),))


def trace(pid: int) -> str:
    return TRACE.replace("7967", str(pid))


def pause(worker_id: str = "w1", number: int = 1, pid: int = 100) -> WorkerPause:
    return WorkerPause(CLUSTER, SESSION, worker_row(worker_id, pid=pid), number)


class Setting:
    """A locator on a cluster of this machine (`local`) or of another one."""

    def __init__(self, local: bool = False) -> None:
        self.dashboard, self.spy, self.changes = FakeDashboard(), FakeSpy(), 0
        addresses = frozenset({IP} if local else ())
        self.locator = PauseLocator(
            lambda cluster: self.dashboard, self.spy, self._changed, lambda: addresses
        )

    def want(self, *pauses: WorkerPause) -> None:
        waiting = {one.key: one.number for one in pauses}
        self.locator.want(pauses, waiting.get)

    async def stand(self) -> StopLocation | None:
        key: Key = (SESSION, "w1")
        await self.locator.settled()
        return self.locator.stops.get(key)

    def _changed(self) -> None:
        self.changes += 1


async def test_1_the_dashboards_trace_where_it_is_allowed() -> None:
    on = Setting()
    on.dashboard.profiling, on.dashboard.traces = True, {100: trace(100)}
    on.want(pause())
    assert on.locator.is_locating(pause().key)
    assert (await on.stand(), on.spy.asked, on.changes) == (SHORT, [], 1)
    assert not on.locator.is_locating(pause().key)


async def test_2_py_spy_on_this_machine_gives_the_whole_path_too() -> None:
    on = Setting(local=True)
    on.dashboard.profiling, on.dashboard.traces = True, {100: trace(100)}
    on.spy.dumps = {100: dump(100)}
    on.want(pause())
    assert await on.stand() == WHOLE


async def test_2_py_spy_where_the_dashboard_allows_no_trace() -> None:
    on = Setting(local=True)
    on.spy.dumps = {100: dump(100)}
    on.want(pause())
    assert (await on.stand(), "traceback" in on.dashboard.asked) == (WHOLE, False)


async def test_2_a_dashboard_that_fails_leaves_it_to_py_spy() -> None:
    on = Setting(local=True)
    on.dashboard.broken, on.spy.dumps = {"profiling_enabled"}, {100: dump(100)}
    on.want(pause())
    assert await on.stand() == WHOLE


async def test_shortened_path_is_better_than_none() -> None:
    on = Setting(local=True)
    on.dashboard.profiling, on.dashboard.traces = True, {100: trace(100)}
    on.want(pause())
    assert (await on.stand(), on.spy.asked) == (SHORT, [100])


async def test_3_otherwise_unknown() -> None:
    on = Setting()
    on.want(pause())
    assert (await on.stand(), on.spy.asked, on.changes) == (None, [], 1)


async def test_trace_of_another_process_is_not_believed() -> None:
    on = Setting()
    on.dashboard.profiling = True
    on.dashboard.traces = {100: trace(101), 200: trace(200).replace("ray::", "python ")}
    on.want(pause(), pause("w2", 2, pid=200))
    await on.locator.settled()
    assert on.locator.stops == {}


async def test_each_pause_is_located_once() -> None:
    on = Setting(local=True)
    on.spy.dumps = {100: dump(100)}
    for _ in range(3):
        on.want(pause())
        await on.locator.settled()
    assert on.spy.asked == [100]
    on.want(pause(number=2))
    assert on.locator.stops == {}
    await on.locator.settled()
    assert on.spy.asked == [100, 100]
    on.want()
    assert on.locator.stops == {}


async def test_few_traces_are_asked_at_a_time() -> None:
    on = Setting()
    on.dashboard.profiling = True
    gate = on.dashboard.gates["traceback"] = asyncio.Event()
    on.want(*(pause(f"w{i}", i, pid=i) for i in range(1, 50)))
    await until(lambda: on.dashboard.asked.count("traceback") >= TRACES_AT_ONCE)
    gate.set()
    await on.locator.settled()
    assert on.dashboard.most == TRACES_AT_ONCE
    assert on.dashboard.asked.count("profiling_enabled") == 1


async def test_resumed_worker_ends_only_its_own_lookup() -> None:
    on = Setting()
    on.dashboard.profiling, on.dashboard.traces = True, {100: trace(100), 200: trace(200)}
    gate = on.dashboard.gates["profiling_enabled"] = asyncio.Event()
    on.want(pause("w2", 2, pid=200), pause())
    await until(lambda: "profiling_enabled" in on.dashboard.asked)
    on.want(pause())
    gate.set()
    assert await on.stand() == SHORT
    assert list(on.locator.stops) == [(SESSION, "w1")]


async def test_close_ends_the_lookups() -> None:
    on = Setting()
    on.dashboard.gates["profiling_enabled"] = asyncio.Event()
    on.want(pause())
    await until(lambda: "profiling_enabled" in on.dashboard.asked)
    await on.locator.close()
    assert on.dashboard.now == 0
