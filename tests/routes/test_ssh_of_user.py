"""A user's settings for ssh, and the user's own open connections: neither harms ours, nor ours them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.routes.ssh import mux

from tests.fakes.echo import Echo
from tests.routes.ssh_fixtures import Masters, opened, until, works
from tests.routes.ssh_server import PATIENCE_S, SshServer

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("started")]


async def test_start_files_that_read_and_write_do_no_harm(
    sshd: SshServer, masters: Masters
) -> None:
    sshd.stop()
    noise = (
        "echo welcome; printf 'no end of line '; read swallowed; echo; eval $SSH_ORIGINAL_COMMAND"
    )
    sshd.start(f"ForceCommand {noise}")
    await sshd.listens()
    assert await works(masters.make(sshd.configure()))


async def test_odd_ssh_config_is_overridden(sshd: SshServer, masters: Masters) -> None:
    """A user's settings for the terminal do not catch our connection, or run anything."""
    folder = sshd.folder
    with Echo() as taken:
        program = sshd.configure(
            "ControlMaster auto",
            f"ControlPath {folder}/theirs",
            "ControlPersist 1",
            f"LocalForward 127.0.0.1:{taken.port} 127.0.0.1:1",
            "ExitOnForwardFailure yes",
            "RemoteCommand tmux attach",
            "RequestTTY force",
            "PermitLocalCommand yes",
            f"LocalCommand touch {folder}/ran",
            "ForwardX11 yes",
            "ForwardAgent yes",
            "LogLevel QUIET",
            "VisualHostKey yes",
        )
        master = masters.make(program)
        assert await works(master)
    with pytest.raises(EaglerayError, match="nothing listens"):
        await opened(master, "127.0.0.1", taken.port)
    assert not (folder / "theirs").exists()
    assert not (folder / "ran").exists()
    ended = await asyncio.create_subprocess_exec(
        *await master.argv(["sh", "-c", 'test -z "$SSH_TTY$SSH_AUTH_SOCK$DISPLAY"'], PATIENCE_S)
    )
    assert await ended.wait() == 0


@pytest.fixture
async def their_master(sshd: SshServer) -> AsyncIterator[Path]:
    """A connection that the person has open in a terminal of theirs."""
    path = sshd.folder / "theirs"
    program = sshd.configure("ControlMaster auto", f"ControlPath {path}")
    process = await asyncio.create_subprocess_exec(
        str(program), "-N", "there", stdin=asyncio.subprocess.DEVNULL
    )
    await until(path.exists, "their connection stands")
    yield path
    if process.returncode is None:
        process.terminate()
        await process.wait()


async def test_live_connection_of_the_user_is_used_and_stays(
    sshd: SshServer, masters: Masters, their_master: Path
) -> None:
    pid = await mux.check(their_master)
    # They would have to type a second factor for another one.
    (sshd.folder / "authorized_keys").write_text("")
    master = masters.make(sshd.program, reuse=True)
    assert await works(master)
    assert (await run(await master.argv(["echo", "over it"], PATIENCE_S))).strip() == "over it"
    assert sshd.log.count("Accepted publickey") == 1
    await master.close()
    assert await mux.check(their_master) == pid


async def test_our_connection_replaces_an_ended_one_of_the_user(
    sshd: SshServer, masters: Masters, their_master: Path
) -> None:
    master = masters.make(sshd.program, reuse=True)
    assert await works(master)
    os.kill(await mux.check(their_master), signal.SIGTERM)
    await until(lambda: "reconnecting" in masters.states, "its end is seen")
    assert await works(master)
    assert sshd.log.count("Accepted publickey") == 2


async def test_live_connection_is_not_used_unless_allowed(
    sshd: SshServer, masters: Masters, their_master: Path
) -> None:
    assert await works(masters.make(sshd.program, reuse=False))
    assert sshd.log.count("Accepted publickey") == 2


async def test_dead_connection_of_the_user_is_skipped(
    sshd: SshServer, masters: Masters, their_master: Path
) -> None:
    os.kill(await mux.check(their_master), signal.SIGKILL)
    assert await works(masters.make(sshd.program, reuse=True))
    assert sshd.log.count("Accepted publickey") == 2


async def run(argv: list[str]) -> str:
    process = await asyncio.create_subprocess_exec(*argv, stdout=subprocess.PIPE)
    stdout, _ = await process.communicate()
    return stdout.decode()
