"""The ends of a connection that a real ssh carries, as its client sees them."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from eagleray.routes.ssh import mux, process
from eagleray.routes.ssh.command import SshOptions
from eagleray.routes.ssh.transport import SshTransport
from eagleray.routes.transport import ForwardedStream

from tests.routes.ssh_fixtures import Masters
from tests.routes.ssh_server import HOST, PATIENCE_S, SshServer

pytestmark = pytest.mark.lab

# More than all buffers on the way hold.
MUCH = os.urandom(2**24)
Client = tuple[asyncio.StreamReader, asyncio.StreamWriter, ForwardedStream]


class Far:
    """A server that says a word, and ends when it may."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"word")
        await self.may_end.wait()
        writer.write(MUCH)
        writer.close()


@pytest.fixture
async def over(sshd: SshServer, masters: Masters) -> AsyncIterator[SshTransport]:
    sshd.start()
    await sshd.listens()
    options = SshOptions(str(sshd.configure()), reuse=False)
    over = SshTransport(HOST, masters.folder, masters.person.ask, lambda: None, lambda: options)
    yield over
    await over.close()


@pytest.fixture
async def far() -> AsyncIterator[Far]:
    yield Far()


@pytest.fixture
async def client(over: SshTransport, far: Far) -> AsyncIterator[Client]:
    async with await asyncio.start_server(far.serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        near, carried_end = socket.socketpair()
        carried = await over.forward(carried_end, "127.0.0.1", port, PATIENCE_S)
        reader, writer = await asyncio.open_connection(sock=near)
        assert await asyncio.wait_for(reader.readexactly(4), PATIENCE_S) == b"word"
        yield reader, writer, carried
        carried.close()
        writer.close()
        far.may_end.set()


async def test_remote_end_closes_when_all_data_has_arrived(
    client: Client, far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The death of an ssh, which is told late, is not waited for while it lives."""
    monkeypatch.setattr(process, "_LATE_S", 10 * PATIENCE_S)
    reader, _, carried = client
    far.may_end.set()
    assert await asyncio.wait_for(reader.read(), PATIENCE_S) == MUCH
    await asyncio.wait_for(carried.ended.wait(), PATIENCE_S)
    assert carried.loss is None


def remove(control: Path) -> None:
    """As those do who clear /tmp."""
    control.unlink()


def leave(control: Path) -> None:
    """It stays where it is."""


@pytest.mark.parametrize("treat", [leave, remove])
async def test_ssh_that_dies_is_a_loss(
    over: SshTransport, client: Client, treat: Callable[[Path], None]
) -> None:
    reader, _, carried = client
    pid = await mux.check(Path(over.health.control))
    treat(Path(over.health.control))
    os.kill(pid, signal.SIGKILL)
    assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
    assert carried.loss is not None
    assert carried.loss.code == "link-lost"


async def test_remote_end_that_closes_is_not_a_loss_without_a_control_socket(
    over: SshTransport, client: Client, far: Far
) -> None:
    reader, _, carried = client
    remove(Path(over.health.control))
    far.may_end.set()
    assert await asyncio.wait_for(reader.read(), PATIENCE_S) == MUCH
    await asyncio.wait_for(carried.ended.wait(), PATIENCE_S)
    assert carried.loss is None


async def test_client_is_cut_off_although_ssh_hangs(over: SshTransport, client: Client) -> None:
    reader, _, carried = client
    pid = await mux.check(Path(over.health.control))
    os.kill(pid, signal.SIGSTOP)
    try:
        carried.close()
        assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
    finally:
        os.kill(pid, signal.SIGCONT)


async def test_ssh_that_just_died_leaves_its_control_socket(short: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(short / "m"))
        assert await process.SshStream(short / "m", lambda: None).is_lost()
