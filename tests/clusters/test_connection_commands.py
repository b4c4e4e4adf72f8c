"""The commands about clusters, jobs, routes and tunnels, and the questions of ssh on a terminal."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import signal
import socket
import struct
import sys
import termios
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest
from eagleray.cli.clusters import tunnel as tunnel_command
from eagleray.common.errors import RETRYING, EaglerayError
from eagleray.common.paths import adapter_socket
from eagleray.protocol.adapter_control import OpenedSocket
from eagleray.protocol.route_spec import DIRECT
from eagleray.remote.injected import tcp_peer

from tests.adapter.other_user import as_nobody
from tests.asked import START, eagleray
from tests.fakes.adapter import FakeAdapter
from tests.fakes.dashboard import FakeDashboard


async def test_clusters_are_listed(dashboard: FakeDashboard) -> None:
    (cluster,) = (await eagleray("clusters", "--json")).json
    assert cluster["id"] == dashboard.address
    assert cluster["state"] == "connected"
    assert dashboard.address in (await eagleray("clusters")).out


async def test_slurm_lists_jobs_of_this_machine(squeue: Path) -> None:
    (job,) = (await eagleray("slurm", "--json")).json
    assert (job["address"], job["job"], job["host"]) == ("slurm://12", "12", "")
    assert (job["state"], job["nodes"], job["partition"]) == ("running", 2, "batch")
    assert job["name"].startswith("a $(touch")
    assert 0 < job["time_left_s"] <= 4800
    done = await eagleray("slurm")
    assert done.code == 0
    assert "slurm://12" in done.out
    assert re.search(r"1 h (20|19) m", done.out)
    assert "\x1b" not in done.out
    assert not squeue.exists()


async def test_machine_without_slurm_is_an_error(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(own_home))
    done = await eagleray("slurm")
    assert (done.code, done.out) == (1, "")
    assert "This machine has no `squeue`." in done.err


async def test_failed_slurm_query_does_not_promise_to_retry(squeue: Path, own_home: Path) -> None:
    script = own_home / "bin" / "squeue"
    script.write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2\nexit 1\n")
    done = await eagleray("slurm")
    assert (done.code, done.out) == (1, "")
    assert "Can't reach SLURM: `squeue` failed." in done.err
    assert done.err.splitlines()[-1] == "  Unable to contact slurm controller"
    assert RETRYING not in done.err


async def test_unknown_host_is_an_error(own_home: Path) -> None:
    done = await eagleray("slurm", "--host", "-oProxyCommand=touch /tmp/owned")
    assert done.code == 2 or "is not a host" in done.err
    done = await eagleray("slurm", "--host=-oProxyCommand=touch")
    assert (done.code, done.out) == (1, "")
    assert "is not a host" in done.err


async def test_missing_cluster_is_an_error(own_home: Path) -> None:
    done = await eagleray("clusters")
    assert (done.code, done.out) == (0, "")
    assert "No Ray cluster found" in done.err


async def test_cluster_is_shown_even_if_it_does_not_answer(own_home: Path) -> None:
    shown = await eagleray("clusters", "--cluster", "127.0.0.1:1", "--json")
    assert shown.code == 1
    (row,) = json.loads(shown.out)
    assert (row["id"], row["state"], row["route"]) == ("http://127.0.0.1:1", "unreachable", None)
    done = await eagleray("clusters", "--cluster", "ray://head:10001")
    assert done.code == 1
    assert "is not the address" in done.err


@asynccontextmanager
async def tunnel(*arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """The command, and where it says that it listens."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(START), "cli", "tunnel", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout
        line = await asyncio.wait_for(process.stdout.readline(), 60)
        yield process, line.decode().strip()
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        await process.wait()


async def test_tunnel_stays_until_ctrl_c(dashboard: FakeDashboard) -> None:
    async with tunnel(dashboard.address) as (process, place):
        host, _, port = place.rpartition(":")
        assert host == "127.0.0.1"
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /api/version HTTP/1.0\r\n\r\n")
        assert json.loads((await reader.read()).partition(b"\r\n\r\n")[2])["ray_version"]
        writer.close()
        process.send_signal(signal.SIGINT)
        _, err = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 130
        # Linux shows whose connection it is.
        assert b"Every user of this machine" not in err


