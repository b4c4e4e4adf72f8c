"""Plans: what a cluster makes of a program, patterns, and what should be known before the start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from eagleray.common.errors import EaglerayError
from eagleray.protocol.runs import Breakpoint, LineBreakpoint
from eagleray.runs.model import Kind, RunPlan, RunRequest, with_server_env
from eagleray.runs.planner import MAX_PLANS, PreparedPlans, RunPreparation


async def id_of(written: str) -> str:
    return f"id of {written}"


async def here(python: str) -> str:
    return "3.12"


async def there(cluster: str) -> str:
    return "3.11"


@pytest.fixture
def run_request(tmp_path: Path) -> RunRequest:
    (tmp_path / "train.py").write_text("print()\n")
    (tmp_path / "dos.sh").write_bytes(b"#!/bin/sh\r\necho x\r\n")
    return RunRequest(path="train.py", args=("a b",), cwd=str(tmp_path), python="/opt/python")


PREPARING = RunPreparation(id_of, here, there)


async def test_local_program_runs_in_the_interpreter_of_the_workspace(
    run_request: RunRequest,
) -> None:
    plan = await PREPARING.plan(evolve(run_request, workers=(" *Policy*, ,Ref[0-3] ",)))
    assert (plan.kind, plan.command) == ("program", ("/opt/python", "train.py", "a b"))
    assert (plan.cluster, plan.name, plan.workers) == ("", "train.py", ("*Policy*", "Ref[0-3]"))


async def test_variables_of_another_server_replace_only_the_variables_of_the_first(
    run_request: RunRequest,
) -> None:
    first = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "sk-1"}
    plan = await PREPARING.plan(
        evolve(run_request, env={"OPENAI_API_KEY": "mine", "STEPS": "3"}, server_env=first)
    )
    own = {"OPENAI_API_KEY": "mine", "STEPS": "3"}
    assert (plan.env, plan.from_server) == (
        {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", **own},
        ("OPENAI_BASE_URL",),
    )
    other = {"OPENAI_API_KEY": "sk-2", "ANTHROPIC_BASE_URL": "http://127.0.0.1:2"}
    again = with_server_env(plan, other)
    assert again.env == {"ANTHROPIC_BASE_URL": "http://127.0.0.1:2", **own}
    assert with_server_env(again, first) == plan


@pytest.mark.parametrize(
    ("changes", "gets_them"),
    [
        ({}, True),
        ({"path": "dos.sh"}, True),
        ({"path": "submitted.sh"}, False),
        ({"kind": "remote", "cluster": "ssh://gpu1"}, False),
        ({"cluster": "8265"}, False),
        ({"cluster": "8265", "kind": "program"}, False),
    ],
    ids=["program", "script", "for SLURM", "remote", "job", "joins a cluster"],
)
async def test_variables_of_a_server_stay_on_this_machine(
    run_request: RunRequest, changes: dict[str, Any], gets_them: bool
) -> None:
    """The editor doesn't know what a script is."""
    (Path(run_request.cwd) / "submitted.sh").write_text("#!/bin/sh\n#SBATCH -N 1\n")
    variables = {"OPENAI_API_KEY": "sk-1"}
    plan = await PREPARING.plan(evolve(run_request, server_env=variables, **changes))
    expected = (variables, ("OPENAI_API_KEY",)) if gets_them else ({}, None)
    assert (plan.env, plan.from_server) == expected


async def test_program_with_a_cluster_becomes_its_job(run_request: RunRequest) -> None:
    """The interpreter of this job is not the workspace's."""
    plan = await PREPARING.plan(evolve(run_request, cluster="8265"))
    assert (plan.kind, plan.cluster) == ("job", "id of 8265")
    assert plan.command == ("python", "train.py", "a b")


async def test_program_joining_a_cluster_of_another_python_is_a_problem(
    run_request: RunRequest,
) -> None:
    plan = await PREPARING.plan(evolve(run_request, cluster="8265", kind="program"))
    assert (plan.kind, plan.argv[0]) == ("program", "/opt/python")
    assert [problem.code for problem in await PREPARING.problems(plan)] == ["other-python"]


async def test_breakpoint_in_a_missing_file_is_a_problem(run_request: RunRequest) -> None:
    plan = await PREPARING.plan(
        evolve(run_request, breakpoints=(Breakpoint("/no/x.py", [LineBreakpoint(1)]),))
    )
    assert [problem.code for problem in await PREPARING.problems(plan)] == ["breakpoint-elsewhere"]


async def test_line_ends_of_windows_become_a_copy(run_request: RunRequest) -> None:
    plan = await PREPARING.plan(evolve(run_request, path="dos.sh"))
    assert (plan.argv, plan.copy_of) == (("sh", "dos.sh", "a b"), "dos.sh")
    assert plan.copy_text == "#!/bin/sh\necho x\n"


NARROW = [
    ("srun --export=NONE python train.py", "srun --export=NONE python train.py"),
    ("exec /usr/bin/srun --nodes 2 --export PATH,HOME python x", "--export PATH,HOME python x"),
    ('sbatch --export="A,B" inner.sub', "sbatch --export=A,B inner.sub"),
    ("sbatch --nodes=2 inner.sub", "sbatch --nodes=2 inner.sub"),
    ("sbatch --export=ALL inner.sub", ""),
    ("srun --export=PYTHONPATH,EAGLERAY_RUN python x --export=NONE", ""),
    ('X="ALL,A=$A"\nX="${X},${MORE}"\nsrun --export="$X" bash -c x', ""),
    ("srun --export=$FROM_OUTSIDE python x", ""),
    ("srun --export=PATH,$MORE python x", ""),
    ("X=PATH,HOME\nsrun --export=$X python x", "srun --export=$X python x"),
    ("srun --export=PATH,A=$A python x", "srun --export=PATH,A=$A python x"),
    ("# srun --export=NONE\npython --export=NONE", ""),
]


@pytest.mark.parametrize(("line", "message"), NARROW)
@pytest.mark.parametrize("kind", ["script", "sbatch"])
async def test_narrow_export_is_a_problem(
    run_request: RunRequest, kind: Kind, line: str, message: str
) -> None:
    (Path(run_request.cwd) / "inner.sub").write_text(
        "#!/bin/sh\n#SBATCH -N 1 --export=NONE\nsrun hostname\n"
    )
    (Path(run_request.cwd) / "run.sh").write_text(f"#!/bin/sh\n#SBATCH --export=NONE\n{line}\n")
    plan = await PREPARING.plan(evolve(run_request, path="run.sh", kind=kind))
    problems = await PREPARING.problems(plan)
    assert [problem.code for problem in problems] == (["narrow-export"] if message else [])
    assert all(message in problem.message for problem in problems)


def test_oldest_prepared_plan_expires() -> None:
    plans = PreparedPlans()
    ids = [
        plans.add(RunPlan(kind="command", argv=(str(at),), cwd="/", name=""))
        for at in range(MAX_PLANS + 1)
    ]
    assert plans.get(ids[1]).argv == ("1",) and plans.get(ids[-1]).argv == (str(MAX_PLANS),)
    with pytest.raises(EaglerayError) as raised:
        plans.get(ids[0])
    assert raised.value.code == "plan-expired"
