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
from eagleray.features.profiling import collector
from eagleray.features.profiling import profiling as profiling_module
from eagleray.features.profiling.collector import ReportCollectorFactory
from eagleray.features.profiling.model import RunProfile
from eagleray.features.profiling.profiling import Profiling, RunProfiles
from eagleray.features.runs.adapter_gateway import AdapterRunGateway
from eagleray.features.runs.model import (
    ProcessIdentity,
    ProfilePlan,
    ProfileState,
    RunPlan,
    RunState,
)
from eagleray.features.runs.records import RunRecords
from eagleray.features.runs.runs import Runs
from eagleray.tools.commands import Commands
from eagleray.tools.processes import born

from tests.profiling.reports import RUN, put, status


class Known(RunProfiles):
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


class Gates:
    def __init__(self, count: int) -> None:
        self.count = count
        self.asked: list[object] = []

    async def record(self, *asked: object) -> int:
        self.asked.append(asked)
        return self.count

    async def stop_recording(self, *asked: object) -> int:
        self.asked.append(asked)
        return self.count


async def nobody(*asked: object, **more: object) -> NoReturn:
    raise AssertionError(f"nobody is to be asked {asked}")


def profiling(known: Known, gates: Gates, dashboard: Any = nobody) -> Profiling:
    """Without a dashboard, it contacts no cluster and runs no command on another machine."""
    adapters: Any = Mock(open_socket=nobody)
    gateway = cast(AdapterRunGateway, gates)
    collectors = ReportCollectorFactory(
        Commands(nobody), adapters, lambda cluster, host: [], gateway
    )
    return Profiling(known, gateway, collectors, dashboard)


async def test_recording_needs_a_profiled_run_with_a_live_worker() -> None:
    run = RunProfile("r", Path("/t"), Path("/o"), "c", False, True, None)

    gates = Gates(2)
    assert await profiling(Known(run), gates).record("r", ["w1"], 3.0) == 2
    assert await profiling(Known(run), gates).stop("r", []) == 2
    assert gates.asked == [("r", ["w1"], 3.0), ("r", [])]
    for made, code in (
        (profiling(Known(run), Gates(0)), "nobody-records"),
        (profiling(Known(evolve(run, is_over=True)), gates), "nobody-records"),
        (profiling(Known(None), gates), "not-profiled"),
    ):
        with pytest.raises(EaglerayError) as raised:
            await made.record("r", [])
        assert raised.value.code == code


async def test_gather_follows_the_supervisor_until_nothing_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(profiling_module, "POLL_INTERVAL_S", 0.0)
    monkeypatch.setattr(profiling_module, "UNREACHABLE_LIMIT_S", 0.05)
    run = RunProfile("r", Path("/t"), Path("/o"), "c", False, True, None)
    known = Known(evolve(run, state=ProfileState("/o", "writing", expected=1)))
    made = profiling(known, Gates(0))
    told: list[int] = []

    def tell(seen: ProfileState) -> None:
        told.append(seen.gathered)
        known.run = evolve(run, state=ProfileState("/o", expected=2, gathered=1))

    assert (await made.gather("r", tell)).gathered == 1
    assert told[:2] == [0, 1]
    known.run = evolve(run, state=ProfileState("/o", "failed", "No room."))
    with pytest.raises(EaglerayError, match="No room"):
        await made.gather("r", lambda seen: None)


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
    known = Known(RunProfile("r", Path("/t"), Path("/o"), "c", False, True, steps[0]))
    made = profiling(known, Gates(0))

    def tell(_: ProfileState) -> None:
        assert known.run is not None
        known.run = evolve(known.run, state=steps.pop(0) if len(steps) > 1 else steps[0])

    assert (await made.gather("r", tell)).gathered == 1


class Finished(Known):
    """A run whose supervisor has been asked to end it."""

    async def end(self, run: str) -> None: ...


async def test_gather_collects_what_an_ended_supervisor_left(tmp_path: Path) -> None:
    put(tmp_path / "there", "p.nsys-rep", b"one")
    seen = ProfileState("/o", "writing", expected=1)
    run = RunProfile(RUN, tmp_path / "there", tmp_path / "here", "", False, True, seen)
    known = Finished(run)
    made = profiling(known, Gates(0))

    def tell(_: ProfileState) -> None:
        known.run = evolve(run, is_supervised=False)

    assert (await made.gather(RUN, tell, finish=True)).gathered == 1
    assert stat.S_IMODE((tmp_path / "here").stat().st_mode) == 0o700


async def test_finish_without_room_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(profiling_module, "POLL_INTERVAL_S", 0.0)
    monkeypatch.setattr(profiling_module, "UNREACHABLE_LIMIT_S", 0.05)
    run = RunProfile("r", Path("/t"), Path("/o"), "c", False, True, None)
    known = Finished(evolve(run, state=ProfileState("/o", "failed", "No room.")))
    made = profiling(known, Gates(0))
    with pytest.raises(EaglerayError, match="No room"):
        await made.gather("r", lambda seen: None, finish=True)


async def test_unsupervised_program_ends_after_its_reports_are_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else ends its recordings, and the disk with its reports may end with the program."""
    monkeypatch.setattr(collector, "REACTION_LIMIT_S", 0.0)
    story: list[str] = []

    class Ended(Known):
        async def end(self, run: str) -> None:
            story.append("end")
            self.run = evolve(unkept, is_over=True)

    class Records(Gates):
        async def stop_recording(self, *asked: object) -> int:
            story.append("stop recording")
            put(tmp_path / "there", "p.nsys-rep", b"one")
            (tmp_path / "there" / "p.worker.json").write_bytes(
                status("armed", reports=["p.nsys-rep"])
            )
            return await super().stop_recording(*asked)

    def tell(seen: ProfileState) -> None:
        if seen.gathered and "gathered" not in story:
            story.append("gathered")

    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "p.worker.json").write_bytes(status("recording"))
    unkept = RunProfile(RUN, tmp_path / "there", tmp_path / "here", "", False, False, None)
    seen = await profiling(Ended(unkept), Records(1)).gather(RUN, tell, finish=True)
    assert (seen.gathered, story) == (1, ["stop recording", "gathered", "end"])


async def test_gather_leaves_reports_to_a_new_supervisor(tmp_path: Path) -> None:
    """A job elsewhere whose supervisor died gets one when it is to end."""
    unkept = RunProfile(RUN, tmp_path / "there", tmp_path / "here", "", False, False, None)
    by_supervisor = ProfileState("/o", "gathered", expected=7, gathered=7)

    class Adopted(Known):
        async def end(self, run: str) -> None:
            self.run = evolve(unkept, is_supervised=True)

    known = Adopted(unkept)

    def tell(seen: ProfileState) -> None:
        if known.run is not None and known.run.is_supervised:
            known.run = evolve(known.run, is_over=True, state=by_supervisor)

    assert await profiling(known, Gates(0)).gather(RUN, tell, finish=True) == by_supervisor


async def test_finishing_a_batch_job_needs_no_confirmation(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:
        supervisor = ProcessIdentity(process.pid, born(process.pid))
        plan = RunPlan("sbatch", ("sbatch", "x.sub"), "/", "x.sub", profile=ProfilePlan(("*",)))
        state = RunState("running", 1.0, host=host_name(), supervisor=supervisor, external_id="77")
        records = RunRecords(tmp_path)
        await RunProfiles(Runs(records, AdapterRunGateway(None))).end(
            records.create(plan, state).id
        )
        assert process.wait(60) == -signal.SIGTERM
