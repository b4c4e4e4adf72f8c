"""Tasks that runs of agents leave behind are named with the line that created them."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.cli.rollouts.agent_shapes import agent_run_json, agent_wave_json
from eagleray.cli.rollouts.agent_texts import run_lines, wave_lines
from eagleray.rollouts.agents.model import Mode
from eagleray.rollouts.agents.verdicts import verdicts

from tests.rollouts.observed import PROGRAMS, observe, plan_of

FILE = str(PROGRAMS / "plain_agents.py")
LINES = Path(FILE).read_text().splitlines()


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(LINES, 1) if text in line)


CREATED = line_of("self.last = asyncio.create_task(")


@pytest.mark.parametrize("mode", ["inline", "subproc"])
async def test_tasks_of_several_runs_are_a_verdict_at_their_line(
    own_home: Path, mode: Mode
) -> None:
    """A task that the run has cancelled or awaited isn't left, although its cancellation hasn't arrived."""
    observed = await observe(plan_of("LeavesTasks", groups=3, mode=mode))
    assert {run.outcome for run in observed.runs} == {"done"}
    [verdict] = [each for each in verdicts(observed) if each.line == CREATED]
    assert (verdict.kind, verdict.file) == ("left-tasks", FILE)
    assert verdict.sentence == (
        "3 runs left tasks running that `self.last = asyncio.create_task(asyncio.sleep(3600))` created (6 in all)."
    )
    left = {line["line"] for line in agent_wave_json(observed, "")["left_tasks"]}
    assert line_of("stopped = asyncio.ensure_future") not in left
    assert line_of("asyncio.gather(asyncio.sleep(0)") not in left


async def test_task_that_one_run_leaves_to_others_is_not_a_verdict(own_home: Path) -> None:
    observed = await observe(plan_of("SharesWorker", groups=4))
    assert verdicts(observed) == ()
    line = line_of("create_task(asyncio.Event().wait())")
    [left] = agent_wave_json(observed, "")["left_tasks"]
    assert (left["line"], left["runs"], left["tasks"]) == (line, 1, 1)
    assert any(text.startswith(f"{FILE}:{line}: 1 run left tasks") for text in wave_lines(observed))


async def test_run_that_fails_beside_its_tasks_leaves_them(own_home: Path) -> None:
    observed = await observe(plan_of("GathersUntilFailure"))
    line = line_of("asyncio.gather(asyncio.sleep(3600)")
    assert [left["line"] for left in agent_run_json(observed, "")["left_tasks"]] == [line]
    assert any(text.startswith(f"{FILE}:{line}: 1 run left") for text in run_lines(observed))


@pytest.mark.parametrize("mode", ["inline", "subproc"])
async def test_tasks_of_another_factory_are_unknown(own_home: Path, mode: Mode) -> None:
    observed = await observe(plan_of("OwnTaskFactory", mode=mode))
    assert agent_run_json(observed, "")["left_tasks"] is None
    assert "Tasks weren't observed: the agent has its own task factory." in run_lines(observed)


async def test_agent_that_leaves_nothing_has_no_tasks(own_home: Path) -> None:
    observed = await observe(plan_of("Item", groups=2))
    assert agent_wave_json(observed, "")["left_tasks"] == []
