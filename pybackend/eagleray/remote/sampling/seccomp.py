"""Filters of system calls (seccomp) that may kill a process for a call that we cause in it.

A sandbox below a rollout worker often has one.  Code that we run in the process makes calls that the program never makes.
Even a stop by ptrace may: the kernel continues an interrupted wait by `restart_syscall` (man restart_syscall).  What a
filter does is shown only to CAP_SYS_ADMIN and only for a stopped thread (PTRACE_SECCOMP_GET_FILTER, man ptrace), so it
is told by where the filters come from.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

# The second line came with Linux 5.9.
_LINES = re.compile(rb"\nSeccomp:\s*(\d)\n(?:Seccomp_filters:\s*(\d+)\n)?")
_NAMESPACES = re.compile(rb"\nNSpid:(.*)\n")
_NONE, _STRICT = 0, 1


class _Filters(NamedTuple):
    """`mode` is the kernel's: 0 for none, 1 for strict, 2 for filters; `number` is -1 where it isn't known."""

    mode: int = _NONE
    number: int = -1


def may_kill(pid: int) -> bool:
    """Whether a system call that we cause in a thread of `pid` may end it.

    1. A thread without filters takes all calls.
    2. One in strict mode is killed by nearly all.
    3. The filters of a whole container, as Docker's, kill for none of our calls: Eagleray's own process has them
       too, and makes the same calls.  They are the filters that process 1 of our namespace has: the process is in that
       namespace and has as many of them, and we have no fewer.
    4. More filters belong to a sandbox.  So may another container's, and filters that can't be counted.
    """
    filtered = [each for each in _of_threads(pid) if each.mode != _NONE]
    if not filtered:
        return False
    common, own = _filters(_status("1")), _filters(_status("thread-self"))
    return _namespaces(str(pid)) != _namespaces("self") or any(
        each.mode == _STRICT or not 0 <= each.number == common.number <= own.number
        for each in filtered
    )


def _of_threads(pid: int) -> list[_Filters]:
    """Returns the filters of each thread of `pid`, which may differ."""
    try:
        threads = [path.name for path in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []
    return [_filters(_status(f"{pid}/task/{thread}")) for thread in threads]


def _filters(status: bytes) -> _Filters:
    # A kernel without seccomp has no such line.
    match = _LINES.search(status)
    return _Filters(int(match[1]), int(match[2] or -1)) if match else _Filters()


def _namespaces(name: str) -> int:
    """In how many namespaces of processes, one within the other and seen from ours, the process is."""
    match = _NAMESPACES.search(_status(name))
    return len(match[1].split()) if match else 0


def _status(name: str) -> bytes:
    try:
        return Path("/proc", name, "status").read_bytes()
    except OSError:
        return b""
