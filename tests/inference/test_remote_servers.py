"""Servers on an ssh host, with a real sshd and a real engine."""

from __future__ import annotations

import json
import shutil
import signal
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.engine.fixtures import engine_command
from tests.inference.test_servers import KEY_ENV, answer, engine_of, free_port, listed
from tests.ray_cluster import REPOSITORY, temporary_home, wait_for
from tests.routes.ssh_server import HOST, SshServer
from tests.runs.terminal import Terminal, eagleray

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """One for this machine and the host, which are the same here."""
    folder = Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
    server = SshServer(folder)
    server.start()
    with temporary_home() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("EAGLERAY_HOME", str(home))
        patch.setenv("EAGLERAY_DISCOVERY", "off")
        patch.setenv("EAGLERAY_SSH", str(server.configure("ConnectionAttempts 5")))
        patch.delenv("OPENAI_API_KEY", raising=False)
        patch.setenv("HOME", str(home))
        yield home
    server.stop()
    shutil.rmtree(folder)


def remote(name: str, *command: str) -> dict[str, Any]:
    options = ("--name", name, "--host", HOST, *KEY_ENV, "--json")
    server: dict[str, Any] = json.loads(
        eagleray(REPOSITORY, "serve", "start", *options, "--", *command)
    )
    return server


def supervisor_of(run: str) -> psutil.Process:
    return next(
        process
        for process in psutil.process_iter(["cmdline"])
        if (process.info["cmdline"] or [])[-2:] == ["supervise", run]
    )


def test_server_outlives_its_supervisor_and_is_adopted(home: Path) -> None:
    """It answers through a port of this machine; its key is in no list of processes."""
    server = remote("far", *engine_command("--port", "0"))
    assert (server["state"], server["model"]) == ("ready", "eagleray-tests")
    request = urllib.request.Request(
        f"{server['url']}/models", headers={"Authorization": f"Bearer {server['api_key']}"}
    )
    with urllib.request.urlopen(request, timeout=30) as opened:
        assert opened.status == 200
    assert not [
        process.info["cmdline"]
        for process in psutil.process_iter(["cmdline"])
        if server["api_key"] in " ".join(process.info["cmdline"] or ())
    ]
    supervisor = supervisor_of(server["run_id"])
    supervisor.kill()
    wait_for("its end", lambda: not supervisor.is_running())
    assert "may still be running on there" in listed("far")["reason"]
    stopped = json.loads(answer("serve", "stop", "far", "--json"))
    assert stopped["state"] == "stopped"


def test_killed_server_says_so(home: Path) -> None:
    port = free_port()
    server = remote("killed", *engine_command("--port", str(port)))
    remote_engine = engine_of({"url": f"http://127.0.0.1:{port}/v1"})
    remote_engine.send_signal(signal.SIGKILL)
    wait_for("the end of the server", lambda: listed("killed")["state"] == "failed")
    assert "was killed" in listed("killed")["reason"]
    assert listed("killed")["run_id"] == server["run_id"]


def test_missing_program_is_said(home: Path) -> None:
    terminal = Terminal(
        REPOSITORY, "serve", "start", "--name", "none", "--host", HOST, "--", "no-such-engine"
    )
    assert terminal.code() == 1
    assert "The program of the server wasn't found" in terminal.errors()
