"""A supervisor reads the folder of its run, and one that does not begin."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.paths import host_name
from eagleray.runs import supervisor_process
from eagleray.runs.model import RunPlan, RunState
from eagleray.runs.output import Output
from eagleray.runs.records import RunRecord, RunRecords, StoredRun
from eagleray.runs.run_status import with_current_state
from eagleray.runs.waiting_supervisor import WaitingSupervisor, start_waiting
from eagleray.supervisor.launchers.factory import with_copy
from eagleray.supervisor.launchers.launcher import LaunchedProgram, ProgramEnd
from eagleray.supervisor.supervisor import RunSupervisor

from tests.ray_cluster import wait_for

PLAN = RunPlan(
    kind="script",
    argv=("bash", "stop"),
    cwd="/w",
    name="stop",
    copy_of="stop",
    copy_text="echo x\n",
)


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    return RunRecords(tmp_path).create(PLAN, RunState("starting", 1.0, host=host_name()))


def silent() -> WaitingSupervisor:
    """One that does nothing."""
    ours, given = socket.socketpair()
    with given:
        command = [sys.executable, "-c", "import signal; signal.pause()"]
        return WaitingSupervisor(subprocess.Popen(command, stdin=given), ours)


async def test_slow_supervisor_starts_nothing_later(
    record: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def begun(*_: object) -> WaitingSupervisor:
        waiting = silent()
        started.append(waiting.process)
        return waiting

    monkeypatch.setattr(supervisor_process, "_started", begun)
    monkeypatch.setattr(supervisor_process, "START_TIMEOUT_S", 0.1)
    with pytest.raises(EaglerayError) as raised:
        await supervisor_process.start(record, {})
    assert raised.value.code == "keeper-not-started"
    assert started[0].wait(60) == -9


async def test_cancelled_start_leaves_no_supervisor(
    record: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = silent()
    process = waiting.process
    is_spawned = asyncio.Event()

    def spawned(*_: object) -> WaitingSupervisor:
        is_spawned.set()
        return waiting

    monkeypatch.setattr(supervisor_process, "_started", spawned)
    starting = asyncio.create_task(supervisor_process.start(record, {}))
    await is_spawned.wait()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert process.wait(60) == -15


def test_waiting_supervisor_inherits_no_access_and_ends_with_its_socket(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EAGLERAY_ACCESS", "{}")
    monkeypatch.setenv("EAGLERAY_OTHER", "kept")
    waiting = start_waiting(subprocess.DEVNULL)
    # The kernel closes the pipe that `Popen` waits for before it sets the new program's environment.
    file = Path(f"/proc/{waiting.process.pid}/environ")
    environ = wait_for("its environment", file.read_bytes).split(b"\0")
    assert b"EAGLERAY_OTHER=kept" in environ
    assert not any(entry.startswith(b"EAGLERAY_ACCESS=") for entry in environ)
    waiting.send({})
    assert waiting.process.wait(60) == 0


def test_run_without_a_started_supervisor_is_over(record: RunRecord) -> None:
    assert supervisor_process.is_supervised(record, record.state())
    at = time.time() - 2 * supervisor_process.START_TIMEOUT_S - 1
    os.utime(record.folder / "state.json", (at, at))
    assert not supervisor_process.is_supervised(record, record.state())
    assert with_current_state(StoredRun(record, record.plan(), record.state())).state.is_over


@pytest.mark.parametrize("name", ["stop", "secret", "plan.json"])
def test_script_copy_does_not_overwrite_files_of_the_run(record: RunRecord, name: str) -> None:
    secret, argv = record.secret(), ("bash", name, "x")
    plan = with_copy(
        record,
        RunPlan(kind="script", argv=argv, cwd="/w", name=name, copy_of=name, copy_text="echo\n"),
    )
    assert Path(plan.argv[1]).read_text() == "echo\n" and Path(plan.argv[1]).name == name
    assert not record.stop_request.exists()
    assert (record.secret(), record.plan()) == (secret, PLAN)


class FakeProgram:
    """A program that ends on request, or earlier with this code; no code searches for its processes."""

    is_waiting = False

    def __init__(self, code: int, *, by_itself: bool) -> None:
        self._code = code
        self._over = asyncio.Event()
        if by_itself:
            self._over.set()

    async def start(self) -> LaunchedProgram:
        return LaunchedProgram()

    def workers_ended(self) -> None:
        """Nothing depends on it here."""

    async def ended(self) -> ProgramEnd:
        await self._over.wait()
        return ProgramEnd(self._code)

    async def stop(self, hurry: asyncio.Event) -> None:
        self._over.set()

    async def run(self) -> None: ...

    async def last_poll(self) -> None: ...

    async def close(self) -> None: ...

    def update(self, state: RunState) -> RunState:
        return state

    def end_note(self, ending: ProgramEnd) -> str:
        return ""


@pytest.mark.parametrize(
    ("by_itself", "code", "phase"),
    [
        (True, 0, "exited"),
        (True, 1, "failed"),
        (False, 0, "cancelled"),
        (False, 1, "cancelled"),
    ],
)
async def test_run_that_the_user_stopped_has_not_failed(
    record: RunRecord, by_itself: bool, code: int, phase: str
) -> None:
    program = FakeProgram(code, by_itself=by_itself)

    async def made() -> FakeProgram:
        return program

    output = Output(record.output)
    supervisor = RunSupervisor(record, output, made, program)
    if not by_itself:
        supervisor.stop()
    await supervisor.run()
    output.close()
    assert (record.state().phase, record.state().code) == (phase, code)


class Stubborn(FakeProgram):
    """Swallows one cancellation, as `asyncio.wait_for` may when it comes together with a result."""

    async def run(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()


async def test_supervisor_ends_though_a_cancellation_is_lost(
    record: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "_CANCEL_AGAIN_S", 0)
    program = Stubborn(0, by_itself=True)

    async def made() -> FakeProgram:
        return program

    output = Output(record.output)
    await asyncio.wait_for(RunSupervisor(record, output, made, program).run(), 30)
    output.close()
    assert record.state().phase == "exited"
