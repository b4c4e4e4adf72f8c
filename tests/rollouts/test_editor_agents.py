"""Agents of the editor: a debug run of one item, and a wave with its report."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from attrs import evolve
from eagleray.app import App, Settings
from eagleray.rollouts.agents import debug_runs
from eagleray.rollouts.agents.debug_runs import DebugAgent
from eagleray.rollouts.agents.editor_waves import EditorWaves, WaveRequest
from eagleray.rollouts.agents.model import WaveProgress
from eagleray.rollouts.servers.added_servers import AddedServer, AddedServers
from eagleray.rollouts.trajectories.rows import PAGE_LIMITS
from eagleray.rollouts.trajectories.trajectories import Trajectories

from tests.ray_cluster import wait_for
from tests.rollouts.observed import PROGRAMS

NOBODY = "http://127.0.0.1:9/v1"
NAME = "0123456789ab"


@pytest_asyncio.fixture
async def app(own_home: Path) -> AsyncIterator[App]:
    app = App(Settings("off", "off"))
    yield app
    await app.close()


def target(name: str) -> str:
    return f"{PROGRAMS / 'plain_agents.py'}:{name}"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "data.jsonl"
    file.write_text("".join(f'{{"n": {n}}}\n' for n in range(1, 5)))
    return file


def wave_of(name: str, data: Path, python: str = "") -> WaveRequest:
    return WaveRequest(
        wave=NAME,
        target=target(name),
        data=str(data),
        server=NOBODY,
        cwd=str(PROGRAMS),
        python=python,
        groups=4,
        group_size=2,
    )


def debug_of(target: str, data: Path, number: int = 1, **values: Any) -> DebugAgent:
    defaults: dict[str, Any] = {"cwd": str(PROGRAMS), "server": NOBODY, "workspace": "/w"}
    return DebugAgent(target=target, data=str(data), number=number, **{**defaults, **values})


async def test_debug_run_prints_result_and_contract(app: App, data: Path) -> None:
    request = debug_of(target("Item"), data, 2)
    run_id = await debug_runs.start(app.runs, request)
    wait_for("the run has ended", lambda: app.runs.load(run_id).state.is_over)
    run = app.runs.load(run_id)
    output = run.record.output.read_text()
    assert (run.state.code, run.plan.name, run.plan.workspace) == (0, "plain_agents:Item", "/w")
    assert output.splitlines()[0] == "2.0"
    assert "`run` returns a valid reward." in output


async def test_arguments_of_the_class_reach_the_debugged_agent(app: App, data: Path) -> None:
    request = debug_of(target("Returns"), data, arguments='{"value": 2.5}')
    run_id = await debug_runs.start(app.runs, request)
    wait_for("the run has ended", lambda: app.runs.load(run_id).state.is_over)
    assert app.runs.load(run_id).record.output.read_text().splitlines()[0] == "2.5"


async def test_mode_reaches_the_debugged_agent(app: App, data: Path) -> None:
    request = debug_of(target("WithoutKeywords"), data, mode="subproc")
    run_id = await debug_runs.start(app.runs, request)
    wait_for("the run has ended", lambda: app.runs.load(run_id).state.is_over)
    run = app.runs.load(run_id)
    # Inline passes arguments, which this agent doesn't take.
    assert run.state.code == 0, run.record.output.read_text()


SAYS_SERVER = """\
class Says:
    async def run(self, data, **extra_kwargs):
        print(extra_kwargs["base_url"], extra_kwargs["api_key"][::-1])
        return 1.0
"""


async def test_restarted_debug_run_gets_the_server_that_is_chosen_now(
    app: App, data: Path, tmp_path: Path, own_home: Path
) -> None:
    """The command finds its key by the address; the plan has none."""
    (tmp_path / "says.py").write_text(SAYS_SERVER)
    second = AddedServer("second", "http://127.0.0.1:8/v1", "sk-eagleray-second")
    AddedServers(own_home / "servers.json").add(second)
    request = debug_of(f"{tmp_path / 'says.py'}:Says", data, cwd=str(tmp_path))
    chosen = {"OPENAI_BASE_URL": second.url, "OPENAI_API_KEY": second.api_key}
    first = await debug_runs.start(app.runs, request)
    same = await app.runs.restart(first, None, confirmed=True)
    other = await app.runs.restart(first, None, confirmed=True, server_env=chosen)
    for id_ in (first, same, other):
        wait_for("the run has ended", lambda id_=id_: app.runs.load(id_).state.is_over)
    assert app.runs.load(same).plan == app.runs.load(first).plan
    run = app.runs.load(other)
    assert f"{second.url} {second.api_key[::-1]}" in run.record.output.read_text()
    assert (run.plan.env, second.api_key in run.plan.argv) == ({}, False)


async def test_wave_reports_failures_first_with_their_lines_and_traces(
    app: App, data: Path
) -> None:
    progress: list[WaveProgress] = []
    report = await EditorWaves(app.servers).run(wave_of("Item", data), progress.append)
    assert (report.progress.runs, report.progress.done, report.progress.failed) == (8, 6, 2)
    assert progress[-1].done + progress[-1].failed == 8
    assert [run.outcome for run in report.runs] == ["failed"] * 2 + ["done"] * 6
    failed = report.runs[0]
    assert (failed.item, failed.problem) == (3, "KeyError: 'answer'")
    assert Path(failed.path).name == "plain_agents.py"
    raising = Path(failed.path).read_text().splitlines()[failed.line - 1]
    assert raising.strip() == 'raise KeyError("answer")'
    assert sum(bin_.count for bin_ in report.progress.rewards) == 6
    trace = await Trajectories().item(report.trace, failed.trace, PAGE_LIMITS)
    assert (trace.row.problem, trace.row.group) == (failed.problem, str(failed.group))


async def test_cancelled_wave_keeps_the_runs_that_have_ended(app: App, data: Path) -> None:
    waves = EditorWaves(app.servers)

    def on_progress(progress: WaveProgress) -> None:
        if progress.done:
            waves.cancel(NAME)

    report = await asyncio.wait_for(waves.run(wave_of("NeverEnds", data), on_progress), 60)
    assert report.is_cancelled
    assert report.progress.done > 0
    assert "cancelled" in {run.outcome for run in report.runs}


async def test_agent_that_is_not_loaded_is_a_problem(app: App, data: Path) -> None:
    report = await EditorWaves(app.servers).run(wave_of("Missing", data), lambda _: None)
    assert [rule.ok for rule in report.contract] == [False]
    assert report.runs == ()


async def test_wave_in_processes_has_its_time_limit(app: App, data: Path) -> None:
    request = evolve(wave_of("NeverEndsAlone", data), mode="subproc", timeout_s=1.0)
    report = await EditorWaves(app.servers).run(request, lambda _: None)
    assert [run.outcome for run in report.runs] == ["timeout"] * 2 + ["done"] * 6


async def test_name_of_a_wave_leads_to_no_other_folder(app: App, data: Path) -> None:
    request = evolve(wave_of("Item", data), wave="../../../etc/a")
    with pytest.raises(ValueError, match="name of a wave"):
        await EditorWaves(app.servers).run(request, lambda _: None)
