"""Messages of ssh, and the errors that a user sees for them."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.routes.ssh import errors
from eagleray.routes.ssh.errors import StderrLines, forward_error

# The output of ssh, its error code, and whether an automatic retry is pointless.
SAID = [
    (
        "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n"
        "IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!\n"
        "Host key for login has changed and you have requested strict checking.\n"
        "Host key verification failed.",
        "ssh-host-key-changed",
        True,
    ),
    (
        "No ED25519 host key is known for login and you have requested strict checking.\n"
        "Host key verification failed.",
        "ssh-host-key-not-accepted",
        True,
    ),
    ("alice@login: Permission denied (publickey,password).", "ssh-key-refused", True),
    (
        "Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures\n"
        "Disconnected from 10.0.0.1 port 22",
        "ssh-key-refused",
        True,
    ),
    (
        "ssh: Could not resolve hostname login: Name or service not known",
        "ssh-host-unknown",
        False,
    ),
    (
        "ssh: Could not resolve hostname login: Temporary failure in name resolution",
        "ssh-host-unknown",
        False,
    ),
    ("ssh: connect to host login port 22: No route to host", "ssh-unreachable", False),
    ("ssh: connect to host login port 22: Connection timed out", "ssh-unreachable", False),
    ("ssh: connect to host login port 22: Connection refused", "ssh-unreachable", False),
    ("ssh: connect to host login port 22: Network is unreachable", "ssh-unreachable", False),
    ("Connection timed out during banner exchange", "ssh-unreachable", False),
    ("Timeout, server login not responding.", "ssh-unreachable", False),
    ("client_loop: send disconnect: Broken pipe", "ssh-unreachable", False),
    (
        "kex_exchange_identification: Connection closed by remote host\n"
        "Connection closed by 10.0.0.1 port 22",
        "ssh-too-many-connections",
        False,
    ),
    (
        "kex_exchange_identification: read: Connection reset by peer",
        "ssh-too-many-connections",
        False,
    ),
    (
        "ssh_exchange_identification: Connection closed by remote host",
        "ssh-too-many-connections",
        False,
    ),
    # As 9.8 and newer ones say it.
    ("Connection closed by 10.0.0.1 port 22", "ssh-too-many-connections", False),
    ("Connection closed by fe80::1 port 2222", "ssh-too-many-connections", False),
    ("Connection reset by 10.0.0.1 port 22", "ssh-unreachable", False),
    # Through a jump host.
    ("Connection closed by UNKNOWN port 65535", "ssh-unreachable", False),
    (
        "ssh: connect to host jump port 22: No route to host\n"
        "Connection closed by 10.0.0.1 port 22",
        "ssh-unreachable",
        False,
    ),
    (
        "mux_client_request_session: session request failed: Session open refused by peer",
        "ssh-too-many-sessions",
        False,
    ),
    (
        'unix_listener: path "/a/b" too long for Unix domain socket',
        "ssh-path-too-long",
        True,
    ),
    (
        "ControlSocket /tmp/x already exists, disabling multiplexing",
        "ssh-control-socket-taken",
        False,
    ),
    (
        "/home/alice/.ssh/config: line 3: Bad configuration option: controlmastr\n"
        "/home/alice/.ssh/config: terminating, 1 bad configuration options",
        "ssh-bad-configuration",
        True,
    ),
    (
        "Bad owner or permissions on /home/alice/.ssh/config",
        "ssh-bad-configuration",
        True,
    ),
    ("This account is currently not available.", "ssh-no-shell", True),
    ("something that nobody has ever seen", "ssh-failed", False),
    ("", "ssh-failed", False),
]


def words(text: str) -> StderrLines:
    made = StderrLines()
    for line in text.splitlines():
        made.take(line)
    return made


@pytest.mark.parametrize(("text", "code", "final"), SAID)
def test_stderr_of_ssh_is_explained(text: str, code: str, final: bool) -> None:
    error, is_final = words(text).explain("login")
    assert (error.code, is_final) == (code, final)
    assert "login" in error.message or code in ("ssh-path-too-long", "ssh-bad-configuration")
    assert error.shown_step
    assert error.output == "\n".join(text.splitlines())


@pytest.mark.parametrize(
    ("printed", "message", "step"),
    [
        ("No route to host\r", "This machine has no network route to login.", "VPN"),
        ("Connection refused", "login refused the ssh connection.", "its ssh server is running"),
        ("Connection timed out", "login did not answer the ssh connection.", "VPN"),
    ],
)
def test_network_reason_is_named(printed: str, message: str, step: str) -> None:
    line = f"ssh: connect to host login port 22: {printed}"
    error, _ = words(line).explain("login")
    assert error.message == message
    assert step in error.next_step
    assert error.output == line.strip()


def test_banner_and_noise_of_a_site_do_not_hide_the_end() -> None:
    made = words(
        "******************\nWelcome to the site. Connection refused? Write to help@site.\n"
        "Warning: Permanently added 'login' (ED25519) to the list of known hosts.\n"
        "alice@login: Permission denied (publickey).\n"
        "** WARNING: connection is not using a post-quantum key exchange algorithm."
    )
    assert made.explain("login")[0].code == "ssh-key-refused"
    assert made.last == "alice@login: Permission denied (publickey)."
    assert not made.offers_questions
    assert words("a@b: Permission denied (publickey,keyboard-interactive).").offers_questions


def test_secrets_and_terminal_escapes_are_removed() -> None:
    made = words("\x1b[31mfatal\x1b[0m: API_TOKEN=abcdef123 is wrong\x07")
    assert made.last == " [31mfatal [0m: API_TOKEN=… is wrong "


def test_endless_stderr_is_bounded() -> None:
    made = StderrLines()
    for number in range(1000):
        made.take(f"channel {number}: open failed: connect failed: Connection refused")
        made.take("x" * 100_000)
    assert len(made.last) <= 500
    refusals = 0
    while made.next_refusal():
        refusals += 1
    assert refusals <= 41


def test_reasons_of_streams_keep_their_order_and_do_not_explain_the_end() -> None:
    made = words(
        "channel 2: open failed: connect failed: Connection refused\n"
        "channel 3: open failed: administratively prohibited: open failed\n"
    )
    assert made.last == ""
    assert made.next_refusal() == "connect failed: Connection refused"
    assert made.next_refusal() == "administratively prohibited: open failed"
    assert made.next_refusal() == ""


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("administratively prohibited: open failed", "ssh-forwarding-forbidden"),
        ("connect failed: Connection refused", "far-port-refused"),
        ("connect failed: Name or service not known", "far-host-unknown"),
        ("connect failed: Temporary failure in name resolution", "far-host-unknown"),
        ("connect failed: No route to host", "far-host-unreachable"),
        ("connect failed: Connection timed out", "far-host-unreachable"),
        ("unknown channel type: ", "far-refused"),
        ("", "far-refused"),
    ],
)
def test_unreachable_address_behind_the_host_is_explained(said: str, code: str) -> None:
    error = forward_error("node-1:8265", "login", said)
    assert error.code == code
    assert "login" in error.message


def test_codes_cover_all_factories() -> None:
    factories = [
        value
        for name, value in vars(errors).items()
        if name.startswith(("ssh_", "remote_")) and inspect.isfunction(value)
    ]
    made = [factory(*_arguments(factory)) for factory in factories]
    assert all(isinstance(error, EaglerayError) for error in made)
    assert {error.code for error in made} == errors.CODES


def _arguments(factory: Callable[..., object]) -> list[str | float]:
    kinds = inspect.signature(factory).parameters.values()
    return [1.0 if kind.annotation == "float" else "x" for kind in kinds]
