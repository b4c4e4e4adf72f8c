"""Fixtures of the tests that speak with a real sshd."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from eagleray.routes.ssh.askpass import QuestionKind
from eagleray.routes.ssh.command import SshOptions
from eagleray.routes.ssh.master import SshMaster
from eagleray.routes.ssh.process import SshStream

from tests.fakes.echo import Echo
from tests.routes.ssh_server import HOST, PATIENCE_S, SshServer, Wire

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter, SshStream]


async def until(condition: Callable[[], Any], what: str = "it happens") -> None:
    """Looks until `condition` holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        await asyncio.sleep(0.02)


class Person:
    """Answers what ssh asks, from a list; notes what was asked and which questions disappeared."""

    def __init__(self) -> None:
        self.answers: list[str | None] = []
        self.asked: list[tuple[str, QuestionKind]] = []
        self.withdrawn: list[str] = []

    async def ask(self, prompt: str, kind: QuestionKind) -> str | None:
        self.asked.append((prompt, kind))
        if self.answers:
            return self.answers.pop(0)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.withdrawn.append(prompt)
            raise
        return None


class Masters:
    """Makes masters, whose states it notes, and closes them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.person = Person()
        self.states: list[str] = []
        self._made: list[SshMaster] = []

    def make(
        self,
        program: Path | str,
        reuse: bool = False,
        host: str = HOST,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> SshMaster:
        def changed() -> None:
            if self.states[-1:] != [master.health.state]:
                self.states.append(master.health.state)

        options = SshOptions(str(program), reuse, environment)
        master = SshMaster(host, self.folder, self.person.ask, changed, lambda: options)
        self._made.append(master)
        return master

    async def close(self) -> None:
        for master in self._made:
            await master.close()


async def opened(master: SshMaster, host: str, port: int, limit_s: float = PATIENCE_S) -> Stream:
    """A stream through the master, which alone has the other end."""
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            theirs.setblocking(False)
            carried = await master.connect(host, port, theirs.fileno(), limit_s)
    except BaseException:
        ours.close()
        raise
    return *await asyncio.open_connection(sock=ours, limit=2**20), carried


async def echoes(stream: Stream, text: bytes = b"hello\n") -> bool:
    """Whether what is sent comes back."""
    reader, writer, _ = stream
    writer.write(text)
    await writer.drain()
    return await asyncio.wait_for(reader.readexactly(len(text)), PATIENCE_S) == text


async def works(master: SshMaster) -> bool:
    """Whether a stream through it comes back."""
    with Echo() as echo:
        return await echoes(await opened(master, "127.0.0.1", echo.port))


@pytest.fixture
def short() -> Iterator[Path]:
    """A private folder with a short path."""
    made = Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def sshd(short: Path) -> Iterator[SshServer]:
    """A server that has not been started yet."""
    (short / "site").mkdir()
    server = SshServer(short / "site")
    yield server
    server.stop()


@pytest.fixture
async def started(sshd: SshServer) -> None:
    """The server listens before the test begins."""
    sshd.start()
    await sshd.listens()


@pytest.fixture
async def masters(short: Path) -> AsyncIterator[Masters]:
    (short / "run").mkdir(mode=0o700)
    made = Masters(short / "run")
    yield made
    await made.close()
    with contextlib.suppress(OSError):
        left = [path.name for path in made.folder.iterdir() if path.is_socket()]
        assert left == []


@pytest.fixture
async def wire(sshd: SshServer) -> AsyncIterator[Wire]:
    """A way to `sshd`, which is started by it."""
    sshd.start()
    await sshd.listens()
    made = Wire(sshd.port)
    await made.start()
    yield made
    await made.close()
