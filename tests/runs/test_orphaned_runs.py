"""Runs whose supervisor died: what is said of them, who takes them over, and when they are thrown away."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from attrs import evolve
from eagleray.common.errors import EaglerayError
from eagleray.common.paths import host_name
from eagleray.common.paths import runs as runs_folder
from eagleray.runs import supervisor_process
from eagleray.runs.adapter_gateway import AdapterRunGateway
from eagleray.runs.model import ProcessIdentity, ProfilePlan, RunPlan, RunState
from eagleray.runs.output import Output
from eagleray.runs.records import RunRecord, RunRecords, StoredRun
from eagleray.runs.run_status import ORPHAN_RETENTION_S, outdated, with_current_state
from eagleray.runs.runs import Runs
from eagleray.runs.supervisor_process import end_orphan
from eagleray.supervisor.supervisor import RunSupervisor
from eagleray.tools.processes import born

from tests.ray_cluster import wait_for
from tests.runs.terminal import Terminal, row
from tests.runs.test_supervisor import FakeProgram

PLAN = RunPlan(kind="program", argv=("python", "x.py"), cwd="/", name="x")
SCRIPT = RunPlan(kind="sbatch", argv=("sbatch", "x.sub"), cwd="/", name="x.sub")
PROFILED = evolve(PLAN, profile=ProfilePlan(("*",)))
GONE = ProcessIdentity(2**22 + 7, 1000.0)
DEAD = RunState("running", 1.0, host=host_name(), supervisor=GONE, program=GONE)


@pytest.fixture
def records(tmp_path: Path) -> RunRecords:
    return RunRecords(tmp_path)


@pytest.fixture
def program() -> Iterator[ProcessIdentity]:
    """One that lives."""
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    )
    yield ProcessIdentity(process.pid, born(process.pid))
    process.communicate()


def silent(record: RunRecord, seconds: float) -> None:
    at = time.time() - seconds
    os.utime(record.folder / "state.json", (at, at))


def now(record: RunRecord) -> RunState:
    return with_current_state(StoredRun(record, record.plan(), record.state())).state


def remaining(records: RunRecords, limit: int = 1) -> set[str]:
    every = records.listed()
    gone = {stored.record.id for stored in outdated(every, limit)}
    return {item.record.id for item in every} - gone


def test_note_of_an_orphaned_run(records: RunRecords, program: ProcessIdentity) -> None:
    job = records.create(PLAN, evolve(DEAD, external_id="raysubmit_1"))
    script = records.create(SCRIPT, evolve(DEAD, external_id="77"))
    here = records.create(PLAN, evolve(DEAD, program=program))
    there = records.create(PLAN, evolve(DEAD, host="another"))
    silent(there, 2000)
    for record, expected in [
        (job, "job raysubmit_1 may still be running"),
        (script, "SLURM job 77 may still be running"),
        (here, f"its program (PID {program.pid}) keeps running"),
        (there, "may still be running on another"),
    ]:
        assert (now(record).phase, expected in now(record).note) == ("unwatched", True)
    over = now(records.create(PLAN, DEAD))
    assert (over.phase, over.note) == (
        "unknown",
        "Its exit code is not known: the process that waits for it is gone.",
    )


@pytest.mark.parametrize("file", [0, 1])
async def test_program_that_no_state_names_is_stopped(records: RunRecords, file: int) -> None:
    """The home was full after the supervisor had begun, and the supervisor was killed."""
    record = records.create(PLAN, evolve(DEAD, phase="starting", program=None))
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        program = {"pid": process.pid, "began": time.time()}
        record.ends()[file].write_text(json.dumps(program))
        assert now(record).phase == "unwatched"
        assert f"(PID {process.pid})" in now(record).note
        stopping = asyncio.create_task(end_orphan(record))
        assert await asyncio.to_thread(process.wait, 60) == -signal.SIGINT
        await stopping
    finally:
        process.kill()
        process.wait()
    assert record.state().phase == "cancelled"


async def test_program_that_no_signal_ends_is_not_cancelled(
    records: RunRecords, program: ProcessIdentity, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for a device or file server; the one here isn't in the group that gets the signals."""
    record = records.create(PLAN, evolve(DEAD, program=program))
    monkeypatch.setattr(supervisor_process, "STEPS", ((signal.SIGKILL, 0.0),))
    with pytest.raises(EaglerayError, match=f"PID {program.pid} still runs"):
        await end_orphan(record)
    assert now(record).phase == "unwatched"


def test_orphaned_runs_are_removed_like_others(
    records: RunRecords, program: ProcessIdentity
) -> None:
    """The oldest first; runs that may have continued elsewhere, or recorded something, after a week of silence."""
    goes_on = records.create(PLAN, evolve(DEAD, program=program))
    job = records.create(PLAN, evolve(DEAD, external_id="raysubmit_1"))
    old_job = records.create(PLAN, evolve(DEAD, external_id="raysubmit_0"))
    profiled = records.create(PROFILED, DEAD)
    old_profiled = records.create(PROFILED, DEAD)
    lost = records.create(PLAN, DEAD)
    ended = records.create(PLAN, evolve(DEAD, phase="exited"))
    every = [goes_on, job, old_job, profiled, old_profiled, lost, ended]
    for record in (goes_on, old_job, old_profiled):
        silent(record, ORPHAN_RETENTION_S + 60)
    assert remaining(records) == {goes_on.id, job.id, profiled.id}
    assert remaining(records, limit=7) == {item.id for item in every}


