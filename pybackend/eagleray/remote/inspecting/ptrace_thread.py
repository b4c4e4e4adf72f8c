"""Starts a thread in another process of this machine that runs a text of Python.

One thread of the process is borrowed for about a millisecond: it maps some pages, calls `pthread_create`, and continues.
It is one that waits in the kernel, or that runs code of Python itself, where it has no lock of libc that `pthread_create`
needs; in the middle of a fork or of `malloc` it has.  Nothing else of the process stops.  The new thread takes the GIL when it is free, so a GIL that native code holds delays only the new thread.
It unmaps the pages when it ends, unless the borrowed thread was left alone with them.

What can go wrong meanwhile does no harm:

1. A signal for the borrowed thread arrives: it waits, or the thread gets it and another is borrowed.
2. The thread can't stop, as in an uninterruptible wait: it is released after `_STOP_S`.
3. The tracer is killed, or gives up after `_RUN_S`: the thread continues alone, and `SignalFrame` brings it back.
4. Anything else: the thread of the tracer ends, with which the kernel releases what that traces.

gdb's way (a call of Python in a stopped process) needs seconds, can wait for the GIL for ever, and gdb 13 kills the process
on machines with larger registers than it knows ("Couldn't write extended state status").  Only x86-64 and Linux.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import threading
import time
from pathlib import Path
from typing import NamedTuple

from ..sampling import proc, seccomp
from . import elf
from .signal_frame import RESTORER, RT_SIGRETURN, SignalFrame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SEIZE, _INTERRUPT, _CONT, _SYSCALL, _DETACH = 0x4206, 0x4207, 7, 24, 17
_GETREGS, _SETREGS, _GETREGSET, _SETREGSET = 12, 13, 0x4204, 0x4205
_GETSIGMASK, _SETSIGMASK = 0x420A, 0x420B
_TRACESYSGOOD, _XSTATE = 1, 0x202
_WALL = 0x40000000
_EVENT_STOP = 128
_MASK_SIZE = 8
_SYSCALL_STOP = signal.SIGTRAP | 0x80
_MMAP, _GETPID = 9, 39
_READ_EXEC, _PRIVATE_ANONYMOUS = 5, 0x22
# System calls in which a thread waits, best first: the calls that the kernel restarts when nothing has happened.  An
# interrupted `epoll_wait` returns EINTR (man 7 signal), which most programs, but not all, take.
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
    # One of these that was interrupted before, as by a sample.
    219: 3,
    232: 4,
    281: 4,
}
# In these a thread may wait, too, and has no lock of the C library that `pthread_create` needs; in others it may have
# one, as in the `clone` of a fork, which holds the locks of all memory, or in the `mmap` of `malloc`.  Calls for
# sockets, pipes and devices, for files, as on NFS, and for signals, queues and rings.
_HARMLESS = frozenset(
    {
        *_WAITS,
        *(1, 16, 17, 18, 19, 20, 40, 42, 43, 44, 46, 48, 275, 276, 288, 299, 307),
        *(2, 3, 4, 5, 6, 21, 26, 72, 73, 74, 75, 76, 77, 82, 83, 84, 87, 89, 137, 138, 162),
        *(217, 257, 258, 262, 263, 264, 267, 269, 285, 306, 316, 332, 439),
        *(34, 65, 69, 70, 128, 130, 208, 220, 242, 243, 247, 333, 426, 441, 449, 455),
    }
)
_FUTEX, _FUTEX_COMMAND, _FUTEX_WAIT, _CONTENDED_LOCK = 202, 127, 0, 2
_LIBRARY_CALLS = (
    "Py_IsInitialized", "PyGILState_Ensure", "PyGILState_Release", "PyRun_SimpleString",
    "pthread_create", "pthread_self", "pthread_detach", "syscall", "munmap", "usleep",
)  # fmt: skip
_CODE_SIZE, _ROUTINE = 256, 64
# Where the tracer writes that the borrowed thread isn't in these pages any more.
_IS_FREE = 255
_FREEING_ATTEMPTS, _FREEING_PAUSE_US = 100, 10_000
# A thread that computes is in code of Python itself most of the time, and one that waits stays where it is.
_ATTEMPTS, _PAUSE_S, _MOST_TRIED = 50, 0.005, 4
# A thread stops within microseconds, unless its wait can't be interrupted, and runs less than a millisecond for us.
_STOP_S, _RUN_S = 0.5, 2.0
# The longest of these waits end within `_SPINNING_S`.
_SPINNING_S, _POLL_S = 0.002, 0.001
# For all attempts together.
_LIMIT_S = 5.0
_UNINTERRUPTIBLE = "D"
_ENDED = ("", "Z", "X")


class NotStarted(Exception):
    """No thread was started, and the process is as it was; `reason` is a word for `--json`."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


