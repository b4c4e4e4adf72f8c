"""Checkouts of frameworks as far as they are recognised by: version files, programs, configurations; none can run."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

from eagleray.runs.model import RunPlan
from eagleray.runs.presets.analysis import ProgramAnalysis, analyze
from eagleray.runs.presets.model import DebugRunProposal
from eagleray.runs.presets.propose import propose

SCRIPTS = Path(__file__).parent / "scripts"
NOW = datetime(2026, 11, 21, 18, 30, 0)

# Commands that start a training.
VERL = ("python3", "-m", "verl.trainer.main_ppo")
AREAL = ("python3", "areal_grpo.py", "--config", "c.yaml")
OPENRLHF = ("python3", "-m", "openrlhf.cli.train_ppo_ray")
ENV = "++ray_kwargs.ray_init.runtime_env.env_vars"

NEMO_TRAINER = """
def main():
    from nemo_rl.algorithms.{section} import {section}_train
    from nemo_rl.utils.config import parse_hydra_overrides

    {section}_train(parse_hydra_overrides())
"""
# The least that is recognised as a trainer of each framework.
TRAINERS = {
    "nemo_rl": NEMO_TRAINER.format(section="grpo"),
    "areal": """
def main(args):
    from areal import PPOTrainer
    from areal.api.cli_args import GRPOConfig, load_expr_config

    PPOTrainer(load_expr_config(args, GRPOConfig)).train()
""",
    "rlinf": """
def main():
    import hydra
    from rlinf.runners.embodied_runner import EmbodiedRunner

    hydra.main()(EmbodiedRunner().run())
""",
    **{
        package: f"""
import ray
from {package}.ray.placement_group import create_training_models
from {package}.utils.arguments import parse_args
from {package}.utils.misc import should_run_periodic_action


def train(args):
    model = create_training_models(args)
    for rollout_id in range(args.start_rollout_id, args.num_rollout):
        model.async_train(rollout_id)
        if should_run_periodic_action(rollout_id, args.save_interval, None, args.num_rollout):
            model.save_model(rollout_id)


train(parse_args())
"""
        for package in ("slime", "miles")
    },
    "skyrl": """
import sys

from skyrl.train.config import SkyRLTrainConfig
from skyrl.train.entrypoints.main_base import BasePPOExp, validate_cfg

config = SkyRLTrainConfig.from_cli_overrides(sys.argv[1:])
validate_cfg(config)
BasePPOExp(config).run()
""",
}

# The version in each framework's checkout, by its file.
VERSION_FILES = {
    "verl": ("verl/version/version", "{version}\n"),
    "nemo_rl": (
        "nemo_rl/package_info.py",
        'MAJOR = {0}\nMINOR = {1}\nPATCH = {2}\nPRE_RELEASE = ""\n',
    ),
    "areal": ("pyproject.toml", '[project]\nname = "areal"\nversion = "{version}"\n'),
    "rlinf": ("pyproject.toml", '[project]\nname = "rlinf"\nversion = "{version}"\n'),
    "openrlhf": ("version.txt", "{version}\n"),
    "slime": ("setup.py", 'setup(\n    name="slime",\n    version="{version}",\n)\n'),
    "miles": ("setup.py", 'setup(\n    name="miles",\n    version="{version}",\n)\n'),
    "skyrl": ("skyrl/__init__.py", '__version__ = "{version}"\n'),
}


def checkout(folder: Path, framework: str, version: str) -> Path:
    """A checkout of `framework` that says `version`, "" for none."""
    (folder / framework).mkdir(parents=True, exist_ok=True)
    if version:
        path, text = VERSION_FILES[framework]
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.format(*version.split("."), version=version))
    return folder


def with_script(folder: Path, name: str, newline: str = "\n") -> Path:
    """One of our scripts in the checkout, and the program that it may start."""
    target = folder / name
    shutil.copy(SCRIPTS / name, target)
    if newline != "\n":
        target.write_bytes(target.read_bytes().replace(b"\n", newline.encode()))
    (folder / "train.py").write_text(TRAINERS["rlinf"])
    return target


def plan_of(folder: Path, *argv: str, kind: str = "script", **more: object) -> RunPlan:
    return RunPlan(kind=kind, argv=argv, cwd=str(folder), name="run", **more)


def read(plan: RunPlan, python: str = "python3") -> ProgramAnalysis:
    return analyze(plan, python, NOW)


def proposed(plan: RunPlan, **answers: str) -> DebugRunProposal:
    """With these answers only: what would be proposed by itself is asked for by `debug_run`."""
    off = {question.id: "off" for question in propose(plan, read(plan), {}).questions}
    return propose(plan, read(plan), {**off, **answers})


def debug_run(plan: RunPlan, **answers: str) -> DebugRunProposal:
    return propose(plan, read(plan), answers)


def folder_of(tmp_path: Path, framework: str, version: str) -> Path:
    """A checkout with a program of each framework in it."""
    folder = checkout(tmp_path, framework, version)
    (folder / "run_grpo.py").write_text(TRAINERS["nemo_rl"])
    (folder / "run_sft.py").write_text(NEMO_TRAINER.format(section="sft"))
    (folder / "areal_grpo.py").write_text(TRAINERS["areal"])
    (folder / "train.py").write_text(TRAINERS["rlinf"])
    (folder / "c.yaml").write_text("actor:\n  scheduling_spec:\n    - gpu: 1\n")
    return folder