async def test_shared_tunnel_warns_and_serves_other_users(dashboard: FakeDashboard) -> None:
    async with tunnel(dashboard.address, "--shared") as (process, place):
        assert await asyncio.to_thread(as_nobody, place) == "answered"
        process.send_signal(signal.SIGINT)
        _, err = await asyncio.wait_for(process.communicate(), 60)
        assert b"Every user of this machine can connect to it" in err


@pytest.mark.parametrize(
    ("is_supported", "shared", "warns"),
    [(True, False, False), (True, True, True), (False, False, True)],
)
async def test_tunnel_warns_where_other_users_can_connect(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_supported: bool,
    shared: bool,
    warns: bool,
) -> None:
    monkeypatch.setattr(tcp_peer, "is_supported", lambda: is_supported)
    opened = OpenedSocket("127.0.0.1:4711", DIRECT)
    parts: Any = SimpleNamespace(
        clusters=SimpleNamespace(resolve=AsyncMock(return_value="http://head:8265")),
        connections=SimpleNamespace(open_port=AsyncMock(return_value=opened)),
        adapters=SimpleNamespace(
            routes=SimpleNamespace(
                listen_routes=lambda listener: lambda: None, sockets_lost=AsyncMock()
            )
        ),
    )
    asked = Namespace(cluster_id="a", to=("head", 8265), port=0, shared=shared)
    with pytest.raises(EaglerayError, match="is closed, because"):
        await tunnel_command.run(parts, asked)
    assert ("Every user of this machine" in capsys.readouterr().err) is warns


async def test_tunnel_ends_with_its_adapter(dashboard: FakeDashboard) -> None:
    async with tunnel(dashboard.address) as (process, place):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(adapter_socket()))
            credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        os.kill(struct.unpack("3i", credentials)[0], signal.SIGKILL)
        _, err = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 1
        assert f"{place} is closed" in err.decode()


async def test_tunnel_to_an_unreachable_port_fails(dashboard: FakeDashboard) -> None:
    done = await eagleray("tunnel", dashboard.address, "127.0.0.1:1")
    assert (done.code, done.out) == (1, "")
    assert "Can't connect to 127.0.0.1:1" in done.err


@pytest.fixture
async def terminal() -> AsyncIterator[tuple[int, int]]:
    """Both ends of a terminal."""
    ours, theirs = pty.openpty()
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


async def test_question_is_asked_on_the_terminal(
    own_home: Path, fake_adapter: FakeAdapter, terminal: tuple[int, int]
) -> None:
    """It is put there, what is typed is not shown, and it goes back to where it came from."""
    ours, theirs = terminal
    fake_adapter.silent_about = "run_command"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", TAKES_TERMINAL, str(theirs), sys.executable, str(START)),
        *("cli", "slurm", "--host", "login"),
        stdin=theirs,
        stdout=asyncio.subprocess.PIPE,
        stderr=theirs,
        pass_fds=[theirs],
        start_new_session=True,
    )
    try:
        await asyncio.wait_for(fake_adapter.kept_silent.wait(), 60)
        question = {"id": 7, "ssh": "login", "prompt": "Code \x1b[31mnow:", "kind": "secret"}
        fake_adapter.say({"event": "question", **question})
        shown = await until(ours, "now:")
        assert "login: Code  [31mnow:" in shown
        while termios.tcgetattr(ours)[3] & termios.ECHO:
            await asyncio.sleep(0.01)
        os.write(ours, b"123456\n")
        while ("answer", {"id": 7, "text": "123456"}) not in fake_adapter.asked:
            await asyncio.sleep(0.01)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        await process.wait()
    os.write(theirs, b"end")
    assert "123456" not in await until(ours, "end")


TAKES_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(int(sys.argv[1]), termios.TIOCSCTTY, 0)
os.execv(sys.argv[2], sys.argv[2:])
"""


async def until(terminal: int, text: str) -> str:
    """Returns what was written to the terminal, to the end of `text`."""
    loop, shown, readable = asyncio.get_running_loop(), "", asyncio.Event()
    loop.add_reader(terminal, readable.set)
    try:
        while text not in shown:
            await asyncio.wait_for(readable.wait(), 60)
            readable.clear()
            shown += os.read(terminal, 4096).decode("utf-8", "replace")
    finally:
        loop.remove_reader(terminal)
    return shown