def sandboxed(pid: int) -> NotStarted:
    """The refusal for a process that may be killed for a system call."""
    return NotStarted(
        "seccomp", f"Process {pid} is in a sandbox (seccomp) that may end it for what we do in it"
    )


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


class _Stop(NamedTuple):
    """Why a traced thread has stopped; `event` is 0 for a signal, or for a system call."""

    signal: int
    event: int

    @property
    def signal_to_deliver(self) -> int:
        """A signal for the program, which would be lost; 0 for a stop by the kernel, which keeps its own."""
        return 0 if self.event or self.signal == _SYSCALL_STOP else self.signal


_INTERRUPTED = _Stop(signal.SIGTRAP, _EVENT_STOP)


def functions(pid: int) -> dict[str, int]:
    """The addresses of the functions that `start` needs in the process.  Raises NotStarted if it doesn't export one."""
    calls = elf.addresses(pid, _LIBRARY_CALLS)
    missing = [name for name in _LIBRARY_CALLS if name not in calls]
    if missing:
        raise NotStarted("not-python", f"The process isn't Python: it has no {missing[0]}")
    return calls


def start(pid: int, text: str, calls: dict[str, int]) -> None:
    """Runs `text` in a new thread of the process `pid`, with its `functions`.  Raises NotStarted.

    What has to be true for this is checked before, by `preconditions`.
    """
    restorer = elf.code(pid, calls["syscall"], RESTORER)
    until = time.monotonic() + _LIMIT_S
    for _attempt in range(_ATTEMPTS):
        for candidate in _candidates(pid):
            if time.monotonic() > until:
                break
            if _Tracer(pid, candidate, text, calls, restorer).has_started():
                return
        time.sleep(_PAUSE_S)
    raise NotStarted(
        "busy", "All threads of the process run native code, or wait where nothing interrupts them"
    )


def _candidates(pid: int) -> list[int]:
    """The threads of `pid` that may be borrowed, best first: those that wait, then the main thread."""
    waiting = sorted(_waiting_threads(pid), key=lambda each: each.preference)
    listed = dict.fromkeys([*(each.thread for each in waiting[:_MOST_TRIED]), pid])
    return [thread for thread in listed if _state(pid, thread) != _UNINTERRUPTIBLE]


def _waiting_threads(pid: int) -> Iterator[_Waiting]:
    """The threads of `pid` that wait in the kernel."""
    try:
        folders = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError as error:
        raise NotStarted("ended", f"Process {pid} has ended") from error
    for folder in folders:
        try:
            number = (folder / "syscall").read_text().split()[0]  # kernel's file
        except PermissionError as error:
            raise NotStarted("permission", f"Reading process {pid} isn't allowed") from error
        except (OSError, IndexError):
            continue
        thread = int(folder.name)
        if number.isdigit() and int(number) in _WAITS and _state(pid, thread) != _UNINTERRUPTIBLE:
            yield _Waiting(thread, _WAITS[int(number)])


def _state(pid: int, thread: int) -> str:
    """The kernel's letter for the state of a thread, "" if it has ended."""
    try:
        text = Path(f"/proc/{pid}/task/{thread}/stat").read_bytes()
    except OSError:
        return ""
    # The name is in brackets and may hold brackets itself.
    return text.rpartition(b")")[2].split()[0].decode()


