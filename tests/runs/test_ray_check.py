"""A Python that can't use Ray is noticed before the start, which is refused until the user decides."""

from __future__ import annotations

import os
import sys
import venv
from pathlib import Path

import pytest
from eagleray.runs import run_discovery
from eagleray.runs.model import Kind, RunPlan
from eagleray.runs.planner import RunPreparation
from eagleray.runs.program_python import RayCheck

from tests.asked import ask
from tests.ray_cluster import wait_for
from tests.runs.terminal import Terminal, listed
from tests.sidecar.stdio_client import sidecar


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """An interpreter without any package, which writes down each of its starts."""
    wrapper = tmp_path / "bin" / "python3"
    wrapper.parent.mkdir()
    starts = tmp_path / "starts"
    wrapper.write_text(f'#!/bin/sh\necho x >> {starts}\nexec {sys.executable} -S -E "$@"\n')
    wrapper.chmod(0o700)
    return wrapper


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text("import ray\nprint('started')\n")
    return code


def plan(python: Path, folder: Path, kind: Kind = "program", *arguments: str) -> RunPlan:
    return RunPlan(
        kind=kind,
        argv=(str(python), *(arguments or ("train.py",))),
        cwd=str(folder),
        name="train.py",
    )


async def test_python_without_ray_is_detected(python: Path, folder: Path) -> None:
    check = RayCheck()
    missing = await check.missing(plan(python, folder))
    assert missing is not None
    assert (missing.path, missing.version) == (str(python), sys.version.split()[0])
    assert await check.missing(plan(python, folder, "module", "-m", "train")) is not None
    # A folder of that name, as for its results, isn't a package.
    (folder / "ray").mkdir()
    assert await check.missing(plan(python, folder)) is not None
    (folder / "ray" / "__init__.py").write_text("raise SystemExit('imported')\n")
    assert await check.missing(plan(python, folder)) is None


async def test_interpreter_with_ray_is_checked_once(python: Path, folder: Path) -> None:
    (folder / "ray.py").touch()
    starts = python.parents[1] / "starts"
    check = RayCheck()
    for _ in range(3):
        assert await check.missing(plan(python, folder)) is None
    assert starts.read_text() == "x\n"
    os.utime(python, (1, 1))
    assert await check.missing(plan(python, folder)) is None
    assert starts.read_text() == "x\nx\n"


NOT_CHECKED: list[tuple[Kind, tuple[str, ...]]] = [
    ("job", ("train.py",)),
    ("sbatch", ("train.py",)),
    ("script", ("train.py",)),
    ("command", ("-c", "pass")),
]


@pytest.mark.parametrize(("kind", "arguments"), NOT_CHECKED)
async def test_program_with_another_environment_is_not_checked(
    python: Path, folder: Path, kind: Kind, arguments: tuple[str, ...]
) -> None:
    """A script may activate one, a job has its cluster's."""
    assert await RayCheck().missing(plan(python, folder, kind, *arguments)) is None
    assert not (python.parents[1] / "starts").exists()


async def test_silent_interpreter_prevents_no_start(folder: Path, python: Path) -> None:
    python.write_text("#!/bin/sh\nexit 3\n")
    assert await RayCheck().missing(plan(python, folder)) is None


IMPORTS = [
    ("import ray", True),
    ("def f():\n    from ray.util import queue\n", True),
    ("import os, ray", True),
    ("from rayon import x\nimport arrays, raylib\n# import ray", False),
]


@pytest.mark.parametrize("kind", ["program", "module"])
@pytest.mark.parametrize(("source", "needs"), IMPORTS)
async def test_python_without_ray_is_refused_for_programs_that_import_it(
    python: Path, folder: Path, source: str, needs: bool, kind: Kind
) -> None:
    """For one that doesn't, the version of a local cluster doesn't count either."""

    async def version(path: str) -> str:
        return path

    preparing = RunPreparation(version, version, version, (), lambda environ: "/opt/bin/python")
    (folder / "train.py").write_text(source)
    arguments = ("-m", "train") if kind == "module" else ("train.py",)
    unfit = await preparing.unfit_python(plan(python, folder, kind, *arguments))
    assert (unfit.code if unfit else "") == ("no-ray" if needs else "")


async def test_module_of_the_interpreter_needs_no_ray(python: Path, folder: Path) -> None:
    async def version(path: str) -> str:
        return ""

    module = plan(python, folder, "module", "-m", "timeit", "1")
    assert await RunPreparation(version, version, version).unfit_python(module) is None


def test_program_without_ray_stops_in_a_python_without_it(
    own_home: Path, tmp_path: Path, folder: Path
) -> None:
    venv.create(tmp_path / "bare", symlinks=True)
    (folder / "train.py").write_text("first = 1\nprint('started')\n")
    python = str(tmp_path / "bare" / "bin" / "python")
    terminal = Terminal(folder, "run", "--break", "train.py:2", "--", python, "train.py")
    try:
        wait_for(
            "the stop",
            lambda: "paused at" in terminal.errors() or terminal.process.poll() is not None,
        )
        assert "train.py paused at train.py:2" in terminal.errors()
    finally:
        terminal.interrupt_hard()


