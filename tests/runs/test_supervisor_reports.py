"""A supervisor of a run that is profiled: the reports come before the end of the program, unless time is short."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from eagleray.common import tasks
from eagleray.common.retry import Backoff
from eagleray.runs.model import ProfilePlan, ProfileState, RunPlan, RunState
from eagleray.runs.output import Output
from eagleray.runs.records import RunRecord, RunRecords
from eagleray.supervisor import supervisor as supervisors
from eagleray.supervisor.launchers.launcher import LaunchedProgram, ProgramEnd
from eagleray.supervisor.report_collection import GuardedCollector
from eagleray.supervisor.supervisor import RunSupervisor

PLAN = RunPlan(kind="command", argv=("train",), cwd="/w", name="train", profile=ProfilePlan(("*",)))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisors, "STATUS_INTERVAL_S", 0.01)


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    return RunRecords(tmp_path).create(PLAN, RunState("starting", 1.0))


class World:
    """The program, what watches it and what gathers its reports; `story` is what happened, in order."""

    is_waiting = False

    def __init__(self) -> None:
        self.story: list[str] = []
        self.over = asyncio.Event()
        self.may_finish = asyncio.Event()
        self.may_rest = asyncio.Event()
        self.state = ProfileState("/here")

    # The starter.

    async def start(self) -> LaunchedProgram:
        return LaunchedProgram()

    def workers_ended(self) -> None:
        """Nothing depends on it here."""

    async def ended(self) -> ProgramEnd:
        await self.over.wait()
        self.story.append("ended")
        return ProgramEnd(0)

    async def stop(self, hurry: asyncio.Event) -> None:
        self.story.append("stop")
        self.over.set()

    # The watched run, and the reports.

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def last_poll(self) -> None: ...

    def update(self, state: RunState) -> RunState:
        return state

    def end_note(self, ending: ProgramEnd) -> str:
        return ""

    async def close(self) -> None:
        self.story.append("close")

    async def finish(self) -> None:
        self.story.append("finish")
        await self.may_finish.wait()
        self.story.append("finished")

    async def collect_rest(self) -> None:
        self.story.append("rest")
        await self.may_rest.wait()
        self.state = ProfileState("/here", "gathered", expected=1, gathered=1)
        self.story.append("rested")


async def started(record: RunRecord, world: World) -> tuple[RunSupervisor, asyncio.Task[None]]:
    async def make() -> World:
        return world

    output = Output(record.output)
    supervisor = RunSupervisor(record, output, make, world, reports=GuardedCollector(world))
    running = asyncio.create_task(supervisor.run())
    running.add_done_callback(lambda _: output.close())
    while record.state().phase != "running" or record.state().profile is None:
        await asyncio.sleep(0.01)
    return supervisor, running


async def test_reports_are_collected_before_the_program_is_ended(record: RunRecord) -> None:
    world = World()
    supervisor, running = await started(record, world)
    supervisor.stop()
    while "finish" not in world.story:
        await asyncio.sleep(0.01)
    assert record.state().phase == "stopping" and "stop" not in world.story
    world.may_finish.set()
    world.may_rest.set()
    await running
    assert world.story[:6] == ["finish", "finished", "stop", "ended", "rest", "rested"]
    state = record.state()
    assert (state.is_over, state.profile) == (
        True,
        ProfileState("/here", "gathered", expected=1, gathered=1),
    )


async def test_second_stop_skips_the_reports(record: RunRecord) -> None:
    world = World()
    supervisor, running = await started(record, world)
    supervisor.stop()
    while "finish" not in world.story:
        await asyncio.sleep(0.01)
    supervisor.stop()
    await running
    assert world.story[:3] == ["finish", "stop", "ended"]
    assert "finished" not in world.story and "rested" not in world.story


async def test_program_that_ends_has_its_reports_gathered(record: RunRecord) -> None:
    world = World()
    _, running = await started(record, world)
    world.over.set()
    while "rest" not in world.story:
        await asyncio.sleep(0.01)
    assert record.state().phase == "running" and not running.done()
    world.may_rest.set()
    await running
    assert world.story[:3] == ["ended", "rest", "rested"]
    assert (record.state().phase, record.state().code) == ("exited", 0)


class Broken(World):
    """Our own code fails wherever it can."""

    async def run(self) -> None:
        self.story.append("run")
        raise RuntimeError("running")

    async def finish(self) -> None:
        self.story.append("finish")
        raise UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed")

    async def collect_rest(self) -> None:
        raise RuntimeError("the rest")


async def test_unexpected_failure_does_not_end_the_program_without_its_reports(
    record: RunRecord,
) -> None:
    world = Broken()
    supervisor, running = await started(record, world)
    supervisor.stop()
    while record.state().note != supervisors.KEEPS_RUNNING and not running.done():
        await asyncio.sleep(0.01)
    state = record.state()
    assert (state.phase, "stop" in world.story) == ("running", False)
    assert state.profile is not None and state.profile.phase == "failed"
    assert "UnicodeEncodeError" in state.profile.sentence
    supervisor.stop()
    await running
    assert record.state().is_over and "stop" in world.story
    profile = record.state().profile
    assert profile is not None and profile.phase == "failed"


async def test_tasks_of_the_supervisor_are_restarted(
    record: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "RESTART", Backoff(0.0, 0.0))
    world = Broken()
    _, running = await started(record, world)
    # It is what watches the processes, too.
    while world.story.count("run") < 6 and not running.done():
        await asyncio.sleep(0.01)
    world.over.set()
    await running
    assert record.state().phase == "exited"


async def test_stop_that_fails_is_shown_and_can_be_repeated(record: RunRecord) -> None:
    class Stubborn(World):
        async def stop(self, hurry: asyncio.Event) -> None:
            if "stop" not in self.story:
                self.story.append("stop")
                raise TypeError("a fault of ours")
            await super().stop(hurry)

    world = Stubborn()
    world.may_finish.set()
    world.may_rest.set()
    supervisor, running = await started(record, world)
    supervisor.stop()
    while "Can't stop the program" not in record.state().note and not running.done():
        await asyncio.sleep(0.01)
    assert record.state().phase == "running" and "TypeError" in record.state().note
    supervisor.stop()
    await running
    assert record.state().phase == "cancelled"


async def test_failing_poll_does_not_end_the_supervision(record: RunRecord) -> None:
    class Blind(World):
        is_blind = False

        def update(self, state: RunState) -> RunState:
            if self.is_blind:
                self.story.append("blind")
                raise KeyError("a fault of ours")
            return state

    world = Blind()
    world.may_rest.set()
    _, running = await started(record, world)
    world.is_blind = True
    while world.story.count("blind") < 3 and not running.done():
        await asyncio.sleep(0.01)
    world.over.set()
    await running
    assert (record.state().phase, record.state().code) == ("exited", 0)


async def test_end_is_waited_for_again_after_an_unexpected_error(
    record: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "RESTART", Backoff(0.0, 0.0))

    class Lost(World):
        async def ended(self) -> ProgramEnd:
            if "lost" not in self.story:
                self.story.append("lost")
                raise OSError("a fault of ours")
            return await super().ended()

    world = Lost()
    world.may_rest.set()
    _, running = await started(record, world)
    world.over.set()
    await running
    assert "lost" in world.story and record.state().phase == "exited"


class FullDisk(World):
    """Nothing can be gathered until `room` is made."""

    room = False

    async def finish(self) -> None:
        self.story.append("finish")
        self.state = ProfileState("/here", "gathered" if self.room else "failed")


async def test_program_keeps_running_when_its_reports_cannot_be_gathered(record: RunRecord) -> None:
    world = FullDisk()
    supervisor, running = await started(record, world)
    supervisor.stop()
    while record.state().note != supervisors.KEEPS_RUNNING:
        await asyncio.sleep(0.01)
    assert (record.state().phase, world.story) == ("running", ["finish"])
    world.room = True
    world.may_rest.set()
    supervisor.stop()
    await running
    assert world.story[:3] == ["finish", "finish", "stop"]
    assert (record.state().phase, record.state().note) == ("cancelled", "")


async def test_second_stop_ends_the_program_in_any_case(record: RunRecord) -> None:
    world = FullDisk()
    world.may_rest.set()
    supervisor, running = await started(record, world)
    supervisor.stop()
    while record.state().note != supervisors.KEEPS_RUNNING:
        await asyncio.sleep(0.01)
    supervisor.stop()
    await running
    assert world.story[:3] == ["finish", "finish", "stop"]
