"""Trainers that no table is for: keys of their own code are set, and nothing is claimed of them.

The shapes come from EasyR1, agent-lightning, ROLL, SkyRL, slime, Megatron-LM, TRL, ms-swift, Search-R1 and RLinf.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.runs.presets.model import DebugRunProposal
from eagleray.runs.presets.propose import propose

from tests.runs.presets.checkouts import checkout, plan_of, read, with_script

# A fork of verl: its own entry point, classes and a YAML file (EasyR1).
FORK = {
    "verl/__init__.py": "",
    "verl/trainer/settings.py": (
        "from dataclasses import dataclass, field\n\n\n@dataclass\nclass TrainerSettings:\n"
        "    max_steps: int | None = None\n    save_freq: int = -1\n    val_before_train: bool = True\n"
        "    logger: tuple[str] = ('console',)\n\n\n@dataclass\nclass Settings:\n"
        "    trainer: TrainerSettings = field(default_factory=TrainerSettings)\n"
    ),
    "verl/trainer/begin.py": (
        "from omegaconf import OmegaConf\nfrom .settings import Settings\n\n\ndef main():\n"
        "    line = OmegaConf.from_cli()\n    own = OmegaConf.structured(Settings())\n"
        "    OmegaConf.merge(own, OmegaConf.load(line.pop('config')), line)\n\n\nmain()\n"
    ),
    "examples/base.yaml": "trainer:\n  val_freq: 5\n",
    "run.sh": "python3 -m verl.trainer.begin \\\n  config=examples/base.yaml trainer.val_freq=7\n",
}
# A program with an argument parser of its own, whose rest goes to OmegaConf (agent-lightning).
DICTIONARY = {
    "train_cook_agent.py": (
        "import argparse\nfrom omegaconf import OmegaConf\nimport verl.utils\n\n\ndef defaults():\n"
        "    return {\n        'agent': {'max_steps': 3},\n        'trainer': {\n            'save_freq': 9,\n"
        "            'logger': ['wandb'],\n        },\n    }\n\n\ndef main():\n"
        "    parser = argparse.ArgumentParser()\n    parser.add_argument('--max-steps')\n"
        "    args, rest = parser.parse_known_args()\n"
        "    OmegaConf.merge(defaults(), OmegaConf.from_dotlist(rest))\n    verl.utils.run()\n"
    ),
    "run.sh": 'python train_cook_agent.py --port 1 "$@"\n',
}
# A class that makes itself of the line, and a subclass that a function makes (SkyRL).
OWN_CLASS = {
    "lib/config.py": (
        "from dataclasses import dataclass\nfrom omegaconf import OmegaConf\n\n\n@dataclass\nclass Trainer:\n"
        "    max_training_steps: int = 0\n    ckpt_interval: int = 10\n    logger: str = 'wandb'\n\n\n"
        "@dataclass\nclass Config:\n    trainer: Trainer\n\n    @classmethod\n"
        "    def from_cli_overrides(cls, args):\n        return OmegaConf.from_cli(args)\n\n\n"
        "def make_config(algorithm):\n    return type('Made', (Config,), {})\n"
    ),
    "main.py": (
        "import sys\nfrom lib.config import make_config\n\nMade = make_config(algorithm=int)\n\n\n"
        "def main():\n    Made.from_cli_overrides(sys.argv[1:])\n"
    ),
    "run.sh": "uv run --extra gpu -m main trainer.ckpt_interval=5\n",
}
# Flags that a function adds which another module hands to the parser, in a submitted job (slime).
FLAGS = {
    "lib/arguments.py": (
        "def again(parser, name, **more):\n    parser.add_argument(name, **more)\n\n\n"
        "def provider():\n    def add(parser):\n        parser.add_argument('--num-rollout', type=int)\n"
        "        again(parser, '--save-interval', type=int, default=None)\n"
        "        parser.add_argument('--use-wandb', action='store_true')\n        return parser\n\n"
        "    return add\n\n\ndef parse_args():\n    return provider()\n"
    ),
    "train.py": "from lib.arguments import parse_args\n\nif __name__ == '__main__':\n    print(parse_args())\n",
    "run.sh": (
        "ROLLOUT=(\n  --num-rollout 300 --save-interval 20\n)\n"
        "ray job submit --address=http://127.0.0.1:8265 -- python3 train.py ${ROLLOUT[@]} --use-wandb\n"
    ),
}
# Flags of a class's fields, with hyphens (Megatron-LM).
GROUPS = {
    "lib/arguments.py": (
        "from lib.groups import ArgumentGroupFactory, TrainingFields\n\n\n"
        "def add_training(parser):\n    return ArgumentGroupFactory(TrainingFields).build(parser)\n\n\n"
        "def parse_args(parser):\n    return add_training(parser)\n"
    ),
    "lib/groups.py": (
        "from dataclasses import dataclass\n\n\nclass ArgumentGroupFactory:\n    pass\n\n\n@dataclass\n"
        "class TrainingFields:\n    train_iters: int = 0\n    save_interval: int = 0\n"
    ),
    "pretrain.py": "from lib.arguments import parse_args\n\nparse_args(None)\n",
    "run.sh": "torchrun --nproc_per_node 8 pretrain.py --save-interval 9 --train-iters 500000\n",
}
# Fields of a class of an installed package, and of its subclass (TRL).
FIELDS = {
    "env/lib/python3.11/site-packages/transformers/__init__.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .arguments import TrainingArguments\n"
    ),
    "env/lib/python3.11/site-packages/transformers/arguments.py": (
        "class TrainingArguments:\n    max_steps: int = -1\n    save_strategy: str = 'steps'\n"
        "    report_to: str | list[str] = 'all'\n"
    ),
    "own.py": (
        "from dataclasses import dataclass\nfrom transformers import TrainingArguments\n\n\n@dataclass\n"
        "class OwnConfig(TrainingArguments):\n    eval_strategy: str = 'no'\n"
    ),
    "sft.py": (
        "from transformers import HfArgumentParser\nfrom own import OwnConfig\n\n"
        "if __name__ == '__main__':\n    parser = HfArgumentParser((OwnConfig,))\n"
    ),
    "run.sh": "accelerate launch --num_processes 2 sft.py --max_steps 90\n",
}
# A package's own command, whose class is an attribute of a class (ms-swift).
COMMAND = {
    "swift/cli/sft.py": "if __name__ == '__main__':\n    from swift.pipe import sft_main\n    sft_main()\n",
    "swift/pipe.py": (
        "from swift.fields import SftFields\n\n\nclass Sft:\n    args_class = SftFields\n\n\n"
        "def sft_main():\n    return Sft()\n"
    ),
    "swift/fields.py": (
        "from dataclasses import dataclass\n\n\n@dataclass\nclass SftFields:\n    max_steps: int = -1\n"
        "    save_steps: int = 500\n"
    ),
    "run.sh": "NPROC_PER_NODE=8 \\\nswift sft \\\n  --model a/b \\\n  --save_steps 50\n",
}
# The expected settings by option: the value, and the place that declares the key.
SHAPES = {
    "fork": (
        FORK,
        {
            "steps": "trainer.max_steps=2 verl/trainer/settings.py:6",
            "no_checkpoint": "trainer.save_freq=1000000 verl/trainer/settings.py:7",
            "no_validation": "trainer.val_freq=1000000 examples/base.yaml:2"
            " trainer.val_before_train=false verl/trainer/settings.py:8",
            "no_trackers": "trainer.logger=[console] verl/trainer/settings.py:9",
        },
    ),
    "dictionary": (
        DICTIONARY,
        {
            "no_checkpoint": "trainer.save_freq=1000000 train_cook_agent.py:10",
            "no_trackers": "trainer.logger=[console] train_cook_agent.py:11",
        },
    ),
    "own class": (
        OWN_CLASS,
        {
            "steps": "trainer.max_training_steps=2 lib/config.py:7",
            "no_checkpoint": "trainer.ckpt_interval=1000000 lib/config.py:8",
            "no_trackers": "trainer.logger=console lib/config.py:9",
        },
    ),
    "flags": (
        FLAGS,
        {
            "steps": "--num-rollout 2 lib/arguments.py:7",
            "no_checkpoint": "--save-interval 1000000 lib/arguments.py:8",
            "no_trackers": "without --use-wandb",
        },
    ),
    "groups": (
        GROUPS,
        {
            "steps": "--train-iters 2 lib/groups.py:10",
            "no_checkpoint": "--save-interval 1000000 lib/groups.py:11",
        },
    ),
    "fields": (
        FIELDS,
        {
            "steps": "--max_steps 2 site-packages/transformers/arguments.py:2",
            "no_checkpoint": "--save_strategy no site-packages/transformers/arguments.py:3",
            "no_validation": "--eval_strategy no own.py:7",
            "no_trackers": "--report_to none site-packages/transformers/arguments.py:4",
        },
    ),
    "command": (
        COMMAND,
        {
            "steps": "--max_steps 2 swift/fields.py:6",
            "no_checkpoint": "--save_steps 1000000 swift/fields.py:7",
        },
    ),
}
CLAIMS = ("no trainer", "supervised", "verl", "stop after", "run no validation", "will ")


def made(folder: Path, files: dict[str, str], *argv: str) -> DebugRunProposal:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    plan = plan_of(folder, *(argv or ("bash", "run.sh")))
    return propose(plan, read(plan, str(folder / "env" / "bin" / "python")), {})


def settings(
    proposal: DebugRunProposal, outcome: str = "set, effect not verified"
) -> dict[str, str]:
    found: dict[str, str] = {}
    for change in proposal.changes:
        if change.outcome == outcome and change.option not in ("", "timeouts"):
            place = change.why.partition("Defined in ")[2].removesuffix(".")
            text = f"{change.where.partition(' (')[0]} {place}".strip()
            found[change.option] = f"{found.get(change.option, '')} {text}".strip()
    return found


@pytest.mark.parametrize(("files", "expected"), SHAPES.values(), ids=SHAPES)
def test_keys_that_the_code_declares_are_set_without_a_promise(
    tmp_path: Path, files: dict[str, str], expected: dict[str, str]
) -> None:
    proposal = made(tmp_path, files)
    assert settings(proposal) == expected
    assert settings(proposal, "will apply") == {}
    assert proposal.summary.startswith("Eagleray doesn't know this trainer.")
    assert not [claim for claim in CLAIMS if claim in proposal.summary]


def test_file_that_the_line_cannot_override_is_named(tmp_path: Path) -> None:
    """ROLL's programs compose a YAML file without the overrides of the line."""
    files = {
        "examples/start.py": (
            "import argparse\nfrom hydra import compose, initialize\nfrom transformers import HfArgumentParser\n\n\n"
            "def main():\n    parser = argparse.ArgumentParser()\n    parser.add_argument('--config_name')\n"
            "    args = parser.parse_args()\n    compose(config_name=args.config_name)\n"
        ),
        "examples/big/own.yaml": "max_steps: 500\nsave_steps: 50\n",
        "examples/big/run.sh": (
            "CONFIG=$(basename $(dirname $0))\n"
            "python examples/start.py --config_path $CONFIG --config_name own\n"
        ),
    }
    proposal = made(tmp_path, files, "bash", "examples/big/run.sh")
    assert settings(proposal) == settings(proposal, "will apply") == {}
    assert proposal.plan.overrides == () and proposal.plan.copy_text == ""
    reasons = [change.why for change in proposal.changes if change.outcome == "not changed"]
    assert [reason.rpartition(" ")[2] for reason in reasons] == [
        "examples/big/own.yaml:1.",
        "examples/big/own.yaml:2.",
    ]


