"""Runs as jobs of a real cluster: their arguments, log, end and rejections."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.ray_cluster import RayCluster, temporary_home
from tests.real_ray.command import Command
from tests.runs.terminal import PLAIN, Terminal, row

pytestmark = [pytest.mark.real_ray, pytest.mark.cluster("token")]

ODD = ["two words", "a=b", 'say "hi"', "it's", "x,y", "${HOME}", "*.py", ""]


@pytest.fixture
def home(cluster: RayCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with temporary_home() as home:
        for name, value in cluster.eagleray_env(home).items():
            monkeypatch.setenv(name, value)
        yield home


def test_arguments_reach_a_job_unchanged(cluster: RayCluster, home: Path, tmp_path: Path) -> None:
    command = ["run", "--cluster", cluster.address, "--env", "GIVEN=a, b=c", "--"]
    terminal = Terminal(tmp_path, *command, "python", str(PLAIN), "code", "0", *ODD)
    assert terminal.code() == 0, terminal.errors() + terminal.output()
    printed = next(line for line in terminal.output().splitlines() if line.startswith("{"))
    assert json.loads(printed) == {
        "argv": ["code", "0", *ODD],
        "cwd": str(tmp_path),
        "given": "a, b=c",
    }
    assert row(terminal.run_id())["state"] == "exited"


def test_control_c_stops_a_job(cluster: RayCluster, home: Path, tmp_path: Path) -> None:
    command = ("run", "--cluster", cluster.address, "--", "python", str(PLAIN), "wait")
    terminal = Terminal(tmp_path, *command)
    terminal.wait_output("waits")
    terminal.interrupt()
    assert terminal.code() == 130
    assert row(terminal.run_id())["state"] == "cancelled"


def test_driver_of_a_job_stops_where_it_fails(
    cluster: RayCluster, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "failing.py").write_text("import no_such_module\n")
    arguments = ("--post-mortem", "--", "python", str(tmp_path / "failing.py"))
    terminal = Terminal(tmp_path, "run", "--cluster", cluster.address, *arguments)
    try:
        command = Command(dict(os.environ))
        held = command.wait_row("driver · failing.py", state="paused", held=True)
        assert held["location"]["line"] == 1
        assert command.run("continue", held["worker_id"]).returncode == 0
        assert terminal.code() == 1
        assert "no_such_module" in terminal.output()
    finally:
        terminal.interrupt_hard()


def test_job_of_a_dead_supervisor_is_adopted(
    cluster: RayCluster, home: Path, tmp_path: Path
) -> None:
    command = ("run", "--cluster", cluster.address, "--", "python", str(PLAIN), "wait")
    first = Terminal(tmp_path, *command)
    first.wait_output("waits")
    run = first.run_id()
    state = json.loads((home / "runs" / run / "state.json").read_text())
    supervisor = psutil.Process(state["keeper"]["pid"])
    supervisor.kill()
    os.kill(first.process.pid, signal.SIGKILL)
    first.code()
    supervisor.wait(30)
    assert row(run)["state"] == "unwatched"
    second = Terminal(tmp_path, "runs", "follow", run)
    second.wait_output('"argv"')
    second.interrupt()
    assert second.code() == 130
    assert row(run)["state"] == "cancelled"


def test_program_that_the_head_lacks_is_reported(
    cluster: RayCluster, home: Path, tmp_path: Path
) -> None:
    terminal = Terminal(tmp_path, "run", "--cluster", cluster.address, "--", "no-such-program")
    assert terminal.code() == 127, terminal.errors() + terminal.output()
    assert "no-such-program cannot be started" in terminal.output()
