"""The command lines of a checkout: scripts, documented commands, programs with their configurations."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.presets_trial.commands import (
    CommandLine,
    checkouts,
    command_lines,
    documented_line,
    sample,
)

CLUSTER = """
```sh
NODES=2  # all of them
COMMAND="uv run ./examples/run_grpo.py" \\
MOUNTS="$PWD:$PWD" \\
sbatch \\
    --nodes=${NODES} \\
    ray.sub
```
"""
README = """Train:
```bash
$ WANDB_MODE=offline python3 examples/rl.py --config examples/rl.yaml \\
    scheduler.type=ray   # on Ray
python3 examples/rl.py --config <your config>
pip install areal
```
"""


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def shown(folder: Path) -> list[str]:
    return [line.shown for line in command_lines(folder, 2)]


def test_scripts_are_found_with_the_command_that_starts_them(tmp_path: Path) -> None:
    write(tmp_path, "examples/run.sh", "python3 -m verl.trainer.main_ppo\n")
    write(tmp_path, "job.sbatch", "#!/bin/bash\n#SBATCH --nodes=2\nsrun python3 train.py\n")
    write(tmp_path, "docker/build.sh", "docker build .\n")
    assert shown(tmp_path) == ["bash examples/run.sh", "sbatch job.sbatch"]


def test_documented_commands_are_found(tmp_path: Path) -> None:
    write(tmp_path, "README.md", README)
    line = "python3 examples/rl.py --config examples/rl.yaml scheduler.type=ray"
    assert shown(tmp_path) == [f"WANDB_MODE=offline {line}"]


def test_a_documented_submission_keeps_its_variables(tmp_path: Path) -> None:
    write(tmp_path, "docs/cluster.md", CLUSTER)
    (line,) = command_lines(tmp_path)
    assert line.words == ("sbatch", "--nodes=2", "ray.sub")
    assert line.env == {
        "COMMAND": "uv run ./examples/run_grpo.py",
        "MOUNTS": f"{tmp_path}:{tmp_path}",
    }


def test_configurations_are_paired_with_the_program_of_the_closest_name(tmp_path: Path) -> None:
    for name in ("rl_eval.py", "sft_rl.py", "rl_program.py"):
        write(tmp_path, f"examples/{name}", "config, _ = load_expr_config(args, Config)\n")
    write(tmp_path, "examples/rl_large.yaml", "seed: 1\n")
    write(tmp_path, "other/rl.yaml", "seed: 1\n")
    program = "python3 examples/rl_program.py --config examples/rl_large.yaml"
    assert shown(tmp_path) == [f"{program} scheduler.type=local"]


def test_a_script_that_takes_a_configuration_is_tried_with_some_of_them(tmp_path: Path) -> None:
    text = "CONFIG=$1\npython run.py --config-path ${HERE}/config/ --config-name ${CONFIG}\n"
    write(tmp_path, "run.sh", text)
    for name in "abcd":
        write(tmp_path, f"config/{name}.yaml", "seed: 1\n")
    assert shown(tmp_path) == ["bash run.sh a", "bash run.sh c"]


@pytest.mark.parametrize(
    "text",
    [
        "python3 train.py --config $FILE",
        "python3 train.py --config 'open",
        "python3 train.py",
        "ls --config x",
        "",
    ],
)
def test_lines_that_start_nothing_or_have_placeholders_are_left_out(text: str) -> None:
    assert documented_line(text, "README.md") is None


def test_a_folder_of_checkouts_and_a_checkout_are_told_apart(tmp_path: Path) -> None:
    for name in ("one", "two", "no checkout"):
        (tmp_path / name).mkdir()
    write(tmp_path, "one/setup.py", "")
    write(tmp_path, "two/README.md", "")
    assert checkouts(tmp_path) == [tmp_path / "one", tmp_path / "two"]
    assert checkouts(tmp_path, ["two"]) == [tmp_path / "two"]
    assert checkouts(tmp_path / "one") == [tmp_path / "one"]


def test_a_sample_is_spread_evenly() -> None:
    lines = [CommandLine((str(at),), "") for at in range(10)]
    assert sample(lines, 0) == lines
    assert [line.words[0] for line in sample(lines, 3)] == ["0", "3", "6"]