def test_interval_that_the_line_lacks_stays_away(tmp_path: Path) -> None:
    """slime refuses `--save-interval` without `--save`, and `--eval-interval` without evaluation data."""
    files = FLAGS | {"run.sh": "python3 train.py --num-rollout 9\n"}
    assert settings(made(tmp_path, files)) == {"steps": "--num-rollout 2 lib/arguments.py:7"}


def test_program_in_the_folder_of_a_cd_is_read(tmp_path: Path) -> None:
    """Video-R1's scripts enter the folder of their program first."""
    files = {f"src/deep/{name}": text for name, text in FLAGS.items() if name != "run.sh"}
    files["run.sh"] = "cd src/deep\npython3 train.py --num-rollout 9\n"
    found = settings(made(tmp_path, files))["steps"]
    assert found.startswith("--num-rollout 2 ") and found.endswith("lib/arguments.py:7")


def test_list_of_classes_that_holds_itself_ends(tmp_path: Path) -> None:
    files = FLAGS | {
        "own.py": f"ALL = [{', '.join(['ALL'] * 60)}]\n",
        "train.py": (
            "from own import ALL\nfrom lib.arguments import parse_args\n\n\n"
            "def main():\n    OwnParser(ALL)\n    parse_args()\n"
        ),
    }
    assert settings(made(tmp_path, files))["steps"] == "--num-rollout 2 lib/arguments.py:7"


