"""The command lines of the user's ssh: a few forced options, everything else is theirs to configure."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from eagleray.routes.ssh.errors import ssh_missing

# Options that a configuration may set for terminals and that must not apply to us; every version since 8.0
# knows them.  ssh uses the first value that it reads, so the command line wins.
_INSISTED = (
    "ControlPersist=no", "ForwardAgent=no", "ForwardX11=no", "PermitLocalCommand=no",
    "ClearAllForwardings=yes", "RemoteCommand=none", "RequestTTY=no", "EscapeChar=none",
    "Tunnel=no", "VisualHostKey=no", "LogLevel=INFO",
)  # fmt: skip

# The variables that lead ssh to the user's agent, Kerberos ticket or smart card.
USER_VARIABLES = (
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "KRB5CCNAME",
    "SSH_SK_PROVIDER",
    "GPG_AGENT_INFO",
)


@dataclass(frozen=True)
class SshOptions:
    """The user's settings: the program, and whether a running ControlMaster of theirs may be used.

    `environment` names their current agent and tickets: a process that outlives windows may have been started
    with others.
    """

    program: str = "ssh"
    reuse: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)


def program(options: SshOptions) -> str:
    """Returns the full path of the user's ssh; raises `ssh-missing`."""
    path = shutil.which(str(Path(options.program).expanduser()))
    if path is None:
        raise ssh_missing(options.program)
    return path


def master(
    ssh: str, destination: str, path: Path, connect_s: float, asks: bool, remote: Sequence[str]
) -> list[str]:
    """Returns the command of our own master with its control socket at `path`, whose session runs `remote`.

    `asks`: the askpass helper asks the user; otherwise ssh fails instead of asking.
    """
    options = [
        "ControlMaster=yes",
        f"ControlPath={path}",
        f"ConnectTimeout={max(1, round(connect_s))}",
        "ServerAliveInterval=5",
        "ServerAliveCountMax=3",
        f"BatchMode={'no' if asks else 'yes'}",
    ]
    return _whole(ssh, options, destination, remote)


def client(
    ssh: str, destination: str, path: Path, remote: Sequence[str], alone: bool = False
) -> list[str]:
    """Returns the command that runs `remote` over the master at `path`.

    When that refuses another session (MaxSessions, man sshd_config), ssh makes a connection of its own, unless `alone`.
    """
    options = ["ControlMaster=no", f"ControlPath={path}", "BatchMode=yes"]
    if alone:
        options.append("ProxyCommand=false")
    return _whole(ssh, options, destination, remote)


def _whole(ssh: str, options: Sequence[str], destination: str, remote: Sequence[str]) -> list[str]:
    arguments = [word for option in (*options, *_INSISTED) for word in ("-o", option)]
    return [ssh, "-T", *arguments, "--", destination, " ".join(quoted(word) for word in remote)]


def quoted(word: str) -> str:
    """Returns `word` quoted for every login shell.

    Inside single quotes fish reads a backslash as an escape and csh doesn't, so backslashes and quotes are
    put outside of them.
    """
    if "\0" in word:
        raise ValueError("a word of a command holds a zero byte")
    if not word:
        return "''"
    if re.fullmatch(r"[A-Za-z0-9_@%+=:,./-]+", word):
        return word
    parts = re.split(r"([\\'])", word)
    return "".join(f"\\{part}" if part in ("\\", "'") else f"'{part}'" for part in parts if part)
