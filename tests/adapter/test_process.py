"""The adapter as a process: one per version, private, ends when unused, removes what it made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.adapter.harness import (
    LIMIT,
    ROOT,
    AdapterProcess,
    ControlClient,
    Program,
    attach_params,
    until,
)
from tests.adapter.other_user import as_nobody
from tests.dap_client import DapClient

Start = Callable[..., Program]
KEY = {"session": "session_1", "worker_id": "w1"}


def test_hello_returns_version_and_process_id(
    adapter: AdapterProcess, control: ControlClient
) -> None:
    hello = control.call("hello")
    assert hello == {"protocol": 1, "version": "0.1.0", "pid": adapter.process.pid}


def test_adapter_outlives_signals_to_all_processes_of_a_job_step(
    adapter: AdapterProcess, control: ControlClient
) -> None:
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGRTMIN):
        os.kill(adapter.process.pid, number)
    assert control.call("hello")["pid"] == adapter.process.pid


def test_second_process_of_the_same_version_ends_at_once(
    adapter: AdapterProcess, control: ControlClient, short_home: Path
) -> None:
    second = AdapterProcess(short_home)
    assert second.process.wait(LIMIT) == 0
    assert control.call("hello")["pid"] == adapter.process.pid
    second.end()


def test_another_version_serves_beside_it(
    control: ControlClient, program: Start, short_home: Path
) -> None:
    old_worker, new_worker = program("loop.py", "1"), program("loop.py", "1")
    control.attach(old_worker, "w1")
    newer = AdapterProcess(short_home, version="9.9.9")
    try:
        assert newer.control.call("hello")["version"] == "9.9.9"
        newer.control.attach(new_worker, "w2")
        error = newer.control.error("attach", **attach_params(old_worker, "w1"))
        assert error["code"] == "worker-busy"
        assert (control.worker("w1") or {})["state"] == "stopped"
        control.call("release", **KEY)
        assert "done" in old_worker.wait_done()
        assert (newer.control.worker("w2") or {})["state"] == "stopped"
    finally:
        newer.end()


def test_stale_socket_of_a_killed_process_is_replaced(short_home: Path) -> None:
    first = AdapterProcess(short_home)
    first.process.kill()
    first.end()
    assert first.socket.exists()
    second = AdapterProcess(short_home)
    assert second.control.call("hello")["pid"] == second.process.pid
    second.end()


def test_unused_adapter_ends_and_removes_its_sockets(short_home: Path) -> None:
    adapter = AdapterProcess(short_home, idle_s=3)
    adapter.control.call("hello")
    adapter.control.close()
    assert adapter.process.wait(LIMIT) == 0
    assert [path.suffix for path in short_home.glob("run/*/*")] == [".lock"]


def test_adapter_keeps_running_while_a_worker_is_held(short_home: Path, program: Start) -> None:
    adapter = AdapterProcess(short_home, idle_s=3)
    worker = program("loop.py", "1")
    path = adapter.control.attach(worker)["socket"]
    adapter.control.close()
    # Only the held worker keeps it; a returning editor finds it, leaves, and then it ends.
    with pytest.raises(subprocess.TimeoutExpired):
        adapter.process.wait(8)
    editor = DapClient.unix(path)
    editor.attach()
    editor.wait_for("stopped")
    editor.leave()
    assert adapter.process.wait(LIMIT) == 0
    assert "done" in worker.wait_done()


def test_shutdown_is_refused_while_workers_are_held(
    adapter: AdapterProcess, control: ControlClient, program: Start
) -> None:
    worker = program("loop.py", "1")
    control.attach(worker)
    assert control.error("shutdown")["code"] == "in-use"
    control.call("release", **KEY)
    control.call("shutdown")
    assert adapter.process.wait(LIMIT) == 0
    worker.wait_done()


def test_subscribed_client_receives_changes(control: ControlClient, program: Start) -> None:
    assert control.call("subscribe") == {}
    worker = program("loop.py", "1")
    path = control.attach(worker)["socket"]
    control.wait_event(lambda ws: [w["state"] for w in ws] == ["stopped"] and not ws[0]["editor"])
    editor = DapClient.unix(path)
    editor.attach()
    control.wait_event(lambda ws: [w["editor"] for w in ws] == [True])
    editor.request("continue", threadId=1)
    control.wait_event(lambda ws: ws == [])


def test_sockets_reject_other_users(
    adapter: AdapterProcess, control: ControlClient, program: Start
) -> None:
    path = Path(control.attach(program("loop.py", "1"))["socket"])
    for each in (path, adapter.socket):
        assert each.stat().st_mode & 0o077 == 0
        assert each.parent.stat().st_mode & 0o077 == 0
    if os.getuid() == 0:
        assert "PermissionError" in as_nobody(str(path))
        assert "PermissionError" in as_nobody(str(adapter.socket))
        # Also in a folder that was opened to others, another user is disconnected without a message.
        for each in (path, adapter.socket):
            for folder in (each.parent, each.parent.parent, adapter.home):
                folder.chmod(0o755)
            each.chmod(0o777)
            assert as_nobody(str(each)) == "dropped"
    assert control.worker() is not None


def test_values_of_the_user_are_not_logged(
    adapter: AdapterProcess, control: ControlClient, program: Start
) -> None:
    worker = program("loop.py", "1", env={"API_TOKEN": "hunter2", "RANK": "5"})
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    editor.wait_for("stopped")
    frame = editor.stack()[0]["id"]
    assert editor.evaluate("__import__('os').environ['API_TOKEN']", frame) == "'hunter2'"
    assert (control.worker() or {})["rank"] == "5"
    editor.request("continue", threadId=1)
    editor.wait_for("terminated")
    assert "hunter2" not in str(control.call("workers")) + adapter.log.read_text()


def test_adapter_imports_only_the_standard_library(short_home: Path) -> None:
    """Runs isolated, as shipped: without site-packages the import would fail."""
    entry = ROOT / "pybackend" / "eagleray_start.py"
    env = {"EAGLERAY_HOME": str(short_home), "PATH": os.environ["PATH"]}
    with (short_home / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(entry), "adapter"], env=env, stdout=log, stderr=log
        )
    path = until(lambda: next(iter(short_home.glob("run/*/adapter-*.sock")), None), "its socket")
    client = until(lambda: connected(path), "a connection")
    assert client.call("hello")["pid"] == process.pid
    client.call("shutdown")
    assert process.wait(LIMIT) == 0
    client.close()


def connected(path: Path) -> ControlClient | None:
    try:
        return ControlClient(path)
    except (TimeoutError, ConnectionError):
        return None
