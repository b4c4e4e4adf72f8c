"""The command lines of the person's ssh: what we insist on, all else is theirs to configure."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from eagleray.routes.ssh.errors import ssh_missing

# What a configuration could switch on for a terminal and must not be on for us; every version since 8.0
# knows these.  The first value that ssh sees counts, so the command line wins.
_INSISTED = (
    "ControlPersist=no",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "ClearAllForwardings=yes",
    "RemoteCommand=none",
    "RequestTTY=no",
    "EscapeChar=none",
    "Tunnel=no",
    "VisualHostKey=no",
    "LogLevel=INFO",
)

# What leads ssh to an agent, a Kerberos ticket or a smart card of the person.
OF_PERSON = ("SSH_AUTH_SOCK", "SSH_AGENT_PID", "KRB5CCNAME", "SSH_SK_PROVIDER", "GPG_AGENT_INFO")


@dataclass(frozen=True)
class SshOptions:
    """What the person has set: the program, and whether a live ControlMaster of theirs may be used.

    `environment` names their agent and tickets as they are now: a process that outlives windows may have
    been started with others.
    """

    program: str = "ssh"
    reuse: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)


def program(options: SshOptions) -> str:
    """The whole path of the person's ssh; raises `ssh-missing`."""
    found = shutil.which(str(Path(options.program).expanduser()))
    if found is None:
        raise ssh_missing(options.program)
    return found


def master(
    ssh: str, destination: str, path: Path, connect_s: float, asks: bool, remote: Sequence[str]
) -> list[str]:
    """A master of our own with its control socket at `path`, whose own session runs `remote`.

    `asks`: questions are put to the person by the askpass helper; otherwise who would have to ask fails.
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
    """`remote` over the master at `path`.

    When that refuses another session (MaxSessions), ssh makes a connection of its own, unless `alone`.
    """
    options = ["ControlMaster=no", f"ControlPath={path}", "BatchMode=yes"]
    if alone:
        options.append("ProxyCommand=false")
    return _whole(ssh, options, destination, remote)


def _whole(ssh: str, options: Sequence[str], destination: str, remote: Sequence[str]) -> list[str]:
    words = [word for option in (*options, *_INSISTED) for word in ("-o", option)]
    return [ssh, "-T", *words, "--", destination, " ".join(quoted(word) for word in remote)]


def quoted(word: str) -> str:
    """`word` as every login shell reads it.

    Inside single quotes fish takes a backslash for an escape and csh knows none, so that a backslash
    and a quote stand outside of them.
    """
    if "\0" in word:
        raise ValueError("a word of a command holds a zero byte")
    if not word:
        return "''"
    if re.fullmatch(r"[A-Za-z0-9_@%+=:,./-]+", word):
        return word
    parts = re.split(r"([\\'])", word)
    return "".join(f"\\{part}" if part in ("\\", "'") else f"'{part}'" for part in parts if part)
