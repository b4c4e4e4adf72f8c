"""The stack of the main thread of a process that may not be traced, which the process writes itself when it gets a signal.

Processes of a run have prepared for that (`remote/injected/stack_signal.py`).  The signal would end every other process, so it is
sent only with the proof that this very process has, and that the signal is still ours.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import signal
import struct
import time
from pathlib import Path

from . import proc, seccomp
from .frames import PythonFrame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# The same as in `remote/injected/stack_signal.py`.
NAME = "eagleray-stacks-"
ANSWER_S = 1.0

_LINK = re.compile(rf"/memfd:{NAME}(\d{{1,2}}) \(deleted\)")
_HEADER = re.compile(r"^Stack\b.*\(most recent call first\):$", re.MULTILINE)
_FRAME = re.compile(r'^  File "(.*)", line (\d{1,9}|\?\?\?) in (.*)$')
_ESCAPED = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
# A hundred frames, of which each has two texts of at most 500 characters, escaped.
_LONGEST_ANSWER = 2**21
_POLL_S = 0.001
# `struct flock` on 64-bit Linux: type, whence, start, length, pid.
_LOCK = "hhqqi0q"
# A process that is stopped or waits for a disk would get the signal later.
_READY = "RS"


def main_stack(pid: int) -> tuple[PythonFrame, ...]:
    """The frames of the main thread of `pid`, outermost first; () if it hasn't prepared, or doesn't answer in a second.

    1. It is a process of this user that runs or sleeps, without a filter that may kill it for its handler's calls.
    2. It has an open file of ours; no other sampler uses that file, and the kernel says that `pid` holds the lock on it.
    3. Its main thread catches the signal and doesn't block it.
    4. It gets the signal, through a descriptor of the process that can't mean another one.
    5. The stack is whole once the signal is neither pending nor blocked, as it is during its handler.
    """
    try:
        with contextlib.ExitStack() as stack:
            process = stack.enter_context(_process(pid))
            if not _is_ready(pid):
                return ()
            number, file = stack.enter_context(_file_of(pid))
            stack.enter_context(_only_sampler(file))
            if not (_is_ready(pid) and _holds_lock(pid, file) and _catches(pid, number)):
                return ()
            os.ftruncate(file, 0)
            _send(process, pid, number)
            return parse(_answer(pid, number, file))
    except (OSError, ValueError):
        return ()


def parse(text: str) -> tuple[PythonFrame, ...]:
    """The frames of a stack that faulthandler has written, outermost first.

    It writes the innermost hundred, names of functions without their class, and texts that are longer than 500
    characters with `...` at their end.
    """
    frames = []
    for line in text[_start(text) :].splitlines():
        if match := _FRAME.match(line):
            path, number, function = match.groups()
            line_number = int(number) if number.isdigit() else 0
            frames.append(PythonFrame(_unescaped(function), _unescaped(path), line_number))
    return tuple(reversed(frames))


def _start(text: str) -> int:
    """The end of the last header, since another program's signal may have come before ours."""
    ends = [match.end() for match in _HEADER.finditer(text)]
    return ends[-1] if ends else len(text)


def _unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        code = int(match[1] or match[2] or match[3], 16)
        return chr(code) if code < 0x110000 else match[0]

    return _ESCAPED.sub(character, text)


@contextlib.contextmanager
def _process(pid: int) -> Iterator[int]:
    """A descriptor of the process, -1 where the kernel has none (before 5.3)."""
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):
        yield -1
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _file_of(pid: int) -> Iterator[tuple[int, int]]:
    """The number of the signal, and the file; raises ValueError without one."""
    number, path = _prepared(pid)
    # Between the two it may have become something else, such as a pipe.
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if _number_in(Path(f"/proc/self/fd/{file}")) != number:
            raise ValueError("not the file of a stack")
        yield number, file
    finally:
        os.close(file)


def _prepared(pid: int) -> tuple[int, Path]:
    for path in Path(f"/proc/{pid}/fd").iterdir():
        if number := _number_in(path):
            return number, path
    raise ValueError("the process hasn't prepared")


def _number_in(link: Path) -> int:
    match = _LINK.fullmatch(proc.link(str(link)))
    number = int(match[1]) if match else 0
    return number if signal.SIGRTMIN < number < signal.SIGRTMAX else 0


@contextlib.contextmanager
def _only_sampler(file: int) -> Iterator[None]:
    """Raises BlockingIOError if another sampler doesn't get its answer in time."""
    end = time.monotonic() + ANSWER_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > end:
                raise
            time.sleep(_POLL_S)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _is_ready(pid: int) -> bool:
    process = proc.stat(pid)
    return (
        process is not None
        and process.state in _READY
        and Path(f"/proc/{pid}").stat().st_uid == os.geteuid()
        and not seccomp.may_kill(pid)
        and not proc.writes_to_pipe(pid)
    )


def _holds_lock(pid: int, file: int) -> bool:
    query = struct.pack(_LOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    kind, _, _, _, owner = struct.unpack(_LOCK, fcntl.fcntl(file, fcntl.F_GETLK, query))
    return bool(kind == fcntl.F_WRLCK and owner == pid)


def _catches(pid: int, number: int) -> bool:
    return bool(proc.signals(pid, "SigCgt") & _bit(number)) and not _is_pending(pid, number)


def _is_pending(pid: int, number: int) -> bool:
    """Whether the signal waits for the process or its main thread, or that is in the handler, which blocks it."""
    return bool(proc.signals(pid, "SigPnd", "ShdPnd", "SigBlk") & _bit(number))


def _bit(number: int) -> int:
    return 1 << (number - 1)


def _send(process: int, pid: int, number: int) -> None:
    # The main thread gets a signal for the process unless that blocks it.
    if process >= 0:
        signal.pidfd_send_signal(process, number)
    else:
        os.kill(pid, number)


def _answer(pid: int, number: int, file: int) -> str:
    end = time.monotonic() + ANSWER_S
    while time.monotonic() < end:
        time.sleep(_POLL_S)
        if os.fstat(file).st_size and not _is_pending(pid, number):
            return os.pread(file, _LONGEST_ANSWER, 0).decode("ascii", "replace")
    return ""
