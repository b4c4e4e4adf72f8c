"""Programs with breakpoints outside their code, on a Ray of their own and on a running one, end to end."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ray_cluster import REPOSITORY, temporary_home, wait_for
from tests.real_ray.command import Command, line_of, stand
from tests.runs.terminal import Terminal, row

pytestmark = pytest.mark.real_ray

ACTORS = REPOSITORY / "tests" / "runs" / "programs" / "actors.py"


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    with temporary_home() as home:
        for name in [name for name in os.environ if name.startswith("RAY_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("EAGLERAY_HOME", str(home))
        monkeypatch.setenv("EAGLERAY_DISCOVERY", "off")
        monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
        # Else Ray starts a worker for each core of this machine before anybody asks for one.
        monkeypatch.setenv("RAY_enable_worker_prestart", "0")
        monkeypatch.setenv("RAY_prestart_worker_first_driver", "0")
        # Ray keeps what is to be kept of its users there.
        monkeypatch.setenv("HOME", str(tmp_path))
        yield home


def run(folder: Path, *options: str) -> Terminal:
    return Terminal(folder, "run", *options, "--", sys.executable, str(ACTORS))


def test_actor_stops_is_listed_and_continues(home: Path, tmp_path: Path) -> None:
    line = line_of(ACTORS, "step")
    terminal = run(tmp_path, "--break", f"{ACTORS}:{line}")
    command = Command(dict(os.environ))
    try:
        held = command.wait_row("Policy", state="paused", held=True)
        assert held["location"]["line"] == line
        # The worker is held a moment before its run says so.
        wait_for("the stop", lambda: row(terminal.run_id())["state"] == "paused")
        assert [line["state"] for line in row(terminal.run_id())["lines"]] == ["verified"]
        with command.editor(held["worker_id"]) as (client, _):
            assert stand(client)["line"] == line
        assert command.run("continue", held["worker_id"]).returncode == 0
        assert terminal.code() == 0, terminal.errors()
        assert terminal.output().endswith("other 1\npolicy 6\n")
    finally:
        terminal.interrupt_hard()


def test_filter_keeps_other_workers_running(joined: Path, tmp_path: Path) -> None:
    lines = [f"{ACTORS}:{line_of(ACTORS, name)}" for name in ("step", "other")]
    terminal = run(tmp_path, "--break", lines[0], "--break", lines[1], "--workers", "*Policy*")
    try:
        held = Command(dict(os.environ)).wait_row("Policy", state="paused", held=True)
        assert "other 1\n" in terminal.output()
        assert Command(dict(os.environ)).run("continue", held["worker_id"]).returncode == 0
        assert terminal.code() == 0, terminal.errors()
    finally:
        terminal.interrupt_hard()


def test_file_that_no_worker_imports_is_reported(joined: Path, tmp_path: Path) -> None:
    nobody = tmp_path / "nobody.py"
    nobody.write_text("x = 1\n")
    terminal = run(tmp_path, "--break", f"{nobody}:1")
    try:
        assert terminal.code() == 0, terminal.errors()
        assert f"No process of the run imported {nobody}" in terminal.errors()
        wait_for("the end", lambda: row(terminal.run_id())["state"] == "exited")
    finally:
        terminal.interrupt_hard()
