"""Runs in the adapter, with real debugpy behind real gates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapter.gated import LINE, RUN, SECRET, SOURCE, Gated, RunClient, line_of
from tests.adapter.harness import PYTHONS, AdapterProcess, ControlClient, until
from tests.dap_client import DapClient

Start = Callable[..., Gated]


@pytest.fixture
def gated(tmp_path: Path, control: ControlClient, python: str) -> Iterator[Start]:
    started: list[Gated] = []

    def start(**options: Any) -> Gated:
        started.append(Gated(tmp_path, python=python, **options))
        return started[-1]

    yield start
    control.call("run_end", run=RUN)
    for one in started:
        one.end()


@pytest.mark.parametrize("python", PYTHONS)
def test_a_waiting_worker_is_attached_to_stops_and_is_held(
    control: ControlClient, gated: Start
) -> None:
    run = RunClient(control)
    program = gated(waits=True)
    run.take(program)
    program.wait_output("attached")
    program.tell("work 1")
    held = run.wait("stopped")
    assert held["stop"]["path"] == str(SOURCE) and held["stop"]["line"] == LINE
    assert (held["name"], held["session"], held["seen"]) == ("r0 Policy", "session_1", False)
    assert run.worker()["state"] == "stopped"
    assert run.state()["lines"][0]["state"] == "verified"
    run.go_on()
    program.wait_output("work 1")
    program.tell("work 2")
    run.wait("stopped")
    control.call("run_end", run=RUN)
    program.wait_output("work 2")
    assert program.wait_done().endswith("done\n")
