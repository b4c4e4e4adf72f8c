"""A terminal that waits for a run, and leaves it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve
from eagleray.cli.runs.run_following import INTERRUPTED, Follower, _attend
from eagleray.common.errors import EaglerayError
from eagleray.common.paths import host_name
from eagleray.runs.model import ProcessIdentity, RunPlan, RunState, RunWorkerStatus
from eagleray.runs.records import RunRecords
from eagleray.tools.processes import born


async def test_user_can_leave_a_run_that_cannot_be_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def stop(run: str, *, confirmed: bool) -> None:
        raise EaglerayError("runs-elsewhere", "It can't be stopped from here.")

    ours = ProcessIdentity(os.getpid(), born(os.getpid()))
    state = RunState("running", 1.0, host=host_name(), supervisor=ours, program=ours)
    record = RunRecords(tmp_path).create(
        RunPlan(kind="program", argv=("python", "x.py"), cwd="/", name="x"), state
    )
    foreground: Any = SimpleNamespace(
        is_done=False, code=None, changed=asyncio.Event(), on_interrupt=None
    )
    is_followed = asyncio.Event()
    foreground.match_terminal = is_followed.set
    parts: Any = SimpleNamespace(runs=SimpleNamespace(stop=stop))
    attending = asyncio.create_task(_attend(Follower(parts, record), foreground, record))
    await is_followed.wait()
    foreground.on_interrupt()
    assert await asyncio.wait_for(attending, 60) == INTERRUPTED
    assert "It can't be stopped from here." in capsys.readouterr().err


async def test_each_stop_is_announced_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A worker in a loop stops at the same line again before its run between the stops is seen."""
    ours = ProcessIdentity(os.getpid(), born(os.getpid()))
    state = RunState("running", 1.0, host=host_name(), supervisor=ours, program=ours)
    record = RunRecords(tmp_path).create(
        RunPlan(kind="program", argv=("python", "x.py"), cwd="/", name="x"), state
    )
    nothing: Any = SimpleNamespace()
    following = Follower(nothing, record)
    unlocated = RunWorkerStatus("w1", 7, "driver", "x.py", "paused", (), stop=1)
    first = evolve(unlocated, path="/w/x.py", line=3)
    held, second = evolve(first, state="held"), evolve(first, stop=2)
    for worker in (
        first,
        first,
        held,
        second,
        second,
        evolve(unlocated, stop=3),
        evolve(first, stop=3),
        evolve(first, stop=4, rank="1"),
    ):
        record.write_state(evolve(state, workers=(worker,)))
        assert not following.is_over()
    printed = [line for line in capsys.readouterr().err.splitlines() if "paused" in line]
    assert printed[0] == "[eagleray] x.py paused at x.py:3"
    assert printed[-3:] == [
        "[eagleray] x.py paused at x.py:3",
        "[eagleray] x.py paused",
        "[eagleray] x.py (rank 1) paused at x.py:3",
    ]


async def test_steps_in_an_editor_are_not_announced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = ProcessIdentity(os.getpid(), born(os.getpid()))
    state = RunState("running", 1.0, host=host_name(), supervisor=ours, program=ours)
    record = RunRecords(tmp_path).create(
        RunPlan(kind="program", argv=("python", "x.py"), cwd="/", name="x"), state
    )
    nothing: Any = SimpleNamespace()
    following = Follower(nothing, record)
    paused = RunWorkerStatus("w1", 7, "driver", "x.py", "paused", (), path="/w/x.py", line=3)
    step = evolve(paused, state="debugging", line=4, stop=2)
    running = evolve(paused, state="running", path="", line=0)
    for worker in (
        evolve(step, stop=1),
        step,
        # A step that takes long.
        running,
        evolve(step, stop=3),
        evolve(step, state="held", stop=3),
        running,
        evolve(paused, stop=4),
    ):
        record.write_state(evolve(state, workers=(worker,)))
        assert not following.is_over()
    printed = [line for line in capsys.readouterr().err.splitlines() if "x.py paused" in line]
    assert printed == [f"[eagleray] x.py paused at x.py:{line}" for line in (4, 3)]