class _Tracer(threading.Thread):
    """A thread that borrows `candidate`; when it ends, the kernel releases what it still traces.

    That is the only release of a thread that hasn't stopped.
    """

    def __init__(
        self, pid: int, candidate: int, text: str, calls: dict[str, int], restorer: int
    ) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._candidate = candidate
        self._text = text
        self._calls = calls
        self._restorer = restorer
        self._result = False
        self._error: BaseException | None = None

    def has_started(self) -> bool:
        """Whether a thread was started; False if the candidate can't be borrowed now.  Raises NotStarted."""
        self.start()
        self.join()
        if self._error is not None:
            raise self._error
        return self._result

    def run(self) -> None:
        try:
            self._result = self._start()
        except BaseException as error:
            self._error = error

    def _start(self) -> bool:
        if "pipe_write" in proc.waits_in(self._pid, self._candidate):
            return False
        try:
            borrowed = _BorrowedThread(self._candidate)
        except _NotStopped:
            return False
        except NotStarted:
            # The kernel says EPERM for a thread that has just ended (`ptrace_attach`, Linux 6.8), which isn't a refusal.
            if self._candidate != self._pid and _state(self._pid, self._candidate) in _ENDED:
                return False
            raise
        try:
            # One that has come since `preconditions`.
            if seccomp.may_kill(self._pid):
                raise sandboxed(self._pid)
            if not borrowed.is_in_syscall and not borrowed.is_in(elf.code_of_python(self._pid)):
                return False
            data = self._text.encode() + b"\0"
            size = _CODE_SIZE + len(data)
            frame = borrowed.framed(self._restorer)
            pages = borrowed.mapped(size, self._calls["syscall"], frame)
            code = _machine_code(pages, size, frame, self._calls)
            borrowed.write(pages, code.ljust(_IS_FREE, b"\xcc") + b"\0" + data)
            if borrowed.run(pages, frame) != 0:
                raise NotStarted("no-thread", "The process can't start another thread")
            borrowed.restore()
            borrowed.write(pages + _IS_FREE, b"\1")
            return True
        finally:
            borrowed.give_back()


def _machine_code(pages: int, size: int, frame: SignalFrame, calls: dict[str, int]) -> bytes:
    """The code of the borrowed thread, from the beginning, and of the new thread, from `routine`."""

    def call(name: str) -> bytes:
        return b"\x48\xb8" + struct.pack("<Q", calls[name]) + b"\xff\xd0"

    # pthread_create(rsp, NULL, routine, NULL), getpid().  Its result is kept in rbx.  A thread without its tracer continues
    # behind that.
    borrowed = (
        b"\x48\x89\xe7"  # mov rdi, rsp
        b"\x31\xf6"  # xor esi, esi
        b"\x48\xba"
        + struct.pack("<Q", pages + _ROUTINE)
        + b"\x31\xc9"  # mov rdx; xor ecx
        + call("pthread_create")
        + b"\x89\xc3"  # mov ebx, eax
        b"\xb8" + struct.pack("<I", _GETPID) + b"\x0f\x05"  # mov eax, getpid; syscall
        b"\x48\xbc"
        + struct.pack("<Q", frame.restored_at)  # mov rsp, frame
        + b"\xb8"
        + struct.pack("<I", RT_SIGRETURN)
        + b"\x0f\x05"  # mov eax, rt_sigreturn; syscall
    )
    # Python that ends frees what its functions need, after it has let no thread take the GIL any more.
    running = (
        call("PyGILState_Ensure") + b"\x89\xc3"  # mov ebx, eax
        b"\x48\xbf"
        + struct.pack("<Q", pages + _CODE_SIZE)  # mov rdi, text
        + call("PyRun_SimpleString")
        + b"\x89\xdf"  # mov edi, ebx
        + call("PyGILState_Release")
    )
    routine = (
        b"\x53"  # push rbx, which aligns the stack
        + call("pthread_self")
        + b"\x48\x89\xc7"  # mov rdi, rax
        + call("pthread_detach")
        + call("Py_IsInitialized")
        + b"\x85\xc0\x74"
        + bytes([len(running)])  # test eax, eax; jz behind `running`
        + running
        + b"\xbb"
        + struct.pack("<I", _FREEING_ATTEMPTS)  # mov ebx
    )
    unmapping = (
        # munmap(pages, size), which returns to the caller of this: pop rbx; mov rdi; mov esi; mov rax; jmp rax
        b"\x5b\x48\xbf"
        + struct.pack("<Q", pages)
        + b"\xbe"
        + struct.pack("<I", size)
        + b"\x48\xb8"
        + struct.pack("<Q", calls["munmap"])
        + b"\xff\xe0"
    )
    is_free = (
        b"\x48\xb8"
        + struct.pack("<Q", pages + _IS_FREE)
        + b"\x80\x38\x00"  # mov rax; cmp byte [rax], 0
        + b"\x74"
        + bytes([len(unmapping)])  # je behind `unmapping`
    )
    waiting = (
        b"\xbf" + struct.pack("<I", _FREEING_PAUSE_US) + call("usleep") + b"\xff\xcb"
    )  # dec ebx
    again = len(is_free) + len(unmapping) + len(waiting) + 2
    routine += is_free + unmapping + waiting + b"\x75" + struct.pack("<b", -again)  # jne is_free
    routine += b"\x31\xc0\x5b\xc3"  # xor eax, eax; pop rbx; ret
    return borrowed.ljust(_ROUTINE, b"\xcc") + routine