def test_missing_ray_is_an_error_in_a_terminal(
    own_home: Path, python: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    refused = ask(os.environ, "run", "--detach", "--", str(python), "train.py")
    assert refused.returncode == 1
    assert "Ray isn't installed in Python " in refused.stderr
    assert f" ({python})." in refused.stderr
    assert "or add --anyway" in refused.stderr
    assert listed() == []
    done = ask(os.environ, "run", "--detach", "--anyway", "--", str(python), "train.py")
    assert done.returncode == 0
    assert [item["id"] for item in listed()] == [done.stdout.strip()]


async def test_missing_ray_delays_the_start_in_the_editor(
    own_home: Path, python: Path, folder: Path
) -> None:
    request = {"path": "train.py", "args": [], "cwd": str(folder), "python": str(python)}
    async with sidecar() as panel:
        await panel.initialize(discovery="off")
        made = (await panel.result("eagleray/presets/prepare", request))["plan"]
        refused = await panel.ask("eagleray/runs/start", {"plan": made})
        assert refused["error"]["data"]["code"] == "no-ray"
        assert (await panel.result("eagleray/runs/list"))["runs"] == []
        started = await panel.result("eagleray/runs/start", {"plan": made, "anyway": True})
        refused = await panel.ask("eagleray/runs/restart", started)
        assert refused["error"]["data"]["code"] == "no-ray"
        again = {**started, "python": sys.executable}
        other = (await panel.result("eagleray/runs/restart", again))["id"]
        runs = {run["id"]: run for run in (await panel.result("eagleray/runs/list"))["runs"]}
    assert [runs[started["id"]]["python"], runs[other]["python"]] == [str(python), sys.executable]
    assert runs[other]["command"] == f"{sys.executable} train.py"


async def test_missing_program_is_reported_before_missing_ray(
    own_home: Path, python: Path, folder: Path
) -> None:
    request = {"path": "train.py", "args": [], "cwd": str(folder), "python": str(python)}
    async with sidecar() as panel:
        await panel.initialize(discovery="off")
        made = (await panel.result("eagleray/presets/prepare", request))["plan"]
        (folder / "train.py").unlink()
        refused = await panel.ask("eagleray/runs/start", {"plan": made})
    assert refused["error"]["data"]["code"] == "no-program"


def test_python_of_a_cluster_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once, if it can be run here."""

    class Process:
        def __init__(self, *arguments: str) -> None:
            self.arguments = arguments

    processes = [
        Process(sys.executable, "-u", "/x/ray/dashboard/dashboard.py"),
        Process(sys.executable, "/x/ray/dashboard/dashboard.py"),
        Process("python", "/x/ray/dashboard/dashboard.py"),
        Process("/no/such/python", "/x/ray/dashboard/dashboard.py"),
    ]
    monkeypatch.setattr(run_discovery, "dashboard_processes", lambda: processes)
    assert run_discovery.cluster_pythons() == [sys.executable]


def test_python_of_the_joined_local_cluster_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Process:
        arguments = ("/opt/bin/python", "/x/ray/dashboard/dashboard.py", "--gcs-address=h:6379")

    monkeypatch.setattr(run_discovery, "dashboard_processes", lambda: [Process()])
    environ = {"RAY_TMPDIR": str(tmp_path)}
    assert run_discovery.joined_python(environ) == ""
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text("h:6379")
    assert run_discovery.joined_python(environ) == "/opt/bin/python"
    assert run_discovery.joined_python({**environ, "RAY_ADDRESS": "auto"}) == "/opt/bin/python"
    for other in ("local", "h:1", "ray://h:6379"):
        assert run_discovery.joined_python({**environ, "RAY_ADDRESS": other}) == ""
    assert run_discovery.joined_python({"RAY_ADDRESS": "h:6379"}) == "/opt/bin/python"


async def test_python_of_another_version_than_the_joined_cluster_is_refused(
    python: Path, folder: Path
) -> None:
    (folder / "ray.py").touch()
    versions = {str(python): "3.11", "/opt/bin/python": "3.12"}

    async def version(path: str) -> str:
        return versions[path]

    preparing = RunPreparation(version, version, version, (), lambda environ: "/opt/bin/python")
    unfit = await preparing.unfit_python(plan(python, folder))
    assert unfit is not None
    assert unfit.message == "Python version mismatch: cluster 3.12, this program 3.11."
    versions["/opt/bin/python"] = "3.11"
    assert await preparing.unfit_python(plan(python, folder)) is None
    versions["/opt/bin/python"] = ""
    assert await preparing.unfit_python(plan(python, folder)) is None
