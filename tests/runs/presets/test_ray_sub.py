"""NeMo RL as its documents start it: COMMAND of the environment, and workers by the names of its settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from eagleray.cli.main import main
from eagleray.runs.model import ProfilePlan, RunPlan
from eagleray.runs.presets.analysis import with_training_line
from eagleray.runs.presets.worker_classes import unmatched

from tests.runs.presets.checkouts import TRAINERS, checkout

LINE = "uv run examples/run_grpo.py"
READS_COMMAND = '#!/bin/bash\n#SBATCH -N 1\nCOMMAND=${COMMAND:-}\nbash -c "$COMMAND"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = checkout(tmp_path / "checkout", "nemo_rl", "0.7.0")
    (made / "examples").mkdir()
    (made / "examples/run_grpo.py").write_text(TRAINERS["nemo_rl"])
    (made / "nemo_rl/models").mkdir()
    (made / "nemo_rl/models/policy.py").write_text(
        "@ray.remote\nclass DTensorPolicyWorker:\n    def inner(self): ...\ndef task(): ...\n"
    )
    (made / "ray.sub").write_text(READS_COMMAND)
    return made


def plan(folder: Path, *argv: str, **more: Any) -> RunPlan:
    return RunPlan(
        kind="sbatch", argv=argv or ("sbatch", "ray.sub"), cwd=str(folder), name="run", **more
    )


def test_command_of_the_environment_gets_the_options(
    folder: Path,
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COMMAND", LINE)
    assert main(["run", "--preset", "debug", "--dry-run", "--", "sbatch", "ray.sub"]) == 0
    assert f" COMMAND={LINE}\n+    ++grpo.max_num_steps=2\n" in capsys.readouterr().out


def test_command_is_only_read_where_the_script_reads_it(folder: Path) -> None:
    proposal = plan(folder, env={"COMMAND": "mine"})
    assert with_training_line(plan(folder), {"COMMAND": LINE}).env == {"COMMAND": LINE}
    assert with_training_line(proposal, {"COMMAND": LINE}) == proposal
    assert with_training_line(plan(folder), {}) == plan(folder)
    (folder / "ray.sub").write_text("#SBATCH -N 1\nMY_COMMAND=1\necho $COMMANDS\n")
    assert with_training_line(plan(folder), {"COMMAND": LINE}) == plan(folder)
    assert with_training_line(plan(folder, "sbatch", "no"), {"COMMAND": LINE}).env == {}


@pytest.mark.parametrize(
    ("patterns", "missing"),
    [
        (("dtensor_policy_worker",), []),
        (("DTensorPolicyWorker", "*policy*", "task", "driver"), []),
        (("nemo_rl.models.policy.DTensorPolicyWorker",), []),
        (("dtensor_worker", "inner", "*Worker"), ["dtensor_worker", "inner"]),
    ],
)
@pytest.mark.parametrize("profiled", [False, True])
def test_pattern_that_matches_no_class_of_the_framework_is_reported(
    folder: Path, patterns: tuple[str, ...], missing: list[str], profiled: bool
) -> None:
    made = plan(folder, env={"COMMAND": LINE})
    profile = ProfilePlan(patterns)
    made = evolve(made, profile=profile) if profiled else evolve(made, workers=patterns)
    problems = unmatched(made)
    assert [problem.code for problem in problems] == ["unmatched-workers"] * len(missing)
    assert [problem.message.partition("”")[0].lstrip("“") for problem in problems] == missing


def test_unknown_frameworks_report_no_pattern(folder: Path) -> None:
    assert unmatched(plan(folder, workers=("x",))) == []
