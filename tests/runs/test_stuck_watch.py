"""A run that prints nothing: when a picture is taken of it, and what becomes of that."""

from __future__ import annotations

import asyncio
import json
import stat
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from attrs import evolve
from eagleray.common.errors import EaglerayError
from eagleray.common.retry import WATCHED_JOB, PollSchedule
from eagleray.observe.hangs import picture_files
from eagleray.observe.hangs.model import (
    VERSION,
    Coverage,
    FrameRow,
    Picture,
    StackClass,
    VerdictRow,
)
from eagleray.runs.model import RunState
from eagleray.runs.planner import valid_watch
from eagleray.supervisor.stuck_watch import MOST_PICTURES, StuckWatch

from tests.ray_cluster import wait_for
from tests.runs.terminal import Terminal, eagleray, row

QUIET_S = 300.0
STATE = RunState("running", 1.0)


def picture(kind: str = "straggler", taken_at: float = 1000.0) -> Picture:
    verdict = VerdictRow(kind, "2", 0.8, "Rank 2 does not move.", "Look inside.", "w", ())
    frames = (FrameRow("load", "/w/train.py", 7, False, True),)
    classes = (StackClass("w", "2", "code", "MainThread", frames),)
    return Picture(VERSION, taken_at, verdict, classes, (), Coverage(4, (), ()))


class Site:
    """The output, the clock and the pictures of a run that is watched."""

    def __init__(self, folder: Path, again: PollSchedule | None = None) -> None:
        self.size = 0
        self.now = 0.0
        self.state = STATE
        self.is_waiting = False
        self.taken: list[RunState] = []
        self.answer: Callable[[], Awaitable[Picture | None]] = self.stuck
        self.folder = folder / "pictures"
        self.watch = StuckWatch(
            self.folder,
            QUIET_S,
            lambda: self.size,
            self.take,
            None,
            lambda: again,
            lambda: self.now,
        )

    async def stuck(self) -> Picture:
        return picture(taken_at=1000.0 + self.now)

    async def take(self, state: RunState) -> Picture | None:
        self.taken.append(state)
        return await self.answer()

    async def after(self, seconds: float, printed: int = 0) -> RunState:
        """The state after so long, in which the run has printed so much."""
        self.now += seconds
        self.size += printed
        self.watch.update(self.state, is_waiting=self.is_waiting)
        while self.watch.is_taking:
            await asyncio.sleep(0.001)
        self.state = self.watch.update(self.state, is_waiting=self.is_waiting)
        return self.state


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


async def test_quiet_run_gets_one_picture_until_it_prints_again(site: Site) -> None:
    assert (await site.after(0)).picture is None
    assert (await site.after(QUIET_S - 1)).picture is None
    stuck = (await site.after(1)).picture
    assert stuck is not None and stuck.is_stuck
    assert stuck.sentence == "Rank 2 does not move."
    await site.after(10 * QUIET_S)
    assert len(site.taken) == 1
    still = (await site.after(1, printed=1)).picture
    assert still == evolve(stuck, is_stuck=False)
    await site.after(QUIET_S)
    assert len(site.taken) == 2


async def test_picture_is_readable_by_its_user_alone(site: Site) -> None:
    await site.after(0)
    stuck = (await site.after(QUIET_S)).picture
    assert stuck is not None
    path = Path(stuck.path)
    assert picture_files.load(path) == picture(taken_at=stuck.taken_at)
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(site.folder.stat().st_mode)) == (
        0o600,
        0o700,
    )


async def test_run_that_only_prints_little_is_not_called_stuck(site: Site) -> None:
    async def slow() -> Picture:
        return picture("slow")

    site.answer = slow
    await site.after(0)
    assert (await site.after(QUIET_S)).picture is None
    assert (await site.after(QUIET_S - 1)).picture is None
    assert len(site.taken) == 1
    await site.after(1)
    assert len(site.taken) == 2
    assert not site.folder.exists()


async def test_steps_of_a_slurm_job_become_rare_until_it_prints_again(tmp_path: Path) -> None:
    site = Site(tmp_path, WATCHED_JOB)

    async def slow() -> Picture:
        return picture("slow")

    site.answer = slow
    times: list[float] = []
    await site.after(0)
    while site.now < 4 * 3600:
        before = len(site.taken)
        await site.after(60)
        times += [site.now] * (len(site.taken) - before)
    assert times[:11] == [QUIET_S * each for each in range(1, 12)]
    assert [time - times[10] for time in times[11:]] == [3600, 2 * 3600, 3 * 3600]
    await site.after(60, printed=1)
    taken = len(site.taken)
    await site.after(QUIET_S)
    assert len(site.taken) == taken + 1


