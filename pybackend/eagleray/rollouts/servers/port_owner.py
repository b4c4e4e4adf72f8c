"""The owner of a TCP port of this machine, for a message."""

from __future__ import annotations

import os
import pwd

import psutil

from eagleray.common.l10n import t
from eagleray.tools import processes


def is_free(port: int) -> bool:
    """Whether nothing listens at that port of this machine."""
    return all(listener.port != port for listener in processes.listeners())


def owner_of_port(port: int) -> str:
    """Another user's name, or the program of this user with its process id; "" where nothing listens."""
    uids = [listener.uid for listener in processes.listeners() if listener.port == port]
    if not uids:
        return ""
    if os.getuid() not in uids:
        return t("user {name}", name=_user(uids[0]))
    for pid, ports in processes.listeners_of(processes.own_commands()).items():
        if any(listener.port == port for listener in ports):
            return t("{program} (pid {pid})", program=_program(pid), pid=pid)
    return t("user {name}", name=_user(uids[0]))


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _program(pid: int) -> str:
    try:
        return psutil.Process(pid).name()
    except psutil.Error:
        return "?"
