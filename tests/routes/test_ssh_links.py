"""Connections that break: what is shown, and how they come back."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.routes.ssh import master as ssh_master
from eagleray.routes.ssh import mux, process
from eagleray.routes.ssh.master import SshMaster

from tests.fakes.echo import Echo
from tests.routes.ssh_fixtures import Masters, echoes, opened, until
from tests.routes.ssh_server import PATIENCE_S, SshServer, Wire

pytestmark = pytest.mark.lab


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PROBE_S", 0.3)
    monkeypatch.setattr(ssh_master, "DEGRADED_S", 1.5)
    monkeypatch.setattr(ssh_master, "GIVEN_UP_S", 3.0)


async def connected(sshd: SshServer, wire: Wire, masters: Masters) -> SshMaster:
    master = masters.make(sshd.configure(port=wire.port))
    await master.argv(["true"], PATIENCE_S)
    return master


@pytest.fixture(name="master")
async def _master(sshd: SshServer, wire: Wire, masters: Masters) -> SshMaster:
    return await connected(sshd, wire, masters)


@pytest.fixture
def echo() -> Iterator[Echo]:
    with Echo() as server:
        yield server


async def pid_of(masters: Masters) -> int:
    """The ssh that has a control socket; there is only one."""
    (path,) = (one for one in masters.folder.iterdir() if one.is_socket())
    return await mux.check(path)


def in_state(master: SshMaster, *states: str) -> bool:
    return master.health.state in states


async def test_cut_is_shown_and_a_new_connection_takes_over(
    master: SshMaster, wire: Wire, masters: Masters, echo: Echo
) -> None:
    old = await opened(master, "127.0.0.1", echo.port)
    wire.cut()
    await until(lambda: in_state(master, "degraded"), "the silence is seen")
    assert "is not responding" in master.health.reason
    await until(lambda: in_state(master, "reconnecting"), "the old one is given up")
    # Whoever needs it waits for the new one, and nothing is believed of the old.
    waiting = asyncio.ensure_future(opened(master, "127.0.0.1", echo.port))
    wire.mend()
    assert await echoes(await waiting)
    assert in_state(master, "ready")
    assert master.health.reason == ""
    # The old one keeps its streams, for its link may come back.
    assert not old[2].ended.is_set()
    assert not masters.person.asked


async def test_opening_stream_moves_to_the_new_connection(
    master: SshMaster, wire: Wire, echo: Echo
) -> None:
    _, _, carried = await opened(master, "127.0.0.1", echo.port)
    wire.cut()
    waiting = asyncio.ensure_future(opened(master, "127.0.0.1", echo.port))
    await until(lambda: not in_state(master, "ready"), "the cut is seen")
    wire.mend()
    assert await echoes(await waiting)
    # ssh has not yet given up the old one, which would have told the same.
    assert not carried.ended.is_set()


@pytest.fixture
def _one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is tried beside the first attempt, as where a connection is made at once: a busy machine needs longer."""
    monkeypatch.setattr("eagleray.routes.ssh.attempts._PACES", ((float("inf"), 600.0),))


@pytest.mark.usefixtures("_one_attempt")
async def test_short_cut_leaves_the_old_connection(
    master: SshMaster, sshd: SshServer, wire: Wire, echo: Echo
) -> None:
    """It answers before a new one is ready, which is then not needed."""
    stream = await opened(master, "127.0.0.1", echo.port)
    wire.cut()
    await until(lambda: in_state(master, "degraded"), "the silence is seen")
    wire.mend(revive=True)
    await until(lambda: in_state(master, "ready"), "it answers again")
    assert await echoes(stream)
    assert await echoes(await opened(master, "127.0.0.1", echo.port))
    assert sshd.log.count("Accepted publickey") == 1


async def test_old_connection_ends_without_streams(
    master: SshMaster, wire: Wire, masters: Masters, echo: Echo
) -> None:
    old_pid = await pid_of(masters)
    _, writer, carried = await opened(master, "127.0.0.1", echo.port)
    wire.cut()
    await until(lambda: not in_state(master, "ready"), "the cut is seen")
    wire.mend()
    await until(lambda: in_state(master, "ready"), "a new one is there")
    os.kill(old_pid, 0)
    wire.mend(revive=True)
    carried.close()
    writer.close()
    await until(lambda: is_gone(old_pid), "the old one has ended")
    assert await pid_of(masters) != old_pid


async def test_killed_ssh_is_replaced_and_its_streams_are_lost(
    master: SshMaster, masters: Masters, echo: Echo
) -> None:
    reader, _, carried = await opened(master, "127.0.0.1", echo.port)
    os.kill(await pid_of(masters), signal.SIGKILL)
    assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
    await asyncio.wait_for(carried.ended.wait(), PATIENCE_S)
    await asyncio.wait_for(carried.lost.wait(), PATIENCE_S)
    assert await echoes(await opened(master, "127.0.0.1", echo.port))
    assert "reconnecting" in masters.states
    assert not masters.person.asked


