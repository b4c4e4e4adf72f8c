"""An adapter whose runtime folder is removed can still be reached, with the workers that it holds."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from eagleray import __version__
from eagleray.adapter.reachability import AdapterLock
from eagleray.adapter_client.client import AdapterClient

from tests.adapter.harness import LIMIT, ROOT, AdapterProcess, ControlClient, Program, until
from tests.dap_client import DapClient

Start = Callable[..., Program]
ENTRY = ROOT / "pybackend" / "eagleray_start.py"


@pytest.fixture
def shipped(short_home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The adapter as shipped."""
    env = {"EAGLERAY_HOME": str(short_home), "PATH": os.environ["PATH"]}
    with (short_home / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(ENTRY), "adapter"], env=env, stdout=log, stderr=log
        )
    yield process
    process.terminate()
    process.wait(LIMIT)
    print((short_home / "log").read_text())


def reached(home: Path, pid: int) -> ControlClient:
    """A connection to the adapter with this process id, at any socket that a window would use."""

    def connect() -> ControlClient | None:
        for path in home.glob("run/*/adapter-*.sock"):
            with suppress(OSError):
                client = ControlClient(path)
                if client.call("hello")["pid"] == pid:
                    return client
                client.close()
        return None

    client: ControlClient = until(connect, f"adapter {pid} is reached")
    return client


def stopped_at(client: ControlClient) -> DapClient:
    """An editor at the held worker, once it has been sent the stop."""
    until(lambda: Path((client.worker() or {})["socket"]).is_socket(), "the worker's socket")
    editor = DapClient.unix((client.worker() or {})["socket"])
    editor.attach()
    editor.wait_for("stopped")
    return editor


def test_held_stop_is_reachable_after_the_runtime_folder_was_removed(
    shipped: subprocess.Popen[bytes], short_home: Path, program: Start
) -> None:
    before = reached(short_home, shipped.pid)
    before.attach(program("loop.py", "1"))
    shutil.rmtree(short_home / "run")
    after = reached(short_home, shipped.pid)
    [folder] = (short_home / "run").iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    stopped_at(after).leave()
    until(lambda: after.worker() is None, "the worker runs on")
    for client in (before, after):
        client.close()


async def test_second_adapter_leaves_workers_of_the_first_reachable(
    short_home: Path, program: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = AdapterProcess(short_home)
    first.control.attach(program("loop.py", "1"))
    # Stopped, so that it doesn't listen again before the second has started.
    first.process.send_signal(signal.SIGSTOP)
    shutil.rmtree(short_home / "run")
    second = AdapterProcess(short_home)
    assert second.control.call("hello")["pid"] == second.process.pid
    first.process.send_signal(signal.SIGCONT)
    beside = reached(short_home, first.process.pid)
    stopped_at(beside).close()

    monkeypatch.setenv("EAGLERAY_HOME", str(short_home))
    adapters = AdapterClient(start=False)
    [state] = await adapters.sessions.workers()
    assert (state.worker_id, state.state) == ("w1", "stopped")
    await adapters.close()

    second.end()
    usual = first.socket
    until(usual.is_socket, "the first adapter is at the usual socket again")
    for client in (beside, ControlClient(usual)):
        assert client.call("hello")["pid"] == first.process.pid
        client.close()
    first.end()
    assert list(usual.parent.glob("adapter-*.sock")) == []


def test_second_adapter_does_not_take_the_socket_after_a_lost_lock_file(short_home: Path) -> None:
    first = AdapterProcess(short_home)
    first.process.send_signal(signal.SIGSTOP)
    lock = first.socket.with_name(f"adapter-{__version__}.lock")
    lock.unlink()
    second = AdapterProcess(short_home)
    assert second.process.wait(LIMIT) == 0
    first.process.send_signal(signal.SIGCONT)
    until(lock.exists, "the first has made its lock again")
    assert first.control.call("hello")["pid"] == first.process.pid
    second.end()
    first.end()


def test_refused_lock_leaves_no_descriptor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(fd: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(OSError, match="No locks"):
        AdapterLock().take(tmp_path / "adapter.sock")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
