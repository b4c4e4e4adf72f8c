"""Scripts that start other scripts, and scripts with several training lines: each trainer gets what is shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from eagleray.runs.model import RunPlan, plan_of_json, plan_to_json
from eagleray.runs.records import RunRecord
from eagleray.supervisor.launchers.factory import with_copy

from tests.runs.presets.checkouts import (
    NEMO_TRAINER,
    checkout,
    debug_run,
    plan_of,
    proposed,
    read,
)

FAKE = Path(__file__).parents[2] / "fakes" / "fake_python.py"
LINE = "python3 -m verl.trainer.main_ppo"
ADDED = "++trainer.total_training_steps=2"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return checkout(tmp_path / "my code", "verl", "0.7.0")


def write(folder: Path, **scripts: str) -> None:
    for name, text in scripts.items():
        file = folder / f"{name.replace('__', '/')}.sh"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        file.chmod(0o700)


def ran(plan: RunPlan, folder: Path) -> list[dict[str, Any]]:
    """Returns the arguments of each Python of the run; copies are where a real run has them."""
    bin_folder = folder / "bin"
    bin_folder.mkdir(exist_ok=True)
    for name, starts in (("python3", f"{sys.executable} -S {FAKE}"), ("sbatch", "bash")):
        (bin_folder / name).write_text(f'#!/bin/sh\nexec {starts} "$@"\n')
        (bin_folder / name).chmod(0o700)
    run_folder = folder.parent / "run folder"
    run_folder.mkdir(exist_ok=True)
    plan = with_copy(RunRecord("run", run_folder), plan_of_json(plan_to_json(plan)))
    env = {"PATH": f"{bin_folder}:{os.environ['PATH']}", "HOME": str(folder), **plan.env}
    done = subprocess.run(
        plan.command, cwd=plan.cwd, env=env, capture_output=True, text=True, check=True
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("FAKE ")]
    return [json.loads(line.removeprefix("FAKE ")) for line in lines]


OUTER = [
    # The line of outer.sh, the line of inner.sh, the number of copies.
    ('bash inner.sh "$@"', f'{LINE} "$@"', 0),
    ("bash inner.sh", f'{LINE} "$@"', 1),
    ("bash inner.sh a=1", LINE, 2),
    ("sbatch inner.sh", f"{LINE} b=1 | cat", 2),
    ("exec ./inner.sh", LINE, 2),
    ('"$(dirname "$0")/inner.sh"', f"{LINE} $@", 1),
    ("time bash -x ./inner.sh", f"{LINE}\r", 2),
    ("source inner.sh", LINE, 2),
    ('. ./inner.sh "$@"', f'{LINE} "$@"', 0),
    ('run() {\n  "$@"\n}\nrun bash inner.sh', LINE, 2),
]


@pytest.mark.parametrize(("outer", "inner", "copies"), OUTER)
def test_arguments_reach_the_trainer_of_an_inner_script(
    folder: Path, outer: str, inner: str, copies: int
) -> None:
    write(folder, outer=f"{outer}\n", inner=inner.replace("\r", "\r\n"))
    plan = plan_of(folder, "bash", "outer.sh")
    made = proposed(plan, steps="2")
    assert bool(made.plan.copy_text) + len(made.plan.inner_copies) == copies
    (started,) = ran(made.plan, folder)
    assert started["argv"][:2] == ["-m", "verl.trainer.main_ppo"]
    assert started["argv"].count(ADDED) == 1
    assert ("a=1" in outer) == (
        "a=1" in started["argv"] and not made.plan.inner_copies
    ) or copies == 2
    assert (folder / "outer.sh").read_text() == f"{outer}\n"


def test_copies_find_the_folders_of_their_originals(folder: Path) -> None:
    show = 'export EMBODIED_PATH="$EMBODIED_PATH:$(cd "$(dirname "{}")" && pwd):$(basename "$0")"\n'
    write(
        folder,
        outer=show.format("$0") + "cd jobs\nbash ./inner.sh\n",
        jobs__inner=show.format("${BASH_SOURCE[0]}") + "source ./last.sh\n",
        jobs__last=show.format("$BASH_SOURCE") + f"{LINE}\n",
    )
    plan = plan_of(folder, "bash", "outer.sh")
    made = proposed(plan, steps="2")
    assert len(made.plan.inner_copies) == 2
    (before,), (after,) = ran(plan, folder), ran(made.plan, folder)
    assert after["env"]["EMBODIED_PATH"] == before["env"]["EMBODIED_PATH"]
    assert after["argv"] == [*before["argv"], ADDED]


def test_diff_shows_the_lines_of_each_script(folder: Path) -> None:
    write(folder, outer="bash jobs/inner.sh\n", jobs__inner=f"{LINE} a=1\n")
    made = proposed(plan_of(folder, "bash", "outer.sh"), steps="2")
    (steps,) = [change for change in made.changes if change.request.startswith("Few steps")]
    assert steps.where == f"{ADDED} (line 1 of jobs/inner.sh, in copies)"
    assert made.changes[0].where.startswith("copies of it and its scripts run, with")
    assert f"# {folder}/jobs/inner.sh: as it is\n{LINE} a=1\n" in made.before
    assert f"{LINE} a=1 \\\n    {ADDED}\n" in made.after


@pytest.mark.parametrize("where", ["/no/such/folder", "jobs", "$UNKNOWN", '"$(dirname "$0")"'])
def test_inner_script_is_found_from_any_folder(folder: Path, where: str) -> None:
    write(folder, outer=f"cd {where}\nbash inner.sh\n", inner=LINE)
    assert len(read(plan_of(folder, "bash", "outer.sh")).lines) == 1


def test_script_that_starts_itself_is_followed_once(folder: Path) -> None:
    write(folder, outer=f'[ -n "$1" ] && bash inner.sh\n{LINE}\n', inner="bash outer.sh x\n")
    analysis = read(plan_of(folder, "bash", "outer.sh"))
    assert len(analysis.lines) == 1 and analysis.lines[0].node is analysis.root


def test_depth_and_number_of_scripts_are_bounded(folder: Path) -> None:
    scripts = {f"s{i}": f"bash s{i + 1}.sh\n" for i in range(9)}
    write(folder, **scripts, s9=LINE, many="".join(f"bash t{i}.sh\n" for i in range(300)))
    write(folder, **{f"t{i}": f"{LINE} n={i}\n" for i in range(300)})
    assert read(plan_of(folder, "bash", "s6.sh")).recognised is not None
    assert read(plan_of(folder, "bash", "s0.sh")).recognised is None
    assert len(read(plan_of(folder, "bash", "many.sh")).lines) < 50


@pytest.mark.parametrize(
    "line",
    ["echo bash inner.sh", "cat inner.sh", "chmod +x inner.sh", "bash -c inner.sh", "bash no.sh"],
)
def test_script_that_is_not_started_is_not_followed(folder: Path, line: str) -> None:
    write(folder, outer=line, inner=LINE)
    assert read(plan_of(folder, "bash", "outer.sh")).lines == ()


def test_script_in_a_container_is_left_unless_it_passes_its_arguments_on(folder: Path) -> None:
    write(folder, outer="srun --container-image=x bash inner.sh\n", inner=LINE)
    made = proposed(plan_of(folder, "bash", "outer.sh"), steps="2")
    (steps,) = [change for change in made.changes if change.request.startswith("Few steps")]
    assert (steps.outcome, made.plan.copy_text) == ("not changed", "")
    assert steps.why.endswith("Pass the arguments to it yourself.")
    write(folder, inner=f'{LINE} "$@"')
    made = proposed(plan_of(folder, "bash", "outer.sh"), steps="2")
    assert f"bash inner.sh \\\n    {ADDED}\n" in made.plan.copy_text
    assert made.changes[0].where == "a copy of it runs, with other options for line 1 of inner.sh"


SEVERAL = [
    # A script, the arguments of each Python, the copies.
    (f"{LINE} a=1\n{LINE} a=2 $@\n", [["a=1", ADDED], ["a=2", ADDED]], True),
    (f'{LINE} a=1 "$@"\n{LINE} a=2 "$@"\n', [["a=1", ADDED], ["a=2", ADDED]], False),
    (f"if true; then {LINE} a=1; else {LINE} a=2; fi\n", [["a=1", ADDED]], True),
    (f"for i in 1 2; do\n{LINE} i=$i\ndone\n", [["i=1", ADDED], ["i=2", ADDED]], True),
    (f"echo {LINE}\n{LINE}\n", [[ADDED]], True),
]


@pytest.mark.parametrize(("text", "arguments", "copied"), SEVERAL)
def test_each_training_line_gets_the_arguments(
    folder: Path, text: str, arguments: list[list[str]], copied: bool
) -> None:
    write(folder, run=text)
    made = proposed(plan_of(folder, "bash", "run.sh"), steps="2")
    assert bool(made.plan.copy_text) == copied
    assert [started["argv"][2:] for started in ran(made.plan, folder)] == arguments


def test_option_of_a_single_line_is_set(folder: Path) -> None:
    write(folder, run=f"{LINE} trainer.total_training_steps=2\n{LINE}\n")
    made = proposed(plan_of(folder, "bash", "run.sh"), steps="2")
    assert all(ADDED in started["argv"] for started in ran(made.plan, folder))


def test_flag_is_removed_from_each_line(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "code", "openrlhf", "0.11.0")
    line = "python3 -m openrlhf.cli.train_ppo_ray --a 1 --ckpt.load_enable"
    write(folder, run=f"{line}\n{line} --b\n")
    made = proposed(plan_of(folder, "bash", "run.sh"), no_resume="on")
    assert [started["argv"][2:] for started in ran(made.plan, folder)] == [
        ["--a", "1"],
        ["--a", "1", "--b"],
    ]


def test_lines_of_another_trainer_are_listed(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "code", "nemo_rl", "0.7.0")
    for section in ("sft", "grpo"):
        (folder / f"run_{section}.py").write_text(NEMO_TRAINER.format(section=section))
    (folder / "prepare.py").write_text("import nemo_rl\n")
    write(folder, run="python3 prepare.py\npython3 run_sft.py\npython3 run_grpo.py\n")
    made = debug_run(plan_of(folder, "bash", "run.sh"))
    (left,) = [change for change in made.changes if change.outcome == "not changed"]
    assert (left.request, left.where) == ("Another training line", "line 2 of run.sh")
    assert left.why == "It starts another trainer, run_sft.py. Run it separately to shorten it."
    first, second, third = (started["argv"] for started in ran(made.plan, folder))
    assert (first, second) == (["prepare.py"], ["run_sft.py"])
    assert "++grpo.max_num_steps=2" in third


def test_command_in_a_variable_may_be_a_script(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "code", "verl", "0.7.0")
    write(folder, outer='eval "$COMMAND"\n', inner=f'{LINE} "$@"\n')
    plan = plan_of(folder, "bash", "outer.sh", env={"COMMAND": "bash inner.sh a=1 2>&1"})
    made = proposed(plan, steps="2")
    assert made.plan.env["COMMAND"] == f"bash inner.sh a=1 {ADDED} 2>&1"
    write(folder, inner=LINE)
    made = proposed(plan, steps="2")
    assert made.plan.env == plan.env and made.plan.inner_copies == ()
