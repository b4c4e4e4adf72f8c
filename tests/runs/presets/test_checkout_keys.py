"""Keys are found where the program's own configuration defines them; nothing is executed."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.runs.presets.checkout.keys import StartedProgram, key_finder
from eagleray.runs.presets.checkout_files import Files
from eagleray.runs.presets.framework_table import Configuration

HYDRA = {
    "pkg/trainer/main.py": (
        "import os\nos.mkdir('executed')\nimport hydra\n\n\n"
        "@hydra.main(config_path='config', config_name='ppo', version_base=None)\n"
        "def main(config): ...\n"
    ),
    "pkg/trainer/config/ppo.yaml": "trainer:\n  steps: null\n  save_freq: -1\n",
}
YAML = {
    "examples/run_grpo.py": (
        "import argparse, os\nfrom pkg.grpo import MasterConfig, setup\n"
        "path = os.path.join(os.path.dirname(__file__), 'configs', 'grpo.yaml')\n"
    ),
    "examples/configs/grpo.yaml": "defaults: base/base.yaml\ngrpo:\n  max_num_steps: 10\n",
    "examples/configs/base/base.yaml": "logger:\n  log_dir: logs\n",
    "pkg/grpo.py": (
        "from typing import NotRequired, Optional, TypedDict\nfrom pkg.logger import LoggerConfig\n\n\n"
        "class GRPOConfig(TypedDict):\n    max_num_steps: int\n    val_at_end: NotRequired[bool]\n\n\n"
        "class MasterConfig(TypedDict):\n    grpo: GRPOConfig\n    logger: Optional[LoggerConfig]\n"
    ),
    "pkg/logger.py": "class LoggerConfig(dict):\n    wandb_enabled: bool\n",
}
CLASS = {
    "train.py": (
        "from local_config import OwnConfig\nfrom pkg.api import load_config\n"
        "config, _ = load_config(args, OwnConfig)\n"
    ),
    "local_config.py": (
        "from pkg.api import GRPOConfig\n\n\nclass OwnConfig(GRPOConfig):\n    own: int = 1\n"
    ),
    "pkg/api/__init__.py": "from .cli_args import GRPOConfig, load_config\n",
    "pkg/api/cli_args.py": (
        "@dataclass\nclass _Timer:\n    freq_steps: int | None = None\n\n\n"
        "@dataclass\nclass Saver(_Timer):\n    folder: str = ''\n\n\n"
        "@dataclass\nclass Spec:\n    env_vars: dict[str, str] = field(default_factory=dict)\n\n\n"
        "@dataclass\nclass Actor:\n    specs: list[Spec] = field(default_factory=list)\n\n\n"
        "@dataclass\nclass GRPOConfig:\n    saver: 'Saver' = field(default_factory=Saver)\n"
        "    actor: Actor = field(default_factory=Actor)\n\n\n"
        "def load_config[T](argv: list[str], config_cls: type[T]) -> T: ...\n"
    ),
}
FLAGS = {
    "pkg/cli/train.py": (
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--max_samples', type=int)\n"
        "parser.add_argument(\n    '-e', '--eval.steps', type=int\n)\n"
    ),
}
STARTED = {
    "hydra": (HYDRA, StartedProgram("pkg.trainer.main", True, ())),
    "yaml": (YAML, StartedProgram("examples/run_grpo.py", False, ())),
    "class": (CLASS, StartedProgram("train.py", False, ("--config", "c.yaml"))),
    "flags": (FLAGS, StartedProgram("pkg.cli.train", True, ())),
}
NAMES = {"yaml": "MasterConfig", "class": "load_config"}


def written(folder: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def place_of(kind: str, key: str, files: Files) -> str:
    find = key_finder(STARTED[kind][1], Configuration(kind, NAMES.get(kind, "")), files)
    return str((find and find(key)) or "")


@pytest.mark.parametrize(
    ("kind", "key", "place"),
    [
        ("hydra", "trainer.steps", "pkg/trainer/config/ppo.yaml:2"),
        ("hydra", "trainer", "pkg/trainer/config/ppo.yaml:1"),
        ("hydra", "trainer.stepz", ""),
        ("hydra", "steps", ""),
        ("hydra", "trainer.steps.below", ""),
        ("yaml", "grpo.max_num_steps", "examples/configs/grpo.yaml:3"),
        ("yaml", "logger.log_dir", "examples/configs/base/base.yaml:2"),
        ("yaml", "grpo.val_at_end", "pkg/grpo.py:7"),
        ("yaml", "logger.wandb_enabled", "pkg/logger.py:2"),
        ("yaml", "logger.mlflow_enabled", ""),
        ("class", "saver.freq_steps", "pkg/api/cli_args.py:3"),
        ("class", "saver.folder", "pkg/api/cli_args.py:8"),
        ("class", "actor.specs.0.env_vars.NAME", "pkg/api/cli_args.py:13"),
        ("class", "actor.specs.env_vars", ""),
        ("class", "own", "local_config.py:5"),
        ("class", "saver.freq_epochs", ""),
        ("flags", "--max_samples", "pkg/cli/train.py:2"),
        ("flags", "--eval.steps", "pkg/cli/train.py:3"),
        ("flags", "--max-samples", ""),
    ],
)
def test_key_has_the_place_of_its_definition(
    tmp_path: Path, kind: str, key: str, place: str
) -> None:
    folder = written(tmp_path, STARTED[kind][0])
    assert place_of(kind, key, Files([folder])) == place
    assert not list(tmp_path.rglob("executed"))


def test_config_of_the_command_replaces_the_config_of_the_program(tmp_path: Path) -> None:
    folder = written(tmp_path, {**YAML, "own.yaml": "grpo:\n  seed: 1\n"})
    started = StartedProgram("examples/run_grpo.py", False, ("--config=own.yaml",))
    find = key_finder(started, Configuration("yaml", "MasterConfig"), Files([folder]))
    assert find
    assert str(find("grpo.seed")) == "own.yaml:2"
    assert find("logger.log_dir") is None


def test_installed_package_is_searched_after_the_checkout(tmp_path: Path) -> None:
    installed = written(tmp_path / "lib" / "site-packages", HYDRA)
    empty = tmp_path / "work"
    empty.mkdir()
    place = "site-packages/pkg/trainer/config/ppo.yaml:2"
    assert place_of("hydra", "trainer.steps", Files([empty], [installed])) == place


def test_program_without_a_configuration_has_no_keys(tmp_path: Path) -> None:
    written(tmp_path, {"train.py": "print('hello')\n", "broken.py": "def ("})
    for name in ("train.py", "broken.py", "missing.py"):
        for kind in STARTED:
            configuration = Configuration(kind, "MasterConfig")
            assert (
                key_finder(StartedProgram(name, False, ()), configuration, Files([tmp_path]))
                is None
            )


def test_classes_that_inherit_from_each_other_end(tmp_path: Path) -> None:
    text = "class A(B): ...\nclass B(A): ...\nX = X\nload_config(args, A)\nload_config(args, X)\n"
    folder = written(tmp_path, {"train.py": text})
    assert place_of("class", "saver", Files([folder])) == ""
