"""Where the state of a run comes from: the adapter's events while it lives, the run's folder otherwise."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from eagleray.adapter_client.client import AdapterClient
from eagleray.common.paths import host_name
from eagleray.protocol.adapter_control import WorkerStop
from eagleray.protocol.runs import AdapterRunState, LineState, RunStates, RunWorkerState
from eagleray.runs.adapter_gateway import (
    AdapterRunGateway,
    AdapterRunStatus,
    worker_phase,
)
from eagleray.runs.model import (
    BreakpointStatus,
    ProcessIdentity,
    RunPlan,
    RunState,
    RunWorkerStatus,
)
from eagleray.runs.records import RunRecord, RunRecords, StoredRun
from eagleray.runs.run_status import with_current_state
from eagleray.runs.runs import Runs
from eagleray.tools.processes import born

from tests.fakes.adapter import FakeAdapter, running

PLAN = RunPlan(kind="program", argv=("python", "train.py"), cwd="/w", name="train.py")
IN_FOLDER = RunWorkerStatus("w1", 7, "worker", "policy", "running", ("/w/train.py",))
REPORTED = evolve(IN_FOLDER, state="paused", path="/w/train.py", line=3, stop=4)
LIVES = RunState(
    "running",
    1.0,
    note="of the folder",
    host=host_name(),
    supervisor=ProcessIdentity(os.getpid(), born(os.getpid())),
    cluster="http://plan:8265",
    workers=(IN_FOLDER,),
)
STATUS = AdapterRunStatus(
    (REPORTED,),
    (BreakpointStatus("/w/train.py", 3, "verified", workers=1),),
    cluster="http://c:8265",
)


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    return RunRecords(tmp_path).create(PLAN, LIVES)


def current(record: RunRecord, state: RunState, reported: AdapterRunStatus | None) -> RunState:
    return with_current_state(StoredRun(record, PLAN, state), reported).state


def test_workers_of_a_live_run_come_from_the_adapter(record: RunRecord) -> None:
    state = current(record, LIVES, STATUS)
    assert (state.phase, state.workers, state.lines) == ("paused", (REPORTED,), STATUS.lines)
    assert (state.cluster, state.note) == ("http://c:8265", "of the folder")
    assert current(record, evolve(LIVES, phase="paused"), AdapterRunStatus()).phase == "running"


def test_problem_of_a_worker_becomes_the_note(record: RunRecord) -> None:
    assert current(record, LIVES, evolve(STATUS, problems=("no debugpy", "other"))).note == (
        "no debugpy"
    )


def test_cluster_stays_until_the_adapter_has_it(record: RunRecord) -> None:
    assert current(record, LIVES, AdapterRunStatus()).cluster == LIVES.cluster


def test_run_that_no_adapter_has_comes_from_its_folder(record: RunRecord) -> None:
    assert current(record, LIVES, None) == LIVES


@pytest.mark.parametrize("phase", ["starting", "stopping"])
def test_start_and_stop_come_from_the_folder(record: RunRecord, phase: Any) -> None:
    assert current(record, evolve(LIVES, phase=phase), STATUS).phase == phase


def test_ended_run_has_no_workers_though_the_adapter_still_has_it(record: RunRecord) -> None:
    over = evolve(LIVES, phase="failed", ended=2.0, code=3, workers=())
    assert current(record, over, STATUS) == over


def test_orphaned_run_has_no_workers_though_the_adapter_still_has_it(record: RunRecord) -> None:
    orphaned = evolve(
        LIVES, supervisor=ProcessIdentity(os.getpid(), 1.0), external_id="raysubmit_1"
    )
    state = current(record, orphaned, STATUS)
    assert (state.phase, state.workers) == ("unwatched", ())


# The phase of the only run, and the stop location of its worker.
Shown = tuple[str, str, int, int]
FROM_FOLDER: Shown = ("running", "", 0, 0)
FROM_ADAPTER: Shown = ("paused", "/w/train.py", 3, 4)


class Window:
    """The runs of one window, and its connections to adapters."""

    def __init__(self, folder: Path) -> None:
        self.client = AdapterClient(start=False)
        self.runs = Runs(RunRecords(folder), AdapterRunGateway(self.client))
        self._notified = asyncio.Queue[Shown]()
        self.runs.on_change(lambda: self._notified.put_nowait(self._shown()))
        self._task = asyncio.create_task(self.runs.run())

    def _shown(self) -> Shown:
        [run] = self.runs.listed()
        [worker] = run.state.workers
        return run.state.phase, worker.path, worker.line, worker.stop

    async def next(self) -> Shown:
        """Returns what the window shows after the next notification."""
        return await asyncio.wait_for(self._notified.get(), 60)

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self.client.close()


@pytest.fixture
async def window(own_home: Path, record: RunRecord) -> AsyncIterator[Window]:
    window = Window(record.folder.parent)
    yield window
    await window.close()


def report(adapter: FakeAdapter, run: str) -> None:
    """Sends the event with which an adapter reports the worker as stopped."""
    stop = WorkerStop("breakpoint", "/w/train.py", 3, "train", "", 1, number=4)
    worker = RunWorkerState(
        "session_1", "w1", 7, "worker", "policy", "", "3.12", "stopped", [], stop=stop
    )
    line = LineState("/w/train.py", 3, "verified", workers=["w1"])
    states = RunStates([AdapterRunState(run, [worker], [line])])
    adapter.say({"event": "runs", **asdict(states)})


@pytest.mark.parametrize(
    ("state", "editor", "taken", "phase"),
    [
        ("free", False, False, "running"),
        ("waiting", False, False, "starting"),
        ("running", True, True, "running"),
        ("stopped", False, False, "paused"),
        ("stopped", True, True, "debugging"),
        ("stopped", False, True, "held"),
    ],
)
def test_worker_is_shown_with_the_state_of_its_session(
    state: Any, editor: bool, taken: bool, phase: str
) -> None:
    worker = RunWorkerState(
        "s", "w", 7, "worker", "p", "", "3.12", state, [], editor=editor, taken=taken
    )
    assert worker_phase(worker) == phase


async def test_window_follows_the_adapter_while_it_lives_and_the_folder_otherwise(
    record: RunRecord, window: Window
) -> None:
    assert await window.next() == FROM_FOLDER
    for _ in range(2):
        async with running() as adapter:
            await window.client.sessions.workers()
            report(adapter, record.id)
            assert await window.next() == FROM_ADAPTER
        assert await window.next() == FROM_FOLDER
    assert record.state() == LIVES


async def test_repeated_event_notifies_no_listener(record: RunRecord, window: Window) -> None:
    assert await window.next() == FROM_FOLDER
    async with running() as adapter:
        await window.client.sessions.workers()
        report(adapter, record.id)
        assert await window.next() == FROM_ADAPTER
        report(adapter, record.id)
        # The answer to a request comes after the event on the same connection.
        await window.client.sessions.workers()
        # The supervisor follows the adapter, too.
        record.write_state(evolve(LIVES, phase="paused", workers=(REPORTED,)))
        record.write_state(evolve(LIVES, phase="stopping"))
        assert await window.next() == ("stopping", *FROM_ADAPTER[1:])
