"""The system calls in which threads wait, with the processes or files that their arguments name.

/proc tells the call with its arguments (proc_pid_syscall(5)): the child of a `wait4`, the pipe or the socket of a
`read`.  Nothing stops for it; a call that ends meanwhile tells nothing.  It takes the right to trace the process, as
reading its stack does.
"""

from __future__ import annotations

import os
import platform
import struct
from typing import NamedTuple

from . import proc
from .wait_records import (
    CHILD,
    CLIENT,
    CONNECT,
    FILE_LOCK,
    INPUT,
    OPEN,
    OWN,
    READ,
    SHARED_LOCK,
    WRITE,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .wait_records import ThreadPlace

# The numbers of system calls by processor, and how each waits; `poll` and `ppoll` wait for several files.
_POLL, EPOLL, _LOCK, _FUTEX, SLEEP = "poll", "epoll", "lock", "futex", "sleep"
_CALLS = {
    "x86_64": {
        CHILD: (61, 247),
        READ: (0, 17, 19, 45, 47),
        WRITE: (1, 18, 20, 44, 46),
        CONNECT: (42,),
        CLIENT: (43, 288),
        OPEN: (2, 257),
        _POLL: (7, 271),
        _LOCK: (72, 73),
        _FUTEX: (202,),
        EPOLL: (232, 281, 441),
        SLEEP: (23, 35, 230, 270),
    },
    "aarch64": {
        CHILD: (260, 95),
        READ: (63, 65, 67, 207, 212),
        WRITE: (64, 66, 68, 206, 211),
        CONNECT: (203,),
        CLIENT: (202, 242),
        OPEN: (56,),
        _POLL: (73,),
        _LOCK: (25, 32),
        _FUTEX: (98,),
        EPOLL: (22, 441),
        SLEEP: (72, 101, 115),
    },
}
_KIND_OF = {
    number: kind
    for kind, numbers in _CALLS.get(platform.machine(), {}).items()
    for number in numbers
}
_WAITID = (247, 95)
_OPENAT = (257, 56)
_PPOLL = (271, 73)
_SELECT = (23, 270, 72)
_TERMINALS = ("/dev/pts/", "/dev/tty", "/dev/console")
# A stop by ptrace, as for reading a stack, makes this of `poll`, with the same arguments (restart_syscall(2), Linux 6.18).
_RESTARTED, _POLL_X86_64 = 219, 7
_P_PID = 1
_ANY_CHILD = (0, 0xFFFFFFFF, 2**64 - 1)
_MOST_POLLED = 16
# FUTEX_PRIVATE_FLAG: memory of one process only.
_PRIVATE = 128
_POLLIN, _POLLOUT = 1, 4
OF_PROCESS = "pid:"


class WaitCall(NamedTuple):
    """A system call of a thread: the pid or files for which it waits, the latter as /proc names them.

    `is_timed`: it ends after some time.
    """

    kind: str
    pid: int = 0
    files: tuple[str, ...] = ()
    is_timed: bool = False


def call_of(place: ThreadPlace) -> WaitCall | None:
    """The call of a thread; None if it runs, or waits for something else."""
    if place.polled and place.polled.path:
        # Its stack tells: it may be between two sleeps.
        return WaitCall(SLEEP, is_timed=True)
    fields = proc.system_call(place.pid, place.tid)
    if len(fields) < 7 or not fields[0].isdigit():
        return None
    number, arguments = int(fields[0]), [int(field, 16) for field in fields[1:7]]
    if number == _RESTARTED and proc.waits_in(place.pid, place.tid).startswith("poll_"):
        number = _POLL_X86_64
    kind = _KIND_OF.get(number, "")
    if kind == CHILD:
        if number in _WAITID:
            pid = arguments[1] if arguments[0] == _P_PID else 0
        else:
            pid = 0 if arguments[0] in _ANY_CHILD else arguments[0] & 0xFFFFFFFF
        return WaitCall(CHILD, pid)
    if kind == _LOCK:
        return WaitCall(FILE_LOCK)
    if kind == OPEN:
        # Linux waits there for no other file.
        if proc.waits_in(place.pid, place.tid) != "wait_for_partner":
            return None
        path = _text(place.pid, arguments[1 if number in _OPENAT else 0])
        return (
            WaitCall(OPEN, 0, (path,))
            if path.isprintable() and proc.system_call(place.pid, place.tid) == fields
            else None
        )
    if number in _SELECT and arguments[0] == 1:
        # Readline waits so for standard input alone (Python 3.13, `Modules/readline.c`).
        path = proc.link(f"/proc/{place.pid}/fd/0")
        return WaitCall(INPUT, 0, (path,)) if path.startswith(_TERMINALS) else None
    if kind == SLEEP or (number == _RESTARTED and place.polled):
        return WaitCall(SLEEP, is_timed=True) if place.polled else None
    if kind == EPOLL:
        files = _watched(place.pid, arguments[0] & 0xFFFFFFFF)
        return WaitCall(EPOLL, 0, files, _is_timed_epoll(arguments)) if files else None
    if kind == _FUTEX:
        is_timed = arguments[3] != 0
        if arguments[1] & _PRIVATE:
            return WaitCall(OWN, is_timed=is_timed)
        memory = _shared_memory(place.pid, arguments[0])
        return WaitCall(SHARED_LOCK, 0, (memory,), is_timed) if memory else None
    if kind == _POLL:
        polled = _polled(place.pid, arguments[0], arguments[1])
        # The memory belongs to this call only if the call hasn't ended meanwhile.
        if not polled or proc.system_call(place.pid, place.tid) != fields:
            return None
        kinds = {READ if events & _POLLIN else WRITE for _, events in polled}
        files = tuple(_file(place.pid, descriptor) for descriptor, _ in polled)
        # `poll` has milliseconds there, negative for none, and `ppoll` an address.
        is_timed = arguments[2] != 0 if number in _PPOLL else arguments[2] < 2**31
        return WaitCall(kinds.pop(), 0, files, is_timed) if len(kinds) == 1 and all(files) else None
    if kind:
        descriptor = arguments[0] & 0xFFFFFFFF
        file = _file(place.pid, descriptor)
        path = "" if file or kind != READ else proc.link(f"/proc/{place.pid}/fd/{descriptor}")
        is_fifo = descriptor == 0 and "pipe" in proc.waits_in(place.pid, place.tid)
        if path.startswith(_TERMINALS) or (path and is_fifo and path.isprintable()):
            return WaitCall(INPUT, 0, (path,))
        return WaitCall(kind, 0, (file,)) if file else None
    return None


def has_timer(pid: int, tid: int) -> bool:
    """Whether a thread waits for events, and no longer than to some time, as an event loop with a timer does; or sleeps."""
    number, *arguments = proc.system_call(pid, tid)[:5] or [""]
    kind = _KIND_OF.get(int(number)) if number.isdigit() and len(arguments) == 4 else ""
    is_timed = kind == EPOLL and _is_timed_epoll([int(each, 16) for each in arguments])
    return is_timed or (kind == SLEEP and not (int(number) in _SELECT and arguments[0] == "0x1"))


def _is_timed_epoll(arguments: Sequence[int]) -> bool:
    # Milliseconds in 32 bits, negative for none: Python 3.14 doesn't call `epoll_pwait2`, which has an address there.
    return arguments[3] & 0xFFFFFFFF < 2**31


def _text(pid: int, address: int) -> str:
    """The path at `address`, which may be cut; "" if it can't be read."""
    # Not beyond its page, after which there may be none.
    content = proc.memory(pid, address, 4096 - address % 4096)
    return os.fsdecode(content.partition(b"\0")[0])


def _polled(pid: int, address: int, count: int) -> list[tuple[int, int]]:
    """The descriptors of a `poll` and their events; [] for very many."""
    if not 0 < count <= _MOST_POLLED:
        return []
    content = proc.memory(pid, address, 8 * count)
    if len(content) < 8 * count:
        return []
    rows = struct.iter_unpack("=iHH", content)
    return [(descriptor, events) for descriptor, events, _ in rows if descriptor >= 0]


def _shared_memory(pid: int, address: int) -> str:
    """The name of the shared memory of `pid` at `address`, "" if there is none."""
    areas = proc.shared_areas(pid)
    return next((each.name for each in areas if each.begin <= address < each.end), "")


def _watched(pid: int, descriptor: int) -> tuple[str, ...]:
    """The files for which an `epoll_wait` waits, the end of a process as `pid:812`, and others as "" (proc_pid_fdinfo(5))."""
    rows = proc.file_rows(pid, descriptor, "tfd")
    numbers = [int(row[1]) for row in rows[:_MOST_POLLED] if len(row) > 1 and row[1].isdigit()]
    files = tuple(_file(pid, number) or _process_file(pid, number) for number in numbers)
    return files if len(rows) == len(numbers) else (*files, "")


def _process_file(pid: int, descriptor: int) -> str:
    """The process whose end makes this file of `pid` ready, as asyncio watches its children from Python 3.12 on."""
    number = next((row[1] for row in proc.file_rows(pid, descriptor, "Pid")), "")
    return f"{OF_PROCESS}{number}" if number.isdigit() else ""


def _file(pid: int, descriptor: int) -> str:
    """The name of a pipe or socket, such as `pipe:[812]`; "" for other files."""
    name = proc.link(f"/proc/{pid}/fd/{descriptor}")
    return name if name.startswith(("pipe:[", "socket:[")) else ""
