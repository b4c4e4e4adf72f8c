"""Facts in /proc about a process of this machine."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SEARCH_S = 1.0
_PYTHON = re.compile(r"(?:^|/)(?:python|pypy)[\d.]*[a-z]?$")


class ProcessStat(NamedTuple):
    """A process: `state` is the kernel's letter (`T` stopped, `D` uninterruptible, `Z` ended), `started` in clock
    ticks.

    `wait_status` is set for a process that has ended, as of `os.wait`; 0 also where it belongs to another user.
    """

    pid: int
    name: str
    state: str
    parent: int
    started: int
    cpu_ticks: int
    wait_status: int = 0


class SharedArea(NamedTuple):
    """An area of memory that processes share, from `begin` to before `end`; `name` consists of its device and inode."""

    begin: int
    end: int
    name: str


class ThreadUse(NamedTuple):
    """`switches`: how often a thread has waited in the kernel.  `ran_us`: microseconds for which it has run."""

    switches: int
    ran_us: int


def stat(pid: int) -> ProcessStat | None:
    """The process `pid`; None if there is none (any more)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
    # The name is in brackets and may hold brackets itself.
    before, _, after = text.rpartition(")")
    fields = after.split()
    if len(fields) < 20:
        return None
    name = before.partition("(")[2]
    cpu_ticks = int(fields[11]) + int(fields[12])
    wait_status = int(fields[49]) if len(fields) > 49 else 0
    return ProcessStat(
        pid, name, fields[0], int(fields[1]), int(fields[19]), cpu_ticks, wait_status
    )


def may_be_traced(pid: int) -> bool:
    """Whether `pid` is a process of this user, or this one runs as root."""
    try:
        return os.geteuid() in (0, Path(f"/proc/{pid}").stat().st_uid)
    except OSError:
        return False


def is_alive(pid: int) -> bool:
    process = stat(pid)
    return process is not None and process.state not in "ZX"


