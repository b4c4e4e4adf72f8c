"""The options page is told which Python runs a program, and whether it has Ray."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.runs import interpreters
from eagleray.runs.interpreters import Interpreters

VERSION = sys.version.split()[0]


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """An interpreter without any package, which writes down each of its starts."""
    wrapper = tmp_path / "bin" / "python3"
    wrapper.parent.mkdir()
    starts = tmp_path / "starts"
    starts.touch()
    wrapper.write_text(f'#!/bin/sh\necho x >> {starts}\nexec {sys.executable} -S "$@"\n')
    wrapper.chmod(0o700)
    return wrapper


def starts(python: Path) -> int:
    return len((python.parents[1] / "starts").read_text().split())


async def test_python_is_described_and_asked_once(python: Path, tmp_path: Path) -> None:
    asked = Interpreters()
    packages = tmp_path / "packages"
    packages.mkdir()
    env = {"PYTHONPATH": str(packages)}
    for _ in range(3):
        facts = await asked.facts(str(python), str(tmp_path), env)
        assert (facts.path, facts.version, facts.ray) == (str(python), VERSION, "")
    assert starts(python) == 1
    info = packages / "ray-2.60.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ray\nVersion: 2.60.0\n")
    # Also where the clock of the file system is coarse.
    os.utime(packages, (1, 1))
    assert (await asked.facts(str(python), str(tmp_path), env)).ray == "2.60.0"
    assert starts(python) == 2


async def test_ray_beside_the_program_is_not_the_ray_of_the_python(
    python: Path, tmp_path: Path
) -> None:
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "__init__.py").write_text("raise SystemExit('imported')\n")
    facts = await Interpreters().facts(str(python), str(tmp_path), {})
    assert facts.ray == ""
    facts = await Interpreters().facts(str(python), "/", {"PYTHONPATH": str(tmp_path)})
    assert facts.ray == "?"


async def test_name_is_searched_on_the_path_of_the_run(python: Path, tmp_path: Path) -> None:
    env = {"PATH": f"{python.parent}:{os.environ['PATH']}"}
    facts = await Interpreters().facts("python3", str(tmp_path), env)
    assert facts.path == str(python)


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (None, "python-missing"),
        ("echo hello", "not-a-python"),
        ("echo broken >&2; exit 1", "not-a-python"),
        ("exec sleep 60", "python-silent"),
    ],
)
async def test_program_that_is_not_a_python_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, code: str
) -> None:
    monkeypatch.setattr(interpreters, "LIMIT_S", 1.0)
    program = tmp_path / "python"
    if script is not None:
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o700)
    with pytest.raises(EaglerayError) as raised:
        await asyncio.wait_for(Interpreters().facts(str(program), str(tmp_path), {}), 30)
    assert raised.value.code == code
    assert str(program) in raised.value.message


async def test_folder_is_not_a_python(tmp_path: Path) -> None:
    with pytest.raises(EaglerayError, match="was not found"):
        await Interpreters().facts(str(tmp_path), str(tmp_path), {})
