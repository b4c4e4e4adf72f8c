"""Programs with breakpoints outside their code, on a Ray of their own and on a running one, end to end."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from tests.ray_cluster import REPOSITORY, temporary_home, wait_for
from tests.real_ray.command import Command, line_of, stand
from tests.real_ray.test_sessions import free_port
from tests.remote.injected.sockets_of_run import answers, listeners
from tests.runs.terminal import Terminal, row

pytestmark = pytest.mark.real_ray

ACTORS = REPOSITORY / "tests" / "runs" / "programs" / "actors.py"
TWICE = ACTORS.with_name("twice.py")


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


@attrs.frozen
class Home:
    """All processes that use this home: supervisor, adapter, program, workers and their debug proxies."""

    path: Path


# The answers of a debug proxy.
REFUSED = '{"error": "refused"}\n'
# The first frame of HTTP/2: the port of Ray's own worker.
GRPC = "\0\0\x18\4"


def no_listener_answers_another_user(home: Path, pid: int, folder: Path) -> None:
    """Each TCP port, and each socket with a name or an abstract one, that Eagleray or a program of its has opened."""
    found = listeners(Home(home))
    named = [address for address in found if isinstance(address, str)]
    assert any("/eagleray-inspect-" in address for address in named), named
    assert any(address.endswith(".sock") and str(home) in address for address in named), named
    assert any(not isinstance(address, str) for address in found), found
    made = folder / "open" / "made"
    made.parent.mkdir()
    made.parent.chmod(0o777)
    heard = answers(Home(home), made, pid)
    # Two answers of each listener: to a debugger, and to a debugged process.
    for address, text in zip([each for each in found for _ in range(2)], heard, strict=True):
        if isinstance(address, str):
            assert text == "", address
        else:
            assert text.endswith(REFUSED) or text.startswith(GRPC), (address, text)
    assert not made.exists()


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
            inspected = command.run("inspect", "--pid", str(held["pid"]), "--json")
            assert json.loads(inspected.stdout)["how"] == "inside", inspected.stderr
            no_listener_answers_another_user(home, held["pid"], tmp_path)
        assert command.run("continue", held["worker_id"]).returncode == 0
        assert terminal.code() == 0, terminal.errors()
        assert terminal.output().endswith("other 1\npolicy 6\n")
    finally:
        terminal.interrupt_hard()


def test_workers_of_each_ray_of_a_program_stop(home: Path, tmp_path: Path) -> None:
    """The run shows the Ray that the program has now."""
    line, ports = line_of(TWICE, "tripled"), [free_port(), free_port()]
    program = (sys.executable, str(TWICE), *map(str, ports))
    terminal = Terminal(tmp_path, "run", "--break", f"{TWICE}:{line}", "--", *program)
    command = Command(dict(os.environ))
    try:
        for number, port in enumerate(ports, 1):
            held = command.wait_row("tripled", state="paused", held=True)
            wait_for("the stop", lambda: row(terminal.run_id())["state"] == "paused")
            cluster = f"http://127.0.0.1:{port}"
            assert (row(terminal.run_id())["cluster"], held["cluster"]) == (cluster, cluster)
            assert command.run("continue", held["worker_id"]).returncode == 0
            terminal.wait_output(f"tripled {number * 3}\n")
        assert terminal.code() == 0, terminal.errors()
        assert terminal.errors().count("tripled paused at twice.py") == 2
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
        assert f"No process that may pause was seen to import {nobody}" in terminal.errors()
        wait_for("the end", lambda: row(terminal.run_id())["state"] == "exited")
    finally:
        terminal.interrupt_hard()
