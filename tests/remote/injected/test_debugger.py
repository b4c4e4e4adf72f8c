"""debugpy starts without a port, without side effects in the process, and with clear errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import debugpy
import pytest
from eagleray.remote.injected.debugpy.adapter import DebugpyAdapter, early_adapter
from eagleray.remote.injected.debugpy.debugger import DebugpyNotStarted

from tests.adapter.harness import PYTHONS, ROOT, until
from tests.adapter.proxied import command

# Prints what is not as it was before, while debugpy starts and afterwards.
LISTENING = """
import subprocess, sys, threading
from debugpy.server import api
from debugpy.common import log
import pydevd
from eagleray.remote.injected.debugpy.debugger import DebugpyServer

plain = subprocess
started = subprocess.Popen(["true"])
settrace = api._settrace
during = []

def state():
    return [sys.modules["subprocess"], subprocess.Popen, pydevd.time, pydevd.start_client, log.describe_environment]

def look():
    import subprocess
    during.extend([subprocess is plain, isinstance(started, subprocess.Popen)])

def traced(**given):
    other = threading.Thread(target=look)
    other.start()
    other.join()
    return settrace(**given)

api._settrace = traced
before = state()
DebugpyServer().listen()
print(during, [one for one, was in zip(state(), before) if one is not was])
started.wait()
"""

# Forks while debugpy is imported; FORK_S is the argument.  The child prints why it has no debugger.
FORKING = """
import os, signal, sys, threading, types
from eagleray.remote.injected.debugpy import debugger as ours

ours.FORK_S = float(sys.argv[1])
controls = sys.modules["controls"] = types.SimpleNamespace(
    begun=threading.Event(), go=threading.Event(), is_fork_waited_for=ours.FORK_S > 1
)
debugger = ours.DebugpyServer()
if controls.is_fork_waited_for:
    # The last to be registered is called first: the import goes on when the fork has begun.
    os.register_at_fork(before=controls.go.set)

def listen():
    try:
        debugger.listen()
    except ours.DebugpyMissing as error:
        return str(error).replace(sys.executable, "this Python")

thread = threading.Thread(target=listen)
thread.start()
controls.begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(30)
    print(listen(), flush=True)
    os._exit(0)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
controls.go.set()
thread.join()
print(code)
"""

# Attaches and leaves again and again; the last line is what the last client is answered.
RETURNING = """
import sys
from eagleray.remote.injected.debugpy.debugger import DebugpyServer
from eagleray.remote.injected.debugpy.channel import connected
from tests.dap_client import DapClient

debugger = DebugpyServer()
debugger.listen()
channel = debugger.take_channel()
for _ in range(20):
    client = DapClient(connected(channel))
    client.attach(justMyCode=False)
    answer = client.evaluate("6 * 7")
    client.close()
print(answer)
"""


# A system that doesn't show the owners of connections, as macOS: prints the port for child processes.
ELSEWHERE = """
from eagleray.remote.injected import tcp_peer
from eagleray.remote.injected.debugpy import adapter as debugpy_adapter
from eagleray.remote.injected.debugpy.debugger import DebugpyServer

tcp_peer.TABLES = {family: "/nowhere" for family in tcp_peer.TABLES}
debugger = DebugpyServer(children=True)
address = debugpy_adapter.DebugpyAdapter.address

def shown(adapter):
    found = address(adapter)
    print(found[1])
    return found

debugpy_adapter.DebugpyAdapter.address = shown
debugger.listen()
print(debugger.is_listening, debugger.children)
"""


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A folder with a debugpy whose adapter fails."""
    adapter = tmp_path / "debugpy" / "adapter"
    adapter.mkdir(parents=True)
    (tmp_path / "debugpy" / "__init__.py").write_text("")
    (adapter / "__init__.py").write_text("raise ImportError\n")
    return tmp_path


def run(program: str, *words: str, path: str = "", python: str = sys.executable) -> tuple[str, str]:
    """Returns the output of the program on stdout and stderr."""
    paths = [path, str(ROOT / "pybackend"), str(ROOT)]
    done = subprocess.run(
        [python, "-c", program, *words],
        # These programs import debugpy by themselves.
        env={
            **os.environ,
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        },
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.stdout, done.stderr


def test_starting_debugpy_replaces_nothing_that_others_see() -> None:
    assert run(LISTENING) == ("[True, True] []\n", "")


@pytest.mark.parametrize("python", PYTHONS)
def test_client_that_returns_at_once_is_attached(python: str) -> None:
    # debugpy warns of threads that have ended.
    assert run(RETURNING, python=python)[0] == "42\n"


@pytest.mark.parametrize(
    ("fork_s", "child"),
    [
        ("60", "this Python has no debugpy"),
        ("0.01", "this process was forked while debugpy started"),
    ],
)
def test_process_forked_while_debugpy_starts_continues(
    tmp_path: Path, fork_s: str, child: str
) -> None:
    (tmp_path / "debugpy").mkdir()
    (tmp_path / "debugpy" / "__init__.py").write_text(
        "import controls\ncontrols.begun.set()\ncontrols.go.wait()\nraise ImportError\n"
    )
    assert run(FORKING, fork_s, path=str(tmp_path)) == (f"{child}\n0\n", "")


def test_children_are_not_debugged_where_their_connections_cannot_be_checked() -> None:
    assert run(ELSEWHERE) == ("0\nTrue False\n", "")


def test_adapter_that_is_not_used_ends(tmp_path: Path) -> None:
    (tmp_path / "debugpy").symlink_to(Path(debugpy.__file__).parent)
    adapter = DebugpyAdapter(str(tmp_path), children=False)
    assert adapter.address()[1] == 0
    assert _running(tmp_path)
    adapter.close()
    until(lambda: not _running(tmp_path), "the end of the adapter")


def test_adapter_that_fails_is_an_error(broken: Path) -> None:
    adapter = DebugpyAdapter(str(broken), children=False)
    with pytest.raises(DebugpyNotStarted, match="ended at its start"):
        adapter.address()
    adapter.close()


def test_adapter_is_not_started_without_debugpy(monkeypatch: pytest.MonkeyPatch) -> None:
    missing: Any = None
    monkeypatch.setitem(sys.modules, "debugpy", missing)
    assert early_adapter("", children=False) is None


def _running(folder: Path) -> bool:
    """Whether an adapter of the debugpy in this folder runs."""
    processes = [int(process.name) for process in Path("/proc").glob("[0-9]*")]
    return any(os.fsencode(folder) in command(pid) for pid in processes)
