"""Recognises the trainers of a framework: programs that load its configuration and call its trainer."""

from __future__ import annotations

import re
from collections.abc import Iterable

from attrs import frozen

from eagleray.features.presets.programs import Program


@frozen
class Trainer:
    """A shape of a trainer's program; each pattern has to match a whole name.

    `loads`: a used name, which reads the configuration and the command line.  `trains`: an imported or used name.
    `calls`: a method that is called, "" for none.  A group in `trains` is the section of the configuration.
    """

    loads: str
    trains: str
    calls: str = ""


_HYDRA = r"hydra\.main"
TRAINERS: dict[str, tuple[Trainer, ...]] = {
    "verl": (
        Trainer(
            r"verl\.(?:\w+\.)+main_ppo(?:_\w+)?\.main", r"verl\.(?:\w+\.)+main_ppo(?:_\w+)?\.main"
        ),
        Trainer(_HYDRA, r"verl\.trainer\.main_ppo(?:_\w+)?\.(?:run_ppo|TaskRunner|main)"),
        Trainer(
            _HYDRA, r"(?:verl|recipe)\.(?:trainer\.ppo|trainer\.main_ppo)\b.*", r"fit(?:_\w+)?"
        ),
    ),
    "nemo_rl": (
        Trainer(
            r"nemo_rl\.utils\.config\.parse_hydra_overrides",
            r"nemo_rl\.algorithms\.\w+\.(?:async_)?(?P<section>\w+?)_train(?:_\w+)?",
        ),
        Trainer(
            r"nemo_rl\.utils\.config\.parse_hydra_overrides",
            r"nemo_rl\.algorithms\.single_controller\.SingleControllerActor",
        ),
    ),
    "areal": (
        Trainer(r"areal\.(?:.+\.)?load_expr_config", r"areal\.(?:.+\.)?[A-Z]\w*Trainer", "train"),
        Trainer(
            r"areal\.(?:.+\.)?load_expr_config",
            r"areal\..+",
            r"train_(?:batch|lm|rw|dpo)|ppo_update",
        ),
    ),
    "rlinf": (
        Trainer(
            _HYDRA,
            r"rlinf\..+\.(?:\w*Embodied|\w*Reasoning|\w*Agent|AgentLightningRLinf|\w*OnlineRL|\w*Offline|\w*SFT)Runner",
            "run",
        ),
        Trainer(_HYDRA, r"rlinf\.agents\.agentlightning\.algorithm\.RLinf", "fit"),
    ),
    "openrlhf": (
        Trainer(
            r"argparse\.ArgumentParser",
            r"openrlhf\.trainer\.(?:ray|ppo_trainer)\b.*",
            r"fit|async_fit_actor_model",
        ),
    ),
}
# Sections that are named after another algorithm than the function that trains.
_SECTIONS = {"xtoken_off_policy_distillation": "distillation"}
_SINGLE_CONTROLLER = "grpo"
# What other programs of a framework do, by a part of their path.
_PURPOSES = (
    (
        r"pre_?process|prepare|download|create_dataset|build_(?:dataset|index)|tokenize",
        "data preparation",
    ),
    (r"convert|merge|export|ckpt", "checkpoint conversion"),
    (r"eval|benchmark|bench_|scor(?:e|ing)", "evaluation"),
    (r"collect|generat(?:e|ion)|gen_", "data collection"),
    (r"serve|server", "model server"),
    (r"sft|train_rm|train_dpo|train_kto|train_kd|train_\w+", "supervised training"),
)


@frozen
class Training:
    """A program that was recognised as a trainer; `section` is "" if its calls name none."""

    section: str = ""


def training_of(framework: str, program: Program) -> Training | None:
    """How `program` trains with `framework`, None if it is not a trainer of it."""
    for trainer in TRAINERS.get(framework, ()):
        loads = any(re.fullmatch(trainer.loads, name) for name in program.uses)
        calls = not trainer.calls or any(
            re.fullmatch(trainer.calls, name) for name in program.methods
        )
        names = sorted(program.uses | program.imports)
        matches = [match for name in names if (match := re.fullmatch(trainer.trains, name))]
        if loads and calls and matches:
            return Training(_section(matches))
    return None


def _section(matches: Iterable[re.Match[str]]) -> str:
    for match in matches:
        if section := match.groupdict().get("section"):
            return _SECTIONS.get(section, section)
        if match[0].endswith("SingleControllerActor"):
            return _SINGLE_CONTROLLER
    return ""


def purpose_of(name: str) -> str:
    """What a program that is not a trainer does, by its name; "" if that does not tell."""
    parts = [part for part in re.split(r"[/.]", name.lower()) if part not in ("py", "examples")]
    for part in reversed(parts):
        for pattern, purpose in _PURPOSES:
            if re.search(pattern, part):
                return purpose
    return ""
