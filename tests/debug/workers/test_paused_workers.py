"""All parts together on fakes: what a listener sees as workers pause, are attached, held, and continue."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.debug.workers.model import PausedWorker, all_workers
from eagleray.debug.workers.paused_workers import LocalFiles, PausedWorkers
from eagleray.protocol.adapter_control import WorkerState
from eagleray.tools.pyspy import Dump, Frame, Stack

from tests.debug.workers.fakes import FakeAdapters, FakeDashboard, FakeSpy, FakeWatch, until
from tests.debug.workers.rows import CLUSTER, SESSION, stop, task_row, worker_row, worker_state
from tests.set_clock import SetClock


class FakeFiles:
    """Local files that are found once they were looked up, while `answers` is set."""

    def __init__(self) -> None:
        self.local_paths: dict[str, str] = {}
        self.answers = asyncio.Event()
        self.answers.set()
        self._looked_up: dict[str, str] = {}

    def local(self, cluster: str, path: str) -> str:
        return self._looked_up.get(path, "")

    async def look_up(self, files: Collection[tuple[str, str]]) -> bool:
        await self.answers.wait()
        before = dict(self._looked_up)
        self._looked_up |= {
            path: self.local_paths[path] for _, path in files if path in self.local_paths
        }
        return self._looked_up != before


class Setting:
    """Paused workers on fakes, followed as the sidecar does."""

    def __init__(self) -> None:
        self.dashboard = FakeDashboard()
        self.watch = FakeWatch(self.dashboard)
        self.adapters = FakeAdapters()
        self.spy = FakeSpy()
        self.clock = SetClock()
        self.files = FakeFiles()
        files = LocalFiles(self.files.local, self.files.look_up)
        self.workers = PausedWorkers(self.watch, self.adapters, self.spy, self.clock, files)

    def rows(self) -> list[PausedWorker]:
        return all_workers(self.workers.groups())

    def states(self) -> list[str]:
        return [row.state for row in self.rows()]


@pytest.fixture
async def on() -> AsyncIterator[Setting]:
    setting = Setting()
    running = asyncio.create_task(setting.workers.run())
    await until(lambda: bool(setting.watch.listeners))
    yield setting
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    await setting.workers.close()
    assert setting.watch.listeners == []


async def test_row_comes_before_its_name_and_its_line(on: Setting) -> None:
    gate = on.dashboard.gates["running_tasks"] = asyncio.Event()
    on.dashboard.tasks = [task_row()]
    changes: list[int] = []
    end = on.workers.on_change(lambda: changes.append(1))
    on.watch.show([worker_row()])
    assert [(row.name, row.kind, row.state) for row in on.rows()] == [
        ("worker 100", "unknown", "paused")
    ]
    before = len(changes)
    gate.set()
    await until(lambda: on.rows()[0].title == "PolicyWorker.train")
    assert len(changes) > before
    end()


async def test_wait_lasts_from_paused_to_held_to_attached(on: Setting) -> None:
    on.watch.show([worker_row()])
    on.clock.move(5)
    on.adapters.hold(worker_state(state="attaching", stop=None))
    await until(on.adapters.all_told)
    on.watch.show([])
    assert on.states() == ["paused"]
    on.adapters.hold(worker_state())
    await until(lambda: on.states() == ["held"])
    on.adapters.hold(worker_state(editor=True))
    await until(lambda: on.states() == ["debugging"])
    assert on.rows()[0].waiting_s == 5.0
    on.adapters.hold(worker_state(state="running", stop=None, editor=True))
    await until(lambda: on.states() == ["running"])
    assert on.rows()[0].waiting_s == 0.0
    on.adapters.hold()
    await until(lambda: on.states() == [])


async def test_row_gets_its_local_file_after_the_lookup(on: Setting) -> None:
    on.files.answers.clear()
    on.files.local_paths = {stop().path: "/home/me/train.py"}
    on.adapters.hold(worker_state())
    await until(lambda: on.states() == ["held"])
    assert [row.location.local for row in on.rows() if row.location] == [""]
    changed = asyncio.Event()
    end = on.workers.on_change(changed.set)
    on.files.answers.set()
    await changed.wait()
    assert [row.location.local for row in on.rows() if row.location] == ["/home/me/train.py"]
    end()


async def test_held_worker_is_not_located_again(on: Setting) -> None:
    on.dashboard.profiling = True
    on.adapters.hold(worker_state())
    await until(lambda: on.states() == ["held"])
    on.watch.show([worker_row()])
    await on.workers.described(30)
    assert "traceback" not in on.dashboard.asked and on.spy.asked == []


async def test_worker_of_a_dead_node_is_marked_and_not_located(on: Setting) -> None:
    on.dashboard.profiling = True
    on.watch.show(
        [worker_row("w1", node_id="old", pid=1), worker_row("w2", node_id="new", pid=2)],
        gone_nodes=frozenset({"old"}),
    )
    await on.workers.described(30)
    assert {row.worker_id: row.state for row in on.rows()} == {"w1": "gone", "w2": "paused"}
    await until(lambda: on.dashboard.asked.count("traceback") == 1)
    assert [row.worker_id for row in on.workers.located()].count("w1") == 1


async def test_cluster_that_does_not_answer_keeps_its_rows(on: Setting) -> None:
    on.watch.show([worker_row()])
    on.watch.show([worker_row()], error=EaglerayError("cluster-slow", "slow"))
    assert on.states() == ["paused"]


async def test_cluster_that_is_removed_takes_its_rows_but_no_held_ones(on: Setting) -> None:
    on.watch.show([worker_row(), worker_row("w2")])
    on.adapters.hold(worker_state())
    await until(lambda: sorted(on.states()) == ["held", "paused"])
    on.watch.gone()
    assert on.states() == ["held"]


async def test_worker_that_waited_before_the_first_list_has_no_waiting_time(on: Setting) -> None:
    on.watch.show([worker_row()], session="session_2")
    assert [row.waiting_s for row in on.rows()] == [None]
    on.watch.show([], session="session_2")
    on.watch.show([worker_row()], session="session_2")
    on.clock.move(3)
    assert [row.waiting_s for row in on.rows()] == [3.0]


async def test_restarted_cluster_shares_nothing_with_its_old_self(on: Setting) -> None:
    on.dashboard.tasks = [task_row()]
    on.watch.show([worker_row()])
    await on.workers.described(30)
    on.clock.move(9)
    on.dashboard.gates["running_tasks"] = asyncio.Event()
    on.watch.show([worker_row()], session="session_2")
    (row,) = on.rows()
    assert (row.session, row.name, row.waiting_s) == ("session_2", "worker 100", None)


async def test_counts_of_a_cluster_equal_its_rows(on: Setting) -> None:
    """Ray lists no worker as paused once a debugger is attached (Ray 2.60)."""
    on.watch.show([worker_row("w1"), worker_row("w2")])
    assert on.workers.count_stops(CLUSTER).parts == ("2 paused",)
    on.watch.show([])
    on.adapters.hold(
        worker_state("w1", seen=False),
        worker_state("w2"),
        worker_state("w3", editor=True),
        worker_state("w4", state="running", stop=None, editor=True),
    )
    await until(lambda: len(on.rows()) == 4)
    assert on.workers.count_stops(CLUSTER).parts == ("1 paused", "1 held", "1 debugging")
    assert on.workers.count_stops("http://10.0.0.1:8265").parts == ("none paused",)


async def test_worker_attached_to_under_another_address_is_one_row(on: Setting) -> None:
    on.adapters.hold(worker_state(cluster="http://10.0.0.1:8265"))
    await until(lambda: on.states() == ["held"])
    assert on.rows()[0].cluster == CLUSTER
    assert on.workers.count_stops(CLUSTER).held == 1
    assert len(all_workers(on.workers.groups([CLUSTER]))) == 1


async def test_run_worker_is_found_by_the_address_of_its_run(on: Setting) -> None:
    """Its driver, which is in no cluster, keeps that address."""
    address = "http://10.0.0.1:8265"
    driver = worker_state("driver-7", cluster=address, session="")
    on.adapters.hold(driver, worker_state(cluster=address))
    await until(lambda: len(on.rows()) == 2)
    assert (await on.workers.find(address, "w1")).cluster == CLUSTER
    assert (await on.workers.find(CLUSTER, "w1")).cluster == CLUSTER
    assert (await on.workers.find(address, "driver-7")).cluster == address


async def test_parent_that_relays_an_error_is_listed_below_the_attached_worker(
    on: Setting,
) -> None:
    on.dashboard.tasks = [
        task_row("child", parent_task_id="t-parent"),
        task_row("parent", name="outer", task_id="t-parent"),
    ]
    failed = stop(reason="exception", exception="ValueError: bad")
    relayed = stop(reason="exception", exception="RayTaskError(ValueError): bad")
    on.adapters.hold(worker_state("child", stop=failed), worker_state("parent", stop=relayed))
    await until(lambda: len(on.rows()) == 2)
    await until(lambda: [w.worker_id for g in on.workers.groups() for w in g.workers] == ["child"])
    assert [row.worker_id for row in on.rows()] == ["child", "parent"]


async def test_command_line_asks_once_and_waits_for_lines() -> None:
    on = Setting()
    on.dashboard.profiling = True
    frames = (Frame("set_trace", "ray/util/debugpy.py", 94), Frame("train", "t.py", 3))
    on.spy.dumps = {100: Dump(100, "", (Stack("", frames),))}
    on.dashboard.traces = {
        100: 'Process 100: ray::train\nThread 1 (idle): "MainThread"\n'
        "    set_trace (ray/util/debugpy.py:94)\n    train (t.py:3)\n"
    }
    on.watch.show([worker_row()])
    on.adapters.states = [worker_state("w2")]
    groups = await on.workers.refresh([CLUSTER], locate_s=30)
    kinds = {row.worker_id: (row.state, row.kind) for row in all_workers(groups)}
    assert kinds == {"w1": ("paused", "breakpoint"), "w2": ("held", "breakpoint")}
    assert on.watch.refreshed == [CLUSTER]
    await on.workers.close()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("aa11", "aa11"),
        ("aa1", "aa11"),
        ("policy_0", "bb22"),
        ("evil x", "cc33"),
        ("evil\nx", "cc33"),
        ("zz", "unknown-worker"),
        ("", "unknown-worker"),
        ("a", "ambiguous-worker"),
        ("twin", "ambiguous-worker"),
    ],
)
async def test_find(text: str, found: str) -> None:
    on = Setting()
    on.watch.show([worker_row(name) for name in ("aa11", "aa22", "bb22", "cc33", "dd", "ee")])
    names = {
        "aa11": "x",
        "aa22": "y",
        "bb22": "policy_0",
        "cc33": "evil\nx",
        "dd": "twin",
        "ee": "twin",
    }
    on.dashboard.tasks = [task_row(worker, name=name) for worker, name in names.items()]
    await on.workers.refresh()
    try:
        assert (await on.workers.find(CLUSTER, text)).worker_id == found
    except EaglerayError as error:
        assert error.code == found
    await on.workers.close()


async def test_find_looks_anew_before_it_gives_up() -> None:
    on = Setting()
    on.adapters.states = [worker_state("w9")]
    assert (await on.workers.find(CLUSTER, "w9")).key == (SESSION, "w9")
    await on.workers.close()


async def test_thousand_rows_are_described_by_one_list(on: Setting) -> None:
    rows = [worker_row(f"w{i:04}", pid=i) for i in range(1_000)]
    on.dashboard.tasks = [task_row(row.worker_id, task_id=f"t{row.pid}") for row in rows]
    on.watch.show(rows)
    await on.workers.described(30)
    (group,) = on.workers.groups()
    assert (group.title, len(group.workers)) == ("PolicyWorker.train", 1_000)
    assert on.dashboard.asked.count("running_tasks") == 1


async def test_refresh_keeps_changes_that_adapters_sent_meanwhile(
    on: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    on.adapters.hold(worker_state())
    await until(lambda: on.states() == ["held"])
    requested, answered = asyncio.Event(), asyncio.Event()
    before = on.adapters.states

    async def workers() -> list[WorkerState]:
        requested.set()
        return before

    async def refresh(cluster: str | None = None) -> None:
        await answered.wait()

    monkeypatch.setattr(on.adapters, "workers", workers)
    monkeypatch.setattr(on.watch, "refresh", refresh)
    refreshing = asyncio.create_task(on.workers.refresh())
    await requested.wait()
    on.adapters.hold()
    await until(lambda: on.states() == [])
    answered.set()
    await refreshing
    assert on.states() == []
