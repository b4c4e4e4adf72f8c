"""The actions of this process in the namespaces of others: whether it may make any, and sockets that belong there."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

LIMIT_S = 60.0
_CLONE_NEWNET = 0x40000000
# Only root enters a network, and a change of user holds for all threads of this process.
_identity = threading.RLock()


def why_not() -> str:
    """Why there can be no site here; "" if there can."""
    if os.geteuid() != 0:
        return "the lab needs root, since it is made of namespaces"
    missing = [
        name
        for name in ("sshd", "munged", "slurmctld", "slurmd", "ip")
        if not shutil.which(name, path="/usr/sbin:/sbin")
    ]
    if missing:
        return f"{', '.join(missing)} not installed; `npm test -- lab` installs what is needed"
    probe = "mount -t tmpfs probe /mnt && mount -t proc proc /mnt && ip link add one type veth peer name two"
    command = [
        "unshare",
        *["--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "sh", "-c"],
        probe,
    ]
    tried = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    return f"namespaces are not allowed here: {tried.stderr.strip()}" if tried.returncode else ""


@contextlib.contextmanager
def in_network_of(pid: int) -> Iterator[None]:
    """Sockets that this thread makes within the `with` belong to the network of that process."""
    libc = ctypes.CDLL(None, use_errno=True)
    mine = f"/proc/self/task/{threading.get_native_id()}/ns/net"
    theirs = Path(f"/proc/{pid}/ns/net")
    with _identity, Path(mine).open() as back, theirs.open() as there:
        if libc.setns(there.fileno(), _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"the network of process {pid}")
        try:
            yield
        finally:
            if libc.setns(back.fileno(), _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "the network of this machine")


def connected_as(uid: int, path: Path) -> socket.socket:
    """A connection to a Unix socket whose listener sees that user at the other end."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The folder is opened as root and then gone through as its user, who sees nothing of another's /proc.
    folder = os.open(path.parent, os.O_PATH)
    try:
        with _identity, _being(uid):
            sock.connect(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
    return sock


@contextlib.contextmanager
def _being(uid: int) -> Iterator[None]:
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
