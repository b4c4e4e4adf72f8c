"""A server whose port a process of another user has: the message names the user, and nothing of the process."""

from __future__ import annotations

import os
import pwd
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attrs import frozen
from eagleray.rollouts.servers.port_owner import owner_of_port

from tests.asked import ask

NOBODY = 65534
# As root it may read the libraries of this Python; the socket belongs to the user.
LISTENER = """\
import os, socket, sys
os.setgroups([])
os.setgid(int(sys.argv[1]))
os.setuid(int(sys.argv[1]))
opened = socket.create_server(("127.0.0.1", 0))
print(opened.getsockname()[1], flush=True)
sys.stdin.read()
"""
SECRET = "sk-of-another-user"

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root to start a process of another user"
)


@frozen
class Foreign:
    port: int
    pid: int


@contextmanager
def listening_as(uid: int) -> Iterator[Foreign]:
    with subprocess.Popen(
        [sys.executable, "-c", LISTENER, str(uid), SECRET],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout and process.stdin
        yield Foreign(int(process.stdout.readline()), process.pid)
        process.stdin.close()


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "EAGLERAY_HOME": str(home), "EAGLERAY_DISCOVERY": "off"}


@needs_root
@pytest.mark.parametrize(
    "command",
    [
        ["vllm", "serve", "model", "--port"],
        ["llama-server", "-m", "model.gguf", "--port"],
        [sys.executable, "-m", "http.server", "--port"],
    ],
)
def test_port_of_another_user_is_refused_with_the_name_alone(
    own_home: Path, command: list[str]
) -> None:
    with listening_as(NOBODY) as foreign:
        done = ask(environment(own_home), "serve", "start", "--", *command, str(foreign.port))
        assert done.returncode == 1 and done.stdout == ""
        assert f"Port {foreign.port} is already taken by user nobody." in done.stderr
        for leaked in (SECRET, "python", str(foreign.pid), "setuid"):
            assert leaked not in re.sub(r"(?m)^Port .*nobody\.", "", done.stderr)
        assert ask(environment(own_home), "serve", "ls", "--json").stdout.strip() == "[]"


@needs_root
def test_user_without_a_name_is_its_number() -> None:
    with listening_as(4_000_123) as foreign:
        assert owner_of_port(foreign.port) == "user 4000123"


def test_port_of_another_user_has_the_name_of_its_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's table has the user of each socket, so that no process of another one is read."""
    uid = os.getuid()
    with socket.create_server(("127.0.0.1", 0)) as opened:
        monkeypatch.setattr(os, "getuid", lambda: uid + 1)
        owner = owner_of_port(opened.getsockname()[1])
    # In containers the user may have no name.
    names = [row.pw_name for row in pwd.getpwall() if row.pw_uid == uid] or [str(uid)]
    assert owner in [f"user {name}" for name in names]


def test_own_port_has_its_program_and_a_free_one_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as opened:
        port = opened.getsockname()[1]
        assert owner_of_port(port).endswith(f" (pid {os.getpid()})")
    assert owner_of_port(port) == ""
