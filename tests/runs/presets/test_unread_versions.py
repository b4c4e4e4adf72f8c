"""For a version that no table covers, only keys that the user's checkout defines are set."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.runs.presets.propose import propose

from tests.runs.presets.checkouts import VERL, checkout, debug_run, plan_of, read

MAIN = """\
import hydra


@hydra.main(config_path="config", config_name="ppo_trainer", version_base=None)
def main(config):
    print(config.trainer.total_training_steps)
"""
CONFIG = """\
trainer:
  total_training_steps: null
  resume_mode: auto
  test_freq: -1
  logger: [console]
"""
PPO_RAY = "parser.add_argument('--max_samples')\nparser.add_argument('--save_steps')\n"


def verl(folder: Path, version: str = "1.5.0", config: str = CONFIG) -> Path:
    checkout(folder, "verl", version)
    trainer = folder / "verl" / "trainer"
    (trainer / "config").mkdir(parents=True)
    (trainer / "main_ppo.py").write_text(MAIN)
    (trainer / "config" / "ppo_trainer.yaml").write_text(config)
    return folder


def test_keys_of_the_checkout_are_set_and_marked(tmp_path: Path) -> None:
    made = debug_run(plan_of(verl(tmp_path), *VERL, kind="program"))
    assert made.plan.overrides == (
        "++trainer.total_training_steps=2",
        "++trainer.resume_mode=disable",
        "++trainer.test_freq=-1",
        "++trainer.logger=[console]",
    )
    steps = next(change for change in made.changes if change.request == "Few steps: 2")
    assert steps.outcome == "set, effect not verified"
    assert steps.why == "Defined in verl/trainer/config/ppo_trainer.yaml:2."
    about = [change for change in made.changes if change.outcome == "unknown version"]
    assert [change.request for change in about] == ["Which verl this is"]
    assert "Only keys that your code defines are set" in about[0].why
    assert "will apply" not in {
        change.outcome for change in made.changes if change.request != "Break on Failure"
    }


def test_limit_that_no_code_reads_is_named(tmp_path: Path) -> None:
    """SimpleVLA-RL counts epochs, and kept the key of verl."""
    folder = verl(tmp_path)
    program = folder / "verl" / "trainer" / "main_ppo.py"
    for use, is_read in (
        ("self.config.trainer.total_training_steps", True),
        ("trainer_config['total_training_steps']", True),
        ("config['trainer'].get('total_training_steps')", True),
        ("config.optim.total_training_steps", False),
    ):
        program.write_text(MAIN.replace("config.trainer.total_training_steps", use))
        made = debug_run(plan_of(folder, *VERL, kind="program"))
        steps = next(change for change in made.changes if change.request == "Few steps: 2")
        assert steps.why.endswith("No code that reads it was found.") is not is_read, use


def test_key_of_the_table_that_the_checkout_lacks_is_not_proposed(tmp_path: Path) -> None:
    made = debug_run(plan_of(verl(tmp_path), *VERL, kind="program"))
    answers = {question.id: question.value for question in made.questions}
    assert (answers["steps"], answers["name"], answers["no_checkpoint"]) == ("2", "", "off")
    assert not any("save_freq" in change.where for change in made.changes)


def test_requested_option_without_a_key_is_not_changed(tmp_path: Path) -> None:
    plan = plan_of(verl(tmp_path), *VERL, kind="program")
    made = debug_run(plan, no_checkpoint="on")
    change = next(change for change in made.changes if change.request == "No checkpoints")
    assert (change.outcome, change.where) == ("not changed", "trainer.save_freq")
    assert not any("save_freq" in word for word in made.plan.overrides)


def test_version_that_was_read_is_not_searched_for_keys(tmp_path: Path) -> None:
    folder = verl(tmp_path, "0.7.1", "trainer: {}\n")
    made = debug_run(plan_of(folder, *VERL, kind="program"))
    assert "++trainer.save_freq=-1" in made.plan.overrides


@pytest.mark.parametrize("version", ["1.5.0", ""])
def test_checkout_without_any_of_the_keys_is_an_unknown_version(
    tmp_path: Path, version: str
) -> None:
    folder = verl(tmp_path, version, "other: 1\n")
    made = debug_run(plan_of(folder, *VERL, kind="program"))
    assert made.plan.overrides == ()
    assert [change.outcome for change in made.changes].count("unknown version") == 1
    assert "nothing is proposed" in made.changes[0].why


def test_table_that_fits_the_checkout_best_is_taken(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "openrlhf", "0.99.0")
    (folder / "openrlhf" / "cli").mkdir(parents=True)
    (folder / "openrlhf" / "cli" / "train_ppo_ray.py").write_text(PPO_RAY)
    argv = ("python3", "-m", "openrlhf.cli.train_ppo_ray")
    made = debug_run(plan_of(folder, *argv, kind="program"))
    assert "--max_samples" in made.plan.overrides
    assert "--save_steps" in made.plan.overrides
    assert not any("." in word for word in made.plan.overrides if word.startswith("--"))


def test_installed_package_is_searched_without_a_checkout(tmp_path: Path) -> None:
    packages = tmp_path / "env" / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    verl(packages)
    work = tmp_path / "work"
    work.mkdir()
    python = str(tmp_path / "env" / "bin" / "python")
    plan = plan_of(work, python, *VERL[1:], kind="program")
    made = propose(plan, read(plan, python), {})
    assert "++trainer.total_training_steps=2" in made.plan.overrides
    steps = next(change for change in made.changes if change.request == "Few steps: 2")
    assert steps.why == "Defined in site-packages/verl/trainer/config/ppo_trainer.yaml:2."
