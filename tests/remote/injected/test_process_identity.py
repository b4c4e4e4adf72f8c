"""The identity of a process by its environment and its command: its rank, and whether it only starts others."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from eagleray.remote.injected.process_identity import (
    is_launcher,
    main_file,
    module_of,
    module_of_script,
    name_of,
    rank_in,
)

# As the launchers set them, without the rest of each environment.
STEP = {"SLURM_JOB_ID": "71", "SLURM_STEP_ID": "0", "SLURM_PROCID": "3", "SLURM_NTASKS": "4"}
RANKS: list[tuple[dict[str, str], int | None]] = [
    ({"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "none"}, 1),
    ({"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "8", "PMIX_RANK": "5"}, 5),
    ({"PMI_RANK": "2", "PMI_SIZE": "4", "MPI_LOCALRANKID": "0"}, 2),
    ({"MV2_COMM_WORLD_RANK": "6", "MV2_COMM_WORLD_SIZE": "8"}, 6),
    ({"HOROVOD_RANK": "1", "OMPI_COMM_WORLD_RANK": "0"}, 1),
    (STEP, 3),
    ({**STEP, "SLURM_STEP_NUM_TASKS": "4", "SLURM_NTASKS": "1"}, 3),
    # torchrun in a step.
    ({**STEP, "RANK": "25", "LOCAL_RANK": "1"}, 25),
    # The script of a job, a step of one task, and the special step of `sbatch`.
    ({"SLURM_JOB_ID": "71", "SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, None),
    ({**STEP, "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, None),
    ({**STEP, "SLURM_STEP_ID": "4294967291"}, None),
    ({"RANK": ""}, None),
    ({}, None),
]


@pytest.mark.parametrize(("environ", "rank"), RANKS)
def test_rank_is_the_one_that_the_launcher_gave(environ: dict[str, str], rank: int | None) -> None:
    assert rank_in(environ) == rank


BY_PIP = """\
#!{python}
# -*- coding: utf-8 -*-
import re
import sys
from torch.distributed.run import main
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
"""
LONG_PATH = """\
#!/bin/sh
'''exec' /a/very/long/path/to/an/environment/bin/python "$0" "$@"
' '''
import sys
from accelerate.commands.accelerate_cli import main
"""
BY_SETUPTOOLS = """\
#!/usr/bin/python3
# EASY-INSTALL-ENTRY-SCRIPT: 'horovod','console_scripts','horovodrun'
from importlib.metadata import distribution
sys.exit(load_entry_point('horovod', 'console_scripts', 'horovodrun')())
"""
SCRIPTS = {
    "bin/torchrun": BY_PIP.replace("{python}", "/env/bin/python"),
    "bin/renamed": BY_PIP.replace("{python}", "/env/bin/python"),
    "bin/accelerate": LONG_PATH,
    "bin/horovodrun": BY_SETUPTOOLS,
    "bin/mytrain": BY_PIP.replace("torch.distributed.run", "mytrain.cli").replace(
        "{python}", "/env/bin/python"
    ),
    # A program of the user that only imports a launcher.
    "torchrun.py": "from torch.distributed.run import main\n",
}
COMMANDS = [
    ("python bin/torchrun --nproc-per-node 2 train.py", "torch.distributed.run", True),
    ("python -X dev bin/renamed train.py", "torch.distributed.run", True),
    ("python bin/accelerate launch train.py", "accelerate.commands.accelerate_cli", True),
    ("python bin/horovodrun -np 2 python train.py", "horovod.runner.launch", True),
    ("python -m torch.distributed.launch train.py", "torch.distributed.launch", True),
    ("python -u -m deepspeed.launcher.launch train.py", "deepspeed.launcher.launch", True),
    ("python /env/torch/distributed/run.py a.py", "/env/torch/distributed/run.py", True),
    ("python bin/mytrain --steps 3", "mytrain.cli", False),
    ("python torchrun.py", "torchrun.py", False),
    ("python -u train.py -m torch.distributed.run", "train.py", False),
    ("python -c pass torchrun", "", False),
    ("python -", "", False),
    ("python", "", False),
]


@pytest.mark.parametrize(("command", "module", "launches"), COMMANDS)
def test_launcher_is_recognised_by_what_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, module: str, launches: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bin").mkdir()
    for name, text in SCRIPTS.items():
        Path(name).write_text(text)
    assert (module_of(command.split()), is_launcher(command.split())) == (module, launches)


def test_program_in_a_pipe_is_left_to_python(tmp_path: Path) -> None:
    pipe, source = tmp_path / "fifo", b"print(1)\n" * 2000
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR)
    try:
        os.write(held, source)
        assert module_of_script(str(pipe)) == ""
        assert os.read(held, 2 * len(source)) == source
    finally:
        os.close(held)


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        (
            ["python", "-m", "coverage", "run", "--branch", "p.py", "x.py"],
            ["-m", "run", "--branch"],
        ),
        (["python", "-m", "cProfile", "-o", "out.prof", "p.py"], ["-m", "-o", "out.prof"]),
        (["python", "-m", "IPython.terminal", "p.py"], ["-m"]),
        (["python", "bin/ipython", "--simple-prompt", "p.py"], ["bin/ipython", "--simple-prompt"]),
        (["python", "bin/kernprof", "-l", "p.py"], ["bin/kernprof", "-l"]),
        (["python", "p.py", "x.py"], []),
    ],
)
def test_file_that_a_tool_runs_is_the_main_file(
    command: list[str], argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    for tool, module in (("ipython", "IPython"), ("kernprof", "kernprof")):
        (tmp_path / "bin" / tool).write_text(f"#!/usr/bin/python\nfrom {module} import main\n")
    for name in ("p.py", "x.py"):
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "orig_argv", command)
    monkeypatch.setattr(sys, "argv", [*argv, "p.py", "x.py"])
    assert main_file() == str(tmp_path / "p.py")


def test_program_may_be_named_like_a_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trace.py").write_text("")
    (tmp_path / "x.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "orig_argv", ["python", "trace.py", "x.py"])
    monkeypatch.setattr(sys, "argv", ["trace.py", "x.py"])
    assert main_file() == str(tmp_path / "trace.py")


@pytest.mark.parametrize(
    ("command", "main", "name"),
    [
        (["python", "p.py"], "/home/me/p.py", "p.py"),
        (["python", "-m", "trainer.main"], "", "trainer.main"),
        (["python", "-m", "pytest", "-n", "2"], "", "pytest"),
        (["python", "-c", "exec(eval(…))"], "", "gw1"),
    ],
)
def test_process_is_named_by_what_it_runs(
    command: list[str], main: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "orig_argv", command)
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw1")
    assert name_of(main) == name
    monkeypatch.delenv("PYTEST_XDIST_WORKER")
    assert name_of(main) == (name if name != "gw1" else "driver")
