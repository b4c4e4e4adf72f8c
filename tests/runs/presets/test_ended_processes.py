"""Scripts that end processes by name, and programs that start in a container: what a debug run does and says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.presets.checkouts import TRAINERS, checkout, debug_run, plan_of

KILLS = "pkill -9 sglang\nray stop --force\npkill -9 python\npython3 train.py --num-rollout 9\n"


def test_commands_that_would_end_the_run_do_nothing_in_the_copy(tmp_path: Path) -> None:
    checkout(tmp_path, "slime", "0.3.1")
    (tmp_path / "train.py").write_text(TRAINERS["slime"])
    (tmp_path / "run.sh").write_text(KILLS)
    made = debug_run(plan_of(tmp_path, "bash", "run.sh"))
    assert made.plan.copy_text.splitlines()[:3] == [
        "pkill -9 sglang",
        "ray stop --force",
        ": pkill -9 python",
    ]
    rows = {change.request: (change.outcome, change.where) for change in made.changes}
    assert rows["Commands that would end this run"] == (
        "will apply",
        "`pkill -9 python` (line 3 of run.sh)",
    )
    assert rows["Commands that end other programs"][0] == "not changed"


@pytest.mark.parametrize(
    ("line", "tool"),
    [
        ('docker exec box bash -c "cd /w && python3 -m verl.trainer.main_ppo a=1"', "docker exec"),
        ("singularity exec x.sif bash /workspace/train.sh", "singularity exec"),
        ("srun --container-image=/x.sqsh python /opt/train.py", "srun --container-image"),
        (
            'tmux send-keys -t night "python3 -m verl.trainer.main_ppo trainer.save_freq=9" C-m',
            "tmux send-keys",
        ),
        ('screen -dmS night bash -c "torchrun fit.py --max-steps 9"', "screen -dmS"),
    ],
)
def test_program_in_a_container_gets_no_false_reason(tmp_path: Path, line: str, tool: str) -> None:
    (tmp_path / "run.sh").write_text(f"{line}\n")
    made = debug_run(plan_of(tmp_path, "bash", "run.sh"))
    assert made.summary.startswith(f"Line 1 starts its program by `{tool}`.")
    assert "version" not in made.summary


@pytest.mark.parametrize(
    ("line", "reaches"),
    [
        ("screen -dmS night bash -c 'torchrun fit.py'", False),
        ("python fit.py --max-train-steps 900", True),
        ("python submit.py --gpus 8 -- python fit.py --max-train-steps 900", False),
    ],
)
def test_stop_is_not_promised_where_another_program_starts_the_training(
    tmp_path: Path, line: str, reaches: bool
) -> None:
    """A terminal's server, or a launcher that gets a command: open-instruct's `mason.py` submits it."""
    (tmp_path / "run.sh").write_text(f"{line}\n")
    (tmp_path / "fit.py").write_text("import torch\n")
    made = debug_run(plan_of(tmp_path, "bash", "run.sh"))
    outcomes = [each.outcome for each in made.changes if each.request == "Break on Failure"]
    assert outcomes == ["will apply" if reaches else "set, effect not verified"]


@pytest.mark.parametrize(
    ("text", "is_launcher"),
    [
        ("run(['ray', 'job', 'submit', '--', 'python', '-m', f'{name}.main'])", True),
        ("run(f'torchrun --nproc {name} fit.py', shell=True)", True),
        ("'Started by torchrun fit.py.'\nrun(['nvidia-smi'])", False),
    ],
)
def test_program_that_starts_a_launcher_says_where_to_shorten(
    tmp_path: Path, text: str, is_launcher: bool
) -> None:
    (tmp_path / "go.py").write_text(f"from subprocess import run\n\nname = 'x'\n{text}\n")
    made = debug_run(plan_of(tmp_path, "python3", "go.py"))
    assert made.summary.startswith("go.py itself runs `") is is_launcher


def test_line_for_another_host_says_nothing_of_a_local_trainer(tmp_path: Path) -> None:
    lines = ["python train_mine.py --steps 3", "ssh logger python3 /opt/notify.py"]
    (tmp_path / "run.sh").write_text("\n".join(lines) + "\n")
    made = debug_run(plan_of(tmp_path, "bash", "run.sh"))
    assert "ssh" not in made.summary
