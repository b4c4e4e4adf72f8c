"""The small parts of ssh: quoting, kinds of questions, paths of sockets, sleep."""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
from pathlib import Path

import pytest
from eagleray.common import paths
from eagleray.common.errors import EaglerayError
from eagleray.routes.routes import TransportFactory
from eagleray.routes.ssh import askpass, command
from eagleray.routes.ssh import paths as ssh_paths
from eagleray.routes.ssh.askpass import QuestionKind, kind, without_askpass
from eagleray.routes.ssh.attempts import AttemptFailed, ConnectAttempt, SshTarget
from eagleray.routes.ssh.command import SshOptions
from eagleray.routes.ssh.process import SshProcess
from eagleray.routes.ssh.system_watch import SleepWatch
from hypothesis import given
from hypothesis import strategies as st

from tests.routes.ssh_fixtures import until


@given(st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8"))))
def test_arguments_survive_a_shell(words: list[str]) -> None:
    assert shlex.split(" ".join(command.quoted(word) for word in words)) == words


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8")))
def test_characters_that_shells_read_differently_are_outside_of_quotes(word: str) -> None:
    """Between two quotes fish takes a backslash for an escape, so that there must be none."""
    quoted = command.quoted(word)
    inside = False
    position = 0
    while position < len(quoted):
        here = quoted[position]
        if here == "\\":
            assert not inside
            position += 1
        elif here == "'":
            inside = not inside
        position += 1
    assert not inside


def test_argument_with_a_zero_byte_is_rejected() -> None:
    with pytest.raises(ValueError, match="zero byte"):
        command.quoted("a\0b")


def test_destination_is_never_an_option() -> None:
    for argv in (
        command.master("/bin/ssh", "-oProxyCommand=x", Path("/p"), 3.2, False, ["exec", "cat"]),
        command.client("/bin/ssh", "-oProxyCommand=x", Path("/p"), ["true"]),
    ):
        assert argv[argv.index("-oProxyCommand=x") - 1] == "--"
        assert len(argv) == argv.index("-oProxyCommand=x") + 2


def test_missing_ssh_program_is_an_error() -> None:
    with pytest.raises(EaglerayError) as raised:
        command.program(SshOptions("/nowhere/ssh"))
    assert raised.value.code == "ssh-missing"


@pytest.mark.parametrize(
    ("prompt", "hint", "expected"),
    [
        ("Enter passphrase for key '/home/alice/.ssh/id_ed25519': ", "", "secret"),
        ("alice@login's password: ", "", "secret"),
        ("Password: ", "", "secret"),
        ("One-time password (OATH) for `alice': ", "", "secret"),
        ("Enter PIN for ED25519-SK key /home/alice/.ssh/id: ", "", "secret"),
        ("(alice@login) Verification code: ", "", "text"),
        ("Passcode or option (1-3): ", "", "text"),
        ("Username: ", "", "text"),
        ("Something else: ", "", "secret"),
        (
            "The authenticity of host 'login (10.0.0.1)' can't be established.\n"
            "Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
            "",
            "confirm",
        ),
        ("Allow use of key /home/alice/.ssh/id?", "confirm", "confirm"),
        ("Confirm user presence for key ED25519-SK SHA256:x", "none", "notice"),
    ],
)
def test_kinds_of_questions_are_recognised(prompt: str, hint: str, expected: str) -> None:
    assert kind(prompt, hint) == expected


def test_settings_without_a_new_value_stay(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal has no settings of the editor, and a new window may have another agent."""
    monkeypatch.setenv("EAGLERAY_SSH", "/opt/ssh")
    making = TransportFactory(short, ask_for=lambda _: nobody)
    assert making.ssh() == SshOptions("/opt/ssh", True, {})
    making.set_ssh("/usr/bin/ssh", False, {"SSH_AUTH_SOCK": "/a", "LD_PRELOAD": "/evil.so"})
    making.set_ssh("", None, {"KRB5CCNAME": "/k"})
    said = {"SSH_AUTH_SOCK": "/a", "KRB5CCNAME": "/k"}
    assert making.ssh() == SshOptions("/usr/bin/ssh", False, said)


async def nobody(prompt: str, how: QuestionKind) -> str | None:
    return None


def test_ssh_without_askpass_asks_nothing() -> None:
    environment = without_askpass({"SSH_ASKPASS": "/usr/bin/ask", "HOME": "/home/alice"})
    assert environment == {"HOME": "/home/alice", "SSH_ASKPASS_REQUIRE": "never"}


def test_long_or_odd_folder_is_not_used(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ssh_paths.control_folder(short) == short
    fallback = Path(f"/tmp/eagleray-{os.getuid()}")
    for odd in (short / ("x" * 80), short / "per%cent", short / "${HOME}", short / "a b"):
        assert ssh_paths.control_folder(odd) == fallback
    # The longest that fits is bound with 17 characters more.
    length = ssh_paths.LONGEST_SOCKET_PATH - 17 - len("/m-4194304-99999")
    longest = Path("/" + "x" * (length - 1))
    assert ssh_paths.control_folder(longest) == longest
    assert ssh_paths.control_folder(Path(f"{longest}x")) == fallback


def test_removed_control_folder_is_created_again(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = short / "run"
    assert ssh_paths.recreated(folder) == folder
    assert folder.stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("EAGLERAY_HOME", str(short))
    assert ssh_paths.recreated(short / "gone" / "run") == paths.run_folder()


def test_sockets_of_killed_masters_are_removed(short: Path) -> None:
    def bound(name: str, listens: bool, is_old: bool) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.bind(str(short / name))
        if listens:
            sock.listen()
        if is_old:
            os.utime(short / name, (0, 0))
        return sock

    (short / "m-9-9").write_text("no socket")
    os.utime(short / "m-9-9", (0, 0))
    with (
        bound("m-1-1", False, True),
        bound("m-1-2", True, True),
        bound("m-1-3", False, False),
        bound("adapter.sock", False, True),
    ):
        ssh_paths.remove_stale(short)
    left = {path.name for path in short.iterdir()}
    assert left == {"m-1-2", "m-1-3", "m-9-9", "adapter.sock"}
    assert ssh_paths.new_control_path(short) != ssh_paths.new_control_path(short)


async def test_ssh_that_is_given_up_while_it_starts_leaves_no_pipe(short: Path) -> None:
    def pipes() -> int:
        return sum("pipe:" in os.path.realpath(fd) for fd in Path("/proc/self/fd").iterdir())

    before = pipes()
    for turns in range(4):
        process = SshProcess(short / "m-1-1", True, lambda: None)
        starting = asyncio.create_task(process.start(["sleep", "1000"], dict(os.environ)))
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        process.stop()
        await process.wait()
        await until(lambda: pipes() == before)


async def test_attempt_that_cannot_start_its_helper_leaves_no_socket(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path) -> Path:
        raise OSError("No space left on device")

    monkeypatch.setattr(askpass, "_script", full)
    target = SshTarget("host", short, lambda: SshOptions("true", reuse=False))
    with pytest.raises(AttemptFailed) as failed:
        await ConnectAttempt(target, 60, lambda: None, nobody).run()
    assert "No space left" in failed.value.error.output
    assert list(short.iterdir()) == []


def test_sleep_is_noticed_once() -> None:
    monotonic, wall = 100.0, 1000.0
    watch = SleepWatch(lambda: monotonic, lambda: wall)
    monotonic, wall = 101.0, 1001.0
    assert not watch.has_slept()
    monotonic, wall = 102.0, 4000.0
    assert watch.has_slept()
    assert not watch.has_slept()
    # Stopped, while both clocks ran on.
    monotonic, wall = 110.0, 4008.0
    assert watch.has_slept()
    # The clock was set back.
    wall = 1000.0
    assert not watch.has_slept()


def test_another_user_cannot_take_the_folder_of_control_sockets(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(short))
    monkeypatch.delenv("EAGLERAY_HOME", raising=False)
    monkeypatch.setattr(paths, "_TMP", short)
    taken = short / f"eagleray-{os.getuid()}"
    taken.mkdir()
    os.chown(taken, 65534, 65534)
    folder = ssh_paths.control_folder(short / ("x" * 80))
    assert (folder.parent, folder.stat().st_uid) == (short, os.getuid())
    assert folder != taken
