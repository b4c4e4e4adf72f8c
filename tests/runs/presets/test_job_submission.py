"""Debug runs of scripts that call `ray job submit`: arguments and variables of the submitted job."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runs.presets.checkouts import checkout, plan_of, proposed

SUBMIT = "ray job submit {option} --address http://c:8265 -- python3 -m verl.trainer.main_ppo a=1\n"


def script(folder: Path, version: str, option: str = "") -> Path:
    made = checkout(folder, "verl", version)
    (made / "run.sh").write_text("#!/bin/bash\n" + SUBMIT.format(option=option))
    return made


@pytest.mark.parametrize("joined", [subprocess.list2cmdline, shlex.join])
def test_quoted_value_reaches_hydra_through_each_version_of_ray(
    tmp_path: Path, joined: Callable[[list[str]], str]
) -> None:
    made = proposed(plan_of(script(tmp_path, "0.7.0"), "bash", "run.sh"), hang_details="on")
    (line,) = [
        splitline for splitline in made.plan.copy_text.splitlines() if "TRACE_BUFFER" in splitline
    ]
    (word,) = shlex.split(line.removesuffix("\\"))
    (received,) = shlex.split(joined([word]))
    assert received.endswith('.TORCH_NCCL_TRACE_BUFFER_SIZE="20000"')
    shown = [change.where for change in made.changes if "TRACE_BUFFER" in change.where]
    assert '="20000"' in shown[0]


@pytest.mark.parametrize("option", ["--runtime-env=env.yaml", "--runtime-env $FILE"])
def test_runtime_env_json_is_not_added_beside_a_runtime_env_file(
    tmp_path: Path, option: str
) -> None:
    made = proposed(plan_of(script(tmp_path, "0.4.1", option), "bash", "run.sh"), hang_details="on")
    assert "--runtime-env-json" not in made.plan.copy_text
    (change,) = [change for change in made.changes if "TRACE_BUFFER" in change.where]
    assert change.outcome not in ("will apply", "already so")
    file = option.replace("=", " ").split()[1]
    assert f"--runtime-env {file}" in change.why and "env_vars" in change.why


def test_runtime_env_json_of_the_program_is_not_an_option_of_ray(tmp_path: Path) -> None:
    folder = script(tmp_path, "0.4.1")
    text = (folder / "run.sh").read_text().replace("a=1", "--runtime-env=x a=1")
    (folder / "run.sh").write_text(text)
    made = proposed(plan_of(folder, "bash", "run.sh"), hang_details="on")
    assert "submit '--runtime-env-json={" in made.plan.copy_text
