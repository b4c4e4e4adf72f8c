"""Requests of a window or a terminal about profiled runs: recordings, and gathering with or without a supervisor."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn, cast
from unittest.mock import Mock

import pytest
from attrs import evolve
from eagleray.common.errors import EaglerayError
from eagleray.common.paths import host_name
from eagleray.profile.recordings import collector
from eagleray.profile.recordings import profiling as profiling_module
from eagleray.profile.recordings.collector import ReportCollectorFactory
from eagleray.profile.recordings.model import RunProfile
from eagleray.profile.recordings.profiling import Profiling, RunProfiles
from eagleray.runs.adapter_gateway import AdapterRunGateway
from eagleray.runs.model import (
    ProcessIdentity,
    ProfilePlan,
    ProfileState,
    RunPlan,
    RunState,
    WorkerProfile,
)
from eagleray.runs.records import RunRecords
from eagleray.runs.runs import Runs
from eagleray.tools.commands import Commands
from eagleray.tools.processes import born

from tests.profile.recordings.reports import RUN, put, status


class FakeProfiles(RunProfiles):
    """One run, which is profiled or not."""

    def __init__(self, run: RunProfile | None) -> None:
        self.run = run

    def listed(self) -> list[RunProfile]:
        return [self.run] if self.run else []

    def find(self, written: str) -> RunProfile | None:
        return self.run

    async def end(self, run: str) -> None:
        raise AssertionError("it is not to be ended")

    async def save(self, run: str, state: ProfileState) -> None: ...


class FakeGateway:
    def __init__(self, count: int) -> None:
        self.count = count
        self.requests: list[object] = []

    async def record(self, *requests: object) -> int:
        self.requests.append(requests)
        return self.count

    async def stop_recording(self, *requests: object) -> int:
        self.requests.append(requests)
        return self.count


async def nobody(*requests: object, **more: object) -> NoReturn:
    raise AssertionError(f"nobody is to be asked {requests}")


def profiling(profiles: FakeProfiles, gateway: FakeGateway, dashboard: Any = nobody) -> Profiling:
    """Without a dashboard, it contacts no cluster and runs no command on another machine."""
    adapters: Any = Mock(open_socket=nobody)
    gateway = cast(AdapterRunGateway, gateway)
    collectors = ReportCollectorFactory(
        Commands(nobody), adapters, lambda cluster, host: [], gateway
    )
    return Profiling(profiles, gateway, collectors, dashboard)


async def test_recording_needs_a_profiled_run_with_a_live_worker() -> None:
    run = RunProfile("r", Path("/t"), Path("/o"), "c", False, True, None)

    gateway = FakeGateway(2)
    assert await profiling(FakeProfiles(run), gateway).record("r", ["w1"], 3.0) == 2
    assert await profiling(FakeProfiles(run), gateway).stop("r", []) == 2
    assert gateway.requests == [("r", ["w1"], 3.0), ("r", [])]
    for made, code in (
        (profiling(FakeProfiles(run), FakeGateway(0)), "nobody-records"),
        (profiling(FakeProfiles(evolve(run, is_over=True)), gateway), "nobody-records"),
        (profiling(FakeProfiles(None), gateway), "not-profiled"),
    ):
        with pytest.raises(EaglerayError) as raised:
            await made.record("r", [])
        assert raised.value.code == code


def without_nsys(why: str) -> WorkerProfile:
    problem = f"Node vm: {why}; worker 'Policy' runs without nsys."
    return WorkerProfile("k", "w1", 7, "Policy", "vm", "missing", problem=problem)


INSTALL = "Install Nsight Systems there, or enter its path in the options."
FAILED = "nsys cannot be used: broken"


@pytest.mark.parametrize(
    ("workers", "message", "next_step"),
    [
        ([], "No running worker of train.py is being profiled.", "Wait for a worker"),
        (
            [without_nsys("there is no nsys at /opt/nsys")],
            "The workers of train.py run without nsys.",
            INSTALL,
        ),
        ([without_nsys(FAILED)], "The workers of train.py run without nsys.", f"Node vm: {FAILED}"),
        (
            [without_nsys("there is no nsys"), WorkerProfile("l", "w2", 8, "P", "vm", "ended")],
            "No running worker of train.py is being profiled.",
            "Wait for a worker",
        ),
    ],
)
async def test_recording_names_the_run_and_why_no_worker_records(
    workers: list[WorkerProfile], message: str, next_step: str
) -> None:
    state = ProfileState("/o", workers=tuple(workers))
    run = RunProfile("r", Path("/t"), Path("/o"), "c", False, True, state, name="train.py")
    for action in ("record", "stop"):
        made = profiling(FakeProfiles(run), FakeGateway(0))
        with pytest.raises(EaglerayError) as raised:
            await getattr(made, action)("r", [])
        assert raised.value.message == message
        assert raised.value.next_step.startswith(next_step)


async def test_gather_follows_the_supervisor_until_nothing_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(profiling_module, "POLL_INTERVAL_S", 0.0)
    monkeypatch.setattr(profiling_module, "UNREACHABLE_LIMIT_S", 0.05)
    run = RunProfile("r", Path("/t"), Path("/o"), "c", False, True, None)
    profiles = FakeProfiles(evolve(run, state=ProfileState("/o", "writing", expected=1)))
    made = profiling(profiles, FakeGateway(0))
    counts: list[int] = []

    def on_progress(state: ProfileState) -> None:
        counts.append(state.gathered)
        profiles.run = evolve(run, state=ProfileState("/o", expected=2, gathered=1))

    assert (await made.gather("r", on_progress)).gathered == 1
    assert counts[:2] == [0, 1]
    profiles.run = evolve(run, state=ProfileState("/o", "failed", "No room."))
    with pytest.raises(EaglerayError, match="No room"):
        await made.gather("r", lambda state: None)


async def test_gather_right_after_a_stop_waits_for_the_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The supervisor has not looked since."""
    monkeypatch.setattr(profiling_module, "POLL_INTERVAL_S", 0.0)
    steps = [
        ProfileState("/o", "recording"),
        ProfileState("/o", "writing"),
        ProfileState("/o", "idle", expected=1, gathered=1),
    ]
    profiles = FakeProfiles(RunProfile("r", Path("/t"), Path("/o"), "c", False, True, steps[0]))
    made = profiling(profiles, FakeGateway(0))

    def on_progress(_: ProfileState) -> None:
        assert profiles.run is not None
        profiles.run = evolve(profiles.run, state=steps.pop(0) if len(steps) > 1 else steps[0])

    assert (await made.gather("r", on_progress)).gathered == 1


