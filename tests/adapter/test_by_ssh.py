"""Workers and sockets through a real ssh and a real sshd on this machine."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from eagleray.tools.processes import born

from tests.adapter.harness import AdapterProcess, ControlClient, Program, attach_params, until
from tests.adapter.test_routes import connected, echoed
from tests.dap_client import DapClient
from tests.fakes.echo import Echo
from tests.routes.ssh_server import HOST, SshServer

pytestmark = pytest.mark.lab

Start = Callable[..., Program]
BY_SSH = {"ssh": HOST, "job": "", "node": ""}
NOWHERE = {"ssh": "", "job": "1", "node": "no-such-node"}


@pytest.fixture
def adapter(short_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AdapterProcess]:
    """An adapter whose ssh is configured for the test's own server."""
    folder = Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
    server = SshServer(folder)
    server.start()
    monkeypatch.setenv("EAGLERAY_SSH", str(server.configure("ConnectionAttempts 5")))
    process = AdapterProcess(short_home, idle_s=2.0)
    yield process
    process.end()
    server.stop()
    print(process.log.read_text())
    shutil.rmtree(folder)


@pytest.fixture
def control(adapter: AdapterProcess) -> ControlClient:
    return adapter.control


def master(adapter: AdapterProcess) -> int:
    """The ssh that the adapter has started."""
    children = Path(f"/proc/{adapter.process.pid}/task/{adapter.process.pid}/children")
    [ssh_process] = [
        int(pid)
        for pid in children.read_text().split()
        if b"ControlMaster=yes" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    return ssh_process


def state(control: ControlClient) -> str:
    return str(control.call("routes")["routes"][0]["state"])


def test_two_workers_are_debugged_through_one_ssh(
    adapter: AdapterProcess, control: ControlClient, program: Start
) -> None:
    first, second = program("loop.py", "1"), program("loop.py", "1")
    path = control.attach(first, "w1", routes=[NOWHERE, BY_SSH])["socket"]
    assert control.attach(second, "w2", routes=[BY_SSH])["worker"]["state"] == "stopped"
    ssh = master(adapter)
    editor = DapClient.unix(path)
    editor.attach()
    editor.wait_for("stopped")
    editor.leave()
    assert "done" in first.wait_done()
    control.call("release", session="session_1", worker_id="w2")
    assert "done" in second.wait_done()
    assert master(adapter) == ssh


def test_session_ends_with_a_message_when_the_link_is_lost(
    adapter: AdapterProcess, control: ControlClient, program: Start
) -> None:
    with Echo() as echo:
        # A client that still needs the connection requests it again.
        control.call("open_socket", routes=[BY_SSH], host="127.0.0.1", port=echo.port)
        worker = program("loop.py", "1")
        path = control.attach(worker, routes=[BY_SSH])["socket"]
        editor = DapClient.unix(path)
        editor.attach()
        editor.wait_for("stopped")
        os.kill(master(adapter), signal.SIGKILL)
        result = editor.wait_for("output")["body"]["output"]
        assert f"Lost connection through {HOST}" in result
        assert "PolicyWorker r0 resumed." in result
        editor.wait_for("terminated")
        assert "done" in worker.wait_done()
        until(lambda: state(control) == "ready", "the connection comes back by itself")


def test_refused_port_is_reported(control: ControlClient, program: Start) -> None:
    worker = program("loop.py", "1")
    params = attach_params(worker, routes=[BY_SSH])
    with Echo() as echo:
        free = echo.port
    error = control.error("attach", **{**params, "port": free})
    assert error["code"] == "far-port-refused"
    control.attach(worker, routes=[BY_SSH])
    control.call("release", session="session_1", worker_id="w1")


def test_streams_carry_all_bytes_and_their_end(control: ControlClient) -> None:
    much = os.urandom(3_000_000)
    with Echo() as echo:
        path = control.call("open_socket", routes=[BY_SSH], host="127.0.0.1", port=echo.port)
        assert echoed(path["socket"], much) == much
        with closing(connected(path["socket"])) as sock:
            sock.sendall(b"still there")
            assert sock.recv(100) == b"still there"
    # The server has ended all its connections: the client notices although its own was open.
    with closing(connected(path["socket"])) as sock:
        assert sock.recv(1) == b""


def test_unused_ssh_ends(adapter: AdapterProcess) -> None:
    with Echo() as echo:
        client = adapter.connect()
        result = client.call("open_socket", routes=[BY_SSH], host="127.0.0.1", port=echo.port)
        assert echoed(result["socket"], b"x") == b"x"
        ssh = master(adapter)
        client.close()
        until(lambda: not born(ssh), "ssh has ended")
        assert adapter.control.call("routes") == {"routes": []}
