"""When clusters are examined for what stands in their way, and what is looked at."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from eagleray.clusters import empty_list_reason
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.empty_list_reason import Examiner
from eagleray.tools.worker_processes import WorkerEnvironment

from tests.fakes.dashboard import FakeDashboard, dashboard, patient
from tests.set_clock import SetClock


class Examination:
    """An examiner over one fake cluster, whose workers run on "this machine"."""

    def __init__(self, fake: FakeDashboard) -> None:
        self.fake = fake
        self.clock = SetClock()
        self.watch = ClusterWatch(self.clock)
        self.looked: list[int] = []
        self.environment: WorkerEnvironment | None = WorkerEnvironment("/venv", True, None)
        self.changes = 0
        self.examiner = Examiner(
            self.watch, self._changed, clock=self.clock, environment_of=self._look
        )

    def _look(self, pid: int) -> WorkerEnvironment | None:
        self.looked.append(pid)
        return self.environment

    def _changed(self) -> None:
        self.changes += 1

    def codes(self) -> list[str]:
        seen = self.watch.status(self.fake.address)
        return [problem.code for problem in self.examiner.problems(seen)]


@pytest.fixture
async def one(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Examination]:
    async with dashboard() as fake:
        here = frozenset({fake.rows["nodes"][0]["node_ip"]})
        monkeypatch.setattr(empty_list_reason, "local_addresses", lambda: here)
        made = Examination(fake)
        made.watch.add(patient(fake.address), poll=False)
        await made.watch.refresh()
        yield made
        await made.examiner.close()
        await made.watch.close()


async def test_workers_of_this_machine_are_examined_once(one: Examination) -> None:
    await one.examiner.examine_all()
    assert sorted(one.looked) == sorted(row["pid"] for row in one.fake.rows["workers"])
    assert one.codes() == []
    await one.examiner.examine_all()
    assert len(one.looked) == len(one.fake.rows["workers"])
    assert one.changes == 0
    assert "/api/v0/logs" not in one.fake.paths()


async def test_missing_debugpy_is_reported_until_it_is_installed(one: Examination) -> None:
    one.environment = WorkerEnvironment("/venv", False, None)
    await one.examiner.examine_all()
    assert one.codes() == ["no-debugpy"]
    one.environment = WorkerEnvironment("/venv", True, None)
    for row in one.fake.rows["workers"]:
        row["pid"] += 1000
    await one.examiner.examine_all()
    assert one.codes() == []
    assert one.changes == 2


async def test_processes_that_cannot_be_inspected_are_judged_by_their_logs(
    one: Examination,
) -> None:
    one.environment = None
    one.fake.logs["worker-1.err"] = "RemotePdb session open at localhost:1, use 'ray debug'"
    await one.examiner.examine_all()
    assert one.codes() == ["legacy-debugger"]


async def test_no_logs_are_read_when_no_program_runs(one: Examination) -> None:
    one.environment = None
    for job in one.fake.jobs:
        job["status"] = "SUCCEEDED"
    await one.examiner.examine_all()
    assert "/api/v0/logs" not in one.fake.paths()


async def test_cluster_with_paused_workers_is_not_examined(one: Examination) -> None:
    before = len(one.fake.requests)
    one.examiner.examine_due()
    await one.examiner.close()
    assert len(one.fake.requests) == before


async def test_problems_belong_to_their_session(one: Examination) -> None:
    one.environment = WorkerEnvironment("/venv", False, None)
    await one.examiner.examine_all()
    assert one.codes() == ["no-debugpy"]
    one.fake.restart("session_another")
    one.clock.move(60.0)
    await one.watch.refresh()
    assert one.codes() == []


async def test_failed_examination_shows_no_problem(one: Examination) -> None:
    one.fake.fault = "error_500"
    await one.examiner.examine_all()
    assert one.codes() == []
