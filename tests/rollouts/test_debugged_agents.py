"""An agent under the real debugger: it stops in `run`, whichever way it gets its server, and is called by its class."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from eagleray.app import App, Settings
from eagleray.protocol.runs import Breakpoint, LineBreakpoint
from eagleray.rollouts.agents import debug_runs
from eagleray.rollouts.agents.debug_runs import DebugAgent
from eagleray.rollouts.agents.model import Mode

from tests.ray_cluster import wait_for
from tests.real_ray.command import Command, stand
from tests.runs.terminal import row

AGENT = """\
class Solver:
    async def run(self, data, **extra_kwargs):
        doubled = data["n"] * 2
        return float(doubled)
"""


@pytest_asyncio.fixture
async def app(own_home: Path) -> AsyncIterator[App]:
    app = App(Settings("off", "off"))
    yield app
    await app.close()


@pytest.mark.parametrize("mode", ["inline", "subproc"])
async def test_agent_stops_in_run_and_steps(app: App, tmp_path: Path, mode: Mode) -> None:
    program, data = tmp_path / "agent.py", tmp_path / "data.jsonl"
    program.write_text(AGENT)
    data.write_text('{"n": 21}\n')
    request = DebugAgent(
        target=f"{program}:Solver",
        data=str(data),
        number=1,
        server="http://127.0.0.1:9/v1",
        cwd=str(tmp_path),
        python=sys.executable,
        workspace="/w",
        mode=mode,
        breakpoints=(Breakpoint(str(program), [LineBreakpoint(3)]),),
    )
    run = await debug_runs.start(app.runs, request)
    try:
        wait_for("the stop", lambda: row(run)["state"] == "paused")
        (worker,) = [each for each in row(run)["workers"] if each["state"] == "paused"]
        assert worker["name"].split(" · ")[0] == "Solver", worker
        with Command(dict(os.environ)).editor(worker["worker_id"]) as (client, _):
            frame = stand(client)
            assert (frame["file"], frame["line"]) == (str(program), 3)
            assert client.evaluate("data", frame["id"]) == "{'n': 21}"
            client.request("next", threadId=frame["thread"])
            frame = stand(client)
            assert frame["line"] == 4
            assert client.evaluate("doubled", frame["id"]) == "42"
            client.request("continue", threadId=frame["thread"])
        wait_for("the end", lambda: app.runs.load(run).state.is_over)
        assert app.runs.load(run).record.output.read_text().startswith("42.0\n")
    finally:
        if not app.runs.load(run).state.is_over:
            await app.runs.stop(run, confirmed=True)
