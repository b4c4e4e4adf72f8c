"""A wave that loses its server in the middle: it ends, keeps what is done, and says what happened."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from attrs import evolve
from eagleray.cli.rollouts.agent_texts import wave_lines
from eagleray.rollouts.agents.editor_waves import report_of
from eagleray.rollouts.agents.model import Mode, Observed, WaveProgress

from tests.adapter.cut_link import CutLink
from tests.engine.fixtures import Engine, serving
from tests.ray_cluster import wait_for
from tests.rollouts.observed import observe
from tests.rollouts.test_model_waves import plan_for

# Items 5 to 8 have no end, and their runs fail; the others were done before.
DONE, FAILED = 8, 8


async def lost(
    engine: Engine, lose: Callable[[], None], trace: Path, mode: Mode = "inline"
) -> Observed:
    """The wave that `lose` takes the server from, once all runs are done that have an end."""
    is_lost = False

    def on_progress(progress: WaveProgress) -> None:
        nonlocal is_lost
        if not is_lost and progress.done == DONE:
            is_lost = True
            lose()

    plan = plan_for(engine, "Turns", groups=8, group_size=2, mode=mode)
    before = children()
    observed = await observe(plan, on_progress=on_progress, trace=trace)
    assert is_lost
    wait_for("the end of its processes", lambda: children() == before)
    return observed


def children() -> set[int]:
    return {process.pid for process in psutil.Process().children(recursive=True)}


def assert_kept(observed: Observed, trace: Path, reasons: tuple[str, ...]) -> None:
    """Done runs are there with their traces, the others say why, and the summary how many they are."""
    assert [run.outcome for run in observed.runs] == ["done"] * DONE + ["failed"] * FAILED
    assert observed.ending == "" and not observed.is_stuck
    for run in observed.runs[DONE:]:
        assert run.error is not None
        assert run.error.message in [f"Connection error. ({reason})" for reason in reasons]
    traces = [json.loads(line) for line in trace.read_text().splitlines()]
    assert sorted(each["index"] for each in traces) == list(range(DONE + FAILED))
    assert sum(each["reward"] == 1.0 for each in traces) == DONE
    lines = wave_lines(observed)
    assert lines[0].startswith("16 runs: 8 done, 8 failed in ")
    assert report_of(observed, str(trace)).ending == lines[-1]


@pytest.mark.parametrize("mode", ["inline", "subproc"])
async def test_server_that_is_killed_fails_the_runs_that_are_left(
    own_home: Path, tmp_path: Path, mode: Mode
) -> None:
    with serving() as engine:
        trace = tmp_path / "trace.jsonl"
        observed = await lost(engine, lambda: os.kill(engine.pid, signal.SIGKILL), trace, mode)
    assert_kept(observed, trace, ("ConnectError: All connection attempts failed",))
    assert wave_lines(observed)[-1] == "8 runs failed because the server can't be reached."


@pytest.mark.parametrize(
    ("is_refused", "sentence"),
    [
        (True, "8 runs failed because the server can't be reached."),
        (False, "8 runs failed because the connection to the server was lost."),
    ],
)
async def test_link_that_is_cut_fails_the_runs_that_are_left(
    own_home: Path, engine: Engine, tmp_path: Path, is_refused: bool, sentence: str
) -> None:
    with CutLink() as link:
        link.target_port = urlsplit(engine.url).port or 0
        linked = evolve(engine, address=f"http://127.0.0.1:{link.port}")
        trace = tmp_path / "trace.jsonl"
        observed = await lost(linked, lambda: link.cut(is_refused), trace)
    refused = ("ConnectError: All connection attempts failed",)
    lost_later = (
        "ReadError",
        "RemoteProtocolError: Server disconnected without sending a response.",
    )
    assert_kept(observed, trace, refused if is_refused else lost_later)
    assert wave_lines(observed)[-1] == sentence


async def test_link_that_is_back_at_once_fails_no_run(
    own_home: Path, engine: Engine, tmp_path: Path
) -> None:
    with CutLink() as link:
        link.target_port = urlsplit(engine.url).port or 0
        linked = evolve(engine, address=f"http://127.0.0.1:{link.port}")

        def cut_once(progress: WaveProgress) -> None:
            if progress.totals.requests > 8 and not was_cut:
                was_cut.append(True)
                link.cut(False)
                link.restore()

        was_cut: list[bool] = []
        plan = plan_for(linked, "Turns", groups=4, group_size=8)
        observed = await observe(plan, on_progress=cut_once)
    assert was_cut
    assert [run.outcome for run in observed.runs] == ["done"] * 32