@pytest.mark.usefixtures("_one_attempt")
async def test_removed_control_socket_is_replaced(
    master: SshMaster, sshd: SshServer, masters: Masters, echo: Echo
) -> None:
    """As those do who clear /tmp; what is carried stays, the next stream takes a new connection."""
    stream = await opened(master, "127.0.0.1", echo.port)
    for path in masters.folder.iterdir():
        if path.is_socket():
            path.unlink()
    assert await echoes(await opened(master, "127.0.0.1", echo.port))
    assert await echoes(stream)
    assert sshd.log.count("Accepted publickey") == 2


async def test_restarted_server_is_reconnected(
    master: SshMaster, sshd: SshServer, masters: Masters
) -> None:
    sshd.stop()
    os.kill(await pid_of(masters), signal.SIGKILL)
    await until(lambda: "Connection" in master.health.message, "ssh says why it fails")
    assert in_state(master, "reconnecting")
    sshd.start()
    await until(lambda: in_state(master, "ready"), "it is connected again")


async def test_automatic_attempts_ask_no_questions(
    sshd: SshServer, wire: Wire, masters: Masters
) -> None:
    sshd.new_key("key", "s3cret")
    (sshd.folder / "authorized_keys").write_text((sshd.folder / "key.pub").read_text())
    masters.person.answers = ["s3cret"]
    master = await connected(sshd, wire, masters)
    sshd.stop()
    # A server that would take a password, as most do.
    sshd.start("PasswordAuthentication yes")
    os.kill(await pid_of(masters), signal.SIGKILL)
    await until(lambda: in_state(master, "lost"), "it is given up")
    assert "asks for your password. Reconnect to answer." in master.health.reason
    with pytest.raises(EaglerayError) as raised:
        await master.argv(["true"], PATIENCE_S)
    assert raised.value.code == "ssh-asks"
    assert len(masters.person.asked) == 1
    # The person acts.
    masters.person.answers = ["s3cret"]
    master.reconnect()
    await until(lambda: in_state(master, "ready"), "it is connected again")
    assert len(masters.person.asked) == 2
    assert masters.states[-3:] == ["lost", "reconnecting", "ready"]


async def test_host_key_that_changes_later_stops_attempts(
    master: SshMaster, sshd: SshServer, masters: Masters
) -> None:
    sshd.stop()
    sshd.new_key("host_key")
    sshd.start()
    os.kill(await pid_of(masters), signal.SIGKILL)
    await until(lambda: in_state(master, "lost"), "it is given up")
    assert "has changed" in master.health.reason


async def test_user_may_replace_a_working_connection(
    master: SshMaster, sshd: SshServer, masters: Masters, echo: Echo
) -> None:
    before = await pid_of(masters)
    stream = await opened(master, "127.0.0.1", echo.port)
    master.reconnect()
    await until(lambda: masters.states[-2:] == ["reconnecting", "ready"], "it is made anew")
    assert await echoes(stream)
    assert await echoes(await opened(master, "127.0.0.1", echo.port))
    stream[2].close()
    await until(lambda: is_gone(before), "the one before has ended")
    assert sshd.log.count("Accepted publickey") == 2


async def test_sleep_leads_to_an_attempt_at_once(
    sshd: SshServer, wire: Wire, masters: Masters, monkeypatch: pytest.MonkeyPatch, echo: Echo
) -> None:
    slept = [False]

    class Slept:
        def has_slept(self) -> bool:
            was, slept[0] = slept[0], False
            return was

    monkeypatch.setattr(ssh_master, "SleepWatch", Slept)
    monkeypatch.setattr(ssh_master, "DEGRADED_S", 1e9)
    master = await connected(sshd, wire, masters)
    slept[0] = True
    await until(lambda: masters.states[-2:] == ["degraded", "ready"], "the old one answers")
    # Its address has changed meanwhile: nothing of the old connection gets through.
    wire.cut()
    wire.mend()
    slept[0] = True
    await until(lambda: sshd.log.count("Accepted publickey") >= 2, "a new one is made")
    await until(lambda: in_state(master, "ready"), "it takes over")
    assert await echoes(await opened(master, "127.0.0.1", echo.port))


async def test_close_during_attempts_leaves_nothing(
    master: SshMaster, sshd: SshServer, wire: Wire
) -> None:
    wire.cut()
    await until(lambda: not in_state(master, "ready"), "the cut is seen")
    await master.close()
    assert processes_with(str(sshd.folder / "config")) == []
    assert in_state(master, "lost")


async def test_attempts_through_a_jump_host_leave_nothing(
    sshd: SshServer, wire: Wire, masters: Masters
) -> None:
    """The ssh of a jump host keeps connecting when its parent is gone, unless it is ended."""
    program = sshd.configure(port=wire.port)
    config = sshd.folder / "config"
    behind = f"Host behind\n  HostName 127.0.0.1\n  Port {sshd.port}\n  ProxyJump there\n"
    config.write_text(behind + config.read_text().replace("Host there", "Host there behind"))
    master = masters.make(program, host="behind")
    await master.argv(["true"], PATIENCE_S)
    wire.cut()
    await until(lambda: in_state(master, "reconnecting"), "several were tried")
    wire.mend()
    await until(lambda: in_state(master, "ready"), "it is connected again")
    config_words = str(config)
    await until(lambda: len(processes_with(config_words)) == 2, "one ssh and its jump are left")
    await master.close()
    await until(lambda: processes_with(config_words) == [], "nothing is left")


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def processes_with(word: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if word.encode() in words:
            found.append(path.parent.name)
    return found