async def test_time_in_a_queue_is_not_counted(site: Site) -> None:
    site.is_waiting = True
    await site.after(10 * QUIET_S)
    site.is_waiting = False
    await site.after(QUIET_S - 1)
    assert site.taken == []
    await site.after(1)
    assert len(site.taken) == 1


async def test_worker_at_a_breakpoint_is_not_a_reason_for_a_picture(site: Site) -> None:
    site.state = evolve(STATE, phase="paused")
    await site.after(0)
    await site.after(10 * QUIET_S)
    site.state = evolve(site.state, phase="running")
    await site.after(QUIET_S - 1)
    assert site.taken == []


@pytest.mark.parametrize(
    "error", [EaglerayError("unreachable", "The cluster is gone."), OSError(28, "disk full")]
)
async def test_failed_picture_is_tried_again_after_as_long(site: Site, error: Exception) -> None:
    async def fails() -> Picture:
        raise error

    site.answer = fails
    await site.after(0)
    failed = await site.after(QUIET_S)
    assert failed.picture is None
    if isinstance(error, EaglerayError):
        assert failed.note == "No picture of the stacks: The cluster is gone."
    site.answer = site.stuck
    assert (await site.after(QUIET_S - 1)).picture is None
    stuck = await site.after(1)
    assert (stuck.picture is None, stuck.note) == (False, "")


async def test_picture_without_any_stack_is_a_note_and_no_hang(site: Site) -> None:
    async def empty() -> Picture:
        return evolve(picture("unknown"), classes=())

    site.answer = empty
    await site.after(0)
    state = await site.after(QUIET_S)
    assert (state.picture, site.folder.exists()) == (None, False)
    assert state.note == "No picture of the stacks: none of them could be read."


async def test_note_of_a_failed_picture_replaces_no_other_and_ends_with_the_run(site: Site) -> None:
    async def fails() -> Picture:
        raise EaglerayError("unreachable", "The cluster is gone.")

    site.answer = fails
    await site.after(0)
    failed = await site.after(QUIET_S)
    assert failed.note and site.watch.last_state(failed).note == ""
    site.state = evolve(failed, note="Something else.")
    assert (await site.after(QUIET_S)).note == "Something else."


async def test_output_ends_a_picture_that_is_being_taken(site: Site) -> None:
    never = asyncio.Event()

    async def long() -> Picture:
        await never.wait()
        return picture()

    site.answer = long
    await site.after(0)
    site.now += QUIET_S
    site.watch.update(site.state)
    await asyncio.sleep(0)
    assert len(site.taken) == 1
    assert (await site.after(1, printed=1)).picture is None


async def test_only_the_last_pictures_are_kept(site: Site) -> None:
    await site.after(0)
    for _ in range(MOST_PICTURES + 2):
        await site.after(QUIET_S)
        await site.after(1, printed=1)
    assert len(list(site.folder.iterdir())) == MOST_PICTURES


@pytest.mark.parametrize("minutes", [-1.0, 1441.0, float("nan"), float("inf")])
def test_watch_of_no_length_is_refused(minutes: float) -> None:
    with pytest.raises(EaglerayError) as raised:
        valid_watch(minutes)
    assert raised.value.code == "bad-watch"


HANGING = """
import pathlib, sys, threading, time

def wait_for_engine(file):
    while not file.exists():
        time.sleep(0.2)

print("starts", flush=True)
wait_for_engine(pathlib.Path(sys.argv[1]))
print("goes on", flush=True)
wait_for_engine(pathlib.Path(sys.argv[2]))
"""


def test_hanging_program_gets_a_picture_and_loses_its_mark_when_it_prints(
    own_home: Path, tmp_path: Path
) -> None:
    program = tmp_path / "hanging.py"
    program.write_text(HANGING)
    engine, end = tmp_path / "engine", tmp_path / "end"
    command = (sys.executable, str(program), str(engine), str(end))
    terminal = Terminal(tmp_path, "run", "--watch", "0.05", "--", *command)
    run = terminal.run_id()
    wait_for("the picture", lambda: (row(run)["picture"] or {}).get("is_stuck"))
    path = row(run)["picture"]["path"]
    shown = json.loads(eagleray(tmp_path, "stacks", "--open", path, "--json"))
    functions = {frame["function"] for each in shown["classes"] for frame in each["frames"]}
    assert "wait_for_engine" in functions
    engine.touch()
    wait_for("output", lambda: not row(run)["picture"]["is_stuck"])
    end.touch()
    assert terminal.code() == 0
    assert "eagleray stacks --open" in terminal.errors()
    assert row(run)["picture"]["is_stuck"] is False
