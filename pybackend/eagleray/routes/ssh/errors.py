"""Errors of ssh, and the table that maps its stderr to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eagleray.common.errors import EaglerayError, error, printable
from eagleray.common.l10n import later, t, translated
from eagleray.common.redact import redact_text

# Every error of this module: ssh fails, or it does not reach a host behind its destination.
CODES = frozenset({
    "ssh-missing", "ssh-host-unknown", "ssh-unreachable", "ssh-key-refused", "ssh-answer-refused",
    "ssh-asks", "ssh-cancelled", "ssh-host-key-not-accepted", "ssh-host-key-changed",
    "ssh-too-many-connections", "ssh-too-many-sessions", "ssh-forwarding-forbidden",
    "ssh-path-too-long", "ssh-control-socket-taken", "ssh-bad-configuration", "ssh-no-shell",
    "ssh-failed", "ssh-slow", "ssh-lost", "far-port-refused", "far-host-unknown",
    "far-host-unreachable", "far-slow", "far-refused",
})  # fmt: skip


# fmt: off
@error("ssh-missing", "“{program}” was not found on this machine.",
       "Install OpenSSH's client, or set `eagleray.ssh.path` to it.")
def ssh_missing(program: str) -> EaglerayError: ...
@error("ssh-host-unknown", "ssh can't find the host “{host}”.", "Check the name, your ssh config, and the VPN.")
def ssh_host_unknown(host: str, output: str = "") -> EaglerayError: ...
@error("ssh-key-refused", "{host} rejected your SSH keys (publickey).", "Check that `ssh {host}` works in a terminal.")
def ssh_key_refused(host: str, output: str = "") -> EaglerayError: ...
@error("ssh-answer-refused", "{host} rejected the password or code.", "Reconnect to try again.")
def ssh_answer_refused(host: str, output: str = "") -> EaglerayError: ...
@error("ssh-asks", "{host} asks for {what}.", "Reconnect to answer.")
def ssh_asks(host: str, what: str = "something") -> EaglerayError: ...
@error("ssh-cancelled", "You didn't answer the SSH prompt for {host}.", "Reconnect to answer.")
def ssh_cancelled(host: str) -> EaglerayError: ...
@error("ssh-host-key-not-accepted", "The host key of {host} is unknown and was not accepted.",
       "Reconnect and compare the fingerprint, or run `ssh` once in a terminal.")
def ssh_host_key_not_accepted(host: str, output: str = "") -> EaglerayError: ...
@error("ssh-host-key-changed", "The host key of {host} has changed, perhaps by an attack.",
       "Ask its administrators. If it is right, remove the old key with `ssh-keygen -R`.")
def ssh_host_key_changed(host: str, output: str = "") -> EaglerayError: ...
@error("ssh-too-many-connections", "{host} closed the connection. It may have too many connections (MaxStartups).", retries=True)
def ssh_too_many_connections(host: str, output: str = "") -> EaglerayError: ...
@error("ssh-too-many-sessions", "{host} allows no more sessions on this connection (MaxSessions).",
       "Close other sessions that share it, or ask its administrators.")
def ssh_too_many_sessions(host: str, output: str = "") -> EaglerayError: ...
@error("ssh-forwarding-forbidden", "{host} forbids forwarding (AllowTcpForwarding or PermitOpen in its sshd_config).",
       "Ask its administrators, or connect by the SLURM job.")
def ssh_forwarding_forbidden(host: str, output: str = "") -> EaglerayError: ...
@error("ssh-path-too-long", "The path of ssh's control sockets is too long.",
       "Set EAGLERAY_HOME to a folder with a short path.")
def ssh_path_too_long(output: str) -> EaglerayError: ...
@error("ssh-control-socket-taken", "Another process has the control socket of {host}.", retries=True)
def ssh_control_socket_taken(host: str, output: str = "") -> EaglerayError: ...
@error("ssh-bad-configuration", "ssh can't use your ssh config.", "Correct the line that the SSH log names.")
def ssh_bad_configuration(output: str) -> EaglerayError: ...
@error("ssh-no-shell", "{host} closed the session immediately.", "Your account needs a session that can run `cat`.")
def ssh_no_shell(host: str, output: str = "") -> EaglerayError: ...
@error("ssh-failed", "Can't connect to {host} by ssh.", "Check that `ssh {host}` works in a terminal.")
def ssh_failed(host: str, output: str = "") -> EaglerayError: ...
@error("ssh-slow", "Connection to {host} timed out after {seconds} s.", retries=True)
def ssh_slow(host: str, seconds: float) -> EaglerayError: ...
@error("ssh-lost", "Lost connection to {host}.", retries=True)
def ssh_lost(host: str) -> EaglerayError: ...
@error("far-port-refused", "{host} can't connect to {address}: nothing listens.",
       "It may have exited, or listen on another address.")
def remote_port_refused(address: str, host: str) -> EaglerayError: ...
@error("far-host-unknown", "{host} can't find the host of {address}.", "Check the name on that machine.")
def remote_host_unknown(address: str, host: str) -> EaglerayError: ...
@error("far-host-unreachable", "{host} can't connect to {address}.",
       "The node may be down, or a firewall blocks the connection.")
def remote_host_unreachable(address: str, host: str, output: str = "") -> EaglerayError: ...
@error("far-slow", "{host} did not connect to {address} within {seconds} s.",
       "The node may be down, or a firewall blocks the connection.")
def remote_slow(address: str, host: str, seconds: float) -> EaglerayError: ...
@error("far-refused", "The ssh server of {host} refused to connect to {address}.",
       "The log of the ssh server has the reason.")
def remote_refused(address: str, host: str, output: str = "") -> EaglerayError: ...
# fmt: on


# By what ssh prints.
_UNREACHABLE = (
    ("Connection refused", later("{host} refused the ssh connection."), later("Check that its ssh server is running.")),
    ("timed out|not responding", later("{host} did not answer the ssh connection."), ""),
    ("No route to host|unreachable|Host is down", later("This machine has no network route to {host}."), ""),
    ("reset|Broken pipe|disconnect|closed", later("{host} closed the ssh connection."), ""),
)  # fmt: skip


def ssh_unreachable(host: str, output: str = "") -> EaglerayError:
    message, step = next(
        (
            (message, step)
            for pattern, message, step in _UNREACHABLE
            if re.search(pattern, output, re.IGNORECASE)
        ),
        (later("Can't connect to {host} by ssh."), ""),
    )
    return EaglerayError(
        "ssh-unreachable",
        translated(message, host=printable(host)),
        translated(step) if step else t("Check the network or the VPN."),
        retries=True,
        output=output,
    )


# --- hosts and ports behind the destination -------------------------------------------------


_MOST_LINES = 40
_LONGEST_LINE = 500

Make = Callable[[str, str], EaglerayError]


@dataclass(frozen=True)
class _Row:
    """A pattern of stderr, and the error that it means.  `final`: automatic attempts fail in the same way."""

    pattern: re.Pattern[str]
    make: Make
    final: bool = False


def _row(pattern: str, make: Make, final: bool = False) -> _Row:
    return _Row(re.compile(pattern, re.IGNORECASE), make, final)


_CHANGED_KEY = re.compile("REMOTE HOST IDENTIFICATION HAS CHANGED", re.IGNORECASE)

# The first row with a matching line decides, so causes are listed before their consequences.
_CONNECTING = (
    _Row(_CHANGED_KEY, ssh_host_key_changed, True),
    _row("Host key for .* has changed", ssh_host_key_changed, True),
    _row("revoked (host )?key|key .* revoked", ssh_host_key_changed, True),
    _row("Host key verification failed", ssh_host_key_not_accepted, True),
    _row(
        "Bad configuration option|bad configuration options|Bad owner or permissions|Unsupported option|"
        "keyword .* extra arguments|Can't open user config file|missing argument\\.?$",
        lambda host, line: ssh_bad_configuration(line),
        True,
    ),
    _row("Could not resolve hostname|Name or service not known", ssh_host_unknown),
    _row(
        "Too many authentication failures|Permission denied \\(|Permission denied, please try again",
        ssh_key_refused,
        True,
    ),
    _row(
        "too long for Unix domain socket|ControlPath too long",
        lambda host, line: ssh_path_too_long(line),
        True,
    ),
    _row("ControlSocket .* already exists", ssh_control_socket_taken),
    _row(
        "kex_exchange_identification: (Connection closed|read: Connection reset)|"
        "ssh_exchange_identification: |Exceeded MaxStartups|Not allowed at this time",
        ssh_too_many_connections,
    ),
    _row(
        "Session open refused by peer|open failed: .*(session|resource shortage)",
        ssh_too_many_sessions,
    ),
    _row(
        "connect to (host|address) .*: |No route to host|Network is unreachable|Connection timed out|"
        "Operation timed out|Connection refused|Host is down|timed out during banner exchange|"
        "Timeout, server .* not responding|Broken pipe|client_loop: send disconnect|stdio forwarding failed",
        ssh_unreachable,
    ),
    # The only message of ssh for this since 9.8.  Without an address it is about a connection over another ssh.
    _row(r"^Connection closed by (?!UNKNOWN )\S+ port [0-9]+$", ssh_too_many_connections),
    _row(
        "Connection (reset|closed) by",
        ssh_unreachable,
    ),
    _row("This account is currently not available|nologin", ssh_no_shell, True),
)

_NOISE = re.compile(
    r"^(Warning: Permanently added|\*\* |Authenticated to |Transferred: |Killed by signal)"
)
_OPEN_FAILED = re.compile(r"^channel \d+: open failed: (.*)$")


class StderrLines:
    """The last lines that one ssh process wrote, without secrets and control characters."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._refusals: list[str] = []

    def take(self, line: str) -> None:
        clean = redact_text(printable(line[: 2 * _LONGEST_LINE].strip(), _LONGEST_LINE))
        if not clean:
            return
        refusal = _OPEN_FAILED.match(clean)
        if refusal:
            self._refusals = [*self._refusals[-_MOST_LINES:], refusal[1]]
            return
        self._lines = [*self._lines[-_MOST_LINES:], clean]

    def next_refusal(self) -> str:
        """Returns why a stream was refused, each reason once and in ssh's order."""
        return self._refusals.pop(0) if self._refusals else ""

    def forget_refusals(self) -> None:
        self._refusals = []

    @property
    def last(self) -> str:
        """The line that explains the end best: one that the table knows, otherwise the last that isn't noise."""
        row_line = _decided(self._lines)
        if row_line is not None:
            return row_line[1]
        return self._spoken[-1] if self._spoken else ""

    @property
    def text(self) -> str:
        """All lines that aren't noise."""
        return "\n".join(self._spoken)

    @property
    def _spoken(self) -> list[str]:
        return [line for line in self._lines if not _NOISE.match(line)]

    def explain(self, host: str) -> tuple[EaglerayError, bool]:
        """Returns why the process ended, and whether automatic attempts would fail in the same way."""
        row_line = _decided(self._lines)
        if row_line is None:
            return ssh_failed(host, self.text), False
        row, line = row_line
        error = row.make(host, line)
        # The line that decides may not have all that the user needs, such as the line of the ssh config.
        error.output = self.text
        return error, row.final

    @property
    def has_changed_key(self) -> bool:
        """Whether a host key has changed; ssh keeps running if its configuration doesn't check keys."""
        return any(_CHANGED_KEY.search(line) for line in self._lines)

    @property
    def offers_questions(self) -> bool:
        """Whether the server also accepts a typed answer, such as a password."""
        return any(
            re.search(r"Permission denied \(.*(password|keyboard-interactive)", line)
            for line in self._lines
        )


def _decided(lines: Sequence[str]) -> tuple[_Row, str] | None:
    for row in _CONNECTING:
        for line in reversed(lines):
            if row.pattern.search(line):
                return row, line
    return None


def forward_error(address: str, host: str, reason: str) -> EaglerayError:
    """Returns why `host` didn't reach `address`, by the reason that sshd gave."""
    if re.search(
        "administratively prohibited|forwarding is (disabled|not permitted)", reason, re.I
    ):
        return ssh_forwarding_forbidden(host, reason)
    if re.search("Connection refused", reason, re.I):
        return remote_port_refused(address, host)
    if re.search("Name or service not known|Temporary failure in name|nodename nor", reason, re.I):
        return remote_host_unknown(address, host)
    if re.search("No route|unreachable|timed out|Host is down", reason, re.I):
        return remote_host_unreachable(address, host, reason)
    return remote_refused(address, host, reason)
