"""Reads and requests of windows and run supervisors while nothing changes, and how soon they notice a change."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from eagleray.common.paths import host_name
from eagleray.common.retry import UNSTOPPED_WORKERS, WORKER_TABLE
from eagleray.protocol.runs import Breakpoint, LineBreakpoint
from eagleray.runs import records as run_records
from eagleray.runs import runs as all_runs
from eagleray.runs.adapter_gateway import AdapterRunStatus
from eagleray.runs.model import ProcessIdentity, RunPlan, RunState
from eagleray.runs.output import follow
from eagleray.runs.records import RunRecord, RunRecords
from eagleray.runs.run_discovery import Home
from eagleray.runs.runs import Runs
from eagleray.supervisor.run_watch import RunWatch
from eagleray.tools.processes import born

from tests.runs.test_run_watch import FakeAdapter, FakeTable
from tests.virtual_time import run_virtually

PLAN = RunPlan(kind="program", argv=("python", "x.py"), cwd="/", name="x")
STOPS = evolve(PLAN, breakpoints=(Breakpoint("/x.py", [LineBreakpoint(1)]),))
LIVES = RunState(
    "running", 1.0, host=host_name(), supervisor=ProcessIdentity(os.getpid(), born(os.getpid()))
)


class NoAdapter:
    """The gateway where no adapter runs."""

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        return lambda: None

    def reported(self) -> dict[str, AdapterRunStatus]:
        return {}


class Window:
    """The runs of one window; `heard` gets what each notification shows."""

    def __init__(self, records: RunRecords) -> None:
        self.runs = Runs(records, NoAdapter())
        self.heard = asyncio.Queue[list[str]]()
        self.runs.on_change(self._hear)

    def _hear(self) -> None:
        self.heard.put_nowait([item.state.phase for item in self.runs.listed()])

    async def until(self, phases: list[str]) -> None:
        while await asyncio.wait_for(self.heard.get(), 60) != phases:
            pass

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.runs.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often files of runs were read, by their names; no poll comes to help."""
    counted: Counter[str] = Counter()
    read = run_records._read

    def counting(path: Path) -> Any:
        counted[path.name] += 1
        return read(path)

    monkeypatch.setattr(run_records, "_read", counting)
    monkeypatch.setattr(all_runs, "_poll_s", lambda *_: 3600.0)
    return counted


async def test_change_is_published_without_a_poll(tmp_path: Path, reads: Counter[str]) -> None:
    records = RunRecords(tmp_path)
    for _ in range(30):
        records.create(PLAN, evolve(LIVES, phase="exited", code=0, ended=2.0))
    window = Window(RunRecords(tmp_path))
    over = ["exited"] * 30
    async with window.open():
        await window.until(over)
        assert reads["state.json"] == 30
        # By another window or a terminal, then by its supervisor.
        run = records.create(PLAN, evolve(LIVES, started=3.0))
        await window.until(["running", *over])
        run.write_state(evolve(LIVES, started=3.0, phase="paused"))
        await window.until(["paused", *over])
        assert reads["state.json"] < 40
        records.forget(run, is_over=True)
        await window.until(over)


async def test_end_of_a_supervisor_is_noticed_by_its_process(
    tmp_path: Path, reads: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_runs, "PROCESS_POLL_INTERVAL_S", 0.01)
    records = RunRecords(tmp_path)
    sleeping = await asyncio.create_subprocess_exec("sleep", "1000")
    supervisor = ProcessIdentity(sleeping.pid, born(sleeping.pid))
    records.create(PLAN, evolve(LIVES, supervisor=supervisor))
    window = Window(RunRecords(tmp_path))
    async with window.open():
        await window.until(["running"])
        sleeping.kill()
        await sleeping.wait()
        # No supervisor has recorded how the program ended.
        await window.until(["unknown"])
    assert reads["state.json"] <= 4


def test_idle_hour_needs_few_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty looks by a window for what other machines do; it was 7200, with all files read and parsed."""
    records, polls, reads = RunRecords(tmp_path), 0, 0
    for _ in range(30):
        records.create(PLAN, evolve(LIVES, phase="exited", code=0, ended=2.0))
    listed, read = RunRecords.listed, run_records._read

    def looking(self: RunRecords) -> Any:
        nonlocal polls
        polls += 1
        return listed(self)

    def reading(path: Path) -> Any:
        nonlocal reads
        reads += 1
        return read(path)

    monkeypatch.setattr(RunRecords, "listed", looking)
    monkeypatch.setattr(run_records, "_read", reading)

    async def hour() -> None:
        task = asyncio.ensure_future(Runs(RunRecords(tmp_path), NoAdapter()).run())
        await asyncio.sleep(3600)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run_virtually(hour())
    assert polls <= 30 + 54 + 50
    assert reads == 60


class CountedTable(FakeTable):
    """When its workers were asked for."""

    def __init__(self) -> None:
        super().__init__(resolved=Home("http://c:8265", "session", self))
        self.at: list[float] = []

    async def all_workers(self) -> list[Any]:
        self.at.append(asyncio.get_running_loop().time())
        return self.rows


@pytest.mark.parametrize(
    ("plan", "steady_s"), [(STOPS, WORKER_TABLE.steady_s), (PLAN, UNSTOPPED_WORKERS.steady_s)]
)
def test_worker_table_is_polled_rarely_without_changes(
    tmp_path: Path, plan: RunPlan, steady_s: float
) -> None:
    record = RunRecords(tmp_path).create(plan, LIVES)
    adapter, table = FakeAdapter(), CountedTable()

    async def hour() -> None:
        watching = RunWatch(record, plan, table, adapter, lambda *_: [], lambda _: None)
        task = asyncio.ensure_future(watching.run())
        await asyncio.sleep(1800)
        # The adapter has news of workers, such as a stop: that is asked of the adapter alone.
        before = len(table.at)
        for _ in range(100):
            watching._wake.set()
            await asyncio.sleep(0)
        assert len(table.at) - before <= 1
        await asyncio.sleep(1800)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run_virtually(hour())
    steady = [at for at in table.at if at > table.at[0] + 700]
    assert len(steady) <= 2900 / steady_s + 2
    quick = [at for at in table.at if at < table.at[0] + 30]
    assert len(quick) >= 100


async def test_announced_driver_is_attached_at_once(tmp_path: Path) -> None:
    """It waits for that, however long nothing has happened."""
    record = RunRecords(tmp_path).create(STOPS, LIVES)
    adapter = FakeAdapter()
    watching = RunWatch(record, STOPS, FakeTable(), adapter, lambda *_: [], lambda _: None)
    task = asyncio.create_task(watching.run())
    await asyncio.wait_for(adapter.looked.wait(), 60)
    watching._table_at = float("inf")
    adapter.reported = AdapterRunStatus()
    (record.folder / "proxy-9.json").write_text('{"host": "127.0.0.1", "port": 5}')
    while not adapter.handed:
        adapter.looked.clear()
        await asyncio.wait_for(adapter.looked.wait(), 60)
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await watching.close()


async def test_output_is_shown_when_it_is_written(tmp_path: Path) -> None:
    record = RunRecord("a", tmp_path)
    record.output.write_bytes(b"one\n")
    over = asyncio.Event()
    pieces = follow(record.output, over.is_set)
    assert await anext(pieces) == b"one\n"
    following = asyncio.ensure_future(anext(pieces))
    await asyncio.sleep(0)
    with record.output.open("ab") as file:
        file.write(b"two\n")
    assert await asyncio.wait_for(following, 60) == b"two\n"
    over.set()
    assert [piece async for piece in pieces] == []