def test_program_that_trains_is_taken_of_several(tmp_path: Path) -> None:
    files = FLAGS | {
        "score.py": "print(1)\n",
        "run.sh": "python3 train.py --num-rollout 9\npython3 score.py --all\n",
    }
    assert settings(made(tmp_path, files))["steps"] == "--num-rollout 2 lib/arguments.py:7"


def test_program_for_something_else_by_its_name_is_left_alone(tmp_path: Path) -> None:
    files = FLAGS | {"eval.py": FLAGS["train.py"], "run.sh": "python3 eval.py --num-rollout 9\n"}
    assert settings(made(tmp_path, files)) == {}


def test_key_that_only_the_line_sets_keeps_no_option_from_acting(tmp_path: Path) -> None:
    """Search-R1 validates before training by a key that its YAML doesn't have."""
    files = verl_fork("  +trainer.val_before_train=true\n")
    found = settings(made(checkout(tmp_path, "verl", "0.1"), files))
    assert "trainer.val_before_train=false run.sh:2" in found["no_validation"]
    assert "trainer.test_freq=-1 verl/trainer/config/ppo_trainer.yaml:2" in found["no_validation"]


def test_key_that_only_the_code_reads_keeps_no_option_from_acting(tmp_path: Path) -> None:
    """TinyZero validates before training unless a key says otherwise that its YAML doesn't have."""
    files = verl_fork("  trainer.test_freq=9\n") | {
        "verl/trainer/ppo/loop.py": "def fit(c):\n    return c.trainer.get('val_before_train', True)\n"
    }
    found = settings(made(checkout(tmp_path, "verl", "0.1"), files))
    assert "trainer.val_before_train=false verl/trainer/ppo/loop.py:2" in found["no_validation"]


