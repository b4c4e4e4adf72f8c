"""Frameworks and their versions are recognised in the user's files; nothing is executed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from eagleray.runs.presets.yaml_tree import read_yaml

from tests.runs.presets.checkouts import TRAINERS, checkout, plan_of, read, with_script

# A framework by its checkout: what is run there, and which table comes out.
RUNS = [
    (
        "verl",
        "0.7.0",
        ("python3", "-m", "verl.trainer.main_ppo", "a=b"),
        "0.6.0 to 0.10.0.dev",
        True,
    ),
    ("verl", "0.8.0.dev", ("python", "-m", "verl.trainer.main_ppo"), "0.6.0 to 0.10.0.dev", True),
    ("verl", "0.4.1", ("python3", "-m", "dapo.main_dapo"), "0.4.0.dev to 0.5.0", True),
    ("verl", "0.11.0", ("python3", "-m", "verl.trainer.main_ppo"), "0.6.0 to 0.10.0.dev", False),
    ("verl", "", ("python3", "-m", "verl.trainer.main_ppo"), "0.6.0 to 0.10.0.dev", False),
    ("nemo_rl", "0.6.0", ("uv", "run", "run_grpo.py", "x=1"), "0.4.0 to 0.8.0.dev", True),
    ("nemo_rl", "0.3.0", ("uv", "run", "run_grpo.py", "x=1"), "0.4.0 to 0.8.0.dev", False),
    ("areal", "1.0.4", ("python3", "areal_grpo.py", "--config", "c.yaml"), "1.0.0 to 2.0.0", True),
    ("areal", "2.0.1", ("python3", "areal_grpo.py", "--config", "c.yaml"), "1.0.0 to 2.0.0", False),
    ("rlinf", "0.4.0", ("python3", "train.py"), "0.2.0 to 0.4.0", True),
    (
        "openrlhf",
        "0.11.0",
        ("python3", "-m", "openrlhf.cli.train_ppo_ray"),
        "0.10.2 to 0.11.0",
        True,
    ),
    (
        "openrlhf",
        "0.9.1",
        ("python3", "-m", "openrlhf.cli.train_ppo_ray"),
        "0.8.0 to 0.10.1.post2",
        True,
    ),
]


def programs(folder: Path) -> Path:
    (folder / "run_grpo.py").write_text(TRAINERS["nemo_rl"])
    (folder / "run_eval.py").write_text("from nemo_rl.evals.eval import run_env_eval\n")
    (folder / "areal_grpo.py").write_text(TRAINERS["areal"])
    (folder / "train.py").write_text(TRAINERS["rlinf"])
    (folder / "plain.py").write_text("import ray  # not verl\n# import verl\nx = 'import verl'\n")
    return folder


@pytest.mark.parametrize(("framework", "version", "argv", "versions", "in_range"), RUNS)
def test_frameworks(
    tmp_path: Path,
    framework: str,
    version: str,
    argv: tuple[str, ...],
    versions: str,
    in_range: bool,
) -> None:
    folder = programs(checkout(tmp_path, framework, version))
    recognised = read(plan_of(folder, *argv, kind="program")).recognised
    assert recognised is not None
    assert (recognised.table.framework, str(recognised.table.versions)) == (framework, versions)
    assert (recognised.version.text, recognised.in_range) == (version, in_range)
    assert recognised.version.where.startswith(str(folder)) == bool(version)


@pytest.mark.parametrize(
    "argv",
    [
        ("python3", "plain.py"),
        ("python3", "missing.py"),
        ("python3", "-c", "import verl"),
        ("python3", "-m", "verl.trainer.fsdp_sft_trainer"),
        ("uv", "run", "run_eval.py"),
        ("echo", "verl.trainer.main_ppo"),
    ],
)
def test_unrecognisable_program_is_not_guessed(tmp_path: Path, argv: tuple[str, ...]) -> None:
    folder = programs(checkout(tmp_path, "verl", "0.7.0"))
    assert read(plan_of(folder, *argv, kind="command")).recognised is None


def test_program_beside_its_script_is_recognised(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "rlinf", "0.4.0")
    inner = folder / "examples" / "embodiment"
    inner.mkdir(parents=True)
    with_script(inner, "rlinf.sh")
    for cwd, word in ((folder, "examples/embodiment/rlinf.sh"), (inner, "rlinf.sh")):
        recognised = read(plan_of(cwd, "bash", word)).recognised
        assert recognised is not None and (recognised.table.framework, recognised.in_range) == (
            "rlinf",
            True,
        )


def test_program_in_a_quoted_text_is_recognised_by_its_module(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "openrlhf", "0.11.0")
    with_script(folder, "quoted.sh")
    analysis = read(plan_of(folder, "sbatch", "quoted.sh", kind="sbatch"))
    assert analysis.launch is None
    assert analysis.recognised is not None and analysis.recognised.table.framework == "openrlhf"


def test_installed_package_has_its_version(tmp_path: Path) -> None:
    packages = tmp_path / "venv" / "lib" / "python3.12" / "site-packages"
    metadata = packages / "verl-0.6.1.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.4\nName: verl\nVersion: 0.6.1\n\nVersion: 9.9\n")
    python = str(tmp_path / "venv" / "bin" / "python")
    work = tmp_path / "work"
    work.mkdir()
    plan = plan_of(work, python, "-m", "verl.trainer.main_ppo", kind="module")
    recognised = read(plan, python).recognised
    assert recognised is not None
    assert (recognised.version.text, recognised.in_range) == ("0.6.1", True)
    # Python imports modules from the folder that the program runs in.
    checkout(work, "verl", "0.10.9")
    recognised = read(plan, python).recognised
    assert recognised is not None and (recognised.version.text, recognised.in_range) == (
        "0.10.9",
        False,
    )


def test_checkout_is_not_executed(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "nemo_rl", "0.6.0")
    trap = f"open({str(tmp_path / 'trap')!r}, 'w')\n" + TRAINERS["nemo_rl"]
    for file in ("sitecustomize.py", "setup.py", "run_grpo.py", "nemo_rl/__init__.py"):
        (folder / file).write_text(trap)
    (folder / "run.sh").write_text(f"touch {tmp_path}/trap\n$(touch trap) python3 run_grpo.py\n")
    recognised = read(plan_of(folder, "bash", "run.sh"), sys.executable).recognised
    assert recognised is not None and recognised.table.framework == "nemo_rl"
    assert not (tmp_path / "trap").exists()


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe\x00", b"python3 -m verl.trainer.main_ppo '" * 3, b"x" * (2**18 + 1)]
)
def test_unreadable_file_is_not_recognised(tmp_path: Path, content: bytes) -> None:
    folder = checkout(tmp_path, "verl", "0.7.0")
    (folder / "run.sh").write_bytes(content)
    read(plan_of(folder, "bash", "run.sh"))
    (folder / "verl/version/version").write_bytes(b"\xff\xfe")
    recognised = read(plan_of(folder, "python3", "-m", "verl.trainer.main_ppo")).recognised
    assert recognised is not None and recognised.version.text == ""


YAML = """# actor:
actor:
  backend: "fsdp:d4"
  # scheduling_spec:
  scheduling_spec:
    - gpu: 1
rollout:
  scheduling_spec: ${actor.scheduling_spec}
"""


@pytest.mark.parametrize(
    ("key", "has"),
    [
        ("actor", True),
        ("actor.scheduling_spec", True),
        ("rollout.scheduling_spec", True),
        ("actor.gpus", False),
        ("scheduling_spec", False),
        ("ref.scheduling_spec", False),
        ("rollout.backend", False),
    ],
)
def test_configuration_has_the_key(key: str, has: bool) -> None:
    assert (read_yaml(YAML).at(key) is not None) is has