class Finished(FakeProfiles):
    """A run whose supervisor has been asked to end it."""

    async def end(self, run: str) -> None: ...


async def test_gather_collects_what_an_ended_supervisor_left(tmp_path: Path) -> None:
    put(tmp_path / "there", "p.nsys-rep", b"one")
    state = ProfileState("/o", "writing", expected=1)
    run = RunProfile(RUN, tmp_path / "there", tmp_path / "here", "", False, True, state)
    profiles = Finished(run)
    made = profiling(profiles, FakeGateway(0))

    def on_progress(_: ProfileState) -> None:
        profiles.run = evolve(run, is_supervised=False)

    assert (await made.gather(RUN, on_progress, finish=True)).gathered == 1
    assert stat.S_IMODE((tmp_path / "here").stat().st_mode) == 0o700


async def test_finish_without_room_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(profiling_module, "POLL_INTERVAL_S", 0.0)
    monkeypatch.setattr(profiling_module, "UNREACHABLE_LIMIT_S", 0.05)
    run = RunProfile("r", Path("/t"), Path("/o"), "c", False, True, None)
    profiles = Finished(evolve(run, state=ProfileState("/o", "failed", "No room.")))
    made = profiling(profiles, FakeGateway(0))
    with pytest.raises(EaglerayError, match="No room"):
        await made.gather("r", lambda state: None, finish=True)


async def test_unsupervised_program_ends_after_its_reports_are_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else ends its recordings, and the disk with its reports may end with the program."""
    monkeypatch.setattr(collector, "REACTION_LIMIT_S", 0.0)
    story: list[str] = []

    class Ended(FakeProfiles):
        async def end(self, run: str) -> None:
            story.append("end")
            self.run = evolve(orphan, is_over=True)

    class Records(FakeGateway):
        async def stop_recording(self, *requests: object) -> int:
            story.append("stop recording")
            put(tmp_path / "there", "p.nsys-rep", b"one")
            (tmp_path / "there" / "p.worker.json").write_bytes(
                status("armed", reports=["p.nsys-rep"])
            )
            return await super().stop_recording(*requests)

    def on_progress(state: ProfileState) -> None:
        if state.gathered and "gathered" not in story:
            story.append("gathered")

    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "p.worker.json").write_bytes(status("recording"))
    orphan = RunProfile(RUN, tmp_path / "there", tmp_path / "here", "", False, False, None)
    state = await profiling(Ended(orphan), Records(1)).gather(RUN, on_progress, finish=True)
    assert (state.gathered, story) == (1, ["stop recording", "gathered", "end"])


async def test_gather_leaves_reports_to_a_new_supervisor(tmp_path: Path) -> None:
    """A job elsewhere whose supervisor died gets one when it is to end."""
    orphan = RunProfile(RUN, tmp_path / "there", tmp_path / "here", "", False, False, None)
    by_supervisor = ProfileState("/o", "gathered", expected=7, gathered=7)

    class Adopted(FakeProfiles):
        async def end(self, run: str) -> None:
            self.run = evolve(orphan, is_supervised=True)

    profiles = Adopted(orphan)

    def on_progress(state: ProfileState) -> None:
        if profiles.run is not None and profiles.run.is_supervised:
            profiles.run = evolve(profiles.run, is_over=True, state=by_supervisor)

    assert (
        await profiling(profiles, FakeGateway(0)).gather(RUN, on_progress, finish=True)
        == by_supervisor
    )


async def test_finishing_a_batch_job_needs_no_confirmation(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:
        supervisor = ProcessIdentity(process.pid, born(process.pid))
        plan = RunPlan(
            kind="sbatch",
            argv=("sbatch", "x.sub"),
            cwd="/",
            name="x.sub",
            profile=ProfilePlan(("*",)),
        )
        state = RunState("running", 1.0, host=host_name(), supervisor=supervisor, external_id="77")
        records = RunRecords(tmp_path)
        await RunProfiles(Runs(records, AdapterRunGateway(None))).end(
            records.create(plan, state).id
        )
        assert process.wait(60) == -signal.SIGTERM
