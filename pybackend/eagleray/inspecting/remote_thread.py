"""Starts a thread in another process of this machine that runs a text of Python.

One thread of the process is borrowed for less than a millisecond: it maps a page, calls `pthread_create`, and goes on.
It is one that waits in the kernel, or that runs code of Python itself, where it has no lock of libc.  Nothing else of the
process stops.  The new thread takes the GIL when it is free, so a
GIL that native code holds delays only the new thread.  gdb's way (a call of Python in a stopped process) needs seconds,
can wait for the GIL for ever, and gdb 13 kills the process on machines with larger registers than it knows ("Couldn't
write extended state status").  Only x86-64 and Linux.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import time
from pathlib import Path
from typing import NamedTuple

from . import elf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SEIZE, _INTERRUPT, _CONT, _SYSCALL, _DETACH = 0x4206, 0x4207, 7, 24, 17
_GETREGS, _SETREGS, _GETREGSET, _SETREGSET = 12, 13, 0x4204, 0x4205
_TRACESYSGOOD, _XSTATE = 1, 0x202
_WALL = 0x40000000
_SYSCALL_STOP = signal.SIGTRAP | 0x80
_MMAP, _GETPID = 9, 39
_READ_EXEC, _PRIVATE_ANONYMOUS = 5, 0x22
# Of system calls in which a thread waits, best first: those that the kernel restarts when nothing has happened.  An
# interrupted `epoll_wait` returns EINTR, which most programs, but not all, take.
_WAITS = {
    202: 0,
    230: 1,
    35: 1,
    0: 2,
    45: 2,
    47: 2,
    61: 2,
    7: 3,
    271: 3,
    270: 3,
    23: 3,
    232: 4,
    281: 4,
}
_LIBRARY_CALLS = (
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyRun_SimpleString",
    "pthread_create",
    "pthread_self",
    "pthread_detach",
    "syscall",
)
_CODE_SIZE = 256
# A thread that computes is in code of Python itself most of the time, and one that waits stays where it is.
_ATTEMPTS, _PAUSE_S, _MOST_TRIED = 50, 0.005, 4


class NotStarted(Exception):
    """No thread was started, and the process is as it was; `reason` is a word for `--json`."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class _Registers(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_uint64)
        for name in [
            "r15",
            "r14",
            "r13",
            "r12",
            "rbp",
            "rbx",
            "r11",
            "r10",
            "r9",
            "r8",
            "rax",
            "rcx",
            "rdx",
            "rsi",
            "rdi",
            "orig_rax",
            "rip",
            "cs",
            "eflags",
            "rsp",
            "ss",
            "fs_base",
            "gs_base",
            "ds",
            "es",
            "fs",
            "gs",
        ]
    ]


