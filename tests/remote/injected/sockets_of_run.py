"""The processes of a run, or of a home, and their listening sockets, as the kernel shows them to root."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Protocol

INTRUDER = Path(__file__).parent / "programs" / "intruder.py"
NOBODY = 65534
_LISTENING = "0A"

# The processes that Ray itself starts; its ports are open by design.
_OF_RAY = (
    *(b"raylet", b"gcs_server", b"ray/dashboard", b"ray/_private", b"ray/autoscaler"),
    *(b"ray-dashboard", b"ray::DashboardAgent", b"ray::RuntimeEnvAgent"),
)

Address = str | tuple[str, int]


class HasPath(Protocol):
    """A run, or a home, by its folder."""

    @property
    def path(self) -> Path: ...


def processes(of: HasPath) -> list[int]:
    """Processes whose command or environment names the folder, without Ray's own services."""
    mark = os.fsencode(of.path)
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (folder / "cmdline").read_bytes()
            is_of_ray = any(name in command for name in _OF_RAY)
            if mark in command + (folder / "environ").read_bytes() and not is_of_ray:
                found.append(int(folder.name))
    return found


def listeners(of: HasPath) -> list[Address]:
    """Where others could connect to these processes: TCP ports, and Unix sockets with a name."""
    own = {inode for pid in processes(of) for inode in _inodes(pid)}
    found: list[Address] = []
    for table in ("tcp", "tcp6"):
        for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            columns = row.split()
            if columns[3] == _LISTENING and columns[9] in own:
                found.append((_host(columns[1]), int(columns[1].rpartition(":")[2], 16)))
    for row in Path("/proc/net/unix").read_text().splitlines()[1:]:
        columns = row.split(maxsplit=7)
        if len(columns) == 8 and columns[6] in own:
            found.append(columns[7])
    return found


def answers(of: HasPath, file: Path, pid: int, uid: int = NOBODY) -> list[str]:
    """Returns what every listener of the run answers to a user who wants `pid` to make the file."""
    assert os.getuid() == 0, "this test acts as another user, for which it needs root"
    words = [str(uid), json.dumps(listeners(of)), str(file), str(pid)]
    done = subprocess.run(
        [sys.executable, "-I", str(INTRUDER), *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found: list[str] = json.loads(done.stdout)
    return found


def _inodes(pid: int) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(str(link.readlink()).removeprefix("socket:[").removesuffix("]"))
    return found


def _host(shown: str) -> str:
    packed = b"".join(
        int(shown[at : at + 8], 16).to_bytes(4, sys.byteorder)
        for at in range(0, shown.index(":"), 8)
    )
    family = socket.AF_INET if len(packed) == 4 else socket.AF_INET6
    return socket.inet_ntop(family, packed)
