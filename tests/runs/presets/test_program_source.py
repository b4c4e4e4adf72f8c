"""Trainers are recognised by what their programs import, use and call; other programs are not shortened."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from eagleray.runs.presets.model import DebugRunProposal
from eagleray.runs.presets.program_source import read_program

from tests.runs.presets.checkouts import (
    NEMO_TRAINER,
    TRAINERS,
    checkout,
    debug_run,
    plan_of,
    read,
)

VERL_RECIPE = """
import hydra
from .my_trainer import MyTrainer

@hydra.main(config_path="config", config_name="my_trainer")
def main(config):
    MyTrainer(config).{method}()
"""
VERL_RUN_PPO = """
import hydra

@hydra.main(config_path="config")
def main(config):
    from verl.trainer.main_ppo import run_ppo
    run_ppo(config)
"""
SINGLE_CONTROLLER = """
from nemo_rl.algorithms.single_controller import SingleControllerActor
from nemo_rl.utils.config import parse_hydra_overrides
SingleControllerActor(parse_hydra_overrides())
"""
PPO_RAY = """
import argparse
from openrlhf.trainer.ray.launcher import group
argparse.ArgumentParser()
group.fit.remote()
"""

# A program, its framework and the section of its configuration.
PROGRAMS = [
    (VERL_RUN_PPO, "verl", ""),
    ("from verl.trainer.main_ppo import main\nmain()\n", "verl", ""),
    (NEMO_TRAINER.format(section="distillation"), "nemo_rl", "distillation"),
    (NEMO_TRAINER.format(section="ppo").replace("ppo_train", "async_ppo_train"), "nemo_rl", "ppo"),
    (NEMO_TRAINER.format(section="rm"), "nemo_rl", "rm"),
    (SINGLE_CONTROLLER, "nemo_rl", "grpo"),
    (TRAINERS["areal"], "areal", ""),
    (TRAINERS["rlinf"], "rlinf", ""),
    (PPO_RAY, "openrlhf", ""),
]


@pytest.mark.parametrize(("text", "framework", "section"), PROGRAMS)
def test_trainer_of_any_name_is_recognised(
    tmp_path: Path, text: str, framework: str, section: str
) -> None:
    (tmp_path / "start.py").write_text(text)
    recognised = read(plan_of(tmp_path, "python3", "start.py", kind="program")).recognised
    assert recognised is not None
    assert (recognised.table.framework, recognised.section) == (framework, section)


@pytest.mark.parametrize("method", ["fit", "fit_dpo", "fit.remote"])
def test_trainer_in_a_module_beside_the_program_is_recognised(tmp_path: Path, method: str) -> None:
    package = tmp_path / "recipe" / "mine"
    package.mkdir(parents=True)
    (package / "main_mine.py").write_text(VERL_RECIPE.format(method=method))
    (package / "my_trainer.py").write_text(
        "from verl.trainer.ppo.ray_trainer import RayPPOTrainer\nclass MyTrainer(RayPPOTrainer): ...\n"
    )
    plan = plan_of(tmp_path, "python3", "-m", "recipe.mine.main_mine", kind="module")
    recognised = read(plan).recognised
    assert recognised is not None and recognised.table.framework == "verl"


def test_program_that_calls_another_program_of_the_user_is_followed(tmp_path: Path) -> None:
    (tmp_path / "run_sft.py").write_text(NEMO_TRAINER.format(section="sft"))
    (tmp_path / "run_images.py").write_text("from run_sft import main as sft\nsft()\n")
    recognised = read(plan_of(tmp_path, "python3", "run_images.py", kind="program")).recognised
    assert recognised is not None and recognised.section == "sft"


def test_effect_is_not_verified_for_a_trainer_that_no_table_lists(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "verl", "0.7.0")
    (folder / "mine.py").write_text(VERL_RUN_PPO)
    (folder / "direct.py").write_text("from verl.trainer.main_ppo import main\nmain()\n")

    def outcome(*argv: str) -> str:
        made = debug_run(plan_of(folder, "python3", *argv, kind="program"))
        (steps,) = [change for change in made.changes if change.request.startswith("Few steps")]
        assert "++trainer.total_training_steps=2" in steps.where
        return steps.outcome

    assert outcome("mine.py") == "set, effect not verified"
    assert outcome("direct.py") == outcome("-m", "verl.trainer.main_ppo") == "will apply"


TOOLS = [
    (
        "examples/data_preprocess/gsm8k.py",
        "import verl.utils\n",
        "gsm8k.py is for data preparation",
    ),
    (
        "main_eval.py",
        VERL_RECIPE.format(method="run") + "import verl\n",
        "main_eval.py is for evaluation",
    ),
    (
        "scripts/convert_to_hf.py",
        "import nemo_rl\n",
        "convert_to_hf.py is for checkpoint conversion",
    ),
    ("serve_rm.py", "from openrlhf.models import get_llm\n", "serve_rm.py is for serving a model"),
    ("collect_data.py", "import hydra, rlinf\n", "collect_data.py is for data collection"),
    (
        "train_sft.py",
        "from openrlhf.trainer.sft_trainer import T\n",
        "train_sft.py uses OpenRLHF. Eagleray knows no",
    ),
    ("other.py", "import areal\n", "other.py uses AReaL. Eagleray knows no"),
]


@pytest.mark.parametrize("start", ["program", "script"])
@pytest.mark.parametrize(("name", "text", "detail"), TOOLS)
def test_other_program_of_a_framework_gets_breakpoints_only(
    tmp_path: Path, name: str, text: str, detail: str, start: str
) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    (tmp_path / "run.sh").write_text(f"python3 {name}\n")
    argv = ("python3", name) if start == "program" else ("bash", "run.sh")
    made = debug_run(plan_of(tmp_path, *argv, kind=start))
    assert (made.plan.overrides, made.plan.copy_text, made.plan.post_mortem) == ((), "", True)
    assert [change.outcome for change in made.changes] == ["no framework", "will apply"]
    assert detail in remark(made) and remark(made).endswith("so nothing is shortened.")


def test_module_in_a_quoted_text_that_is_not_a_trainer_is_named(tmp_path: Path) -> None:
    package = tmp_path / "openrlhf" / "cli"
    package.mkdir(parents=True)
    (package / "train_sft.py").write_text("import openrlhf.trainer\n")
    (tmp_path / "run.sh").write_text(
        'read -r words <<EOF\nopenrlhf.cli.train_sft --a\nEOF\nsrun bash -c "deepspeed --module openrlhf.cli.train_sft"\n'
    )
    made = debug_run(plan_of(tmp_path, "bash", "run.sh"))
    assert "openrlhf.cli.train_sft uses OpenRLHF." in remark(made)


def remark(made: DebugRunProposal) -> str:
    return made.changes[0].why


def test_names_that_a_program_uses() -> None:
    program = read_program(
        "import a.b as x\nfrom c import d\nfrom . import e\nfrom ..f import g, unused\n"
        "import h.i\n\ndef k(p: unused) -> unused:\n    x.y(d)[0].m.remote(e.n, g, h.i)\n",
        "one.two.three",
    )
    wanted = {"a.b", "a.b.y", "c.d", "one.two.e", "one.two.e.n", "one.f.g", "h", "h.i"}
    assert program.uses == wanted
    assert "one.f.unused" in program.imports
    assert program.methods >= {"y", "m", "remote"}


@pytest.mark.parametrize("text", ["print 'two'", "\0", "(" * 100_000, "x = " + "-" * 100_000 + "1"])
def test_text_that_does_not_parse_has_no_names(text: str) -> None:
    assert not read_program(text).uses


def test_modules_that_import_each_other_are_read_once(tmp_path: Path) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{name}.py").write_text(f"import {other}\n{other}.run()\n")
    (tmp_path / "sitecustomize.py").write_text(f"open({str(tmp_path / 'trap')!r}, 'w')\n")
    assert read(plan_of(tmp_path, sys.executable, "a.py", kind="program")).recognised is None
    assert not (tmp_path / "trap").exists()