class _Buffer(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class _Waiting(NamedTuple):
    thread: int
    preference: int


def start(pid: int, text: str) -> None:
    """Runs `text` in a new thread of the process `pid`.  Raises NotStarted."""
    if platform.machine() != "x86_64":
        raise NotStarted("processor", f"This works on x86-64 only, not on {platform.machine()}")
    calls = elf.addresses(pid, _LIBRARY_CALLS)
    missing = [name for name in _LIBRARY_CALLS if name not in calls]
    if missing:
        raise NotStarted("not-python", f"The process has no {missing[0]}")
    for _attempt in range(_ATTEMPTS):
        for candidate in _candidates(pid):
            if _start_in(pid, candidate, text, calls):
                return
        time.sleep(_PAUSE_S)
    raise NotStarted("busy", "All threads of the process run native code")


def _candidates(pid: int) -> list[int]:
    """The threads of `pid` that may be borrowed, best first: those that wait, then the main thread."""
    waiting = sorted(_waiting_threads(pid), key=lambda each: each.preference)
    return [*dict.fromkeys([*(each.thread for each in waiting[:_MOST_TRIED]), pid])]


def _waiting_threads(pid: int) -> Iterator[_Waiting]:
    """The threads of `pid` that wait in the kernel."""
    for folder in Path(f"/proc/{pid}/task").iterdir():
        try:
            number = (folder / "syscall").read_text().split()[0]
        except PermissionError as error:
            raise NotStarted("permission", f"Reading process {pid} isn't allowed") from error
        except (OSError, IndexError):
            continue
        if number.isdigit() and int(number) in _WAITS:
            yield _Waiting(int(folder.name), _WAITS[int(number)])


def _start_in(pid: int, thread: int, text: str, calls: dict[str, int]) -> bool:
    """Borrows `thread` to start a thread; False if it doesn't wait any more."""
    borrowed = _BorrowedThread(thread)
    try:
        if not (borrowed.is_in_syscall or borrowed.is_in(elf.code_of_python(pid))):
            return False
        data = text.encode() + b"\0"
        page = borrowed.mapped(_CODE_SIZE + len(data), calls["syscall"])
        code = _machine_code(page, calls)
        with Path(f"/proc/{pid}/mem").open("r+b", buffering=0) as memory:
            os.pwrite(memory.fileno(), code.ljust(_CODE_SIZE, b"\xcc") + data, page)
        if borrowed.run(page) != 0:
            raise NotStarted("no-thread", "The process can't start another thread")
        return True
    finally:
        borrowed.give_back()


def _machine_code(page: int, calls: dict[str, int]) -> bytes:
    """What the borrowed thread runs, from the beginning, and what the new thread runs, from `routine`."""

    def call(name: str) -> bytes:
        return b"\x48\xb8" + struct.pack("<Q", calls[name]) + b"\xff\xd0"

    # pthread_create(rsp, NULL, routine, NULL), getpid().  Its result is kept in rbx.
    routine_offset = 64
    borrowed = (
        b"\x48\x89\xe7"  # mov rdi, rsp
        b"\x31\xf6"  # xor esi, esi
        b"\x48\xba"
        + struct.pack("<Q", page + routine_offset)
        + b"\x31\xc9"  # mov rdx; xor ecx
        + call("pthread_create")
        + b"\x89\xc3"  # mov ebx, eax
        b"\xb8" + struct.pack("<I", _GETPID) + b"\x0f\x05"  # mov eax, getpid; syscall
    )
    routine = (
        b"\x53"  # push rbx, which aligns the stack
        + call("pthread_self")
        + b"\x48\x89\xc7"  # mov rdi, rax
        + call("pthread_detach")
        + call("PyGILState_Ensure")
        + b"\x89\xc3"  # mov ebx, eax
        b"\x48\xbf"
        + struct.pack("<Q", page + _CODE_SIZE)  # mov rdi, text
        + call("PyRun_SimpleString")
        + b"\x89\xdf"  # mov edi, ebx
        + call("PyGILState_Release")
        + b"\x31\xc0\x5b\xc3"  # xor eax, eax; pop rbx; ret
    )
    return borrowed.ljust(routine_offset, b"\xcc") + routine


class _BorrowedThread:
    """A thread of another process that stands still until `give_back`; raises NotStarted if it can't be had."""

    def __init__(self, thread: int) -> None:
        self._thread = thread
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.ptrace.argtypes = (
            ctypes.c_long,
            ctypes.c_long,
            ctypes.c_void_p,
            ctypes.c_void_p,
        )
        self._libc.ptrace.restype = ctypes.c_long
        self._ptrace(_SEIZE, 0, _TRACESYSGOOD)
        self._ptrace(_INTERRUPT)
        self._wait()
        self._registers = _Registers()
        self._ptrace(_GETREGS, 0, ctypes.addressof(self._registers))
        self._xstate = ctypes.create_string_buffer(1 << 16)
        buffer = _Buffer(ctypes.addressof(self._xstate), len(self._xstate))
        self._ptrace(_GETREGSET, _XSTATE, ctypes.addressof(buffer))
        # The kernel takes back only as much as it gave.
        self._xstate_size = buffer.size
        self._is_changed = False

    @property
    def is_in_syscall(self) -> bool:
        """Whether it stands behind a `syscall` instruction, so that the kernel will restart its wait."""
        if ctypes.c_int64(self._registers.orig_rax).value < 0:
            return False
        return self._read(self._registers.rip - 2, 2) == b"\x0f\x05"

    def is_in(self, ranges: list[tuple[int, int]]) -> bool:
        return any(first <= self._registers.rip < last for first, last in ranges)

    def mapped(self, size: int, syscall: int) -> int:
        """The address of new memory with this many bytes, which may be read and executed.

        `syscall` is the function of libc, which holds the instruction.
        """
        registers = self._copy()
        registers.rip = syscall + self._read(syscall, 64).index(b"\x0f\x05")
        registers.rax, registers.rdi, registers.rsi = _MMAP, 0, size
        registers.rdx, registers.r10 = _READ_EXEC, _PRIVATE_ANONYMOUS
        registers.r8, registers.r9 = ctypes.c_uint64(-1).value, 0
        address = self._until_syscall_returns(registers, registers.rip).rax
        if ctypes.c_int64(address).value < 0:
            raise NotStarted("no-memory", "The process may not map memory that is executed")
        return int(address)

    def run(self, address: int) -> int:
        """Runs the code at `address` until its system call; returns what it has left in ebx."""
        registers = self._copy()
        # Below the red zone of the function that waits, and aligned as at any call.
        registers.rsp = (self._registers.rsp - 1024) & ~0xF
        registers.rip = address
        return int(self._until_syscall_returns(registers, address).rbx & 0xFFFFFFFF)

    def give_back(self) -> None:
        """Lets it wait on, as if nothing had been."""
        if self._is_changed:
            # The kernel restarts an interrupted wait only where it looks at signals, which this stop is.
            self._ptrace(_INTERRUPT)
            self._ptrace(_CONT)
            self._wait()
            self._ptrace(_SETREGS, 0, ctypes.addressof(self._registers))
            buffer = _Buffer(ctypes.addressof(self._xstate), self._xstate_size)
            self._ptrace(_SETREGSET, _XSTATE, ctypes.addressof(buffer))
        self._ptrace(_DETACH)

    def _read(self, address: int, size: int) -> bytes:
        with Path(f"/proc/{self._thread}/mem").open("rb", buffering=0) as memory:
            return os.pread(memory.fileno(), size, address)

    def _copy(self) -> _Registers:
        registers = _Registers.from_buffer_copy(self._registers)
        # Otherwise the kernel would restart the wait before it runs what we want.
        registers.orig_rax = ctypes.c_uint64(-1).value
        return registers

    def _until_syscall_returns(self, registers: _Registers, code: int) -> _Registers:
        """Runs with `registers` until a system call of the code that begins at `code`, not one of what that calls."""
        self._is_changed = True
        self._ptrace(_SETREGS, 0, ctypes.addressof(registers))
        after = _Registers()
        while not code < after.rip <= code + _CODE_SIZE:
            self._continue_to_syscall_stop()
            self._continue_to_syscall_stop()
            self._ptrace(_GETREGS, 0, ctypes.addressof(after))
        return after

    def _continue_to_syscall_stop(self) -> None:
        deliver = 0
        while True:
            self._ptrace(_SYSCALL, 0, deliver)
            stopped = self._wait()
            if stopped == _SYSCALL_STOP:
                return
            # A signal for the program, which gets it.
            deliver = 0 if stopped == signal.SIGTRAP else stopped

    def _wait(self) -> int:
        _pid, status = os.waitpid(self._thread, _WALL)
        if not os.WIFSTOPPED(status):
            raise NotStarted("ended", "The process has ended")
        return os.WSTOPSIG(status)

    def _ptrace(self, request: int, address: int = 0, data: int = 0) -> None:
        if self._libc.ptrace(request, self._thread, address, data) < 0:
            number = ctypes.get_errno()
            reason = "permission" if number in (1, 13) else "ended"
            raise NotStarted(reason, f"ptrace of thread {self._thread}: {os.strerror(number)}")