def verl_fork(line: str) -> dict[str, str]:
    return {
        "verl/trainer/main_ppo.py": (
            "import hydra\n\n\n@hydra.main(config_path='config', config_name='ppo_trainer')\n"
            "def main(config): ...\n"
        ),
        "verl/trainer/config/ppo_trainer.yaml": "trainer:\n  test_freq: -1\n  save_freq: -1\n",
        "run.sh": f"python3 -m verl.trainer.main_ppo trainer.save_freq=5 \\\n{line}",
    }


@pytest.mark.parametrize(
    ("outer", "by_variable"),
    [
        ("for n in 3 5; do\n  export STEPS=$n\n  bash run.sh\ndone\n", False),
        ("export STEPS=${STEPS:-9}\nbash run.sh\n", True),
    ],
    ids=["overwritten", "default"],
)
def test_variable_that_an_outer_script_sets_is_not_relied_on(
    tmp_path: Path, outer: str, by_variable: bool
) -> None:
    """RLinf's run_all.sh sets STEPS for each of its runs."""
    folder = checkout(tmp_path, "rlinf", "0.4.0")
    with_script(folder, "rlinf.sh").rename(folder / "run.sh")
    (folder / "all.sh").write_text(outer)
    proposal = made(folder, {}, "bash", "all.sh")
    steps = [change for change in proposal.changes if change.option == "steps"]
    assert ("STEPS" in [change.key for change in steps]) is by_variable
    assert [change.outcome for change in steps] == ["will apply"]


