"""Processes of an old version keep running from their copy in the home when an update removes the extension's folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from eagleray.routes.ssh.askpass_helper import SOCKET_VARIABLE
from eagleray.tools import code_copies as copies
from eagleray.tools.code_copies import code_copy, detached_command

from tests.adapter.harness import ROOT, ControlClient, Program, until
from tests.dap_client import DapClient
from tests.profile.recordings.reports import put, status

Start = Callable[..., Program]
PRINT_COMMAND = "print(json.dumps(adapter_process.command()))"
IMPORTS = "import json, sys; from eagleray.adapter_client import process as adapter_process; "


class Extension:
    """The folder of an extension, until it is updated."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.code = folder / "ext" / "pybackend"
        self.env = {**os.environ, "EAGLERAY_HOME": str(home), "EAGLERAY_DISCOVERY": "off"}
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "pybackend", self.code, ignore=ignored)

    def adapter_command(self) -> list[str]:
        env = self.env | {"PYTHONPATH": str(self.code)}
        argv = [sys.executable, "-c", IMPORTS + PRINT_COMMAND]
        ran = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
        command: list[str] = json.loads(ran.stdout)
        return command

    def update(self) -> None:
        shutil.rmtree(self.code.parent)


@pytest.fixture
def extension(tmp_path: Path, short_home: Path) -> Extension:
    return Extension(tmp_path, short_home)


@pytest.fixture
def old_adapter(extension: Extension, short_home: Path) -> Iterator[ControlClient]:
    """An adapter of the version before the update."""
    command = extension.adapter_command()
    with (short_home / "log").open("wb") as log:
        process = subprocess.Popen(command, env=extension.env, stdout=log, stderr=log)
    extension_adapter = until(lambda: control(short_home), "the adapter")
    extension.update()
    yield extension_adapter
    extension_adapter.call("shutdown")
    extension_adapter.close()
    assert process.wait(60) == 0


def control(home: Path, other_than: int = 0) -> ControlClient | None:
    for path in home.glob("run/*/adapter-*.sock"):
        try:
            client = ControlClient(path)
        except OSError:
            continue
        try:
            if client.call("hello")["pid"] != other_than:
                return client
        except (KeyError, OSError):
            # The process is ending.
            pass
        client.close()
    return None


def test_adapter_attaches_after_the_update(old_adapter: ControlClient, program: Start) -> None:
    worker = program("loop.py", "1", env={"RANK": "5"})
    editor = DapClient.unix(old_adapter.attach(worker)["socket"])
    editor.attach()
    editor.wait_for("stopped")
    # The worker's description comes from our code, which is read when it is sent.
    assert (old_adapter.worker() or {})["rank"] == "5"
    editor.request("continue", threadId=1)
    editor.wait_for("terminated")


def test_ssh_asks_after_the_update(extension: Extension, short_home: Path, tmp_path: Path) -> None:
    entry = Path(extension.adapter_command()[3])
    say = "from eagleray.routes.ssh.askpass import _script; print(_script(Path(sys.argv[2])))"
    make = f"import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]); {say}"
    argv = [sys.executable, "-I", "-S", "-c", make, str(entry.parent), str(short_home)]
    ran = subprocess.run(argv, env=extension.env, capture_output=True, text=True, check=True)
    extension.update()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(short_home / "ask.sock"))
        listener.listen()
        answering = threading.Thread(target=answer, args=(listener,))
        answering.start()
        env = {**os.environ, SOCKET_VARIABLE: str(short_home / "ask.sock")}
        helper_argv = [ran.stdout.strip(), "Password:"]
        result = subprocess.run(helper_argv, env=env, capture_output=True, text=True, check=False)
        listener.shutdown(socket.SHUT_RDWR)
        answering.join()
    assert (result.returncode, result.stdout) == (0, "secret\n"), result.stderr


def answer(listener: socket.socket) -> None:
    try:
        client, _ = listener.accept()
    except OSError:
        return
    with client:
        assert json.loads(client.makefile().readline())["prompt"] == "Password:"
        client.sendall(b'{"text": "secret"}\n')


def test_supervisor_keeps_running_after_the_update(
    extension: Extension, short_home: Path, tmp_path: Path
) -> None:
    work, go = tmp_path / "work", tmp_path / "go"
    work.mkdir()
    program = work / "program.py"
    program.write_text(
        f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.02)\n"
    )
    argv = ["profile", "--workers", "*", "--", sys.executable, str(program)]
    command = subprocess.Popen(
        [sys.executable, str(extension.code / "eagleray_start.py"), "cli", *argv],
        cwd=work,
        env=extension.env | {"EAGLERAY_ADAPTER_IDLE_S": "1"},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        run = until(lambda: running(short_home), "the run")
        old = until(lambda: control(short_home), "the adapter")
        command.kill()
        command.wait()
        extension.update()
        pid = old.call("hello")["pid"]
        os.kill(pid, signal.SIGKILL)
        old.close()
        # The supervisor starts another adapter, of its own version.
        new = until(lambda: control(short_home, other_than=pid), "another adapter")
        put(run / "reports", "p.n1.7.nsys-rep", b"one")
        (run / "reports" / "p.n1.7.worker.json").write_bytes(
            status("ended", reports=["p.n1.7.nsys-rep"])
        )
        go.touch()
        until(lambda: state(run)["phase"] == "exited", "the end of the run")
        gathered = work / "eagleray-profiles" / run.name / "p.n1.7.nsys-rep"
        assert gathered.read_bytes() == b"one"
    finally:
        go.touch()
    new.call("shutdown")
    new.close()


def running(home: Path) -> Path | None:
    runs = [folder for folder in home.glob("runs/*") if (folder / "state.json").exists()]
    return next((run for run in runs if state(run)["phase"] == "running"), None)


def state(run: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((run / "state.json").read_text())
    return result


@pytest.fixture
def own_home(short_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EAGLERAY_HOME", str(short_home))
    return short_home


def test_copy_is_named_by_its_content(own_home: Path, tmp_path: Path) -> None:
    source = tmp_path / "code"
    source.mkdir()
    (source / "a.py").write_text("1")
    (source / "table.json").write_text("{}")
    first = code_copy(source)
    assert code_copy(source) == first and code_copy(first) == first
    assert sorted(path.name for path in first.iterdir()) == ["a.py", "table.json"]
    (source / "a.py").write_text("2")
    assert code_copy(source) != first and (first / "a.py").read_text() == "1"


def test_unused_copies_are_removed(own_home: Path, tmp_path: Path) -> None:
    source = tmp_path / "code"
    source.mkdir()
    (source / "a.py").write_text("1")
    old = code_copy(source)
    long_ago = time.time() - copies.UNUSED_S - 60
    os.utime(old, (long_ago, long_ago))
    assert code_copy(source) == old and old.exists()
    os.utime(old, (long_ago, long_ago))
    (source / "a.py").write_text("2")
    new = code_copy(source)
    assert list((own_home / "code").iterdir()) == [new]


def test_own_folder_is_used_without_a_private_home(own_home: Path, tmp_path: Path) -> None:
    (own_home / "code").mkdir()
    (own_home / "code").chmod(0o777)
    assert code_copy(tmp_path) == tmp_path


def test_libraries_of_the_extension_are_passed_on(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    libs = ["/ext/_libs/any", "/ext/_libs/cp311"]
    monkeypatch.setattr(sys, "path", [*sys.path, *libs])
    argv = detached_command("supervise", "1")
    assert argv[-6:] == ["--libs", libs[0], "--libs", libs[1], "supervise", "1"]
    assert "--libs" not in detached_command("adapter", isolated=True)
