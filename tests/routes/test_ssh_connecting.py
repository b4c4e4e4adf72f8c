"""How the first connection comes about, what is asked for it, and why it fails."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.routes.ssh import master as ssh_master
from eagleray.routes.ssh.master import SshMaster

from tests.routes.ssh_fixtures import Masters, until, works
from tests.routes.ssh_server import PATIENCE_S, SshServer

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("started")]


async def refusal(master: SshMaster) -> EaglerayError:
    """Returns why a connection failed."""
    with pytest.raises(EaglerayError) as raised:
        await master.argv(["true"], PATIENCE_S)
    assert master.health.state == "lost"
    assert master.health.reason == str(raised.value)
    return raised.value


async def test_refused_key_is_an_error(sshd: SshServer, masters: Masters) -> None:
    master = masters.make(sshd.configure())
    (sshd.folder / "authorized_keys").write_text("")
    error = await refusal(master)
    assert error.code == "ssh-key-refused"
    assert "Permission denied" in master.health.message
    # Until the person acts it is not tried again: that would only lock them out.
    tried = sshd.log.count("Connection closed by authenticating user")
    assert (await refusal(master)).code == "ssh-key-refused"
    assert sshd.log.count("Connection closed by authenticating user") == tried
    (sshd.folder / "authorized_keys").write_text((sshd.folder / "key.pub").read_text())
    master.reconnect()
    assert await works(master)


@pytest.mark.parametrize("checking", ["ask", "accept-new", "no"])
async def test_changed_host_key_is_never_accepted(
    sshd: SshServer, masters: Masters, checking: str
) -> None:
    sshd.stop()
    sshd.new_key("host_key")
    sshd.start()
    await sshd.listens()
    known = (sshd.folder / "known_hosts").read_text()
    masters.person.answers = ["yes"] * 5
    error = await refusal(masters.make(sshd.configure(checking=checking)))
    assert error.code == "ssh-host-key-changed"
    assert "attack" in error.message
    assert masters.person.asked == []
    assert (sshd.folder / "known_hosts").read_text() == known


async def test_unknown_host_key_needs_a_confirmation(sshd: SshServer, masters: Masters) -> None:
    (sshd.folder / "known_hosts").write_text("")
    masters.person.answers = ["yes"]
    master = masters.make(sshd.configure(checking="ask"))
    assert await works(master)
    ((prompt, kind),) = masters.person.asked
    assert kind == "confirm"
    assert "SHA256:" in prompt and "continue connecting" in prompt
    assert (sshd.folder / "known_hosts").read_text()


async def test_unknown_host_key_can_be_declined(sshd: SshServer, masters: Masters) -> None:
    (sshd.folder / "known_hosts").write_text("")
    masters.person.answers = [None]
    error = await refusal(masters.make(sshd.configure(checking="ask")))
    assert error.code == "ssh-cancelled"
    assert (sshd.folder / "known_hosts").read_text() == ""


@pytest.mark.parametrize("script", ["", "unset SSH_ASKPASS_REQUIRE"], ids=["new", "like 8.0"])
async def test_passphrase_is_requested_once(sshd: SshServer, masters: Masters, script: str) -> None:
    """Before 8.4 ssh knows no SSH_ASKPASS_REQUIRE: it wants a display and no terminal."""
    sshd.new_key("key", "s3cret words")
    (sshd.folder / "authorized_keys").write_text((sshd.folder / "key.pub").read_text())
    masters.person.answers = ["s3cret words"]
    master = masters.make(sshd.configure(script=script))
    assert await works(master)
    ((prompt, kind),) = masters.person.asked
    assert (kind, "passphrase" in prompt) == ("secret", True)
    assert "s3cret" not in everything_written(masters.folder)


async def test_agent_that_started_later_is_used(sshd: SshServer, masters: Masters) -> None:
    """A process that outlives windows was started with the agent of another one."""
    sshd.new_key("key", "s3cret")
    (sshd.folder / "authorized_keys").write_text((sshd.folder / "key.pub").read_text())
    socket_path = str(sshd.folder / "agent")
    agent = await asyncio.create_subprocess_exec(
        "ssh-agent", "-D", "-a", socket_path, stdout=subprocess.DEVNULL
    )
    try:
        await until(Path(socket_path).exists, "the agent listens")
        (sshd.folder / "say").write_text("#!/bin/sh\necho s3cret\n")
        (sshd.folder / "say").chmod(0o700)
        environment = {
            "PATH": os.environ["PATH"],
            "SSH_AUTH_SOCK": socket_path,
            "SSH_ASKPASS": str(sshd.folder / "say"),
            "SSH_ASKPASS_REQUIRE": "force",
        }
        adding = await asyncio.create_subprocess_exec(
            "ssh-add", "-q", str(sshd.folder / "key"), env=environment
        )
        assert await adding.wait() == 0
        program = sshd.configure("IdentityAgent SSH_AUTH_SOCK")
        assert await works(masters.make(program, environment={"SSH_AUTH_SOCK": socket_path}))
    finally:
        agent.terminate()
        await agent.wait()
    assert masters.person.asked == []


async def test_many_callers_cause_one_question(sshd: SshServer, masters: Masters) -> None:
    sshd.new_key("key", "s3cret")
    (sshd.folder / "authorized_keys").write_text((sshd.folder / "key.pub").read_text())
    masters.person.answers = ["s3cret"]
    master = masters.make(sshd.configure())
    assert all(await asyncio.gather(*(works(master) for _ in range(5))))
    assert len(masters.person.asked) == 1


async def test_wrong_and_cancelled_answers_are_errors(sshd: SshServer, masters: Masters) -> None:
    sshd.new_key("key", "s3cret")
    (sshd.folder / "authorized_keys").write_text((sshd.folder / "key.pub").read_text())
    master = masters.make(sshd.configure())
    masters.person.answers = ["wrong", "still wrong", "wrong to the last"]
    assert (await refusal(master)).code == "ssh-answer-refused"
    assert len(masters.person.asked) == 3
    masters.person.answers = [None, "not asked for any more"]
    master.reconnect()
    assert (await refusal(master)).code == "ssh-cancelled"
    assert len(masters.person.asked) == 4


async def test_time_to_answer_is_not_counted_and_a_closed_route_withdraws_the_question(
    sshd: SshServer, masters: Masters
) -> None:
    sshd.new_key("key", "s3cret")
    (sshd.folder / "authorized_keys").write_text((sshd.folder / "key.pub").read_text())
    master = masters.make(sshd.configure())
    # Long enough to be asked, and over long before anybody answers.
    waiting = asyncio.ensure_future(master.argv(["true"], PATIENCE_S))
    await until(lambda: masters.person.asked, "the question is put")
    await until(lambda: master.health.reason == "ssh waits for your answer.", "the row says so")
    impatient = asyncio.ensure_future(master.argv(["true"], 0.3))
    done, _ = await asyncio.wait({impatient}, timeout=1.0)
    assert not done
    await master.close()
    await until(lambda: masters.person.withdrawn, "the question is withdrawn")
    for call in (waiting, impatient):
        with pytest.raises(EaglerayError, match="Lost connection"):
            await call


async def test_unreachable_hosts_are_explained(sshd: SshServer, masters: Masters) -> None:
    sshd.configure()
    config = sshd.folder / "config"
    config.write_text("Host nowhere\n  HostName no-such-host.invalid\n" + config.read_text())
    assert (await refusal(masters.make(sshd.program, host="nowhere"))).code == "ssh-host-unknown"
    sshd.stop()
    master = masters.make(sshd.program)
    error = await refusal(master)
    assert error.code == "ssh-unreachable"
    assert "refused the ssh connection" in error.message
    assert "Connection refused" in error.output
    # It is tried again when a caller needs it.
    sshd.start()
    await sshd.listens()
    await until_it_works(master)


async def test_missing_ssh_is_an_error(masters: Masters) -> None:
    error = await refusal(masters.make("no-such-ssh"))
    assert error.code == "ssh-missing"


async def test_too_many_connections_at_the_server_are_explained(
    sshd: SshServer, masters: Masters
) -> None:
    sshd.stop()
    sshd.start("MaxStartups 1:100:1")
    await sshd.listens()
    greeting = b""
    while not greeting.startswith(b"SSH-"):
        # The one that saw that sshd listens may still count.
        reader, waiting = await asyncio.open_connection("127.0.0.1", sshd.port)
        with contextlib.suppress(ConnectionError):
            greeting = await reader.readline()
    master = masters.make(sshd.configure())
    assert (await refusal(master)).code == "ssh-too-many-connections"
    waiting.close()
    await until_it_works(master)


async def test_session_that_ends_at_once_is_an_error(sshd: SshServer, masters: Masters) -> None:
    sshd.stop()
    sshd.start("ForceCommand echo no shells here >&2; exit 1")
    await sshd.listens()
    error = await refusal(masters.make(sshd.configure()))
    assert error.code == "ssh-no-shell"
    assert error.output.endswith("no shells here")
    assert "no shells here" not in str(error)


OURS = """
import asyncio, sys
from pathlib import Path
from eagleray.routes.ssh.command import SshOptions
from eagleray.routes.ssh.master import SshMaster

async def main(folder, program):
    async def ask(prompt, kind):
        return None
    master = SshMaster("there", Path(folder), ask, lambda: None, lambda: SshOptions(program, False))
    await master.argv(["true"], 60.0)
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_ssh_ends_with_us_and_its_socket_is_removed(
    sshd: SshServer, masters: Masters
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        OURS,
        str(masters.folder),
        str(sshd.configure()),
        stdout=asyncio.subprocess.PIPE,
        env={"PYTHONPATH": str(Path(ssh_master.__file__).parents[3]), "PATH": "/usr/bin:/bin"},
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    (path,) = (one for one in masters.folder.iterdir() if one.is_socket())
    process.kill()
    await process.wait()
    await until(lambda: not path.exists(), "ssh has ended and taken its socket with it")


def everything_written(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.rglob("*") if path.is_file())


async def until_it_works(master: SshMaster) -> None:
    for _ in range(round(PATIENCE_S / 0.2)):
        try:
            assert await works(master)
        except EaglerayError:
            await asyncio.sleep(0.2)
        else:
            return
    raise AssertionError(master.health)