@pytest.mark.parametrize(
    ("written", "is_known"),
    [
        ('str(Path(__file__).parent.parent / "config")', True),
        ('Path(__file__).resolve().parent.parent / "config"', True),
        ('os.environ["CONFIG"]', False),
    ],
)
def test_folder_of_hydra_may_be_computed_from_the_programs_own(
    tmp_path: Path, written: str, is_known: bool
) -> None:
    """skyrl_train names its folder of configurations in a constant of the module."""
    files = {
        "lib/entry/main_base.py": (
            f"import hydra\n\nfolder = {written}\n\n\n"
            "@hydra.main(config_path=folder, config_name='base')\ndef main(cfg): ...\n"
        ),
        "lib/config/base.yaml": "trainer:\n  ckpt_interval: 10\n  eval_interval: 5\n",
        "run.sh": "python3 -m lib.entry.main_base trainer.epochs=1\n",
    }
    found = settings(made(tmp_path, files))
    keys = {"no_checkpoint", "no_validation"} if is_known else set()
    assert set(found) == keys
    if is_known:
        assert found["no_checkpoint"].endswith("lib/config/base.yaml:2")


@pytest.mark.parametrize("enter", ['cd "$CODE"', "export PYTHONPATH=$HOME/rl/code"])
def test_program_is_found_in_the_only_folder_that_has_it(tmp_path: Path, enter: str) -> None:
    """VLM-R1 and ARPO enter folders whose names they compute."""
    files = {f"rl/code/{name}": text for name, text in FORK.items() if name != "run.sh"}
    line = FORK["run.sh"].replace("examples/", "")
    files |= {"rl/code/base.yaml": FORK["examples/base.yaml"], "run.sh": f"{enter}\n{line}"}
    expected = {
        "steps": "trainer.max_steps=2 rl/code/verl/trainer/settings.py:6",
        "no_checkpoint": "trainer.save_freq=1000000 rl/code/verl/trainer/settings.py:7",
    }
    assert settings(made(tmp_path / "1", files)).items() >= expected.items()
    two = files | {f"old/{name}": text for name, text in FORK.items()}
    assert settings(made(tmp_path / "2", two)) == {}
    installed = {"env/lib/python3.11/site-packages/verl/__init__.py": ""}
    assert settings(made(tmp_path / "3", files | installed)) == {}


def test_search_for_a_program_is_bounded(tmp_path: Path) -> None:
    for number in range(2100):
        (tmp_path / f"{number}").mkdir()
    files = {f"rl/{name}": text for name, text in FORK.items()} | {"run.sh": FORK["run.sh"]}
    assert settings(made(tmp_path, files)) == {}