class _NotStopped(Exception):
    """The thread can't be borrowed now: it has ended, it didn't stop, or a signal was faster, which it has got."""


class _BorrowedThread:
    """A thread of another process that stands still until `give_back`.  Raises _NotStopped, or NotStarted.

    Only the thread that has made it may use it.  `give_back` doesn't release one that runs at that time: the end of the
    thread that has made it does.
    """

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
        self._is_stopped = False
        self._is_changed = False
        self._delivered = 0
        self._registers = _Registers()
        self._blocked = ctypes.c_uint64()
        try:
            self._ptrace(_SEIZE, 0, _TRACESYSGOOD)
            self._ptrace(_INTERRUPT)
            stop = self._wait(_STOP_S)
        except NotStarted as error:
            if error.reason == "ended":
                raise _NotStopped from error
            raise
        if stop != _INTERRUPTED:
            # A signal, or a stop of the whole process.  Where the handler of a signal is entered, the thread may be in libc.
            self._detach(stop.signal_to_deliver)
            raise _NotStopped
        try:
            self._ptrace(_GETREGS, 0, ctypes.addressof(self._registers))
            self._ptrace(_GETSIGMASK, _MASK_SIZE, ctypes.addressof(self._blocked))
            self._xstate = ctypes.create_string_buffer(1 << 16)
            buffer = _Buffer(ctypes.addressof(self._xstate), len(self._xstate))
            self._ptrace(_GETREGSET, _XSTATE, ctypes.addressof(buffer))
        except BaseException:
            self._detach(0)
            raise
        # The kernel takes back only as much as it gave.
        self._xstate_size = buffer.size

    @property
    def is_in_syscall(self) -> bool:
        """Whether it stands behind a `syscall` instruction, so that the kernel will restart its wait.

        Not in one of memory or of a fork, nor where it waits for a lock as libc has them: it may have others.
        """
        number = ctypes.c_int64(self._registers.orig_rax).value
        if number not in _HARMLESS:
            return False
        command, value = self._registers.rsi & _FUTEX_COMMAND, self._registers.rdx & 0xFFFFFFFF
        if number == _FUTEX and (command, value) == (_FUTEX_WAIT, _CONTENDED_LOCK):
            return False
        return self._read(self._registers.rip - 2, 2) == b"\x0f\x05"

    def is_in(self, ranges: list[tuple[int, int]]) -> bool:
        return any(first <= self._registers.rip < last for first, last in ranges)

    def framed(self, restorer: int) -> SignalFrame:
        """Writes a frame on its stack, from which it can bring itself back."""
        registers = {field[0]: getattr(self._registers, field[0]) for field in _Registers._fields_}
        xstate = self._xstate.raw[: self._xstate_size]
        frame = SignalFrame(registers, xstate, self._blocked.value, restorer)
        self.write(frame.address, frame.content)
        return frame

    def mapped(self, size: int, syscall: int, frame: SignalFrame) -> int:
        """The address of new memory with this many bytes, which may be read and executed.

        `syscall` is the function of libc, which holds the instruction, and would return to `frame`.
        """
        registers = self._copy()
        registers.rip = syscall + self._read(syscall, 64).index(b"\x0f\x05")
        registers.rsp = frame.address
        registers.rax, registers.rdi, registers.rsi = _MMAP, 0, size
        registers.rdx, registers.r10 = _READ_EXEC, _PRIVATE_ANONYMOUS
        registers.r8, registers.r9 = ctypes.c_uint64(-1).value, 0
        address = self._until_syscall_returns(registers, registers.rip).rax
        if ctypes.c_int64(address).value < 0:
            raise NotStarted("no-memory", "The process may not map memory that is executed")
        return int(address)

    def run(self, address: int, frame: SignalFrame) -> int:
        """Runs the code at `address` until its system call; returns what it has left in ebx."""
        registers = self._copy()
        # Below the frame, with room for a result, and aligned as at any call.
        registers.rsp = (frame.address - 64) & ~0xF
        registers.rip = address
        return int(self._until_syscall_returns(registers, address).rbx & 0xFFFFFFFF)

    def write(self, address: int, content: bytes) -> None:
        with Path(f"/proc/{self._thread}/mem").open("r+b", buffering=0) as memory:
            if os.pwrite(memory.fileno(), content, address) != len(content):
                raise NotStarted("no-memory", "The memory of the process can't be written")

    def restore(self) -> None:
        """Makes it what it was."""
        if not self._is_changed:
            return
        # The kernel restarts an interrupted wait only where it looks at signals, which this stop is.  SIGSTOP may be faster.
        self._ptrace(_INTERRUPT)
        self._continue(_CONT)
        self._delivered = self._wait(_RUN_S).signal_to_deliver
        self._set_blocked(self._blocked)
        self._ptrace(_SETREGS, 0, ctypes.addressof(self._registers))
        buffer = _Buffer(ctypes.addressof(self._xstate), self._xstate_size)
        self._ptrace(_SETREGSET, _XSTATE, ctypes.addressof(buffer))
        self._is_changed = False

    def give_back(self) -> None:
        """Lets it wait on, as if nothing had been; one that runs is left alone."""
        if self._is_stopped:
            self.restore()
            self._detach(self._delivered)

    def _detach(self, delivered: int) -> None:
        self._continue(_DETACH, delivered)

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
        # No handler of the program runs in between.  Not before, since only the code from here on takes it back.
        self._set_blocked(ctypes.c_uint64(-1))
        after = _Registers()
        while not code < after.rip <= code + _CODE_SIZE:
            self._continue_to_syscall_stop()
            self._continue_to_syscall_stop()
            self._ptrace(_GETREGS, 0, ctypes.addressof(after))
        return after

    def _continue_to_syscall_stop(self) -> None:
        delivered = 0
        while True:
            self._continue(_SYSCALL, delivered)
            stop = self._wait(_RUN_S)
            if stop.signal == _SYSCALL_STOP:
                return
            delivered = stop.signal_to_deliver

    def _set_blocked(self, mask: ctypes.c_uint64) -> None:
        self._ptrace(_SETSIGMASK, _MASK_SIZE, ctypes.addressof(mask))

    def _continue(self, request: int, delivered: int = 0) -> None:
        self._ptrace(request, 0, delivered)
        self._is_stopped = False

    def _wait(self, limit_s: float) -> _Stop:
        began = time.monotonic()
        while True:
            try:
                stopped, status = os.waitpid(self._thread, _WALL | os.WNOHANG)
            except ChildProcessError as error:
                raise NotStarted("ended", "The process has ended") from error
            if stopped:
                break
            waited = time.monotonic() - began
            if waited > limit_s:
                if self._is_changed:
                    raise NotStarted(
                        "busy", "A thread of the process takes too long to start another"
                    )
                raise _NotStopped
            if waited < _SPINNING_S:
                # `sleep` would take as long as all of it.
                os.sched_yield()
            else:
                time.sleep(_POLL_S)
        if not os.WIFSTOPPED(status):
            raise NotStarted("ended", "The process has ended")
        self._is_stopped = True
        return _Stop(os.WSTOPSIG(status), status >> 16)

    def _ptrace(self, request: int, address: int = 0, data: int = 0) -> None:
        if self._libc.ptrace(request, self._thread, address, data) < 0:
            number = ctypes.get_errno()
            reason = "permission" if number in (1, 13) else "ended"
            raise NotStarted(reason, f"ptrace of thread {self._thread}: {os.strerror(number)}")
