"""Servers on an ssh host, with a real sshd and a real engine."""

from __future__ import annotations

import contextlib
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
from tests.ray_cluster import REPOSITORY, temporary_home, wait_for
from tests.rollouts.servers.test_servers import (
    KEY_ENV,
    answer,
    engine_of,
    free_port,
    listed,
    streaming,
)
from tests.routes.ssh_server import HOST, SshServer
from tests.runs.terminal import Terminal, eagleray

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def host() -> Iterator[SshServer]:
    folder = Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
    server = SshServer(folder)
    server.start()
    yield server
    server.stop()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def home(host: SshServer) -> Iterator[Path]:
    """One for this machine and the host, which are the same here."""
    with temporary_home() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("EAGLERAY_HOME", str(home))
        patch.setenv("EAGLERAY_DISCOVERY", "off")
        patch.setenv("EAGLERAY_SSH", str(host.configure("ConnectionAttempts 5")))
        patch.delenv("OPENAI_API_KEY", raising=False)
        patch.setenv("HOME", str(home))
        yield home


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


def cut_link(host: SshServer) -> None:
    """As both sides see a cut in the end: the connection is gone, and another can be made."""
    config = str(host.folder / "config")
    clients = [
        process
        for process in psutil.process_iter(["name", "cmdline"])
        if process.info["name"] == "ssh" and config in (process.info["cmdline"] or ())
    ]
    assert clients
    for process in clients:
        # The end of one may end another.
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def models(server: dict[str, Any]) -> int:
    request = urllib.request.Request(
        f"{server['url']}/models", headers={"Authorization": f"Bearer {server['api_key']}"}
    )
    with urllib.request.urlopen(request, timeout=30) as opened:
        status: int = opened.status
        return status


def is_answering(server: dict[str, Any]) -> bool:
    try:
        return models(server) == 200
    except OSError:
        return False


def test_server_outlives_its_supervisor_and_its_link(home: Path, host: SshServer) -> None:
    """It answers through a port of this machine, which stays; its key is in no list of processes."""
    server = remote("far", *engine_command("--port", "0"))
    assert (server["state"], server["model"]) == ("ready", "eagleray-tests")
    assert is_answering(server)
    assert not [
        process.info["cmdline"]
        for process in psutil.process_iter(["cmdline"])
        if server["api_key"] in " ".join(process.info["cmdline"] or ())
    ]
    supervisor = supervisor_of(server["run_id"])
    supervisor.kill()
    wait_for("its end", lambda: not supervisor.is_running())
    assert "may still be running on there" in listed("far")["reason"]
    # Following its output starts another supervisor.
    follower = Terminal(REPOSITORY, "runs", "output", server["run_id"])
    wait_for("the server", lambda: listed("far")["state"] == "ready")
    assert listed("far")["url"] == server["url"]
    assert is_answering(server)
    with streaming(server) as ended:
        cut_link(host)
        assert ended.wait(60)
    wait_for("the server behind the new link", lambda: is_answering(server), 120)
    stopped = json.loads(answer("serve", "stop", "far", "--json"))
    assert stopped["state"] == "stopped"
    follower.code()


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
