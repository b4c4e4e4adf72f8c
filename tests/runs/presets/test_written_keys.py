"""Keys of a line or its file, for programs whose own definitions aren't found, and declarations that exclude a value.

The shapes come from AgentFly, torchtitan, gpt-neox, prime-rl, ms-swift, NeMo, LLaMA-Factory, PRIME and LLaVA.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.runs.presets.model import DebugRunProposal

from tests.runs.presets.checkouts import checkout
from tests.runs.presets.test_unknown_trainers import made, settings


def reasons(proposal: DebugRunProposal, option: str) -> list[tuple[str, str]]:
    return [(each.outcome, each.why) for each in proposal.changes if each.option == option]


def test_keys_of_a_line_whose_program_is_not_found_are_changed_there(tmp_path: Path) -> None:
    files = {
        "run.sh": (
            "python -m fly.cli train trainer.total_training_steps=$STEPS \\\n"
            "  trainer.save_freq=50 agent.max_steps=9 trainer.logger=['console','wandb']\n"
        )
    }
    proposal = made(tmp_path, files)
    changes = [
        each.where.partition(" (")[0]
        for each in proposal.changes
        if each.outcome == "set, effect not verified"
    ]
    assert changes == [
        "trainer.total_training_steps=2",
        "trainer.save_freq=1000000",
        "trainer.logger=[console]",
    ]
    assert reasons(proposal, "steps")[0][1] == "Defined in run.sh:1."


def test_keys_of_the_command_that_a_script_passes_on_are_changed(tmp_path: Path) -> None:
    files = {"run.sh": 'torchrun --nproc_per_node=4 -m titan.train --module llama "$@"\n'}
    proposal = made(tmp_path, files, "bash", "run.sh", "--training.steps", "5000")
    assert proposal.plan.overrides == ("--training.steps", "2")
    assert reasons(proposal, "steps") == [("set, effect not verified", "Defined in command:1.")]


def test_interval_that_is_off_on_the_line_is_left(tmp_path: Path) -> None:
    files = {"run.sh": 'python3 -m far.train "$@"\n'}
    words = ("trainer.total_training_steps=50", "trainer.save_freq=-1")
    proposal = made(tmp_path, files, "bash", "run.sh", *words)
    assert proposal.plan.overrides == ("trainer.total_training_steps=2",)
    assert [outcome for outcome, _ in reasons(proposal, "no_checkpoint")] == ["already so"]


@pytest.mark.parametrize("line", ["--max-steps 30", "--steps 30", "agent.max_steps=3"])
def test_steps_of_an_agent_or_sampler_alone_are_left(tmp_path: Path, line: str) -> None:
    assert settings(made(tmp_path, {"run.sh": f"python -m far.play {line}\n"})) == {}


@pytest.mark.parametrize(
    ("name", "text", "argv", "place"),
    [
        (
            "configs/125M.yml",
            '# GPT\n{\n  "optimizer": {\n    "steps": 1\n  },\n  "train_iters": 320000,\n}\n',
            ("python", "deepy.py", "train.py", "-d", "configs", "125M.yml"),
            "configs/125M.yml:6.",
        ),
        (
            "rl.toml",
            "max_steps = 20\n\n[agent]\ntrain_steps = 9\n\n[trainer.optim]\nlr = 3e-6\n",
            ("uv", "run", "rl", "@", "rl.toml"),
            "rl.toml:1.",
        ),
        (
            "tiny.yaml",
            "optimizer:\n  lr: 1\ntokens:\n  train_steps: 2000\n",
            ("torchrun", "run.py", "--config-file", "tiny.yaml"),
            "tiny.yaml:4.",
        ),
    ],
)
def test_file_that_holds_the_steps_is_named(
    tmp_path: Path, name: str, text: str, argv: tuple[str, ...], place: str
) -> None:
    proposal = made(tmp_path, {name: text}, *argv)
    [(outcome, why)] = reasons(proposal, "steps")
    assert outcome == "not changed" and why.endswith(place)
    assert why.startswith("The line isn't known to override its file.")
    assert proposal.plan.overrides == ()


def test_file_of_an_agent_is_not_a_configuration_of_a_training(tmp_path: Path) -> None:
    proposal = made(tmp_path, {"a.yaml": "max_steps: 3\n"}, "python", "play.py", "a.yaml")
    assert reasons(proposal, "steps") == []


CHOICES = {
    "own.py": (
        "from dataclasses import dataclass\nfrom typing import Literal, Optional\n\n\n@dataclass\n"
        "class Fields:\n    train_iters: Optional[int] = None\n"
        "    save_strategy: Optional[Literal['steps', 'epoch']] = 'steps'\n"
        "    save_steps: int = 500\n"
        "    eval_strategy: Literal[\n        'no', 'steps'\n    ] = 'steps'\n"
    ),
    "fit.py": (
        "from transformers import HfArgumentParser\nfrom own import Fields\n\n"
        "if __name__ == '__main__':\n    HfArgumentParser((Fields,))\n"
    ),
    "run.sh": "torchrun fit.py --save_steps 50\n",
}


def test_value_outside_of_a_fields_choices_is_not_set(tmp_path: Path) -> None:
    assert settings(made(tmp_path, CHOICES)) == {
        "steps": "--train_iters 2 own.py:7",
        "no_checkpoint": "--save_steps 1000000 own.py:9",
        "no_validation": "--eval_strategy no own.py:10",
    }


def test_value_outside_of_a_flags_choices_is_not_set(tmp_path: Path) -> None:
    files = {
        "fit.py": (
            "import argparse\n\np = argparse.ArgumentParser()\np.add_argument('--max-steps')\n"
            "p.add_argument('--save-strategy', choices=['steps', 'best'])\n"
            "p.add_argument('--eval-strategy', choices=['no', 'steps'])\n"
        ),
        "run.sh": "python fit.py --max-steps 900\n",
    }
    assert settings(made(tmp_path, files)) == {
        "steps": "--max-steps 2 fit.py:4",
        "no_validation": "--eval-strategy no fit.py:6",
    }


def test_switch_or_share_of_an_epoch_gets_no_name_or_interval(tmp_path: Path) -> None:
    """NeMo: `logger: false` belongs to another part, and Lightning refuses an interval above an epoch's batches."""
    files = {
        "fit.py": (
            "from nemo.core.config import hydra_runner\n\n\n"
            "@hydra_runner(config_path='conf', config_name='own')\ndef main(cfg): ...\n"
        ),
        "conf/own.yaml": (
            "trainer:\n  max_steps: -1\n  val_check_interval: 1.0 # or an int\n  logger: false\n"
            "  save_interval: 9\n  eval_freq:\n    # later\n    first: 3\n"
        ),
        "run.sh": "python fit.py trainer.devices=2\n",
    }
    assert settings(made(tmp_path, files)) == {
        "steps": "++trainer.max_steps=2 conf/own.yaml:2",
        "no_checkpoint": "++trainer.save_interval=1000000 conf/own.yaml:5",
    }


