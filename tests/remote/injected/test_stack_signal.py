"""The signal on which a process of a run writes its stack: who gets it, who never does, and what continues meanwhile."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from eagleray.remote.injected import stack_signal
from eagleray.remote.sampling import stack_by_signal
from eagleray.remote.sampling.stack_by_signal import main_stack

from tests.ray_cluster import wait_for
from tests.remote.injected.runs import Run

NUMBER = signal.SIGRTMIN + stack_signal.CANDIDATES[0]


class Program:
    """A program of a run that prints lines; it ends with its input at the latest."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid

    def line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()

    def functions(self) -> list[str]:
        return [frame.function for frame in main_stack(self.pid)]

    def wait_until_in(self, function: str) -> None:
        wait_for(function, lambda: function in self.functions())

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None


@contextlib.contextmanager
def running(folder: Path, text: str, **env: str) -> Iterator[Program]:
    file = folder / "main.py"
    file.write_text(text)
    with subprocess.Popen(
        [sys.executable, file],
        env={**os.environ, **Run(folder, breakpoints=[]).env(**env)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            program = Program(process)
            assert program.line() == "ready"
            yield program
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_both_sides_mean_the_same_file() -> None:
    assert stack_by_signal.NAME == stack_signal.NAME


WAITING = """
import threading
class Trainer:
    def wait_for_partner(self):
        print("ready", flush=True)
        threading.Event().wait()
Trainer().wait_for_partner()
"""


def test_waiting_process_writes_its_stack_again_and_again(tmp_path: Path) -> None:
    with running(tmp_path, WAITING) as program:
        program.wait_until_in("wait")
        for _ in range(3):
            assert program.functions() == ["<module>", "wait_for_partner", "wait", "wait"]
        [frame] = [each for each in main_stack(program.pid) if each.function == "wait_for_partner"]
        assert (frame.file, frame.line) == (str(tmp_path / "main.py"), 6)
        assert program.is_alive


def test_program_may_leave_its_signals_alone(tmp_path: Path) -> None:
    with running(tmp_path, WAITING, EAGLERAY_STACK_SIGNAL="off") as program:
        assert program.functions() == []
        assert program.is_alive


HOLDING_GIL = {
    "computes": 're.match("(a+)+$", "a" * 40 + "b")',
    # It sleeps again after each signal.
    "sleeps": "while ctypes.PyDLL(None).sleep(600): pass",
}


@pytest.mark.parametrize("code", HOLDING_GIL.values(), ids=HOLDING_GIL)
def test_process_whose_native_code_holds_the_gil_writes_its_stack(
    code: str, tmp_path: Path
) -> None:
    text = f"""
import ctypes, re
def parse_answer():
    print("ready", flush=True)
    {code}
parse_answer()
"""
    with running(tmp_path, text) as program:
        for _ in range(3):
            assert program.functions()[:2] == ["<module>", "parse_answer"]
        assert program.is_alive


# Each waits in another call of the kernel, for a while or for what another thread sends after that.
WAITS = {
    "sleep": "time.sleep(WHILE)",
    "lock": "lock.acquire(timeout=WHILE)",
    "condition": "threading.Event().wait(WHILE)",
    "semaphore": "threading.Semaphore(0).acquire(timeout=WHILE)",
    "select": "select.select([here], [], [], WHILE)",
    "poll": "poll.poll(WHILE * 1000)",
    "epoll": "select.epoll().poll(WHILE)",
    "recv with a time-out": "recv()",
    "recv": "send_later(); here.recv(1)",
    "read": "send_later(); os.read(here.fileno(), 1)",
    "child": "subprocess.run(['sleep', str(WHILE)])",
    "sigtimedwait": "signal.sigtimedwait([signal.SIGUSR1], WHILE)",
    "asyncio": "asyncio.run(asyncio.sleep(WHILE))",
}
TIMED = """
import asyncio, os, select, signal, socket, subprocess, threading, time
WHILE = 0.3
here, there = socket.socketpair()
lock = threading.Lock(); lock.acquire()
poll = select.poll(); poll.register(here, select.POLLIN)
def send_later():
    threading.Timer(WHILE, lambda: there.send(b"x")).start()
def recv():
    here.settimeout(WHILE)
    try: here.recv(1)
    except OSError: pass
    here.settimeout(None)
print("ready", flush=True)
"""


def test_waits_of_all_kinds_are_not_cut_short(tmp_path: Path) -> None:
    waits = "".join(
        f"def hang(): {code}\nbegan = time.monotonic(); hang()\n"
        f"print({name!r}, time.monotonic() - began >= 0.99 * WHILE, flush=True)\n"
        for name, code in WAITS.items()
    )
    with running(tmp_path, TIMED + waits) as program, ThreadPoolExecutor(1) as pool:
        is_over = threading.Event()

        def signal_on() -> int:
            hanging = 0
            while not is_over.is_set():
                hanging += "hang" in program.functions()
            return hanging

        signalled_often = pool.submit(signal_on)
        try:
            lines = [program.line() for _ in WAITS]
        finally:
            is_over.set()
        assert lines == [f"{name} True" for name in WAITS]
        assert signalled_often.result() > len(WAITS)


PAUSING = """
import signal
signal.signal(signal.SIGUSR1, lambda *_: print("handled", flush=True))
def hang():
    signal.pause()
    print("returned", flush=True)
    import threading; threading.Event().wait()
print("ready", flush=True)
hang()
"""


def test_pause_waits_for_the_signals_of_the_program_only(tmp_path: Path) -> None:
    with running(tmp_path, PAUSING) as program:
        wait_for("the pause", lambda: program.functions() == [])
        os.kill(program.pid, signal.SIGUSR1)
        assert [program.line(), program.line()] == ["handled", "returned"]
        program.wait_until_in("wait")


@pytest.mark.parametrize(
    "registering",
    [
        "signal.signal(number, lambda *_: print('mine', flush=True))",
        "faulthandler.register(number)",
        "faulthandler.register(signum=number, chain=False)",
        "signal.signal(number, signal.SIG_IGN)",
        "faulthandler.unregister(number)",
        "signal.pthread_sigmask(signal.SIG_BLOCK, [number])",
        "os.closerange(3, 1024)",
    ],
)
def test_program_that_takes_the_signal_or_closes_the_file_never_gets_it(
    registering: str, tmp_path: Path
) -> None:
    text = f"""
import faulthandler, os, signal, time
number = {NUMBER}
{registering}
def hang():
    print("ready", flush=True)
    while True: time.sleep(0.1)
hang()
"""
    with running(tmp_path, text) as program:
        for _ in range(3):
            assert program.functions() == []
        assert program.is_alive
        pending = Path(f"/proc/{program.pid}/status").read_text()
        assert "SigPnd:\t0000000000000000" in pending and "ShdPnd:\t0000000000000000" in pending


FORKING = """
import ctypes, os, threading
def child():
    print(os.getpid(), flush=True)
    threading.Event().wait()
print("ready", flush=True)
if FORK() == 0:
    child()
else:
    threading.Event().wait()
"""


def test_forked_child_writes_its_own_stack(tmp_path: Path) -> None:
    with running(tmp_path, FORKING.replace("FORK", "os.fork")) as program:
        pid = int(program.line())
        wait_for("the child", lambda: "child" in [each.function for each in main_stack(pid)])
        assert "child" not in program.functions() and "<module>" in program.functions()
        assert len(list(_files(pid))) == len(list(_files(program.pid))) == 1


def test_child_that_native_code_has_forked_never_gets_the_signal(tmp_path: Path) -> None:
    with running(tmp_path, FORKING.replace("FORK", "ctypes.PyDLL(None).fork")) as program:
        pid = int(program.line())
        assert len(list(_files(pid))) == 1
        assert main_stack(pid) == ()
        os.kill(pid, 0)
        assert "<module>" in program.functions()


def _files(pid: int) -> Iterator[Path]:
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if stack_signal.NAME in str(path.readlink()):
                yield path


def test_process_without_a_run_never_gets_the_signal() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            assert main_stack(process.pid) == ()
            assert process.poll() is None
        finally:
            process.kill()


def test_program_that_a_process_becomes_never_gets_the_signal(tmp_path: Path) -> None:
    text = "import os\nprint('ready', flush=True)\nos.execvp('sleep', ['sleep', '60'])\n"
    with running(tmp_path, text) as program:
        wait_for("sleep", lambda: Path(f"/proc/{program.pid}/comm").read_text().strip() == "sleep")
        assert program.functions() == []
        assert program.is_alive


STOPPED = """
import os, signal, threading
print("ready", flush=True)
threading.Event().wait()
"""


def test_stopped_process_gets_no_signal_that_waits_for_it(tmp_path: Path) -> None:
    with running(tmp_path, STOPPED) as program:
        program.wait_until_in("wait")
        os.kill(program.pid, signal.SIGSTOP)
        wait_for("the stop", lambda: "State:\tT" in Path(f"/proc/{program.pid}/status").read_text())
        assert main_stack(program.pid) == ()
        assert "ShdPnd:\t0000000000000000" in Path(f"/proc/{program.pid}/status").read_text()


DEEP = """
import threading
def deep(left):
    if left: return deep(left - 1)
    print("ready", flush=True)
    threading.Event().wait()
def größe(): deep(300)
größe()
"""


def test_deep_stack_has_its_innermost_frames(tmp_path: Path) -> None:
    with running(tmp_path, DEEP) as program:
        program.wait_until_in("wait")
        functions = program.functions()
        assert (
            len(functions) == 100 and functions[-1] == "wait" and set(functions) == {"deep", "wait"}
        )


def test_samplers_at_the_same_time_get_whole_stacks(tmp_path: Path) -> None:
    with running(tmp_path, WAITING) as program, ThreadPoolExecutor(4) as pool:
        program.wait_until_in("wait")
        stacks = set(pool.map(lambda _: tuple(program.functions()), range(40)))
        assert stacks == {("<module>", "wait_for_partner", "wait", "wait")}
