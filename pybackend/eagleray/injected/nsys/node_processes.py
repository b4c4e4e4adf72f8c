"""Processes of this node, as /proc tells of them."""

from __future__ import annotations

import contextlib
import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class NodeProcess:
    """One process for good: another one that gets its number later is not it."""

    def __init__(self, pid: int = 0) -> None:
        self.pid = pid
        self._began = began(pid)

    @property
    def is_alive(self) -> bool:
        return bool(self._began) and began(self.pid) == self._began


def is_alive(pid: int) -> bool:
    """Whether it runs; one that has ended and was never waited for does not."""
    return bool(began(pid))


def began(pid: int) -> str:
    """When a living process began, in ticks of the node; "" for one that has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            fields = stream.read().rpartition(b")")[2].split()
    except OSError:
        return ""
    is_over = len(fields) < 20 or fields[0] in (b"Z", b"X")
    return "" if is_over else fields[19].decode()


def command_of(pid: int) -> list[str]:
    """Its words; none if it has ended or is another user's."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            return [word.decode("utf-8", "replace") for word in stream.read().split(b"\0")[:-1]]
    except OSError:
        return []


def folder_of(pid: int) -> str:
    """Where it works; "/" if that is not known."""
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return "/"


def program_of(pid: int) -> str:
    """The file that it runs, "" if that is not known."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def ancestors(pid: int) -> list[int]:
    """Its parent, the parent of that, and so on."""
    found: list[int] = []
    while pid > 1:
        try:
            with open(f"/proc/{pid}/stat", "rb") as stream:
                pid = int(stream.read().rpartition(b")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            break
        found.append(pid)
    return found


def all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def having_word(word: str) -> list[int]:
    """The living processes whose command has exactly this word."""
    return [pid for pid in all_pids() if word in command_of(pid) and is_alive(pid)]


def kill(pids: Iterable[int]) -> None:
    """Ends them at once, those that are still there."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
