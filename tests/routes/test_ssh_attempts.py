"""Attempts to connect and their helpers: what counts for their time, whose environment they have, what they leave."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.common.private_socket import connect
from eagleray.routes.ssh import attempts, mux
from eagleray.routes.ssh.askpass import Askpass, QuestionKind
from eagleray.routes.ssh.askpass_helper import SOCKET_VARIABLE
from eagleray.routes.ssh.attempts import ConnectAttempts, SshTarget
from eagleray.routes.ssh.command import SshOptions
from eagleray.routes.ssh.master import SshMaster

from tests.routes.ssh_fixtures import Masters, Person, opened, until
from tests.routes.ssh_server import HOST, PATIENCE_S, SshServer

pytestmark = pytest.mark.lab


@pytest.fixture
async def running(sshd: SshServer) -> SshServer:
    sshd.start()
    await sshd.listens()
    return sshd


class Clock:
    """Goes on by an hour with each look at it while it is `fast`."""

    def __init__(self) -> None:
        self.fast = False
        self.looks = 0
        self._ahead = 0.0

    def monotonic(self) -> float:
        self.looks += 1
        self._ahead += 3600.0 * self.fast
        return time.monotonic() + self._ahead


class Slow(Person):
    """Answers when hours have gone by."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    async def ask(self, prompt: str, kind: QuestionKind) -> str | None:
        for self._clock.fast in (True, False):
            enough = self._clock.looks + 5
            await until(lambda enough=enough: self._clock.looks >= enough, "time goes by")
        return await super().ask(prompt, kind)


async def test_answer_may_take_longer_than_the_attempt(
    running: SshServer, masters: Masters, monkeypatch: pytest.MonkeyPatch
) -> None:
    running.new_key("key", "s3cret")
    (running.folder / "authorized_keys").write_text((running.folder / "key.pub").read_text())
    clock = Clock()
    monkeypatch.setattr(attempts, "time", clock)
    masters.person = Slow(clock)
    masters.person.answers = ["s3cret"]
    await masters.make(running.configure()).argv(["true"], PATIENCE_S)
    assert len(masters.person.asked) == 1


async def test_late_reason_does_not_explain_the_next_refusal(
    running: SshServer, masters: Masters
) -> None:
    """It belongs to streams for which no caller waits any longer."""
    master = masters.make(running.configure())
    await master.argv(["true"], PATIENCE_S)
    process = master._current
    assert process is not None
    for channel in (3, 4):
        said = f"channel {channel}: open failed: administratively prohibited: open failed"
        process.stderr.take(said)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(EaglerayError) as raised:
        await opened(master, "127.0.0.1", port)
    assert raised.value.code == "far-port-refused"


async def test_keys_pressed_in_our_terminal_do_not_reach_ssh(
    running: SshServer, masters: Masters
) -> None:
    pid = await pid_of(await connected(masters.make(running.configure())))
    assert os.getsid(pid) == pid != os.getsid(0)


async def test_users_master_is_used_with_the_users_environment(
    running: SshServer, masters: Masters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent of the window that asks, and nothing that could put a question."""
    monkeypatch.setenv("SSH_ASKPASS", "/nowhere/ask")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/nowhere/old")
    theirs, seen = running.folder / "theirs", running.folder / "seen"
    habits = ("ControlMaster auto", f"ControlPath {theirs}")
    process = await asyncio.create_subprocess_exec(
        *(str(running.configure(*habits)), "-N", "there"), stdin=asyncio.subprocess.DEVNULL
    )
    try:
        await until(theirs.exists, "their connection stands")
        program = running.configure(*habits, script=f'case "$*" in *cat) env >{seen};; esac')
        agent = {"SSH_AUTH_SOCK": "/nowhere/new"}
        await connected(masters.make(program, reuse=True, environment=agent))
        said = seen.read_text()
    finally:
        process.terminate()
        await process.wait()
    environment = dict(line.partition("=")[::2] for line in said.splitlines())
    assert environment["SSH_AUTH_SOCK"] == "/nowhere/new"
    assert environment["SSH_ASKPASS_REQUIRE"] == "never"
    assert "SSH_ASKPASS" not in environment


async def test_askpass_helper_ends_with_its_attempt(short: Path) -> None:
    """ssh was killed while it asked, and its helper was not."""
    person = Person()
    askpass = Askpass(short, "ask", person.ask)
    environment = await askpass.start()
    reader, writer = await connect(Path(environment[SOCKET_VARIABLE]))
    writer.write(json.dumps({"prompt": "Password:", "hint": ""}).encode() + b"\n")
    await until(lambda: person.asked, "the question is put")
    assert askpass.is_open
    askpass.close()
    assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
    await until(lambda: person.withdrawn, "the question is withdrawn")
    await until(lambda: not askpass.is_open, "nobody is asked any more")
    writer.close()


async def test_stopped_attempts_have_no_result(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = []

    class Endless:
        asks = is_asking = False

        def __init__(self, *_: object) -> None: ...

        async def run(self) -> None:
            began.append(self)
            await asyncio.Event().wait()

    monkeypatch.setattr(attempts, "ConnectAttempt", Endless)
    trying = ConnectAttempts(SshTarget(HOST, short, SshOptions), lambda: None)
    for _ in range(2):
        trying.start_next()
        await until(lambda: began, "it has begun")
        await trying.end()
        assert trying.take_results() == (None, [])
        # The next one is made at once, and not kept waiting by those before.
        began.clear()
    assert not trying._ending


async def connected(master: SshMaster) -> Path:
    """Its control socket."""
    await master.argv(["true"], PATIENCE_S)
    return Path(master.health.control)


async def pid_of(control: Path) -> int:
    return await mux.check(control)