def test_key_whose_value_is_another_keys_is_set_there(tmp_path: Path) -> None:
    """NeMo-Aligner's loops read `trainer.dpo.max_steps`; `trainer.max_steps` only refers to it."""
    files = {
        "train.py": "import hydra\n\n\n@hydra.main(config_path='.', config_name='own')\ndef main(config):\n    pass\n",
        "own.yaml": (
            "trainer:\n  loop:\n    max_steps: -1\n  max_steps: ${.loop.max_steps}  # do not change\n"
            "  save_interval: ${..every}\nevery: 9\n"
        ),
        "run.sh": "python train.py trainer.devices=8\n",
    }
    assert settings(made(tmp_path, files)) == {
        "steps": "++trainer.loop.max_steps=2 own.yaml:3",
        "no_checkpoint": "++every=1000000 own.yaml:6",
    }
    line = {"run.sh": "python train.py trainer.max_steps=50\n"}
    steps = settings(made(tmp_path, files | line))["steps"]
    assert steps == "++trainer.max_steps=2 own.yaml:4"


def test_lines_of_another_unknown_trainer_are_listed(tmp_path: Path) -> None:
    """nanochat's scripts train twice, with programs between that only evaluate."""
    program = "import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument('--num-iterations')\n"
    files = {
        "base.py": program,
        "tune.py": program,
        "tokens.py": program.replace("iterations", "tokens"),
        "run.sh": "python tokens.py\npython base.py --fast\npython tune.py --fast\npython tokens.py\n",
    }
    proposal = made(tmp_path, files)
    assert settings(proposal) == {"steps": "--num-iterations 2 tune.py:4"}
    (left,) = [change for change in proposal.changes if change.outcome == "not changed"]
    assert (left.request, left.where) == ("Another training line", "line 2 of run.sh")
    assert left.why.startswith("base.py has options of a trainer, too.")


def test_unknown_command_that_limits_steps_and_saves_is_a_training(tmp_path: Path) -> None:
    line = ("arm-train", "--policy=act", "--steps=800", "--save_freq=100")
    proposal = made(tmp_path, {}, *line)
    assert settings(proposal) == {
        "steps": "--steps 2 command:1",
        "no_checkpoint": "--save_freq 1000000 command:1",
    }
    assert proposal.plan.command[-4:] == ("--steps", "2", "--save_freq", "1000000")
    assert settings(made(tmp_path, {}, "arm-agent", "--max-steps=5", "--model=m")) == {}
    for other in ("docker run image", "tmux new", "srun --container-image=i", "arm -c"):
        assert settings(made(tmp_path, {}, *other.split(), *line)) == {}
    script = {
        "run.sh": f"set -e\narm-prepare --save-dir=d\n{' '.join(line)} 2>&1 | tee log\nwait\n"
    }
    assert settings(made(tmp_path, script)) == {
        "steps": "--steps 2 run.sh:3",
        "no_checkpoint": "--save_freq 1000000 run.sh:3",
    }
    for start in ("docker run image", "$LAUNCHER"):
        assert settings(made(tmp_path, {"run.sh": f"{start} {' '.join(line)}\n"})) == {}


def test_length_of_a_rollout_does_not_limit_steps(tmp_path: Path) -> None:
    """CleanRL's `num_steps` is the length of a rollout, its `num_iterations` is computed."""
    line = ("python", "ppo.py", "--num-steps=256", "--save-interval=9")
    files = {"ppo.py": "print(1)\n"}
    assert settings(made(tmp_path, files, *line))["steps"] == "--num-steps 2 command:1"
    assert "steps" not in settings(made(tmp_path, files, *line, "--total-timesteps=9000"))


def test_folder_of_a_cd_may_begin_with_a_variable(tmp_path: Path) -> None:
    """LUFFY enters `$ROOT/luffy/verl`, and has another program of this name."""
    files = {f"{folder}/{name}": text for folder in ("new", "old") for name, text in FORK.items()}
    files |= {"run.sh": "cd $ROOT/new/\n" + FORK["run.sh"].replace("examples/", "examples/")}
    assert "trainer/settings.py:6" in settings(made(tmp_path, files))["steps"]
    files |= {"run.sh": 'cd "$(dirname "$0")/../old"\n' + FORK["run.sh"]}
    assert "steps" not in settings(made(tmp_path, files))
