"""Kinds of programs by path or command, and breakpoints as they are typed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.protocol.runs import Breakpoint, LineBreakpoint
from eagleray.runs.breakpoint_parsing import breakpoints
from eagleray.runs.program_kind import active_python, command_of, kind_of, name_of

FILES = {
    "train.py": "print()",
    "start.sh": "echo",
    "start": "#!/usr/bin/env bash\necho",
    "tool": "#!/usr/bin/env python3\n",
    "ray.sub": "#!/bin/bash\n#SBATCH --nodes=2\necho",
    "late.sh": "#!/bin/sh\n# The next line is no directive.\n##SBATCH -N1\n",
    "data.txt": "words",
}
BY_PATH = [
    ("train.py", "program"),
    ("start.sh", "script"),
    ("start", "script"),
    ("tool", "program"),
    ("ray.sub", "sbatch"),
    ("late.sh", "script"),
    ("pkg.module", "module"),
]
BY_COMMAND = [
    ("python train.py --lr 1", "program"),
    ("/opt/bin/python3.11 train.py", "program"),
    ("python -m pkg.train", "module"),
    ("python -c print()", "command"),
    ("bash start.sh", "script"),
    ("bash -c echo", "command"),
    ("sbatch --nodes=2 ray.sub", "sbatch"),
    ("uv run train.py", "command"),
]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return str(tmp_path)


@pytest.mark.parametrize(("path", "kind"), BY_PATH)
def test_kind_of_a_path(folder: str, path: str, kind: str) -> None:
    assert kind_of(path, [], folder) == kind


@pytest.mark.parametrize(("command", "kind"), BY_COMMAND)
def test_command_has_its_kind(folder: str, command: str, kind: str) -> None:
    assert kind_of("", command.split(), folder) == kind


@pytest.mark.parametrize(("path", "code"), [("data.txt", "unknown-kind"), ("no.py", "no-program")])
def test_unstartable_program_is_rejected(folder: str, path: str, code: str) -> None:
    with pytest.raises(EaglerayError) as raised:
        kind_of(path, [], folder)
    assert raised.value.code == code


def test_command_of_a_path_is_as_typed(folder: str) -> None:
    assert command_of("program", "train.py", ["a b"], "/opt/python", folder) == (
        "/opt/python",
        "train.py",
        "a b",
    )
    assert command_of("module", "pkg.m", ["-x"], "python", folder) == (
        "python",
        "-m",
        "pkg.m",
        "-x",
    )
    assert command_of("sbatch", "ray.sub", ["1"], "", folder) == ("sbatch", "ray.sub", "1")
    assert command_of("script", "start", [], "", folder) == ("bash", "start")


def test_names() -> None:
    assert name_of("program", ["python", "-u", "a/train.py", "x"]) == "train.py"
    assert name_of("module", ["python", "-m", "pkg.train"]) == "pkg.train"
    assert name_of("sbatch", ["sbatch", "-N", "2", "a/ray.sub", "x"]) == "ray.sub"
    assert name_of("command", ["uv", "run", "x"]) == "uv"
    assert name_of("command", ["bin/torchrun", "--nnodes", "2", "a/train.py"]) == "train.py"
    assert name_of("module", ["python", "-m", "torch.distributed.run", "a.py"]) == "a.py"
    assert name_of("command", ["accelerate", "launch", "-m", "pkg.train"]) == "pkg.train"


def test_breakpoints_of_a_file_are_grouped(tmp_path: Path) -> None:
    typed = ["a.py:3", "/x/b.py:7:len(x) > 2 and y[1:2]", "a.py:12"]
    assert breakpoints(typed, tmp_path) == (
        Breakpoint(str(tmp_path / "a.py"), [LineBreakpoint(3), LineBreakpoint(12)]),
        Breakpoint("/x/b.py", [LineBreakpoint(7, "len(x) > 2 and y[1:2]")]),
    )


@pytest.mark.parametrize("text", ["a.py", "a.py:", "a.py:0", ":3", "a.py:x"])
def test_invalid_breakpoint_is_rejected(text: str, tmp_path: Path) -> None:
    with pytest.raises(EaglerayError) as raised:
        breakpoints([text], tmp_path)
    assert raised.value.code == "bad-breakpoint"


def test_active_python_belongs_to_the_environment(tmp_path: Path) -> None:
    (tmp_path / "python3").touch(mode=0o755)
    path = str(tmp_path)
    assert active_python({"VIRTUAL_ENV": "/venv", "PATH": path}) == "/venv/bin/python"
    assert active_python({"PATH": path}) == f"{path}/python3"
    assert active_python({"PATH": "/none"}) == sys.executable