def all_processes() -> dict[int, ProcessStat]:
    """Every process of this machine by its pid."""
    result = (stat(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return {process.pid: process for process in result if process is not None}


def descendants(roots: list[int], processes: Mapping[int, ProcessStat]) -> list[int]:
    """The processes in `roots` and below them, parents first."""
    children: dict[int, list[int]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process.pid)
    result, visited = [pid for pid in roots if pid in processes], set(roots)
    for pid in result:
        below = [child for child in sorted(children.get(pid, [])) if child not in visited]
        visited.update(below)
        result.extend(below)
    return result


def command_line(pid: int) -> list[str]:
    """The arguments of `pid`, or the title that it has set; [] if they can't be read."""
    return [part for part in _read(pid, "cmdline").split("\0") if part]


def is_python(pid: int) -> bool:
    """Whether `pid` runs Python, also one in a program of another name."""
    if _PYTHON.search("".join(command_line(pid)[:1])):
        return True
    path = program(pid)
    if not path:
        return False
    if _PYTHON.search(path.removesuffix(" (deleted)")):
        return True
    return any("/libpython" in line for line in maps(pid).splitlines())


def program(pid: int) -> str:
    """The file that `pid` runs; "" if it can't be read."""
    return link(f"/proc/{pid}/exe")


def environment(pid: int) -> dict[str, str]:
    """The environment with which `pid` was started, without what it has changed since; {} if it can't be read."""
    entries = (entry.partition("=") for entry in _read(pid, "environ").split("\0"))
    return {name: value for name, equals, value in entries if equals}


def cgroup(pid: int) -> str:
    """The lines with the control groups of `pid`; "" if they can't be read."""
    return _read(pid, "cgroup")


def maps(pid: int) -> str:
    """The files and devices that `pid` has in its memory; "" if that can't be read."""
    return _read(pid, "maps")


def shared_areas(pid: int) -> list[SharedArea]:
    areas = []
    for line in maps(pid).splitlines():
        fields = line.split(None, 5)
        if len(fields) > 4 and fields[1].endswith("s") and fields[4] != "0":
            begin, _, end = fields[0].partition("-")
            areas.append(SharedArea(int(begin, 16), int(end, 16), f"{fields[3]} {fields[4]}"))
    return areas


def system_call(pid: int, tid: int) -> list[str]:
    """The number of the system call of a thread and its arguments; a single field for a thread that runs."""
    return _read(pid, f"task/{tid}/syscall").split()


def connections(pid: int, table: str) -> list[list[str]]:
    """The fields of the rows of `tcp` or `tcp6` in the network of `pid` (proc_pid_net(5))."""
    return [line.split() for line in _read(pid, f"net/{table}").splitlines()[1:]]


def file_rows(pid: int, descriptor: int | str, name: str) -> list[list[str]]:
    """The fields of the rows with this name about an open file of `pid` (proc_pid_fdinfo(5)); [] if they can't be read."""
    rows = _read(pid, f"fdinfo/{descriptor}").splitlines()
    return [row.split() for row in rows if row.startswith(f"{name}:")]


def link(path: str) -> str:
    """The target of a link; "" if it can't be read."""
    try:
        return str(Path(path).readlink())
    except OSError:
        return ""


class OpenFiles:
    """The open files of all processes by their links, for at most a second; `is_whole`: all of them were read.

    A node may have tens of thousands of open files, of which each takes some microseconds.
    """

    def __init__(self) -> None:
        self.is_whole = True

    def __iter__(self) -> Iterator[tuple[int, str, str]]:
        """Returns process, descriptor and link of each."""
        end = time.monotonic() + SEARCH_S
        for pid in (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()):
            if time.monotonic() > end:
                self.is_whole = False
                return
            try:
                with os.scandir(f"/proc/{pid}/fd") as entries:
                    for entry in entries:
                        yield pid, entry.name, link(entry.path)
            except FileNotFoundError:
                continue
            except OSError:
                # A process of another user may have one.
                self.is_whole = False


def waits_in(pid: int, tid: int = 0) -> str:
    """The function of the kernel in which a thread of `pid`, by default the main one, waits; "" if it runs or that is hidden."""
    name = _read(pid, f"task/{tid or pid}/wchan")
    return "" if name == "0" else name


def writes_to_pipe(pid: int) -> bool:
    """Whether a thread of `pid` waits for room in a pipe.

    A stop by ptrace or a signal makes such a write return early (`pipe_write` of fs/pipe.c, Linux 6.8), and who calls
    `os.write` once takes that for a whole write.
    """
    try:
        threads = [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return False
    return any("pipe_write" in waits_in(pid, thread) for thread in threads)


def io_bytes(pid: int) -> int:
    """Returns the bytes that `pid` has read and written since its start, without `send` and `recv`; 0 if that can't be
    read.
    """
    return _fields(_read(pid, "io"), "rchar", "wchar")


def main_thread(pid: int) -> ThreadUse:
    """How much the main thread of `pid` has done since its start; zeros if that can't be read."""
    ran = _read(pid, f"task/{pid}/schedstat").split(" ")[0]
    return ThreadUse(
        _fields(_read(pid, f"task/{pid}/status"), "voluntary_ctxt_switches"),
        int(ran) // 1000 if ran.isdigit() else 0,
    )


def signals(pid: int, *fields: str) -> int:
    """The bits of the signals in these fields of the status of `pid`, such as `SigCgt`; 0 if they can't be read."""
    result = 0
    for line in _read(pid, "status").splitlines():
        name, _, mask = line.partition(":")
        if name in fields:
            result |= int(mask, 16)
    return result


def status(pid: int) -> dict[str, str]:
    """The fields of the status of `pid`; {} if it can't be read."""
    return thread_status(str(pid))


def thread_status(place: str) -> dict[str, str]:
    """The fields of the status of a thread or process at `place` below /proc; {} if it can't be read."""
    try:
        text = Path("/proc", place, "status").read_bytes().decode("utf-8", "replace")
    except OSError:
        return {}
    rows = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in rows}


def memory(pid: int, address: int, size: int) -> bytes:
    """The memory of `pid` at `address`, at most `size` bytes; nothing if it can't be read."""
    try:
        with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as file:  # kernel's file
            return os.pread(file.fileno(), size, address)
    except (OSError, OverflowError, ValueError):
        return b""


def _fields(text: str, *names: str) -> int:
    result = 0
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name in names and value.strip().isdigit():
            result += int(value)
    return result


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
