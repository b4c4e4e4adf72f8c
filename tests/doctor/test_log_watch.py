"""The logs of a watched cluster: the first cause, not what follows from it, with the end of its log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field
from eagleray.common.errors import EaglerayError
from eagleray.doctor import log_watch
from eagleray.doctor.log_watch import MOST_STREAMS, first_cluster_problem
from eagleray.doctor.model import Cause
from eagleray.doctor.ranking import UNKNOWN
from eagleray.doctor.rule_files import own_rules
from eagleray.ray.rows import JobRow

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
GLOO = (
    "RuntimeError: [unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to "
    "complete\n"
)
FILES = "OSError: [Errno 24] Too many open files: 'x'\n"
A, B = "a" * 56, "b" * 56


@define
class Row:
    node_id: str = "n1"
    ip: str = "10.0.0.1"
    alive: bool = True
    worker_id: str = ""


@define
class FakeLogs:
    """A dashboard whose logs the test writes."""

    names: list[str]
    alive: list[str] = field(factory=lambda: [A, B])
    queues: dict[str, asyncio.Queue[str]] = field(factory=dict)
    opened: dict[str, int] = field(factory=dict)
    closed: list[str] = field(factory=list)
    changed: asyncio.Event = field(factory=asyncio.Event)
    failures: int = 0
    ended: list[JobRow] = field(factory=list)
    # How often its jobs and its nodes were listed.
    listed: int = 0
    updates: int = 0

    async def nodes(self) -> list[Row]:
        self.updates += 1
        if self.failures:
            self.failures -= 1
            raise EaglerayError("cluster-unreachable", "Nothing answers.")
        return [Row(), Row("n2", "10.0.0.2", alive=False)]

    async def all_workers(self) -> list[Row]:
        return [Row(worker_id=worker) for worker in self.alive]

    async def jobs(self) -> list[JobRow]:
        self.listed += 1
        return self.ended

    async def log_files(self, node_id: str, pattern: str) -> list[str]:
        assert node_id == "n1"
        return self.names

    async def log_stream(self, node_id: str, filename: str, lines: int) -> AsyncIterator[str]:
        self.opened[filename] = lines
        queue = self.queues.setdefault(filename, asyncio.Queue())
        self.changed.set()
        try:
            while True:
                yield await queue.get()
        finally:
            self.closed.append(filename)

    async def write(self, filename: str, text: str) -> None:
        """Returns once the log is followed."""
        while filename not in self.opened:
            self.changed.clear()
            await self.changed.wait()
        self.queues[filename].put_nowait(text)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_watch, "_LISTING_S", 0.01)


def err(worker: str) -> str:
    return f"worker-{worker}-01000000-7.err"


async def problem(logs: FakeLogs, folder: Path, *written: tuple[str, str], **more: Any) -> Cause:
    dashboard: Any = logs
    watching = asyncio.ensure_future(first_cluster_problem(dashboard, own_rules(), folder, **more))
    for name, text in written:
        await logs.write(name, text)
    return await watching


async def test_first_cause_has_the_end_of_its_log_and_its_node(tmp_path: Path) -> None:
    logs = FakeLogs([err(A), "raylet.out", "dashboard.log"])

    cause = await problem(logs, tmp_path, (err(A), f"step 1\nkey sk-{'x' * 40}\n{OOM}after\n"))

    (evidence,) = cause.evidence
    copy = Path(evidence.path)
    assert (cause.id, evidence.node, evidence.line, copy.name) == (
        "cuda-oom",
        "10.0.0.1",
        3,
        err(A),
    )
    assert copy.read_text().splitlines()[2] == OOM.strip()
    assert "xxxx" not in copy.read_text()
    assert "dashboard.log" not in logs.opened
    assert sorted(logs.closed) == sorted(logs.opened)


async def test_lines_from_before_the_watch_are_not_reported(tmp_path: Path) -> None:
    logs = FakeLogs([err(A)])

    await problem(logs, tmp_path, (err(A), OOM))

    assert logs.opened == {err(A): 0}


async def test_cause_in_another_log_replaces_what_follows_from_it(tmp_path: Path) -> None:
    logs = FakeLogs([err(A), err(B)])

    cause = await problem(logs, tmp_path, (err(A), GLOO), (err(B), OOM))

    assert cause.id == "cuda-oom"


async def test_consequence_without_a_cause_is_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_watch, "_GRACE_S", 0.01)
    logs = FakeLogs([err(A)])

    cause = await problem(logs, tmp_path, (err(A), GLOO))

    assert (cause.id, cause.secondary) == ("gloo-timeout", True)


async def test_reported_cause_and_all_that_follows_count_no_longer(tmp_path: Path) -> None:
    logs = FakeLogs([err(A)])

    cause = await problem(
        logs, tmp_path, (err(A), OOM), (err(A), GLOO), (err(A), FILES), reported=["cuda-oom"]
    )

    assert cause.id == "ulimit-nofile"


async def test_log_of_a_new_worker_is_read_from_its_start_though_it_has_ended(
    tmp_path: Path,
) -> None:
    logs = FakeLogs([err(A)], [A])
    dashboard: Any = logs
    watching = asyncio.ensure_future(first_cluster_problem(dashboard, own_rules(), tmp_path))
    await logs.write(err(A), "fine\n")
    logs.names = [err(A), err(B)]
    await logs.write(err(B), OOM)

    (evidence,) = (await watching).evidence

    assert Path(evidence.path).name == err(B)
    assert logs.opened[err(B)] > 0


async def test_logs_of_ended_workers_are_not_followed(tmp_path: Path) -> None:
    logs = FakeLogs([err(A), err(B)], [B])

    await problem(logs, tmp_path, (err(B), OOM))

    assert list(logs.opened) == [err(B)]


async def test_few_logs_are_followed_drivers_first(tmp_path: Path) -> None:
    workers = [f"{number:056x}" for number in range(100)]
    driver = "job-driver-raysubmit_1.log"
    logs = FakeLogs([*map(err, workers), driver], workers)

    await problem(logs, tmp_path, (driver, OOM))

    assert len(logs.opened) <= MOST_STREAMS


async def test_dashboard_that_fails_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eagleray.common.tasks.RESTART", _NoPause())
    logs = FakeLogs([err(A)], failures=2)

    assert (await problem(logs, tmp_path, (err(A), OOM))).id == "cuda-oom"


class _NoPause:
    def wait_s(self, failures: int) -> float:
        return 0.0


async def test_end_of_the_watch_closes_all_streams(tmp_path: Path) -> None:
    logs = FakeLogs([err(A), err(B)])
    dashboard: Any = logs
    watching = asyncio.ensure_future(first_cluster_problem(dashboard, own_rules(), tmp_path))
    await logs.write(err(A), "fine\n")
    await logs.write(err(B), "fine\n")

    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)

    assert sorted(logs.closed) == [err(A), err(B)]


TRACEBACK = (
    'Traceback (most recent call last):\n  File "a.py", line 3, in step\n    raise NoReward(9)\n'
    "rewards.NoReward: 9\n"
)
DRIVER = "job-driver-raysubmit_1.log"


def job(status: str, submission: str = "raysubmit_1", job_id: str = "01000000") -> JobRow:
    kind: Any = "submission" if submission else "driver"
    return JobRow(job_id, submission, kind, status, "python a.py", "", "", 0, {})


async def ended_with(
    logs: FakeLogs, folder: Path, *jobs: JobRow, text: str = TRACEBACK, name: str = DRIVER
) -> asyncio.Task[Cause]:
    """A watch in which a log had a text, after its jobs have ended and were listed a few times."""
    dashboard: Any = logs
    watching = asyncio.ensure_future(first_cluster_problem(dashboard, own_rules(), folder))
    await logs.write(name, text)
    while not logs.listed:
        await asyncio.sleep(0.01)
    logs.ended = list(jobs)
    updates = logs.updates
    while logs.updates < updates + 4 and not watching.done():
        await asyncio.sleep(0.01)
    return watching


@pytest.mark.parametrize("name", [DRIVER, err(A)])
@pytest.mark.parametrize("text", [f"step 1\n{TRACEBACK}after\n", f"step 1\n{TRACEBACK}"])
async def test_traceback_of_a_job_that_has_failed_is_its_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    monkeypatch.setattr(log_watch, "_GRACE_S", 0.01)
    logs = FakeLogs([DRIVER, err(A)])

    cause = await (await ended_with(logs, tmp_path, job("FAILED"), text=text, name=name))

    (evidence,) = cause.evidence
    assert cause.id == UNKNOWN
    assert cause.sentence == "rewards.NoReward: 9"
    lines = Path(evidence.path).read_text().splitlines()
    assert (lines[evidence.line - 1], len(lines)) == ("rewards.NoReward: 9", 5)


@pytest.mark.parametrize(
    "jobs",
    [
        [],
        [job("RUNNING")],
        [job("SUCCEEDED")],
        [job("STOPPED")],
        # Another job, and a driver that wasn't submitted, whose end Ray doesn't know.
        [job("FAILED", "raysubmit_2", "02000000")],
        [job("FAILED", "")],
    ],
)
@pytest.mark.parametrize("name", [DRIVER, err(A)])
async def test_traceback_that_a_program_has_handled_is_not_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: list[JobRow], name: str
) -> None:
    monkeypatch.setattr(log_watch, "_GRACE_S", 0.01)
    logs = FakeLogs([DRIVER, err(A)])

    watching = await ended_with(logs, tmp_path, *jobs, text=f"{TRACEBACK}after\n", name=name)
    # A later line is shown as before.
    await logs.write(DRIVER, OOM)

    assert (await watching).id == "cuda-oom"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TRACEBACK.replace("rewards.NoReward: 9", "KeyboardInterrupt"), "cuda-oom"),
        ("fine\n", "cuda-oom"),
        (f"{GLOO}{TRACEBACK}", "gloo-timeout"),
    ],
)
async def test_stopped_program_and_consequences_of_an_error_are_not_unknown_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: str
) -> None:
    monkeypatch.setattr(log_watch, "_GRACE_S", 0.01)
    logs = FakeLogs([DRIVER], ended=[job("FAILED")])
    dashboard: Any = logs
    watching = asyncio.ensure_future(first_cluster_problem(dashboard, own_rules(), tmp_path))
    await logs.write(DRIVER, f"{text}after\n")
    updates = logs.updates
    while logs.updates < updates + 5 and not watching.done():
        await asyncio.sleep(0.01)
    await logs.write(DRIVER, OOM)

    assert (await watching).id == expected


async def test_jobs_are_not_listed_before_a_traceback(tmp_path: Path) -> None:
    logs = FakeLogs([DRIVER])

    await problem(logs, tmp_path, (DRIVER, "step 1\nERROR: again\n"), (DRIVER, OOM))

    assert logs.listed == 0


async def test_after_a_reported_error_a_traceback_is_noise(tmp_path: Path) -> None:
    logs = FakeLogs([DRIVER], ended=[job("FAILED")])

    cause = await problem(
        logs, tmp_path, (DRIVER, TRACEBACK), (DRIVER, OOM), reported=["ulimit-nofile"]
    )

    assert (cause.id, logs.listed) == ("cuda-oom", 0)


async def test_cause_soon_after_a_failure_replaces_its_traceback(tmp_path: Path) -> None:
    logs = FakeLogs([DRIVER, err(A)])

    watching = await ended_with(logs, tmp_path, job("FAILED"))
    await logs.write(err(A), OOM)

    assert (await watching).id == "cuda-oom"
