"""A home that several machines share: runs whose supervisor is on another machine."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.runs.adapter_gateway import AdapterRunGateway
from eagleray.runs.model import ProcessIdentity, RunPlan, RunState
from eagleray.runs.output import Output
from eagleray.runs.records import RunRecord, RunRecords
from eagleray.runs.runs import Runs
from eagleray.supervisor.supervisor import RunSupervisor

PLAN = RunPlan(kind="program", argv=("python", "x.py"), cwd="/", name="x")
THERE = RunState(
    "running",
    1.0,
    host="another",
    supervisor=ProcessIdentity(1, 1.0),
    program=ProcessIdentity(1, 1.0),
)


@pytest.fixture
def records(tmp_path: Path) -> RunRecords:
    return RunRecords(tmp_path)


def runs(records: RunRecords) -> Runs:
    return Runs(records, AdapterRunGateway(None))


def silent(record: RunRecord, seconds: float) -> None:
    at = time.time() - seconds
    os.utime(record.folder / "state.json", (at, at))


async def test_stop_on_another_machine_is_requested_by_a_file(records: RunRecords) -> None:
    record = records.create(PLAN, THERE)
    await runs(records).stop(record.id, confirmed=False)
    assert record.stop_request.exists()
    assert runs(records).listed()[0].state.phase == "running"


async def test_run_without_heartbeat_is_orphaned(records: RunRecords) -> None:
    record = records.create(PLAN, THERE)
    silent(record, 200)
    assert runs(records).listed()[0].state.phase == "running"
    with pytest.raises(EaglerayError) as raised:
        await runs(records).forget(record.id)
    assert raised.value.code == "run-lives"
    silent(record, 2000)
    assert runs(records).listed()[0].state.phase == "unwatched"
    await runs(records).forget(record.id)
    assert runs(records).listed() == []


async def test_orphaned_program_of_another_machine_is_not_reported_stopped(
    records: RunRecords,
) -> None:
    record = records.create(PLAN, THERE)
    silent(record, 2000)
    with pytest.raises(EaglerayError, match="on another") as raised:
        await runs(records).stop(record.id, confirmed=False)
    assert raised.value.code == "run-elsewhere"
    assert record.state() == THERE


async def test_supervisor_sends_heartbeats_and_reads_the_stop_request(records: RunRecords) -> None:
    record = records.create(PLAN, THERE)
    silent(record, 2000)
    record.stop_request.touch()
    clock = iter((0.0, 100.0, 100.0))
    output = Output(record.output)
    supervisor = RunSupervisor(record, output, None, Unseen(), lambda: next(clock))
    supervisor._update()
    output.close()
    assert record.silent_s() < 200
    assert not record.stop_request.exists()
    assert supervisor._stop_requested.is_set()


class Unseen:
    def update(self, state: RunState) -> RunState:
        return state
