"""A configuration is composed as its framework does it; a key or option that it does not have is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.presets_trial.composing import BROKEN_BEFORE, FAILED, NOT_TRIED, OK, compose_call
from tests.runs.presets_trial.sandbox import Call

MAIN = '@hydra.main(config_path="config", config_name="trainer", version_base=None)\ndef main(c): ...\n'
SEARCHING = """
hydra: {searchpath: ["pkg://verl.config"]}
defaults: [actor/small@_here_, _self_]
"""
PARSER = """
parser.add_argument("--steps", type=int, default=1, help="steps")
parser.add_argument("--fast", action="store_true")
for prefix in ("actor", "critic"):
    parser.add_argument(f"--{prefix}.lr", type=float)
"""
CONFIGURATION = """
class Base:
    name: str = ""
class Trainer(Base):
    steps: int | None = None
class Config(Trainer):
    specs: list[Spec] = ()
class Spec:
    env: dict[str, str] = {}
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    files = {
        "verl/main.py": MAIN,
        "verl/config/trainer.yaml": "defaults: [actor: small, _self_]\ntrainer:\n  steps: 1\n",
        "verl/config/actor/small.yaml": "lr: 1\n",
        "verl/config/actor/large.yaml": "width: 2\n",
        "verl/other/main.py": MAIN,
        "verl/other/config/trainer.yaml": SEARCHING,
        "run.py": "import nemo_rl\n",
        "grpo.py": 'config = join(dirname(__file__), "configs", "default.yaml")\n',
        "configs/default.yaml": "grpo:\n  steps: 1\n",
        "base.yaml": "grpo:\n  steps: 1\n",
        "child.yaml": "defaults: base.yaml\npolicy:\n  name: x\n",
        "openrlhf/cli/train_ppo_ray.py": PARSER,
        "areal/api/cli_args.py": CONFIGURATION,
        "skyrl/train/config/config.py": CONFIGURATION,
        "skyrl/train/main_base.py": "config = Config.from_cli_overrides(sys.argv[1:])\n",
        "rl.py": "config, _ = load_expr_config(args, Config)\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def composed(checkout: Path, framework: str, line: str, *words: str) -> tuple[str, str]:
    program, *arguments = line.split()
    call = Call(program, (*arguments, *words), str(checkout), {"LR": "3"})
    found = compose_call(framework, call, words, checkout)
    return found.verdict, found.reason


VERL = "python3 -m verl.main trainer.steps=3"
ROWS = [
    ("verl", VERL, ["++trainer.steps=2"], OK, ""),
    ("verl", f"{VERL} actor=large", ["actor.width=3"], OK, ""),
    ("verl", VERL, ["trainer.steps=${oc.env:LR}"], OK, ""),
    ("verl", VERL, [" "], FAILED, "Exception"),
    ("verl", VERL, ["trainer.absent=2"], FAILED, "absent"),
    ("verl", VERL, ["--fast"], FAILED, "unrecognized arguments: --fast"),
    ("verl", "python3 -m verl.main absent=1", ["++trainer.steps=2"], BROKEN_BEFORE, ""),
    ("verl", "python3 -m verl.absent", ["++trainer.steps=2"], NOT_TRIED, ""),
    ("verl", "python3 -m verl.other.main", ["++lr=2"], OK, ""),
    ("nemo_rl", "uv run run.py --config child.yaml", ["grpo.steps=2"], OK, ""),
    ("nemo_rl", "uv run run.py --config=child.yaml", ["sft.steps=2"], FAILED, "sft"),
    ("nemo_rl", "uv run grpo.py", ["grpo.steps=2"], OK, ""),
    ("nemo_rl", "uv run grpo.py", ["sft.steps=2"], FAILED, "sft"),
    ("nemo_rl", "uv run run.py", ["grpo.steps=2"], NOT_TRIED, ""),
    ("openrlhf", "python3 -m openrlhf.cli.train_ppo_ray --critic.lr 1", ["--steps", "2"], OK, ""),
    ("openrlhf", "python3 -m openrlhf.cli.train_ppo_ray", ["--epochs", "2"], FAILED, "--epochs 2"),
    ("openrlhf", "python3 -m openrlhf.cli.train_ppo_ray", ["--steps", "x"], FAILED, "invalid int"),
    ("areal", "python3 rl.py --config base.yaml", ["++steps=2", "++name=x"], OK, ""),
    ("areal", "python3 rl.py --config base.yaml", ["++specs.0.env.A=x"], OK, ""),
    ("areal", "python3 rl.py --config base.yaml", ["++epochs=2"], FAILED, "no field epochs"),
    ("skyrl", "uv run -m skyrl.train.main_base", ["steps=2"], OK, ""),
    ("skyrl", "uv run -m skyrl.train.main_base", ["epochs=2"], FAILED, "no field epochs"),
    ("skyrl", "uv run -m skyrl.train.main_base", ["++steps=2"], FAILED, "refuses ++steps=2"),
    ("slime", "python3 train.py --steps 3", ["--steps", "2"], NOT_TRIED, ""),
]


@pytest.mark.parametrize(("framework", "line", "words", "verdict", "reason"), ROWS)
def test_composition(
    checkout: Path, framework: str, line: str, words: list[str], verdict: str, reason: str
) -> None:
    found = composed(checkout, framework, line, *words)
    assert found[0] == verdict and reason in found[1], found
