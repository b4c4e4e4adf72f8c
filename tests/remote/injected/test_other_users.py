"""Another user of a worker's node at the proxy's port and at the socket of an nsys watcher."""

from __future__ import annotations

import json
import os
import queue
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eagleray.remote.injected.debug_proxy import handle, request
from eagleray.remote.injected.ed25519 import SecretKey
from eagleray.remote.injected.nsys import private_folders, watcher_clients

from tests.adapter.other_user import NOBODY, as_nobody
from tests.adapter.proxied import PUBLIC, RUN, ProxyCaller

PYBACKEND = Path(handle.__file__).parents[3]
# Says a line and prints all that is heard until the end, as another user who knows our code and all environments.
STRANGER = """\
import json, os, socket, sys
sys.path.insert(0, sys.argv[1])
from eagleray.remote.injected.debug_proxy import request as gate_request
from eagleray.remote.injected.ed25519 import SecretKey
uid, port, run, lines = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], json.loads(sys.argv[5])
# No library can be read from now on, as this Python may lie in the home of root.
"".encode("idna"), SecretKey(bytes(32))
os.setgroups([]); os.setgid(uid); os.setuid(uid)
heard = []
for line in lines:
    sock = socket.create_connection(("127.0.0.1", port), 60)
    greeting = sock.makefile("rb").readline()
    nonce = bytes.fromhex(greeting.split()[-1].decode())
    if line == "forged":
        key = SecretKey(os.urandom(32))
        said = gate_request.signed(key, run, ("127.0.0.1", port), nonce, {"want": "control"})
    else:
        said = line.encode() + b"\\n"
    sock.sendall(said)
    answer = b""
    while data := sock.recv(65536):
        answer += data
    heard.append([greeting.decode(), answer.decode()])
print(json.dumps(heard))
"""


@pytest.fixture
def made() -> Iterator[handle.ProxyHandle]:
    made = handle.start_proxy(RUN, PUBLIC, 60, "127.0.0.1", {"class": "Policy", "nsys": ""})
    yield made
    made.close()


def test_other_user_gets_a_greeting_and_a_refusal(made: handle.ProxyHandle) -> None:
    with ProxyCaller(made.port) as owner:
        recorded = owner.signed(owner.nonce(), want="control").decode().rstrip()
        owner.sock.sendall(recorded.encode() + b"\n")
        assert "hello" in (owner.hear() or {})
        lines = ["{}", json.dumps({"want": "control", "secret": PUBLIC}), recorded, "forged"]
        words = [str(PYBACKEND), str(NOBODY), str(made.port), RUN, json.dumps(lines)]
        done = subprocess.run(
            [sys.executable, "-c", STRANGER, *words], capture_output=True, text=True, check=True
        )
        heard: list[list[str]] = json.loads(done.stdout)
        assert [answer for _, answer in heard] == ['{"error": "refused"}\n'] * len(lines)
        greetings = {greeting.rpartition(" ")[0] for greeting, _ in heard}
        assert greetings == {request.greeting(RUN)}
        # No process has taken the owner's place.
        owner.say(op="nothing")
        made.send("who", still="here")
        assert (owner.hear() or {})["event"] == "who"


def test_own_user_without_the_key_is_refused(made: handle.ProxyHandle) -> None:
    """Others may use the owner's account on another machine, or a connection through the owner's ssh."""
    with ProxyCaller(made.port) as owner:
        owner.request(SecretKey(bytes(32)), want="control")
        assert owner.hear() == {"error": "refused"}


Watcher = tuple[Path, queue.Queue[Any]]


@pytest.fixture
def watcher() -> Iterator[Watcher]:
    """The socket of an nsys watcher in its folder below /tmp, and what its callers say."""
    folder = Path(private_folders.private_folder())
    address = folder / "socket"
    todo: queue.Queue[Any] = queue.Queue()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(address))
        listener.listen(4)
        watcher_clients.serve(listener, todo)
        yield address, todo
        listener.shutdown(socket.SHUT_RDWR)
    shutil.rmtree(folder)


def test_folder_of_a_watcher_is_closed_to_others(watcher: Watcher) -> None:
    address, todo = watcher
    assert stat.S_IMODE(address.parent.stat().st_mode) == 0o700
    assert as_nobody(str(address)) == "PermissionError"
    assert todo.empty()


def test_watcher_rejects_other_users_also_if_its_folder_is_open(
    watcher: Watcher,
) -> None:
    address, todo = watcher
    address.parent.chmod(0o755)
    address.chmod(0o777)
    assert as_nobody(str(address)) == "dropped"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as own:
        own.connect(str(address))
        own.sendall(b'{"op": "who"}\n')
        assert todo.get(timeout=60)[1] == {"op": "who"}
    assert todo.get(timeout=60)[1] == {"op": "left"}
    assert todo.empty()


def test_folder_of_another_user_is_never_removed() -> None:
    folder = Path(private_folders.private_folder())
    try:
        with private_folders.held(str(folder)):
            pass
        os.chown(folder, NOBODY, NOBODY)
        private_folders.remove_abandoned(str(folder.parent))
        assert folder.is_dir()
    finally:
        shutil.rmtree(folder)
