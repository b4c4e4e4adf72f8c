"""A program that cannot start is rejected before anything is recorded, with the exit codes of a shell."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from attrs import evolve
from eagleray.common.errors import EaglerayError
from eagleray.runs.model import RunPlan
from eagleray.runs.preflight import check
from eagleray.runs.program_python import PythonTarget, target_of

from tests.asked import ask
from tests.runs.terminal import listed
from tests.sidecar.stdio_client import sidecar


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text("print('started')\n")
    (tmp_path / "go.sh").write_text("echo started\n")
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o700)
    (tmp_path / "folder").mkdir()
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("raise SystemExit('imported')\n")
    return tmp_path


REFUSED = [
    (["no-such-program"], 127, "no-such-program: command not found.", "your PATH"),
    (["train.py"], 127, "train.py: command not found.", "Use `python train.py`."),
    (["tool"], 127, "tool: command not found.", "Use `./tool`."),
    (["./train.py"], 126, "./train.py is not executable.", "Use `python ./train.py`."),
    (["./folder"], 126, "./folder is not executable.", "permissions"),
    (["/no/such/python", "train.py"], 127, "/no/such/python: command not found.", ""),
    ([sys.executable, "nosuch.py"], 1, "nosuch.py: file not found in ", ""),
    ([sys.executable, "-u", "-W", "ignore", "nosuch.py"], 1, "nosuch.py: file not found in ", ""),
    ([sys.executable, "-m", "no_such_module.sub"], 1, "No module named “no_such_module”", ""),
    (["bash", "nosuch.sh"], 1, "nosuch.sh: file not found in ", ""),
    (["sbatch", "nosuch.sub"], 1, "nosuch.sub: file not found in ", ""),
    (["srun", "hostname"], 127, "srun: command not found.", ""),
]


@pytest.mark.parametrize(("command", "code", "message", "next_step"), REFUSED)
def test_failed_preflight_leaves_no_run(
    own_home: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    code: int,
    message: str,
    next_step: str,
) -> None:
    monkeypatch.chdir(folder)
    for name in ("bash", "sbatch"):
        (folder / "package" / name).symlink_to("/bin/bash")
    env = {**os.environ, "PATH": str(folder / "package")}
    done = ask(env, "run", "--detach", "--", *command)
    assert done.returncode == code
    assert message in done.stderr and next_step in done.stderr
    assert done.stderr.startswith("eagleray: ")
    assert "Run " not in done.stderr + done.stdout
    assert listed() == []


@pytest.mark.parametrize("program", ["bash missing.sh", "sbatch missing.sub", "./missing.sh"])
def test_dry_run_of_missing_script_fails(
    own_home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.chdir(folder)
    done = ask(os.environ, "run", "--preset", "debug", "--dry-run", "--", *program.split())
    assert done.returncode != 0 and done.stdout == ""
    assert "missing.s" in done.stderr and "not found" in done.stderr
    assert "Check its name" in done.stderr


async def test_missing_folder_is_named(own_home: Path, folder: Path) -> None:
    plan = RunPlan(kind="command", argv=("ls",), cwd=str(folder / "gone"), name="ls")
    with pytest.raises(EaglerayError, match="gone: folder not found"):
        await check(plan)


async def test_startable_program_passes(own_home: Path, folder: Path) -> None:
    """Without running anything of it, and as the program would be found: in its own environment."""
    python, cwd = sys.executable, str(folder)
    fine = [
        RunPlan(kind="program", argv=(python, "train.py"), cwd=cwd, name=""),
        RunPlan(kind="program", argv=(python, "folder"), cwd=cwd, name=""),
        RunPlan(kind="command", argv=(python, "-c", "pass"), cwd=cwd, name=""),
        RunPlan(kind="command", argv=(python, "-u", "train.py"), cwd=cwd, name=""),
        RunPlan(kind="module", argv=(python, "-m", "package.main"), cwd=cwd, name=""),
        RunPlan(kind="module", argv=(python, "-m", "json.tool"), cwd=cwd, name=""),
        RunPlan(kind="script", argv=("bash", "go.sh"), cwd=cwd, name=""),
        RunPlan(kind="command", argv=("./tool",), cwd=cwd, name=""),
        RunPlan(kind="command", argv=("tool",), cwd=cwd, name="", env={"PATH": cwd}),
        RunPlan(kind="command", argv=("tool",), cwd=cwd, name="", env={"PATH": "."}),
        RunPlan(
            kind="command",
            argv=("python", "train.py"),
            cwd=cwd,
            name="",
            env={"PATH": "/no"},
            python=python,
        ),
        RunPlan(
            kind="script",
            argv=("bash", "gone.sh"),
            cwd=cwd,
            name="",
            copy_of="gone.sh",
            copy_text="echo\n",
        ),
        RunPlan(
            kind="job", argv=("python", "on_the_cluster.py"), cwd=cwd, name="", cluster="http://c:1"
        ),
        RunPlan(
            kind="sbatch", argv=("sbatch", "there.sub"), cwd=cwd, name="", cluster="ssh://login"
        ),
    ]
    for plan in fine[:-4] + fine[-3:]:
        await check(plan)
    # The environment of a chosen Python comes before the PATH, but not before a PATH that the plan sets.
    with pytest.raises(EaglerayError, match="command not found"):
        await check(fine[-4])
    await check(evolve(fine[-4], env={}))


TARGETS = [
    (("python", "train.py", "-m", "x"), PythonTarget("file", "train.py")),
    (("python3.11", "-uO", "-X", "dev", "-Wignore", "train.py"), PythonTarget("file", "train.py")),
    (("/opt/python", "-m", "pkg.main", "train.py"), PythonTarget("module", "pkg.main")),
    (("python", "-c", "pass"), None),
    (("python", "-"), None),
    (("python",), None),
    (("bash", "run.sh"), None),
]


@pytest.mark.parametrize(("argv", "target"), TARGETS)
def test_target_follows_the_options_of_python(
    argv: tuple[str, ...], target: PythonTarget | None
) -> None:
    assert target_of(RunPlan(kind="command", argv=argv, cwd="/", name="")) == target
    assert target_of(RunPlan(kind="job", argv=argv, cwd="/", name="")) is None


async def test_editor_gets_the_same_error(own_home: Path, folder: Path) -> None:
    async with sidecar() as panel:
        await panel.initialize(discovery="off")
        request = {"path": "train.py", "args": [], "cwd": str(folder), "python": "/no/such/python"}
        proposal = await panel.result("eagleray/presets/prepare", request)
        refused = await panel.ask("eagleray/runs/start", {"plan": proposal["plan"]})
        assert refused["error"]["data"]["code"] == "program-not-found"
        assert (await panel.result("eagleray/runs/list"))["runs"] == []