async def test_start_removes_orphaned_runs(
    records: RunRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = [records.create(PLAN, evolve(DEAD, started=float(at))) for at in range(35)]

    async def started(*_: object) -> None: ...

    monkeypatch.setattr("eagleray.runs.supervisor_process.start", started)
    startable = evolve(PLAN, kind="command", argv=("true",))
    new = await Runs(records, AdapterRunGateway(None)).start(startable, confirmed=False)
    left = [item.record.id for item in records.listed()]
    assert left == [new, *(item.id for item in reversed(every[6:]))]


async def test_run_that_is_being_adopted_is_not_removed(records: RunRecords) -> None:
    record = records.create(PLAN, evolve(DEAD, external_id="raysubmit_1"))
    lock = record.lock()
    assert lock is not None and record.lock() is None
    with pytest.raises(EaglerayError) as raised:
        await Runs(records, AdapterRunGateway(None)).forget(record.id)
    assert raised.value.code == "run-lives"
    os.close(lock)
    await Runs(records, AdapterRunGateway(None)).forget(record.id)
    assert not record.folder.exists()


async def test_job_unreachable_at_its_adoption_has_not_failed(
    records: RunRecords,
) -> None:
    record = records.create(PLAN, evolve(DEAD, external_id="raysubmit_1"))
    record.output.write_text("what it printed before")
    output = Output(record.output)
    output.replace_on_write()

    async def made() -> FakeProgram:
        raise EaglerayError("cluster-unreachable", "The cluster does not answer.")

    await RunSupervisor(record, output, made, FakeProgram(0, by_itself=True)).run()
    output.close()
    assert now(record).phase == "unwatched"
    assert now(record).note.endswith("The cluster does not answer.")
    assert record.output.read_text() == "what it printed before"


SCONTROL = """#!/bin/sh
if [ -e {over} ]; then state=COMPLETED; else state=RUNNING; fi
echo "JobId=77 JobState=$state Restarts=0 ExitCode=0:0 StdOut={out}"
"""
# It lists no jobs, in whatever format is asked for.
SQUEUE = """#!/bin/sh
for word; do case "$word" in *%A*) printf '%s' "$word$word"; echo;; esac; done
"""


async def test_job_is_adopted_by_a_single_caller(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over, out, scontrol = tmp_path / "over", tmp_path / "out", tmp_path / "bin" / "scontrol"
    out.write_text("printed once\n")
    scontrol.parent.mkdir()
    scontrol.write_text(SCONTROL.format(over=over, out=out))
    scontrol.chmod(0o755)
    squeue = scontrol.with_name("squeue")
    squeue.write_text(SQUEUE)
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", f"{scontrol.parent}:{os.environ['PATH']}")
    records = RunRecords(runs_folder())
    gave_up = evolve(DEAD, external_id="77", phase="unwatched", note="It does not answer.")
    record = records.create(SCRIPT, gave_up)
    first, second = Runs(records, AdapterRunGateway(None)), Runs(records, AdapterRunGateway(None))
    await asyncio.gather(first.adopt(record), second.adopt(record), first.adopt(record))
    try:
        supervisor = record.state().supervisor
        assert supervisor is not None and [process.pid for process in supervisors_of(record)] == [
            supervisor.pid
        ]
        assert (now(record).phase, now(record).note) == ("running", "")
    finally:
        over.touch()
    await asyncio.to_thread(wait_for, "the end", lambda: record.state().is_over)
    await asyncio.to_thread(wait_for, "its supervisor's end", lambda: not supervisors_of(record))
    assert (record.state().phase, record.output.read_text()) == ("exited", "printed once\n")


def test_following_an_unreachable_job_ends_with_the_reason(own_home: Path, tmp_path: Path) -> None:
    lost = evolve(PLAN, kind="job", cluster="http://127.0.0.1:1")
    state = evolve(DEAD, external_id="raysubmit_1", cluster=lost.cluster)
    record = RunRecords(runs_folder()).create(lost, state)
    record.output.write_text("what it printed before\n")
    terminal = Terminal(tmp_path, "runs", "follow", record.id)
    assert terminal.code() == 1
    assert terminal.output() == "what it printed before\n"
    assert "job raysubmit_1 may still be running" in terminal.errors()
    assert row(record.id)["state"] == "unwatched"


def supervisors_of(record: RunRecord) -> list[psutil.Process]:
    states = [
        process
        for process in psutil.process_iter(["cmdline", "ppid"])
        if (process.info["cmdline"] or [])[-2:] == ["supervise", record.id]
    ]
    # A process that a supervisor is just starting has the supervisor's arguments until it executes its own program.
    pids = {process.pid for process in states}
    return [process for process in states if process.info["ppid"] not in pids]
