"""The configuration of a debug run is composed by the program's own Python, with real Hydra and OmegaConf."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path

import pytest
from eagleray.runs.model import RunPlan
from eagleray.runs.presets import composed_config
from eagleray.runs.presets.composed_config import Composed
from eagleray.runs.presets.debug_runs import DEBUG, DebugRuns
from eagleray.runs.presets.user_presets import OwnPresets

from tests.runs.presets.checkouts import checkout, plan_of

HYDRA_MAIN = """\
import os
from pathlib import Path

import hydra
import ray_is_not_started

Path("environment").write_text(repr((os.environ["CUDA_VISIBLE_DEVICES"], "RAY_ADDRESS" in os.environ)))
print("a library prints: this")


@hydra.main(config_path="config", config_name="ppo_trainer", version_base=None)
def main(config):
    Path("started").touch()


if __name__ == "__main__":
    main()
"""
TRAINER = """\
trainer:
  total_training_steps: null
  logger: [console, wandb]
  save_freq: 10
"""
CLI_ARGS = """\
import sys
from dataclasses import dataclass, field

from omegaconf import OmegaConf


@dataclass
class Recover:
    mode: str = "auto"


@dataclass
class GRPOConfig:
    total_train_steps: int = 100
    recover: Recover = field(default_factory=Recover)


def to_structured_cfg(config, config_cls):
    return OmegaConf.merge(OmegaConf.structured(config_cls), config)


def load_expr_config(argv, config_cls):
    words = [word.lstrip("+") for word in argv if "=" in word]
    config = to_structured_cfg(OmegaConf.from_dotlist(words), config_cls)
    open("started", "w").close()
    return config
"""
AREAL = """\
import sys

from areal.api.cli_args import GRPOConfig, load_expr_config


def train(config):
    from areal import PPOTrainer

    PPOTrainer(config).train()


if __name__ == "__main__":
    train(load_expr_config(sys.argv[1:], GRPOConfig))
"""
OPENRLHF = """\
import argparse

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--max_samples", type=int)
    parser.add_argument("--save_steps", type=int, default=5)
    args = parser.parse_args()
    open("started", "w").close()
"""


def written(folder: Path, framework: str, version: str, **texts: str) -> Path:
    """A checkout with these files; two underscores in a name are a slash, and `.py` or `.yaml` is given."""
    checkout(folder, framework, version)
    (folder / "ray_is_not_started.py").touch()
    for name, text in texts.items():
        path, _, ending = name.rpartition("_")
        file = folder / f"{path.replace('__', '/')}.{ending}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def verl(folder: Path, main: str = HYDRA_MAIN) -> Path:
    texts = {
        "verl__trainer__main_ppo_py": main,
        "verl__trainer__config__ppo_trainer_yaml": TRAINER,
    }
    return written(folder, "verl", "9.0.0", **texts)


def composed(folder: Path, *arguments: str, kind: str = "program", python: str = "") -> Composed:
    runs = DebugRuns(OwnPresets(folder / "presets"))
    original = plan_of(folder, *arguments, kind=kind)
    made = runs.proposal(original, DEBUG, {})
    return asyncio.run(runs.composed(original, made.plan, python))


VERL = (sys.executable, "-m", "verl.trainer.main_ppo")


def test_hydra_composes_the_overrides_and_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    made = composed(verl(tmp_path), *VERL, "trainer.save_freq=20")
    assert made.error == ""
    assert made.values == {
        "trainer.total_training_steps": "2",
        "trainer.save_freq": "-1",
        "trainer.logger": "[console]",
    }
    assert (tmp_path / "environment").read_text() == "('', False)"
    assert not (tmp_path / "started").exists()


def test_arguments_of_a_script_are_composed_with_the_overrides(tmp_path: Path) -> None:
    folder = verl(tmp_path)
    script = folder / "run.sh"
    script.write_text(
        f"{sys.executable} -m verl.trainer.main_ppo trainer.save_freq=$(date) \\\n"
        '    trainer.total_training_steps=30 "$@"\n'
    )
    made = composed(folder, "bash", "run.sh", kind="script")
    assert made.values["trainer.total_training_steps"] == "2"
    assert made.error == ""


@pytest.mark.parametrize(
    ("word", "error"),
    [
        ("trainer.unknown=1", "Could not override 'trainer.unknown'."),
        ("trainer", "missing EQUAL at"),
    ],
)
def test_error_of_hydra_is_reported(tmp_path: Path, word: str, error: str) -> None:
    made = composed(verl(tmp_path), *VERL, word)
    assert error in made.error
    assert "HYDRA_FULL_ERROR" not in made.error
    assert not made.values


def test_missing_package_is_named_with_the_next_step(tmp_path: Path) -> None:
    made = composed(verl(tmp_path, HYDRA_MAIN.replace("ray_is", "torch_is")), *VERL)
    assert "can't import the program: No module named 'torch_is_not_started'" in made.error
    assert made.next_step.startswith("Select the Python of the training environment")


def test_interpreter_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    made = composed(verl(tmp_path), *VERL, python="/missing/python")
    assert "/missing/python" in made.error


def test_dataclasses_are_composed_before_the_program_continues(tmp_path: Path) -> None:
    texts = {"areal__api__cli_args_py": CLI_ARGS, "train_py": AREAL}
    folder = written(tmp_path, "areal", "9.0.0", **texts)
    made = composed(folder, sys.executable, "train.py", "recover.mode=auto")
    assert made.error == ""
    assert made.values == {"total_train_steps": "2", "recover.mode": "disabled"}
    assert not (tmp_path / "started").exists()


def test_flags_are_parsed_before_the_program_continues(tmp_path: Path) -> None:
    folder = written(tmp_path, "openrlhf", "9.0.0", openrlhf__cli__train_ppo_ray_py=OPENRLHF)
    command = (sys.executable, "-m", "openrlhf.cli.train_ppo_ray")
    made = composed(folder, *command)
    assert made.error == ""
    assert made.values["--save_steps"] == "-1"
    refused = composed(folder, *command, "--unknown", "1")
    assert "unrecognized arguments: --unknown" in refused.error
    assert not (tmp_path / "started").exists()


def test_option_that_the_script_computes_is_refused(tmp_path: Path) -> None:
    folder = verl(tmp_path)
    (folder / "run.sh").write_text(
        'python3 -m verl.trainer.main_ppo --config-name $(choose) "$@"\n'
    )
    made = composed(folder, "bash", "run.sh", kind="script")
    assert made.error.startswith("The script computes $(choose)")


def test_program_without_a_framework_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("open('started', 'w')\n")
    assert "No configuration" in composed(tmp_path, sys.executable, "train.py").error
    assert not (tmp_path / "started").exists()


def test_program_that_does_not_end_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(composed_config, "LIMIT_S", 0.1)
    made = composed(verl(tmp_path, "import time\ntime.sleep(100)\n" + HYDRA_MAIN), *VERL)
    assert "0.1" in made.error


async def test_cancelled_request_ends_the_program(tmp_path: Path) -> None:
    fifo = tmp_path / "pid"
    main = f"import os, time\nopen({str(fifo)!r}, 'w').write(str(os.getpid()))\ntime.sleep(100)\n"
    folder = verl(tmp_path, main + HYDRA_MAIN)
    os.mkfifo(fifo)
    runs = DebugRuns(OwnPresets(folder / "presets"))
    original = plan_of(folder, *VERL, kind="program")
    plan: RunPlan = runs.proposal(original, DEBUG, {}).plan
    task = asyncio.create_task(runs.composed(original, plan))
    pid = int(await asyncio.to_thread(fifo.read_text))
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
