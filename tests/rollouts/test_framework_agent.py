"""An agent of a framework that isn't ours (openai-agents): its wave names the blocking line, its `run` stops."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from eagleray.app import App, Settings
from eagleray.protocol.runs import Breakpoint, LineBreakpoint
from eagleray.rollouts.agents import debug_runs
from eagleray.rollouts.agents.debug_runs import DebugAgent
from eagleray.rollouts.agents.model import AgentPlan, DataItem
from eagleray.rollouts.agents.verdicts import verdicts

from tests.engine.fixtures import ENGINE_PYTHON, Engine
from tests.ray_cluster import wait_for
from tests.real_ray.command import Command, stand
from tests.rollouts.observed import PROGRAMS, broken, observe, plan_of
from tests.runs.terminal import row

PROGRAM = PROGRAMS / "framework_agents.py"
QUESTION = {"messages": [{"role": "user", "content": "Count to 3"}]}


@pytest_asyncio.fixture
async def app(own_home: Path) -> AsyncIterator[App]:
    app = App(Settings("off", "off"))
    yield app
    await app.close()


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(PROGRAM.read_text().splitlines(), 1) if text in line)


def wave_of(engine: Engine, target: str, groups: int = 8, size: int = 2) -> AgentPlan:
    return plan_of(
        f"framework_agents:{target}",
        python=ENGINE_PYTHON,
        base_url=engine.url,
        api_key=engine.key,
        items=tuple(DataItem(n, QUESTION) for n in range(1, groups + 1)),
        groups=groups,
        group_size=size,
    )


async def test_blocking_line_of_a_foreign_agent_is_named_in_a_wave(
    own_home: Path, engine: Engine
) -> None:
    observed = await observe(wave_of(engine, "Blocks", 8, 4))
    assert broken(observed) == {}
    assert [run.outcome for run in observed.runs] == ["done"] * 32
    assert {run.requests[0].path for run in observed.runs} == {"/v1/chat/completions"}
    assert [(each.kind, each.file, each.line) for each in verdicts(observed)] == [
        ("blocking-call", str(PROGRAM), line_of("time.sleep"))
    ]


async def test_wave_of_a_foreign_agent_blames_none_of_its_lines(
    own_home: Path, engine: Engine
) -> None:
    observed = await observe(wave_of(engine, "Framework"))
    assert [run.outcome for run in observed.runs] == ["done"] * 16
    assert [each for each in verdicts(observed) if each.kind == "blocking-call"] == []


async def test_foreign_agent_stops_in_run(
    app: App, tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps(QUESTION) + "\n")
    last = line_of("return float")
    monkeypatch.setenv("OPENAI_API_KEY", engine.key)
    request = DebugAgent(
        target=f"{PROGRAM}:Framework",
        data=str(data),
        number=1,
        server=engine.url,
        cwd=str(tmp_path),
        python=ENGINE_PYTHON,
        workspace="/w",
        breakpoints=(Breakpoint(str(PROGRAM), [LineBreakpoint(last)]),),
    )
    run = await debug_runs.start(app.runs, request)
    try:
        wait_for("the stop", lambda: row(run)["state"] == "paused")
        (worker,) = [each for each in row(run)["workers"] if each["state"] == "paused"]
        assert worker["name"].split(" · ")[0] == "Framework", worker
        with Command(dict(os.environ)).editor(worker["worker_id"]) as (client, _):
            frame = stand(client)
            assert (frame["file"], frame["line"]) == (str(PROGRAM), last)
            assert client.evaluate("agent.name", frame["id"]) == "'Counter'"
            assert client.evaluate("type(result).__name__", frame["id"]) == "'RunResult'"
            client.request("continue", threadId=frame["thread"])
        wait_for("the end", lambda: app.runs.load(run).state.is_over)
        assert app.runs.load(run).record.output.read_text().startswith("1.0\n")
    finally:
        if not app.runs.load(run).state.is_over:
            await app.runs.stop(run, confirmed=True)
