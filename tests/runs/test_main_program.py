"""The main program of a run, as its command and its script name it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import eagleray
import pytest
from eagleray.runs.model import RunPlan
from eagleray.supervisor.launchers.main_program import main_program

HELPERS = "python -c 'import flash_attn' || echo none\npython check.py\npython -m pip list\n"
SCRIPTS = {
    "run.sh": f'#!/bin/bash\nset -e\n{HELPERS}python train.py --lr 1 "$@"\n',
    "module.sh": f"{HELPERS}exec python3 -m verl.trainer.main_ppo \\\n  data=x.py\n",
    "folder.sh": 'HERE="$(dirname "$0")"\nPYTHONPATH=. python "$HERE/../src/train.py"\n',
    "variable.sh": "SCRIPT=jobs/train.py\nuv run $SCRIPT\n",
    "none.sh": "make train\n",
    "job.sbatch": "#!/bin/bash\n#SBATCH -N 2\nsrun torchrun --nproc-per-node 8 train.py\n",
}
COMMANDS = [
    ("python train.py --config other.py", "train.py"),
    ("python -u ./examples/train.py", "examples/train.py"),
    ("python3.12 ../train.py", "train.py"),
    ("/opt/env/bin/python /srv/app/train.py", "srv/app/train.py"),
    ("python -m pkg.train x.py", "-m pkg.train"),
    ("python -c 'import x'", ""),
    ("python -", ""),
    ("uv run --with ray train.py", "train.py"),
    ("uv run -m pkg.train", "-m pkg.train"),
    ("torchrun --nproc-per-node 8 train.py", "train.py"),
    ("torchrun -m pkg.train", "-m pkg.train"),
    ("python -m torch.distributed.run --nnodes 2 train.py", "train.py"),
    ("python -m torch.distributed.run -m pkg.train", "-m pkg.train"),
    ("accelerate launch --config_file c.yaml train.py", "train.py"),
    ("srun -m block python train.py", "train.py"),
    ("ray job submit --working-dir . -- python train.py", "train.py"),
    ("venv/bin/torchrun --nproc-per-node 2 train.py", "train.py"),
    ("venv/bin/torchrun -m pkg.train", "-m pkg.train"),
    ("venv/bin/accelerate launch --num_processes 2 app/train.py", "app/train.py"),
    ("python venv/bin/accelerate launch train.py", "train.py"),
    ("venv/bin/deepspeed --num_gpus 2 train.py --deepspeed", "train.py"),
    ("python -m deepspeed.launcher.runner train.py", "train.py"),
    ("mpirun -n 2 python train.py", "train.py"),
    ("colossalai run --nproc_per_node 2 train.py", "train.py"),
    ("venv/bin/mytrain data.py", "venv/bin/mytrain"),
    ("python venv/bin/mytrain data.py", "venv/bin/mytrain"),
    ("make train", ""),
    ("bash run.sh --steps 3", "train.py"),
    ("./run.sh", "train.py"),
    ("bash module.sh", "-m verl.trainer.main_ppo"),
    ("bash folder.sh", "src/train.py"),
    ("bash variable.sh", "jobs/train.py"),
    ("bash none.sh", ""),
    ("bash missing.sh", ""),
    ("sbatch -N 2 job.sbatch", "train.py"),
    ("./program.py --x", "program.py"),
]


INSTALLED = {
    "torchrun": "torch.distributed.run",
    "accelerate": "accelerate.commands.accelerate_cli",
    "deepspeed": "deepspeed.launcher.runner",
    "mytrain": "mytrain.cli",
}


def plan(*argv: str, cwd: str = "/w") -> RunPlan:
    return RunPlan(kind="command", argv=argv, cwd=cwd, name="x")


@pytest.mark.parametrize(("command", "main"), COMMANDS)
def test_main_program_of_a_command(tmp_path: Path, command: str, main: str) -> None:
    for name, text in SCRIPTS.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    for name, module in INSTALLED.items():
        installed = tmp_path / "venv" / "bin" / name
        installed.write_text(f"#!/env/bin/python\nimport sys\nfrom {module} import main\n")
        installed.chmod(0o755)
    (tmp_path / "program.py").write_text("#!/usr/bin/env python3\n")
    argv = subprocess.check_output(["bash", "-c", f"printf '%s\\n' {command}"], text=True)
    assert main_program(plan(*argv.splitlines(), cwd=str(tmp_path))) == main


def test_text_of_a_shell_is_read_like_a_script() -> None:
    assert main_program(plan("bash", "-lc", f"{HELPERS}python train.py")) == "train.py"


def test_script_on_another_host_is_not_looked_for_here(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("python train.py\n")
    there = plan("sbatch", "job.sh", cwd=str(tmp_path))
    assert main_program(there) == "train.py"
    assert main_program(there, is_remote=True) == ""


PROGRAM = f"""\
import sys
sys.path.insert(0, {str(Path(eagleray.__file__).parents[1])!r})
from eagleray.remote.injected.hooks.driver import is_main_program
print([is_main_program(named) for named in sys.argv[1:]])
"""
NAMED = ["app/train.py", "train.py", "rain.py", "-m app.train", "-m app", ""]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["app/train.py"], [True, True, False, False, False, False]),
        (["./app/../app/train.py"], [True, True, False, False, False, False]),
        (["-m", "app.train"], [False, False, False, True, False, False]),
        (["-m", "app"], [False, False, False, False, True, False]),
        (["-c", PROGRAM], [False] * 6),
    ],
)
def test_process_knows_whether_it_is_the_main_program(
    tmp_path: Path, arguments: list[str], expected: list[bool]
) -> None:
    (tmp_path / "app").mkdir()
    for name in ("train.py", "__main__.py"):
        (tmp_path / "app" / name).write_text(PROGRAM)
    printed = subprocess.check_output([sys.executable, *arguments, *NAMED], text=True, cwd=tmp_path)
    assert printed == f"{expected}\n"
