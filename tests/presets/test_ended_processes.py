"""Scripts that end processes by name, and programs that start in a container: what a debug run does and says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.presets.checkouts import TRAINERS, checkout, debug_run, plan_of

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
    ],
)
def test_program_in_a_container_gets_no_false_reason(tmp_path: Path, line: str, tool: str) -> None:
    (tmp_path / "run.sh").write_text(f"{line}\n")
    made = debug_run(plan_of(tmp_path, "bash", "run.sh"))
    assert made.summary.startswith(f"Line 1 starts its program by `{tool}`.")
    assert "version" not in made.summary


def test_line_for_another_host_says_nothing_of_a_local_trainer(tmp_path: Path) -> None:
    lines = ["python train_mine.py --steps 3", "ssh logger python3 /opt/notify.py"]
    (tmp_path / "run.sh").write_text("\n".join(lines) + "\n")
    made = debug_run(plan_of(tmp_path, "bash", "run.sh"))
    assert "ssh" not in made.summary
