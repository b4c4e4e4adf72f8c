"""The route of a variable to the workers, by framework, version, kind of run, and whether a cluster runs already."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.runs.sbatch_arguments import submission

from tests.runs.presets.checkouts import AREAL, ENV, OPENRLHF, VERL, folder_of, plan_of, proposed

# framework, command, kind, cluster: how a variable of hang details gets to the workers
ROUTES: list[tuple[str, str, tuple[str, ...], str, str, str, str]] = [
    (
        "verl",
        "0.7.0",
        VERL,
        "program",
        "",
        "will apply",
        f"{ENV}.TORCH_NCCL_TRACE_BUFFER_SIZE='20000'",
    ),
    (
        "verl",
        "0.7.0",
        VERL,
        "program",
        "http://c:1",
        "will apply",
        f"{ENV}.TORCH_NCCL_TRACE_BUFFER_SIZE='20000'",
    ),
    (
        "verl",
        "0.5.0",
        VERL,
        "program",
        "http://c:1",
        "not changed",
        "TORCH_NCCL_TRACE_BUFFER_SIZE",
    ),
    (
        "verl",
        "0.5.0",
        VERL,
        "program",
        "",
        "will apply",
        "TORCH_NCCL_TRACE_BUFFER_SIZE=20000 (environment)",
    ),
    (
        "verl",
        "0.5.0",
        VERL,
        "job",
        "http://c:1",
        "will apply",
        "TORCH_NCCL_TRACE_BUFFER_SIZE=20000 (environment)",
    ),
    (
        *("nemo_rl", "0.6.0", ("uv", "run", "run_grpo.py"), "program", "http://c:1"),
        *("will apply", "TORCH_NCCL_TRACE_BUFFER_SIZE=20000 (environment)"),
    ),
    (
        *("areal", "1.0.4", AREAL, "program", "http://c:1"),
        *("will apply", "++actor.scheduling_spec.0.env_vars.TORCH_NCCL_TRACE_BUFFER_SIZE='20000'"),
    ),
    (
        *("rlinf", "0.4.0", ("python3", "train.py"), "program", "http://c:1"),
        *("not changed", "TORCH_NCCL_TRACE_BUFFER_SIZE"),
    ),
    (
        "openrlhf",
        "0.9.0",
        OPENRLHF,
        "program",
        "http://c:1",
        "not changed",
        "TORCH_NCCL_TRACE_BUFFER_SIZE",
    ),
]


@pytest.mark.parametrize(
    ("framework", "version", "argv", "kind", "cluster", "outcome", "where"), ROUTES
)
def test_variable_takes_the_route_of_its_framework(
    tmp_path: Path,
    framework: str,
    version: str,
    argv: tuple[str, ...],
    kind: str,
    cluster: str,
    outcome: str,
    where: str,
) -> None:
    folder = folder_of(tmp_path, framework, version)
    made = proposed(plan_of(folder, *argv, kind=kind, cluster=cluster), hang_details="on")
    (change,) = [change for change in made.changes if "TRACE_BUFFER" in change.where]
    assert (change.outcome, change.where.startswith(where)) == (outcome, True), change
    assert ("TORCH_NCCL_TRACE_BUFFER_SIZE" in made.plan.env) == ("environment" in where)
    assert (outcome == "not changed") == (change.why.startswith("Workers of a running cluster"))


def test_only_some_variables_are_handed_on_by_openrlhf(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "openrlhf", "0.11.0")
    made = proposed(
        plan_of(folder, *OPENRLHF, kind="program", cluster="http://c:1"), hang_details="on"
    )
    assert made.plan.env == {"NCCL_DEBUG": "INFO"}


def test_variable_that_the_framework_sets_is_reported(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "verl", "0.4.1")
    made = proposed(plan_of(folder, *VERL, kind="program"), hang_details="on")
    assert "NCCL_DEBUG" not in made.plan.env and "TORCH_DISTRIBUTED_DEBUG" in made.plan.env
    assert made.changes[0].outcome == "not changed"
    assert made.changes[0].why == "verl sets it itself for its workers."


def test_timeout_of_rlinf_is_passed_on_by_its_prefix(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "rlinf", "0.4.0")
    plan = plan_of(folder, "python3", "train.py", kind="program", cluster="http://c:1")
    assert proposed(plan, timeouts="30").plan.env == {"RLINF_TIMEOUT": "30"}


@pytest.mark.parametrize(
    ("option", "line"),
    [("", ""), ("", "#SBATCH --export=NONE"), ("--export=A,B", ""), ("--export=NONE", "")],
)
def test_batch_job_gets_the_variables_beside_its_own_exports(
    tmp_path: Path, option: str, line: str
) -> None:
    folder = folder_of(tmp_path, "nemo_rl", "0.6.0")
    (folder / "job.sh").write_text(f"#!/bin/bash\n{line}\nuv run run_grpo.py\n")
    argv = [word for word in ("sbatch", option, "job.sh") if word]
    made = proposed(plan_of(folder, *argv, kind="sbatch"), hang_details="on")
    by_script = line.partition("=")[2] or "ALL"
    (exported, *_) = submission(made.plan.command, made.plan.env, by_script)[1:]
    assert "NCCL_DEBUG" in exported.partition("=")[2].split(",")
    assert all(change.outcome == "will apply" for change in made.changes)


def test_areal_without_a_place_for_variables(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "areal", "1.0.4")
    (folder / "c.yaml").write_text("actor:\n  backend: x\n")
    made = proposed(plan_of(folder, *AREAL, kind="program"), hang_details="on")
    assert {change.outcome for change in made.changes} == {"not changed"}
    assert made.plan.overrides == () and made.plan.env == {}
