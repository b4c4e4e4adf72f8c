"""One batch of a training with verl: its settings by version, its command, and what its console says."""

from __future__ import annotations

import json
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from eagleray.cli.main import main
from eagleray.common.errors import EaglerayError
from eagleray.rollouts.integration.verl_batch import limited_training
from eagleray.rollouts.integration.verl_steps import verl_step_in, verl_step_text
from eagleray.runs.model import RunPlan
from eagleray.runs.presets.model import DebugRunProposal
from hypothesis import given
from hypothesis import strategies as st

FAKE = Path(__file__).parent / "fake_verl"
NOW = datetime(2026, 11, 24, tzinfo=UTC)
TRAINER = (sys.executable, "-m", "verl.trainer.main_ppo")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "checkout"
    shutil.copytree(FAKE, folder)
    monkeypatch.chdir(folder)
    return folder


def made(folder: Path, *argv: str, **values: Any) -> DebugRunProposal:
    plan = RunPlan(kind="command", argv=argv, cwd=str(folder), name="run")
    return limited_training(plan, NOW, "eagleray-1", **values)


def added(proposal: DebugRunProposal, *argv: str) -> dict[str, str]:
    words = proposal.plan.command[len(argv) :]
    assert all(word.startswith("++") for word in words)
    return {key: value for key, _, value in (word[2:].partition("=") for word in words)}


def test_training_is_one_step_of_its_own(checkout: Path) -> None:
    argv = (*TRAINER, "trainer.save_freq=20", "data.train_batch_size=1024")
    proposal = made(checkout, *argv)
    assert proposal.plan.command[: len(argv)] == argv
    assert added(proposal, *argv) == {
        "trainer.total_training_steps": "1",
        "trainer.experiment_name": "eagleray-1",
        "trainer.resume_mode": "disable",
        "trainer.save_freq": "-1",
        "trainer.val_before_train": "false",
        "trainer.test_freq": "-1",
        "trainer.logger": "[console]",
        "actor_rollout_ref.rollout.skip_rollout": "false",
    }


@pytest.mark.parametrize(
    ("version", "keys"),
    [
        ("0.7.1", {"actor_rollout_ref.rollout.skip_rollout"}),
        ("0.8.0", {"actor_rollout_ref.rollout.skip.enable"}),
        ("0.9.0", {"skip.rollout_tq.enable", "skip.rollout.enable"}),
    ],
)
def test_rollouts_are_real_in_each_version(checkout: Path, version: str, keys: set[str]) -> None:
    """The key that skips them has moved twice; a key of another version would end the training."""
    (checkout / "verl" / "version" / "version").write_text(f"{version}\n")
    options = added(made(checkout, *TRAINER), *TRAINER)
    assert {key for key in options if "skip" in key} == keys
    assert {options[key] for key in keys} == {"false"}


def test_unknown_version_is_limited_all_the_same(checkout: Path) -> None:
    (checkout / "verl" / "version" / "version").unlink()
    options = added(made(checkout, *TRAINER), *TRAINER)
    assert options["trainer.total_training_steps"] == "1"
    assert options["trainer.save_freq"] == "-1"
    assert not [key for key in options if "skip" in key]


def test_smaller_batch_is_one_of_the_update(checkout: Path) -> None:
    options = added(made(checkout, *TRAINER, items=8), *TRAINER)
    assert options["data.train_batch_size"] == "8"
    assert options["actor_rollout_ref.actor.ppo_mini_batch_size"] == "8"


def test_own_overrides_come_last(checkout: Path) -> None:
    proposal = made(checkout, *TRAINER, more=("trainer.total_training_steps=2",))
    assert proposal.plan.command[-1] == "trainer.total_training_steps=2"


def test_script_that_passes_its_arguments_gets_them(checkout: Path) -> None:
    script = checkout / "run.sh"
    script.write_text('set -x\npython3 -m verl.trainer.main_ppo algorithm.gamma=1 "$@"\n')
    assert added(made(checkout, "bash", "run.sh"), "bash", "run.sh")["trainer.save_freq"] == "-1"


def test_other_program_is_refused(checkout: Path) -> None:
    with pytest.raises(EaglerayError) as refused:
        made(checkout, sys.executable, "train.py")
    assert refused.value.code == "no-verl"


def test_training_that_takes_no_settings_is_refused(checkout: Path) -> None:
    """It would run to its end, and write checkpoints of the real experiment."""
    (checkout / "run.sh").write_text('eval "python3 -m verl.trainer.main_ppo"\nsource other.sh\n')
    with pytest.raises(EaglerayError) as refused:
        made(checkout, "bash", "run.sh")
    assert refused.value.code in ("no-verl", "not-one-batch")


def test_step_is_run_and_summed_up(
    checkout: Path, own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["agent", "integrate", "--items", "4", "--", *TRAINER, "trainer.save_freq=20"]) == 0

    printed = capfd.readouterr()
    config = json.loads(next(line for line in printed.out.splitlines() if line[:1] == "{"))
    assert (config["trainer.save_freq"], config["data.train_batch_size"]) == ("-1", "4")
    assert config["trainer.experiment_name"].startswith("eagleray_2")
    assert "(TaskRunner pid=7) step:1 - critic/rewards/mean:0.25" in printed.out
    assert printed.err.splitlines()[-1] == (
        "Step 1: reward 0.25, 512 tokens per response, 12% cut off, 3.25 s for rollouts, 5.5 s in all"
    )


def test_training_without_a_step_fails_the_command(
    checkout: Path, own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["agent", "integrate", "--", *TRAINER, "fake.silent=1"]) == 1
    assert capfd.readouterr().err.splitlines()[-1] == "The training ended, and printed no step."


def test_dry_run_starts_nothing(
    checkout: Path, own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["agent", "integrate", "--dry-run", "--", *TRAINER]) == 0
    assert "++trainer.total_training_steps=1" in capfd.readouterr().out
    assert not (own_home / "runs").exists() or not list((own_home / "runs").iterdir())


@pytest.mark.parametrize(
    "arguments",
    [["my_agent:MyAgent", "--", *TRAINER], ["my_agent:MyAgent"], ["--data", "x.jsonl"], []],
)
def test_command_is_for_one_framework(
    arguments: list[str], own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["agent", "integrate", *arguments])
    assert ended.value.code == 2
    assert "AReaL" in capfd.readouterr().err


def test_step_of_a_real_training_is_read() -> None:
    """A line of verl 0.9.1 with Ray's colours, of GRPO on a CPU."""
    line = (FAKE.parents[1] / "recorded" / "verl-0.9.1-step.txt").read_text()
    step = verl_step_in(line)
    assert step is not None
    assert len(step.figures) == line.count(" - ")
    assert verl_step_text(step) == (
        "Step 1: reward 0.625, 16 tokens per response, 100% cut off, 14.3 s for rollouts, 64.9 s in all"
    )


@pytest.mark.parametrize(
    "line",
    ["step:1", "global_step:1 - x:2", "Training Progress:   0%|          | 0/1", "step:x - a:1"],
)
def test_other_lines_are_not_steps(line: str) -> None:
    assert verl_step_in(line) is None


def test_figures_that_are_not_printed_are_left_out() -> None:
    step = verl_step_in("step:3 - critic/rewards/mean:nan - actor/lr:1e-06 - note:text")
    assert step is not None
    assert step.figures["actor/lr"] == 1e-6
    assert verl_step_text(step) == "Step 3"


@given(st.text(max_size=200))
def test_any_line_can_be_read(text: str) -> None:
    step = verl_step_in(text)
    assert step is None or verl_step_text(step).startswith("Step ")
