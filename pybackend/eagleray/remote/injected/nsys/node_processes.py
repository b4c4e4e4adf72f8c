"""The processes of this node, by /proc."""

from __future__ import annotations

import contextlib
import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class NodeProcess:
    """One process; a later process with the same pid is a different one."""

    def __init__(self, pid: int = 0) -> None:
        self.pid = pid
        self._began = began(pid)

    @property
    def is_alive(self) -> bool:
        return bool(self._began) and began(self.pid) == self._began


def is_alive(pid: int) -> bool:
    """Whether the process runs; False for a zombie."""
    return bool(began(pid))


def began(pid: int) -> str:
    """Returns the start time of a running process, in ticks of the node; "" if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            fields = stream.read().rpartition(b")")[2].split()
    except OSError:
        return ""
    is_over = len(fields) < 20 or fields[0] in (b"Z", b"X")
    return "" if is_over else fields[19].decode()


def command_of(pid: int) -> list[str]:
    """The argv of a process; empty if it has ended or belongs to another user."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            return [part.decode("utf-8", "replace") for part in stream.read().split(b"\0")[:-1]]
    except OSError:
        return []


def folder_of(pid: int) -> str:
    """The working directory of a process; "/" if unknown."""
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return "/"


def program_of(pid: int) -> str:
    """The executable of a process, "" if unknown."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def ancestors(pid: int) -> list[int]:
    """The parent of a process, the parent's parent, and so on."""
    pids: list[int] = []
    while pid > 1:
        try:
            with open(f"/proc/{pid}/stat", "rb") as stream:
                pid = int(stream.read().rpartition(b")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            break
        pids.append(pid)
    return pids


def all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def with_argument(argument: str) -> list[int]:
    """The running processes with exactly this argument."""
    return [pid for pid in all_pids() if argument in command_of(pid) and is_alive(pid)]


def kill(pids: Iterable[int]) -> None:
    """Ends those processes that still run with SIGKILL."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
