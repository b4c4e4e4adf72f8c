"""What the words of ssh on its stderr mean, as a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.redact import redact_text
from eagleray.routes.ssh import errors

_KEPT_LINES = 40
_LONGEST_LINE = 500

Make = Callable[[str, str], EaglerayError]


@dataclass(frozen=True)
class _Row:
    """Words of ssh; `make(host, line)` is what they mean.  `final`: trying again by ourselves changes nothing."""

    words: re.Pattern[str]
    make: Make
    final: bool = False


def _row(words: str, make: Make, final: bool = False) -> _Row:
    return _Row(re.compile(words, re.IGNORECASE), make, final)


def _reason(line: str) -> str:
    """`ssh: connect to host x port 22: No route to host` -> `No route to host`."""
    return line.rsplit(": ", 1)[-1].rstrip(" .")


_CHANGED_KEY = re.compile("REMOTE HOST IDENTIFICATION HAS CHANGED", re.IGNORECASE)

# The first row with a line that fits decides, so that what explains more stands before what follows from it.
_CONNECTING = (
    _Row(_CHANGED_KEY, errors.ssh_host_key_changed, True),
    _row("Host key for .* has changed", errors.ssh_host_key_changed, True),
    _row("revoked (host )?key|key .* revoked", errors.ssh_host_key_changed, True),
    _row("Host key verification failed", errors.ssh_host_key_not_accepted, True),
    _row(
        "Bad configuration option|bad configuration options|Bad owner or permissions|Unsupported option|"
        "keyword .* extra arguments|Can't open user config file|missing argument\\.?$",
        lambda host, line: errors.ssh_bad_configuration(line),
        True,
    ),
    _row("Could not resolve hostname|Name or service not known", errors.ssh_host_unknown),
    _row(
        "Too many authentication failures|Permission denied \\(|Permission denied, please try again",
        errors.ssh_key_refused,
        True,
    ),
    _row(
        "too long for Unix domain socket|ControlPath too long",
        lambda host, line: errors.ssh_path_too_long(line),
        True,
    ),
    _row("ControlSocket .* already exists", errors.ssh_control_socket_taken),
    _row(
        "kex_exchange_identification: (Connection closed|read: Connection reset)|"
        "ssh_exchange_identification: |Exceeded MaxStartups|Not allowed at this time",
        errors.ssh_too_many_connections,
    ),
    _row(
        "Session open refused by peer|open failed: .*(session|resource shortage)",
        errors.ssh_too_many_sessions,
    ),
    _row(
        "connect to (host|address) .*: |No route to host|Network is unreachable|Connection timed out|"
        "Operation timed out|Connection refused|Host is down|timed out during banner exchange|"
        "Timeout, server .* not responding|Broken pipe|client_loop: send disconnect|stdio forwarding failed",
        lambda host, line: errors.ssh_unreachable(host, _reason(line)),
    ),
    # All that ssh says of it since 9.8.  Of a connection that another ssh carries it knows no address.
    _row(r"^Connection closed by (?!UNKNOWN )\S+ port [0-9]+$", errors.ssh_too_many_connections),
    _row(
        "Connection (reset|closed) by",
        lambda host, line: errors.ssh_unreachable(host, _reason(line)),
    ),
    _row("This account is currently not available|nologin", errors.ssh_no_shell, True),
)

_NOISE = re.compile(
    r"^(Warning: Permanently added|\*\* |Authenticated to |Transferred: |Killed by signal)"
)
_OPEN_FAILED = re.compile(r"^channel \d+: open failed: (.*)$")


class Words:
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
            self._refusals = [*self._refusals[-_KEPT_LINES:], refusal[1]]
            return
        self._lines = [*self._lines[-_KEPT_LINES:], clean]

    def next_refusal(self) -> str:
        """Why a stream was refused, each reason once and in the order in which ssh gave them."""
        return self._refusals.pop(0) if self._refusals else ""

    def forget_refusals(self) -> None:
        self._refusals = []

    @property
    def last(self) -> str:
        """The line that says most of the end: one of the table, otherwise the last that is not noise."""
        row_line = _decided(self._lines)
        if row_line is not None:
            return row_line[1]
        spoken = [line for line in self._lines if not _NOISE.match(line)]
        return spoken[-1] if spoken else ""

    def why(self, host: str) -> tuple[EaglerayError, bool]:
        """Why the process ended, and whether trying again by ourselves is pointless."""
        row_line = _decided(self._lines)
        if row_line is None:
            return errors.ssh_failed(host, self.last), False
        row, line = row_line
        return row.make(host, line), row.final

    @property
    def tell_of_changed_key(self) -> bool:
        """Also of an ssh that goes on, since a configuration says that keys are not to be checked."""
        return any(_CHANGED_KEY.search(line) for line in self._lines)

    @property
    def offers_questions(self) -> bool:
        """Whether the server would have let a person in who types something."""
        return any(
            re.search(r"Permission denied \(.*(password|keyboard-interactive)", line)
            for line in self._lines
        )


def _decided(lines: Sequence[str]) -> tuple[_Row, str] | None:
    for row in _CONNECTING:
        for line in reversed(lines):
            if row.words.search(line):
                return row, line
    return None


def far_error(address: str, host: str, said: str) -> EaglerayError:
    """Why `address` was not reached through `host`, by what sshd gave as the reason."""
    if re.search("administratively prohibited|forwarding is (disabled|not permitted)", said, re.I):
        return errors.ssh_forwarding_forbidden(host, said)
    if re.search("Connection refused", said, re.I):
        return errors.far_port_refused(address, host)
    if re.search("Name or service not known|Temporary failure in name|nodename nor", said, re.I):
        return errors.far_host_unknown(address, host)
    if re.search("No route|unreachable|timed out|Host is down", said, re.I):
        return errors.far_host_unreachable(address, host, _reason(said))
    return errors.far_refused(address, host, said)
