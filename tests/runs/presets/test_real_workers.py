"""A worker of a running cluster has the variables that were reported, for each route of the frameworks."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from eagleray.runs.presets.framework_table_file import variables

from tests.ray_cluster import RayCluster
from tests.runs.presets.checkouts import TRAINERS, checkout, plan_of, proposed

pytestmark = pytest.mark.real_ray

PROGRAMS = Path(__file__).parent / "programs"
HYDRA = "ray_kwargs:\n  ray_init:\n    num_cpus: null\ntrainer:\n  nnodes: 1\n"
AREAL = "actor:\n  scheduling_spec:\n    - gpu: 1\n      env_vars: {}\n"

# framework, version, our program, the module or file that it stands in for
CASES = [
    ("verl", "0.7.0", "by_configuration.py", "verl.trainer.main_ppo"),
    ("verl", "0.4.1", "fixed.py", "verl.trainer.main_ppo"),
    ("nemo_rl", "0.6.0", "whole_environment.py", "run_grpo.py"),
    ("openrlhf", "0.11.0", "some_named.py", "openrlhf.cli.train_ppo_ray"),
    ("rlinf", "0.4.0", "by_prefix.py", "train.py"),
    ("areal", "1.0.4", "by_schedule.py", "areal_grpo.py"),
]


def placed(folder: Path, program: str, target: str) -> tuple[str, ...]:
    """The words that run `program` under the name of the framework's."""
    module = not target.endswith(".py")
    file = folder / (target.replace(".", "/") + ".py" if module else target)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = (PROGRAMS / program).read_text()
    package = {"run_grpo.py": "nemo_rl", "train.py": "rlinf", "areal_grpo.py": "areal"}
    # A program is recognised by what it calls.
    first = "" if module else TRAINERS[package[target]]
    head, _, rest = text.partition("from __future__ import annotations\n")
    file.write_text(f"{head}from __future__ import annotations\n{first}{rest}")
    shutil.copy(PROGRAMS / "in_workers.py", folder)
    (file.parent / "config.yaml").write_text(HYDRA)
    (folder / "areal.yaml").write_text(AREAL)
    config = ("--config", "areal.yaml") if target == "areal_grpo.py" else ()
    return (sys.executable, *(("-m", target) if module else (target,)), *config)


@pytest.mark.parametrize(("framework", "version", "program", "target"), CASES)
def test_reported_variable_reaches_the_worker(
    cluster: RayCluster, tmp_path: Path, framework: str, version: str, program: str, target: str
) -> None:
    folder = checkout(tmp_path, framework, version)
    argv = placed(folder, program, target)
    plan = plan_of(folder, *argv, kind="program", cluster=cluster.address)
    timeouts = {"timeouts": "33"} if framework == "rlinf" else {}
    made = proposed(plan, hang_details="on", **timeouts)
    env = cluster.program_env(**made.plan.env, PYTHONPATH=str(folder))
    ran = subprocess.run(
        made.plan.command, cwd=folder, env=env, capture_output=True, text=True, timeout=90
    )
    assert ran.returncode == 0, ran.stderr
    (line,) = [
        splitline for splitline in ran.stdout.splitlines() if splitline.startswith("WORKER ")
    ]
    has = json.loads(line.removeprefix("WORKER "))
    wanted = {variable.name: variable.value for variable in variables().acting} | (
        {"RLINF_TIMEOUT": "33"} if timeouts else {}
    )
    passed = {
        name: any(
            name in change.where and change.outcome == "will apply" for change in made.changes
        )
        for name in wanted
    }
    assert {name: has.get(name) == value for name, value in wanted.items()} == passed
    assert any(passed.values()) == (program != "fixed.py")
