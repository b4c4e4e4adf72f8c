"""A thread that is borrowed gets its signals, and continues whatever happens to its tracer: real processes."""

import itertools
import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from eagleray.remote.inspecting import ptrace_thread
from eagleray.remote.inspecting.ptrace_thread import NotStarted, functions
from eagleray.remote.inspecting.ptrace_thread import start as start_thread

from tests.remote.inspecting.test_processes import WAYS, ends, program, python, state_of, wait_until

# Counts signals where C gets them, so that none counts for two.
COUNTING = """
import os, signal, sys, threading
read, write = os.pipe()
os.set_blocking(write, False)
signal.set_wakeup_fd(write)
signal.signal(signal.SIGRTMIN, lambda *_: None)
count = 0
def drain():
    global count
    while content := os.read(read, 1 << 16):
        count += len(content)
thread = threading.Thread(target=drain)
thread.start()
started = []
print("ready", flush=True)
sys.stdin.readline()
signal.set_wakeup_fd(-1)
os.close(write)
thread.join()
print(count, len(started))
"""

# Its main thread waits for a child that shares its memory no more, which nothing interrupts.
UNINTERRUPTIBLE = """
import ctypes, os, sys
print("ready", flush=True)
if ctypes.CDLL(None).syscall(56, 0x4000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:
    os.read(0, 1)
    os._exit(0)
print("went on", flush=True)
""".replace("import ctypes", "import ctypes, signal")

UNTIL_TOLD = "while not select.select([sys.stdin], [], [], 0)[0]: "


def start(pid: int, text: str) -> None:
    start_thread(pid, text, functions(pid))


STEPS = {
    "read": "sys.stdin.readline()",
    "lock with a limit": f"{UNTIL_TOLD}assert not threading.Event().wait(0.2)",
    "sleep": f"{UNTIL_TOLD}time.sleep(0.2)",
    "computing": (
        "n = 0; value = b''; total = 0.0\n"
        f"{UNTIL_TOLD}value = hashlib.sha256(value).digest(); n += 1; total += n / 3\n"
        "again = b''; sum = 0.0\n"
        "for i in range(n): again = hashlib.sha256(again).digest(); sum += (i + 1) / 3\n"
        "assert (again, sum) == (value, total)"
    ),
}


def test_every_signal_arrives_while_threads_are_borrowed() -> None:
    with python(COUNTING) as process:
        sent, is_over = 0, threading.Event()

        def send() -> None:
            nonlocal sent
            while not is_over.wait(0.0001):
                # Not `send_signal`, which waits for the process and would take the stops of its tracer.
                os.kill(process.pid, signal.SIGRTMIN)
                sent += 1

        sender = threading.Thread(target=send)
        sender.start()
        borrowed = 0
        try:
            while borrowed < 300:
                # The program ends only when these have.
                start(process.pid, "started.append(1)\n")
                borrowed += 1
        finally:
            is_over.set()
            sender.join()
        wait_until(lambda: thread_count(process.pid) == 2)
        assert sent > 300
        assert ends(process) == (0, f"{sent} {borrowed}\n", "")


def test_thread_that_has_just_ended_is_left_out() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    with python(program(WAYS["read"])) as process:
        calls = functions(process.pid)
        tracer = ptrace_thread._Tracer(process.pid, ended.pid, "1\n", calls, 0)
        assert not tracer.has_started()
        assert ends(process) == (0, "went on 7\n", "")


def test_threads_leave_no_memory_behind() -> None:
    with python(program(WAYS["read"])) as process:
        start(process.pid, "1\n")
        wait_until(lambda: thread_count(process.pid) == 1)
        before = pages_with_code(process.pid)
        for _ in range(20):
            start(process.pid, "1\n")
        wait_until(lambda: thread_count(process.pid) == 1)
        assert pages_with_code(process.pid) == before == 0
        assert ends(process) == (0, "went on 7\n", "")


@pytest.mark.parametrize("way", STEPS)
def test_thread_continues_when_its_tracer_is_killed_at_any_step(way: str) -> None:
    with python(program(STEPS[way])) as process:
        for calls in itertools.count(1):
            if killed_after(calls, process.pid) == 0:
                break
            assert "TracerPid:\t0" in Path(f"/proc/{process.pid}/status").read_text()
        assert calls > 20
        assert ends(process) == (0, "went on 7\n", "")


def killed_after(calls: int, pid: int) -> int:
    """The signal that has ended a tracer which kills itself after so many calls of ptrace, 0 if it needed less."""
    child = os.fork()
    if child == 0:
        left = calls

        def counted(borrowed, request, address=0, data=0):
            nonlocal left
            real(borrowed, request, address, data)
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            real = ptrace_thread._BorrowedThread._ptrace
            ptrace_thread._BorrowedThread._ptrace = counted
            start(pid, "1\n")
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_thread_that_takes_too_long_to_start_another_is_left_to_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ptrace_thread, "_RUN_S", -1.0)
    with python(program(WAYS["read"])) as process:
        for _ in range(20):
            try:
                start(process.pid, "1\n")
            except NotStarted as error:
                assert error.reason == "busy"
        wait_until(lambda: thread_count(process.pid) == 1)
        assert ends(process) == (0, "went on 7\n", "")


def test_thread_in_an_uninterruptible_wait_is_left_alone_and_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with python(UNINTERRUPTIBLE) as process:
        wait_until(lambda: state_of(process.pid) == "D")
        with pytest.raises(NotStarted, match="nothing interrupts"):
            start(process.pid, "1\n")
        # As if it began that wait after its state was read.
        monkeypatch.setattr(ptrace_thread, "_state", lambda pid, thread: "S")
        monkeypatch.setattr(ptrace_thread, "_STOP_S", 0.05)
        monkeypatch.setattr(ptrace_thread, "_LIMIT_S", 0.2)
        with pytest.raises(NotStarted, match="nothing interrupts"):
            start(process.pid, "1\n")
        wait_until(lambda: "TracerPid:\t0" in Path(f"/proc/{process.pid}/status").read_text())
        assert ends(process) == (0, "went on\n", "")


def pages_with_code(pid: int) -> int:
    """How many mappings have code that is of no file."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return sum(" r-xp 00000000 00:00 0 " in f"{line} " and "[" not in line for line in lines)


def thread_count(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))
