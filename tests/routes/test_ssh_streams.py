"""Streams and commands over a real ssh to a real sshd."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.routes import commands
from eagleray.routes.ssh import mux
from eagleray.routes.ssh.master import SshMaster

from tests.fakes.echo import Echo
from tests.routes.ssh_fixtures import Masters, Stream, echoes, opened, until
from tests.routes.ssh_server import PATIENCE_S, SshServer

pytestmark = pytest.mark.lab


@pytest.fixture
async def master(sshd: SshServer, masters: Masters) -> AsyncIterator[SshMaster]:
    sshd.start()
    await sshd.listens()
    yield masters.make(sshd.configure())


async def test_stream_reaches_what_the_remote_end_reaches(
    master: SshMaster, masters: Masters
) -> None:
    with Echo() as echo:
        stream = await opened(master, "127.0.0.1", echo.port)
        assert await echoes(stream)
        assert await echoes(stream, os.urandom(2**20))
        assert masters.states == ["ready"]
        assert not masters.person.asked


async def test_connection_carries_300_streams_at_once(master: SshMaster, sshd: SshServer) -> None:
    with Echo() as echo:
        streams = await asyncio.gather(
            *(opened(master, "127.0.0.1", echo.port) for _ in range(300))
        )
        assert all(await asyncio.gather(*(echoes(stream) for stream in streams)))
        assert sshd.log.count("Accepted publickey") == 1
        for _, writer, carried in streams:
            writer.close()
            await asyncio.wait_for(carried.ended.wait(), PATIENCE_S)
            assert not carried.lost.is_set()


async def test_each_end_may_close_first(master: SshMaster) -> None:
    with Echo() as echo:
        reader, writer, carried = await opened(master, "127.0.0.1", echo.port)
        writer.close()
        assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
        await asyncio.wait_for(carried.ended.wait(), PATIENCE_S)
    with Echo() as echo:
        reader, writer, carried = await opened(master, "127.0.0.1", echo.port)
        assert await echoes((reader, writer, carried))
    # The far end has closed it.
    assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
    writer.close()
    await asyncio.wait_for(carried.ended.wait(), PATIENCE_S)
    assert not carried.lost.is_set()


async def test_stream_can_be_cut_off_by_us(master: SshMaster) -> None:
    with Echo() as echo:
        reader, _, carried = await opened(master, "127.0.0.1", echo.port)
        carried.close()
        assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
        assert carried.ended.is_set()


async def test_unreachable_ports_have_a_reason(master: SshMaster, masters: Masters) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(EaglerayError, match=f"can't connect to 127.0.0.1:{port}: nothing listens"):
        await opened(master, "127.0.0.1", port)
    with pytest.raises(EaglerayError, match=r"can.t find the host") as raised:
        await opened(master, "no-such-node.invalid", 80)
    assert raised.value.code == "far-host-unknown"
    # All at once, each with its own reason.
    codes = await asyncio.gather(
        *(
            code_of(opened(master, host, port))
            for host in ("127.0.0.1", "no-such-node.invalid", "127.0.0.1")
        )
    )
    assert sorted(codes) == ["far-host-unknown", "far-port-refused", "far-port-refused"]
    assert masters.states == ["ready"]


async def test_forwarding_forbidden_names_the_option(sshd: SshServer, masters: Masters) -> None:
    sshd.start("AllowTcpForwarding no")
    await sshd.listens()
    master = masters.make(sshd.configure())
    with Echo() as echo, pytest.raises(EaglerayError, match="AllowTcpForwarding") as raised:
        await opened(master, "127.0.0.1", echo.port)
    assert raised.value.code == "ssh-forwarding-forbidden"
    # Requests that need no forwarding work.
    ended = await run(master, ["echo", "still here"])
    assert ended.stdout == b"still here\n"


async def test_only_some_ports_are_permitted(sshd: SshServer, masters: Masters) -> None:
    with Echo() as echo, Echo() as other:
        sshd.start(f"PermitOpen 127.0.0.1:{echo.port}")
        await sshd.listens()
        master = masters.make(sshd.configure())
        assert await echoes(await opened(master, "127.0.0.1", echo.port))
        with pytest.raises(EaglerayError, match="PermitOpen"):
            await opened(master, "127.0.0.1", other.port)


async def test_cancelled_stream_leaves_the_others(master: SshMaster) -> None:
    with Echo() as echo:
        stream = await opened(master, "127.0.0.1", echo.port)
        # A backlog of none: the far end waits for an answer that does not come.
        silent = socket.socket()
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(silent.getsockname())
        with pytest.raises(EaglerayError) as raised:
            await opened(master, *silent.getsockname(), limit_s=0.5)
        assert raised.value.code == "far-slow"
        for filler in (*fillers, silent):
            filler.close()
        assert await echoes(stream)
        assert await echoes(await opened(master, "127.0.0.1", echo.port))
        assert master.health.state == "ready"


async def test_command_gets_its_arguments_unchanged(master: SshMaster) -> None:
    words = [
        "a b",
        "it's",
        "$HOME",
        "`id`",
        'say "x"',
        "\\",
        "\\'",
        "*",
        "-n",
        "a\nb",
        "",
        "!",
        "é",
    ]
    ended = await run(master, ["printf", "%s\\0", *words])
    assert ended.stdout.decode().split("\0")[:-1] == words
    assert (await run(master, ["sh", "-c", "cat; exit 7"], b"to it")).stdout == b"to it"
    assert (await run(master, ["sh", "-c", "exit 7"])).code == 7


async def test_commands_beyond_max_sessions_open_another_connection(
    sshd: SshServer, masters: Masters
) -> None:
    sshd.start("MaxSessions 1")
    await sshd.listens()
    master = masters.make(sshd.configure())
    ended = await run(master, ["echo", "yes"])
    assert (ended.code, ended.stdout) == (0, b"yes\n")
    with Echo() as echo:
        assert await echoes(await opened(master, "127.0.0.1", echo.port))


async def test_master_answers_a_check_and_ends_with_the_route(
    master: SshMaster, masters: Masters
) -> None:
    await master.argv(["true"], PATIENCE_S)
    (path,) = (path for path in masters.folder.iterdir() if path.is_socket())
    pid = await mux.check(path)
    assert is_running(pid)
    await master.close()
    assert not path.exists()
    await until(lambda: not is_running(pid), "ssh has ended")
    with pytest.raises(EaglerayError, match="Lost connection"):
        await master.argv(["true"], PATIENCE_S)


async def test_terminal_of_the_user_outlives_the_route(master: SshMaster, sshd: SshServer) -> None:
    """It goes over our connection, so that no second factor is asked for."""
    await master.argv(["true"], PATIENCE_S)
    options = ["-o", "ControlMaster=no", "-o", f"ControlPath={master.health.control}"]
    terminal = await asyncio.create_subprocess_exec(
        str(sshd.program),
        *options,
        *("--", "there", "cat"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert terminal.stdin is not None and terminal.stdout is not None
    terminal.stdin.write(b"typed\n")
    assert await terminal.stdout.readline() == b"typed\n"
    pid = await mux.check(Path(master.health.control))
    control = master.health.control
    await master.close()
    assert master.health.control == ""
    assert not Path(control).exists()
    terminal.stdin.write(b"and more\n")
    assert await terminal.stdout.readline() == b"and more\n"
    terminal.stdin.close()
    assert await terminal.wait() == 0
    await until(lambda: not is_running(pid), "ssh has ended with it")
    assert sshd.log.count("Accepted publickey") == 1


async def test_missing_master_is_distinguished_from_a_running_one(
    short_server: asyncio.Server,
) -> None:
    with pytest.raises(mux.MuxError):
        await mux.check(short_server.sockets[0].getsockname())


@pytest.fixture
async def short_server(short: object) -> AsyncIterator[asyncio.Server]:
    """Something else that listens on a Unix socket."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_unix_server(serve, f"{short}/x.sock") as server:
        yield server


async def run(master: SshMaster, words: list[str], stdin: bytes = b"") -> commands.CommandResult:
    return await commands.run(await master.argv(words, PATIENCE_S), stdin, PATIENCE_S)


async def code_of(opening: asyncio.Future[Stream] | object) -> str:
    with pytest.raises(EaglerayError) as raised:
        await opening
    return raised.value.code


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