def test_none_is_a_tracker_only_for_trainers_of_transformers(tmp_path: Path) -> None:
    """open-instruct's `finetune.py` hands `report_to` to accelerate, which refuses "none"."""
    fields = "    max_train_steps: int = 0\n    report_to: str = 'all'\n    with_tracking: bool = False\n"
    files = CHOICES | {
        "own.py": f"from dataclasses import dataclass\n\n\n@dataclass\nclass Fields:\n{fields}",
    }
    files["run.sh"] = "torchrun fit.py --with_tracking\n"
    proposal = made(tmp_path, files)
    assert settings(proposal) == {
        "steps": "--max_train_steps 2 own.py:6",
        "no_trackers": "--with_tracking false own.py:8",
    }
    assert "bash" not in [change.value.partition(" ")[0] for change in proposal.changes]


def test_no_is_a_text_for_omegaconf(tmp_path: Path) -> None:
    """OmegaConf reads `save_strategy=no` as false, which transformers refuses."""
    files = {
        "fit.py": "from omegaconf import OmegaConf\n\nline = OmegaConf.from_cli()\n",
        "own.yaml": "max_steps: 9\nsave_strategy: steps\n",
        "run.sh": "python fit.py own.yaml\n",
    }
    found = settings(made(tmp_path, files))
    assert found["no_checkpoint"] == "save_strategy='no' own.yaml:2"


@pytest.mark.parametrize(
    ("condition", "value"),
    [("", "1000000"), ("c.trainer.test_freq > 0 and ", "-1"), ("test_freq == -1 or ", "-1")],
)
def test_interval_without_a_guard_is_not_minus_one(
    tmp_path: Path, condition: str, value: str
) -> None:
    """verl 0.1 (PRIME) validates at each step with -1."""
    files = {
        "verl/trainer/main_ppo.py": (
            "import hydra\n\n\n@hydra.main(config_path='config', config_name='ppo_trainer')\n"
            "def main(config): ...\n"
        ),
        "verl/trainer/config/ppo_trainer.yaml": "trainer:\n  test_freq: 2\n  save_freq: -1\n",
        "verl/trainer/loop.py": f"def f(c, n):\n    return {condition}n % c.trainer.test_freq == 0\n",
        "run.sh": "python3 -m verl.trainer.main_ppo trainer.test_freq=16\n",
    }
    found = settings(made(checkout(tmp_path, "verl", "0.1"), files))
    assert found["no_validation"].startswith(f"++trainer.test_freq={value} ")


def test_large_init_of_an_installed_package_is_read(tmp_path: Path) -> None:
    """`transformers/__init__.py` has 317 kB in 4.37."""
    packages = "env/lib/python3.11/site-packages/transformers"
    files = {
        f"{packages}/__init__.py": "from .arguments import TrainingArguments\n" + "#" * 300_000,
        f"{packages}/arguments.py": "class TrainingArguments:\n    max_steps: int = -1\n",
        "fit.py": (
            "import transformers\n\n\nclass Own(transformers.TrainingArguments):\n    own: int = 0\n\n\n"
            "transformers.HfArgumentParser((Own,))\n"
        ),
        "run.sh": "deepspeed fit.py --bf16 True\n",
    }
    assert settings(made(tmp_path, files)) == {
        "steps": "--max_steps 2 site-packages/transformers/arguments.py:2"
    }
