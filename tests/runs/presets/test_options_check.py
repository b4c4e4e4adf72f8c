"""The options page is told of every problem at its field, before anything starts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from eagleray.runs.model import ProfilePlan, RunRequest
from eagleray.runs.planner import RunPreparation
from eagleray.runs.presets.debug_runs import DebugRuns
from eagleray.runs.presets.errors import no_nsys_here
from eagleray.runs.presets.handlers import PresetHandlers
from eagleray.runs.presets.nsys_check import nsys_problems
from eagleray.runs.presets.user_presets import OwnPresets

from tests.runs.presets.checkouts import NOW, checkout, with_script


async def nothing(path: str) -> str:
    return path


@pytest.fixture
def handlers(tmp_path: Path) -> PresetHandlers:
    presets = DebugRuns(OwnPresets(tmp_path / "home" / "presets"), lambda: NOW)
    return PresetHandlers(RunPreparation(nothing, nothing, nothing, [nsys_problems]), presets)


@pytest.fixture
def request_(tmp_path: Path) -> RunRequest:
    (tmp_path / "train.py").write_text("print(1)\n")
    return RunRequest(
        path="train.py",
        args=(),
        cwd=str(tmp_path),
        preset="none",
        python=sys.executable,
        workspace="/w",
    )


async def test_valid_options_have_a_proposal(
    handlers: PresetHandlers, request_: RunRequest
) -> None:
    found = await handlers.check(request_)
    assert found.proposal is not None and "train.py" in found.proposal.after
    assert [problem for problem in found.problems if problem.blocks] == []


async def test_only_arguments_that_name_ports_leave_a_command(
    handlers: PresetHandlers, request_: RunRequest
) -> None:
    args = ("--port", "8000", "--api-key", "secret", "--rdzv-endpoint=n1:29500")
    env = {"MASTER_PORT": "29501", "TOKEN": "secret"}
    found = await handlers.check(evolve(request_, args=args, env=env))
    assert found.ports == ["MASTER_PORT=29501", "--port", "8000", "--rdzv-endpoint=n1:29500"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"path": "nowhere.py"}, "path"),
        ({"cwd": "/nowhere/at/all"}, "cwd"),
        ({"path": "", "args": []}, "args"),
        ({"path": "", "args": ["no-such-command-here"]}, "args"),
        ({"path": "notes.txt"}, "kind"),
        ({"preset": "nobody's"}, "preset"),
    ],
)
async def test_a_problem_names_its_field(
    handlers: PresetHandlers, request_: RunRequest, changes: dict[str, Any], field: str
) -> None:
    (Path(request_.cwd) / "notes.txt").write_text("x")
    found = await handlers.check(evolve(request_, **changes))
    assert [problem.field for problem in found.problems if problem.blocks] == [field]


async def test_a_bad_answer_is_a_problem_of_its_question(
    handlers: PresetHandlers, tmp_path: Path
) -> None:
    folder = checkout(tmp_path / "code", "verl", "0.7.0")
    with_script(folder, "verl_quoted.sh")
    answers = {"gpus": "two", "name": "mine"}
    request = RunRequest(
        path="verl_quoted.sh", args=(), cwd=str(folder), workspace="/w", answers=answers
    )
    found = await handlers.check(request)
    assert [(problem.field, problem.blocks) for problem in found.problems] == [
        ("answer.gpus", True)
    ]


async def test_a_profile_needs_nsys_on_this_machine(
    handlers: PresetHandlers,
    request_: RunRequest,
    tmp_path: Path,
) -> None:
    def recorded(nsys: str) -> RunRequest:
        profile = ProfilePlan(("*",), nsys=nsys)
        return evolve(request_, profile=profile)

    found = await handlers.check(recorded(str(tmp_path / "missing")))
    (problem,) = [p for p in found.problems if p.code == "no-nsys"]
    assert (problem.field, problem.blocks) == ("nsys", False)
    assert problem.message == f"{tmp_path / 'missing'} was not found on this machine."
    program = tmp_path / "nsys"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = await handlers.check(recorded(str(program)))
    assert found.nsys == str(program)
    assert [p.code for p in found.problems if p.code == "no-nsys"] == []


async def test_configured_nsys_of_this_machine_records_here(
    handlers: PresetHandlers,
    request_: RunRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorded = evolve(request_, profile=ProfilePlan(("*",)))
    program = tmp_path / "tools" / "nsys"
    monkeypatch.setenv("EAGLERAY_NSYS", str(program))
    found = await handlers.check(recorded)
    (problem,) = [p for p in found.problems if p.code == "no-nsys"]
    assert problem.message == f"{program} was not found on this machine."
    assert "eagleray.profiling.nsys" in problem.next_step
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = await handlers.check(recorded)
    assert found.nsys == str(program)
    assert [p.code for p in found.problems if p.code == "no-nsys"] == []


@pytest.mark.parametrize(
    ("address", "is_checked"),
    [
        ("", True),
        ("local", True),
        ("127.0.0.1:6379", True),
        ("ray://localhost:10001", True),
        ("node-7:6379", False),
        ("ray://[", False),
    ],
)
async def test_nsys_is_searched_on_the_machine_of_the_workers(
    handlers: PresetHandlers, request_: RunRequest, address: str, *, is_checked: bool
) -> None:
    profile = ProfilePlan(("*",), nsys="/no/such/nsys")
    request = evolve(request_, profile=profile, env={"RAY_ADDRESS": address})
    proposal = await handlers.prepare(request)
    assert [p.code for p in proposal.problems if p.code == "no-nsys"] == ["no-nsys"] * is_checked


def test_message_without_nsys_says_where_it_was_searched() -> None:
    problem = no_nsys_here("")
    assert problem.message == "No nsys was found on this machine."
    assert "Searched: PATH, CUDA_HOME, /opt/nvidia, /usr/local/cuda*." in problem.next_step


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"when": "seconds", "seconds": 10.0}, "*Policy* · 10 s from the start · cuda,nvtx,osrt"),
        (
            {"when": "on-demand", "nsys": "/opt/nsys"},
            "*Policy* · on demand · cuda,nvtx,osrt · /opt/nsys",
        ),
        ({"ranks": (0, 2)}, "*Policy* · ranks 0, 2 · from start to end · cuda,nvtx,osrt"),
    ],
)
async def test_command_shows_what_is_recorded(
    handlers: PresetHandlers, request_: RunRequest, changes: dict[str, Any], line: str
) -> None:
    profile = ProfilePlan(("*Policy*",), **changes)
    proposal = await handlers.prepare(evolve(request_, profile=profile))
    assert f"\n# Record with nsys: {line}\n" in proposal.after
    plain = await handlers.prepare(request_)
    assert "# Record with nsys" not in plain.after
