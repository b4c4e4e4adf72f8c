"""Under the real bash, a fake `python3` gets from a script exactly the arguments that were proposed."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from eagleray.runs.model import RunPlan

from tests.runs.presets.checkouts import (
    TRAINERS,
    checkout,
    debug_run,
    plan_of,
    proposed,
    with_script,
)

FAKE = Path(__file__).parents[2] / "fakes" / "fake_python.py"


def run(plan: RunPlan, folder: Path) -> list[dict[str, Any]]:
    """Returns the arguments of each fake Python, by the plan as it would be started; a copy lies elsewhere."""
    bin_folder = folder / "bin"
    bin_folder.mkdir(exist_ok=True)
    for name in ("python3", "ray"):
        fake = bin_folder / name
        fake.write_text(f'#!/bin/sh\nexec {sys.executable} -S {FAKE} "$@"\n')
        fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    argv, env = plan.command, dict(plan.env)
    if plan.copy_text:
        copy = folder / "run folder" / Path(plan.copy_of).name
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(plan.copy_text)
        argv = tuple(str(copy) if word == plan.copy_of else word for word in argv)
        env["EAGLERAY_SCRIPT"] = str(Path(plan.cwd) / plan.copy_of)
    path = f"{bin_folder}:{os.environ['PATH']}"
    ran = subprocess.run(
        argv,
        cwd=plan.cwd,
        env={"PATH": path, "HOME": str(folder), **env},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line for line in ran.stdout.splitlines() if line.startswith("FAKE ")]
    return [json.loads(line.removeprefix("FAKE ")) for line in lines]


def added(plan: RunPlan, after: RunPlan, folder: Path) -> list[str]:
    """The words that the last Python got more; those before them are the same."""
    first = run(plan, folder)[-1]["argv"]
    then = run(after, folder)[-1]["argv"]
    assert then[: len(first)] == first
    return then[len(first) :]


CASES = [
    ("archer.sh", "verl", "0.4.0"),
    ("verl_quoted.sh", "verl", "0.7.0"),
    ("verl_plain.sh", "verl", "0.7.0"),
    ("verl_engine.sh", "verl", "0.6.1"),
    ("function.sh", "verl", "0.7.0"),
    ("rlinf.sh", "rlinf", "0.3.0"),
]


@pytest.mark.parametrize(("name", "framework", "version"), CASES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["unix", "windows"])
def test_python_gets_the_arguments_that_are_shown(
    tmp_path: Path, name: str, framework: str, version: str, newline: str
) -> None:
    folder = checkout(tmp_path / "my code", framework, version)
    with_script(folder, name)
    plain = plan_of(folder, "bash", name)
    before = (folder / name).read_bytes()
    with_script(folder, name, newline)
    made = debug_run(plain, hang_details="on", steps="3")
    with_script(folder, name)
    applied = [change.where for change in made.changes if change.outcome == "will apply"]
    keys = [where.partition(" (")[0] for where in applied if where.startswith("++")]
    assert keys and added(evolve(plain, env=made.plan.env), made.plan, folder) == keys
    assert (folder / name).read_bytes() == before


def test_values_with_blanks_quotes_and_equal_signs(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "verl", "0.7.0")
    odd = "it's my run, a=b $HOME *"
    for name in ("verl_quoted.sh", "verl_plain.sh", "verl_engine.sh"):
        with_script(folder, name)
        plan = plan_of(folder, "bash", name)
        after = proposed(plan, name=odd).plan
        assert added(plan, after, folder) == [
            "++trainer.experiment_name='it\\'s my run, a=b $HOME *'"
        ]


def test_without_quotes_such_a_value_goes_into_a_copy(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "verl", "0.5.0")
    with_script(folder, "archer.sh")
    plan = plan_of(folder, "bash", "archer.sh", "trainer.critic_warmup=1")
    assert proposed(plan, name="plain").plan.copy_text == ""
    made = proposed(plan, name="two words")
    assert made.plan.copy_text and made.plan.overrides == ()
    got = run(made.plan, folder)[-1]["argv"]
    assert got[-2:] == ["trainer.critic_warmup=1", "++trainer.experiment_name='two words'"]


def test_copy_finds_the_folder_of_the_original(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "code", "rlinf", "0.4.0")
    with_script(folder, "rlinf.sh")
    made = proposed(plan_of(folder, "bash", "rlinf.sh", "my_config"), no_resume="on", steps="4")
    (started,) = run(made.plan, folder)
    assert started["env"]["EMBODIED_PATH"] == str(folder)
    assert started["argv"] == [
        *(f"{folder}/train.py", "--config-path", f"{folder}/config/"),
        *("--config-name", "my_config", "runner.max_steps=4", "++runner.resume_dir=null"),
    ]


def test_only_the_training_line_of_a_copy_changes(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "verl", "0.7.0")
    with_script(folder, "verl_plain.sh")
    plan = plan_of(folder, "bash", "verl_plain.sh")
    first, then = run(plan, folder), run(proposed(plan, gpus="2").plan, folder)
    assert then[:-1] == [
        {**started, "env": {"EAGLERAY_SCRIPT": str(folder / "verl_plain.sh"), **started["env"]}}
        for started in first[:-1]
    ]
    assert then[-1]["argv"][-2:] == ["++trainer.nnodes=1", "++trainer.n_gpus_per_node=2"]


@pytest.mark.parametrize("end", [" \\", "\\", " \\\n", " \\\n\\"])
def test_copy_of_script_that_ends_in_backslash_adds_no_other_argument(
    tmp_path: Path, end: str
) -> None:
    folder = checkout(tmp_path, "verl", "0.7.0")
    (folder / "run.sh").write_text(f"python3 -m verl.trainer.main_ppo \\\n  a=1{end}")
    plan = plan_of(folder, "bash", "run.sh")
    assert added(plan, proposed(plan, steps="2").plan, folder) == [
        "++trainer.total_training_steps=2"
    ]


def test_flag_is_removed_and_options_are_appended(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "openrlhf", "0.11.0")
    with_script(folder, "openrlhf_submit.sh")
    plan = plan_of(folder, "bash", "openrlhf_submit.sh")
    made = proposed(plan, no_resume="on", no_checkpoint="on", hang_details="on")
    first, then = run(plan, folder)[0]["argv"], run(made.plan, folder)[0]["argv"]
    assert [word for word in first if word not in then] == [
        '--runtime-env-json={"working_dir": "/w"}',
        "--ckpt.load_enable",
    ]
    assert then[-2:] == ["--ckpt.save_steps", "-1"]
    (carried,) = [word for word in then if word.startswith("--runtime-env-json=")]
    runtime_env = json.loads(carried.partition("=")[2])
    assert runtime_env["working_dir"] == "/w"
    assert runtime_env["env_vars"]["NCCL_DEBUG"] == "INFO"


def test_empty_value_reaches_the_program(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "openrlhf", "0.11.0")
    with_script(folder, "openrlhf.sh")
    plan = plan_of(folder, "bash", "openrlhf.sh")
    assert added(plan, proposed(plan, no_trackers="on").plan, folder) == ["--logger.wandb.key", ""]


def test_command_in_an_environment_variable_is_changed(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "nemo_rl", "0.6.0")
    (folder / "run_grpo.py").write_text(TRAINERS["nemo_rl"])
    (folder / "ray.sub").write_text('#!/bin/bash\nprintf "%s" "$COMMAND" > c.sh\nbash c.sh\n')
    command = "python3 run_grpo.py a='b c' 2>&1"
    plan = plan_of(folder, "bash", "ray.sub", env={"COMMAND": command})
    made = proposed(plan, steps="1", name="x")
    assert shlex.split(made.plan.env["COMMAND"])[-1] == "2>&1"
    assert added(plan, made.plan, folder) == [
        *("++grpo.max_num_steps=1", "++logger.log_dir=logs/x", "++logger.wandb.name=x")
    ]


def test_environment_reaches_the_program_unless_the_script_sets_it(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "rlinf", "0.4.0")
    with_script(folder, "rlinf.sh")
    made = proposed(plan_of(folder, "bash", "rlinf.sh"), hang_details="on")
    assert run(made.plan, folder)[0]["env"]["NCCL_DEBUG"] == "INFO"
    (folder / "rlinf.sh").write_text("export NCCL_DEBUG=WARN\npython3 train.py\n")
    made = proposed(plan_of(folder, "bash", "rlinf.sh"), hang_details="on")
    (change,) = [change for change in made.changes if change.where.startswith("NCCL_DEBUG")]
    assert change.outcome == "not changed"
    assert change.why == "Line 1 of rlinf.sh sets it after us."
    assert run(made.plan, folder)[0]["env"]["NCCL_DEBUG"] == "WARN"
    assert evolve(made.plan, env={}).command == ("bash", "rlinf.sh")
