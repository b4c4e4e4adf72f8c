"""The conditions for an inspection of a process from inside; all of them are checked before anything is done there.

`readable` is asked before each conversation, `startable` before a thread is started.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import time
from pathlib import Path
from typing import NamedTuple

from ..sampling import proc, seccomp
from . import ptrace_thread
from .as_owner import Owner, owner_of
from .ptrace_thread import NotStarted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# A process that is sampled, for example from another window, is stopped for milliseconds.
_SAMPLED_S, _TICK_S = 1.0, 0.005
_LIMIT = re.compile(r"^(Max [a-z ]+?)\s{2,}(\d+|unlimited) ", re.MULTILINE)
# A thread has a stack, and memory of its own that the C library reserves (128 MB on 64 bits); what it uses is a tenth.
_ADDRESSES, _MEMORY = 192 * 2**20, 32 * 2**20
_THREADS, _FILES, _CPU_S = 8, 16, 2
_KIB = 1024
_CGROUPS = "/sys/fs/cgroup"
# Memory that the kernel drops before it kills for memory.
_RECLAIMABLE = ("inactive_file", "active_file", "slab_reclaimable")
_ELF_64, _SHADOW_STACK = b"\x7fELF\x02", "shstk"


class Process(NamedTuple):
    """A process that may be asked."""

    pid: int
    started: int
    owner: Owner


def readable(pid: int) -> Process:
    """The process `pid`.  Raises NotStarted, for the first of these that isn't true:

    1. It runs: it hasn't ended, and no signal and no debugger has stopped it.
    2. It belongs to this user, or this user is root.
    3. No filter of system calls may kill it for what our thread does.
    """
    stat = _running(pid)
    try:
        owner = owner_of(pid)
    except ProcessLookupError as error:
        raise NotStarted("ended", f"Process {pid} has ended") from error
    if owner.uid != os.geteuid() and os.geteuid() != 0:
        raise NotStarted("permission", f"Process {pid} belongs to another user")
    if seccomp.may_kill(pid):
        raise ptrace_thread.sandboxed(pid)
    return Process(pid, stat.started, owner)


def startable(process: Process) -> dict[str, int]:
    """The addresses of the functions that a new thread needs.  Raises NotStarted, for the first of these that isn't
    true:

    1. Process and machine are x86-64, and functions return by their stack alone.
    2. Nothing traces the process, and we may.
    3. It is Python, and exports what is called: not one that is built statically, or against another C library.
    4. The thread fits: into its limits of memory, threads, files and CPU time, and into its container's limits.
    """
    pid = process.pid
    status = proc.status(pid)
    _check_processor(pid, status)
    _check_tracing(pid, status)
    calls = ptrace_thread.functions(pid)
    _check_limits(process, status)
    return calls


def _running(pid: int) -> proc.ProcessStat:
    stat = proc.stat(pid)
    until = time.monotonic() + _SAMPLED_S
    while stat is not None and stat.state == "t" and time.monotonic() < until:
        time.sleep(_TICK_S)
        stat = proc.stat(pid)
    if stat is None or stat.state in "ZX":
        raise NotStarted("ended", f"Process {pid} has ended")
    if stat.state in "Tt":
        raise NotStarted("stopped", f"Process {pid} is stopped, by a signal or by a debugger")
    return stat


def _check_processor(pid: int, status: Mapping[str, str]) -> None:
    if platform.machine() != "x86_64":
        raise NotStarted("processor", f"This works on x86-64 only, not on {platform.machine()}")
    with contextlib.suppress(OSError), Path(f"/proc/{pid}/exe").open("rb") as program:
        if program.read(len(_ELF_64)) != _ELF_64:
            raise NotStarted("processor", "This works in programs of 64 bits only")
    if _SHADOW_STACK in status.get("x86_Thread_features", ""):
        raise NotStarted("processor", "The process has a shadow stack, which forbids this")


def _check_tracing(pid: int, status: Mapping[str, str]) -> None:
    until = time.monotonic() + _SAMPLED_S
    while (tracer := status.get("TracerPid", "0")) != "0" and time.monotonic() < until:
        time.sleep(_TICK_S)
        status = proc.status(pid)
    if tracer != "0":
        raise NotStarted("stopped", f"A debugger or tracer (process {tracer}) is attached to it")
    try:
        # The kernel asks for the same rights as for ptrace (man 5 proc).
        os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR | os.O_CLOEXEC))
    except PermissionError as error:
        raise NotStarted("permission", f"ptrace of process {pid} isn't allowed") from error
    except OSError as error:
        raise NotStarted("ended", f"Process {pid} has ended") from error


def _check_limits(process: Process, status: Mapping[str, str]) -> None:
    """Checks the limits of the process as they are now."""
    limits = _limits(process.pid)
    stack = limits.get("Max stack size", 2 * 2**20)
    used = {
        "Max address space": (_bytes(status, "VmSize"), _ADDRESSES + stack),
        "Max data size": (_bytes(status, "VmData"), _MEMORY + stack),
        "Max open files": (_open_files(process.pid), _FILES),
        "Max cpu time": (_cpu_s(process.pid), _CPU_S),
    }
    for name, (now, room) in used.items():
        if now + room > limits.get(name, now + room):
            raise _full(name.removeprefix("Max "))
    threads = limits.get("Max processes")
    # Root's have no limit.
    uid = process.owner.uid
    if uid and threads is not None and _threads_of(uid, threads) > threads:
        raise _full("processes")
    for folder in _cgroup_folders(process.pid):
        free = _number(folder / "memory.max") - _unreclaimable(folder)
        if free < _MEMORY:
            raise _full("memory of its container")
        if _number(folder / "pids.current", 0) + _THREADS > _number(folder / "pids.max"):
            raise _full("threads of its container")


def _full(limit: str) -> NotStarted:
    return NotStarted("limits", f"The process is too close to its limit of {limit}")


def _limits(pid: int) -> dict[str, int]:
    """The soft limits that there are."""
    try:
        text = Path(f"/proc/{pid}/limits").read_text()
    except OSError:
        return {}
    return {name: int(value) for name, value in _LIMIT.findall(text) if value != "unlimited"}


def _bytes(status: Mapping[str, str], name: str) -> int:
    number = status.get(name, "").partition(" ")[0]
    return int(number) * _KIB if number.isdigit() else 0


def _open_files(pid: int) -> int:
    try:
        return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return 0


def _cpu_s(pid: int) -> int:
    stat = proc.stat(pid)
    return stat.cpu_ticks // os.sysconf("SC_CLK_TCK") if stat else 0


def _threads_of(uid: int, limit: int) -> int:
    """How many threads a user has, and would have with ours; the threads of all users where these are few enough."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        everybody = int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
        if everybody + _THREADS <= limit:
            return everybody
    statuses = map(proc.status, proc.all_processes())
    own = (status for status in statuses if status.get("Uid", "").split()[:1] == [str(uid)])
    return _THREADS + sum(int(status.get("Threads", "0")) for status in own)


def _cgroup_folders(pid: int) -> list[Path]:
    """The control groups (version 2) of the process, innermost first, as far as they are visible."""
    for line in proc.cgroup(pid).splitlines():
        if line.startswith("0::/") and ".." not in line:
            folder = Path(_CGROUPS, line.removeprefix("0::/"))
            root = Path(_CGROUPS)
            return [each for each in (folder, *folder.parents) if each.is_relative_to(root)]
    return []


def _unreclaimable(folder: Path) -> int:
    """The memory of a control group without what the kernel can drop."""
    used = _number(folder / "memory.current", 0)
    with contextlib.suppress(OSError, ValueError):
        text = (folder / "memory.stat").read_text()  # kernel's file
        rows = (line.split() for line in text.splitlines())
        used -= sum(int(row[1]) for row in rows if row[0] in _RECLAIMABLE)
    return used


def _number(file: Path, unlimited: int = 2**63) -> int:
    """The number in a file of a control group; `unlimited` for `max`, or without the file."""
    try:
        return int(file.read_text())  # kernel's file
    except (OSError, ValueError):
        return unlimited
