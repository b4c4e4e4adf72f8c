"""The terminal of one pdb, on a real pseudo-terminal and a real pdb: what is typed, and how it is left unharmed."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from eagleray.cli.debug import pdb_terminal
from eagleray.cli.debug.pdb_terminal import ENDED, FAILS, REFUSED, RUNS, SILENT, WENT_ON

from tests.ray_cluster import REPOSITORY

WAITING = Path(__file__).parent / "programs" / "waiting.py"
START = REPOSITORY / "pybackend" / "eagleray_start.py"
PATIENCE_S = 180.0
ACTIVE = "__import__('ray').util.rpdb._RemotePdb.active_instance"


class Session:
    """The program that waits, and the terminal that is connected to it."""

    def __init__(self) -> None:
        self.program = subprocess.Popen(
            [sys.executable, str(WAITING)], stdout=subprocess.PIPE, text=True
        )
        assert self.program.stdout is not None
        port = self.program.stdout.readline().strip()
        pid, self.terminal = pty.fork()
        if pid == 0:
            words = [sys.executable, "-I", "-S", str(START), "pdb-terminal", f"127.0.0.1:{port}"]
            os.execv(sys.executable, words)
        self.pid = pid
        self.seen = ""

    def until(self, text: str) -> str:
        """Returns the output up to `text`."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.seen:
            assert time.monotonic() < deadline, f"no {text!r} in {self.seen!r}"
            if select.select([self.terminal], [], [], 1)[0]:
                self.seen += os.read(self.terminal, 4096).decode()
        before, _, self.seen = self.seen.partition(text)
        return before

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def press_until(self, key: str, text: str) -> None:
        """Presses a key, once more each second, until `text` is there."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.seen:
            assert time.monotonic() < deadline, f"no {text!r} in {self.seen!r}"
            self.type(key)
            while select.select([self.terminal], [], [], 1)[0] and text not in self.seen:
                self.seen += os.read(self.terminal, 4096).decode()
        self.seen = self.seen.partition(text)[2]

    def answer(self, line: str) -> str:
        """Returns pdb's answer to a line."""
        self.type(line + "\n")
        return self.until("(Pdb) ").replace("\r", "").partition("\n")[2]

    def code(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def outcome(self) -> str:
        """How the program that waited has ended."""
        assert self.program.stdout is not None
        return self.program.stdout.read().strip()

    def close(self) -> None:
        self.program.kill()
        self.program.wait()
        assert self.program.stdout is not None
        self.program.stdout.close()
        os.close(self.terminal)
        with contextlib.suppress(ChildProcessError):  # `code` has waited for it
            os.waitpid(self.pid, 0)


@pytest.fixture
def session() -> Iterator[Session]:
    started = Session()
    try:
        yield started
    finally:
        started.close()


def test_commands_and_continue(session: Session) -> None:
    session.until("(Pdb) ")
    assert session.answer("p 6 * 7") == "42\n"
    session.type("c\n")
    assert session.code() == ENDED
    assert session.outcome() == "returned 3"


def test_lines_are_edited(session: Session) -> None:
    session.until("(Pdb) ")
    session.answer("p 6 * 7")
    up, back = "\x1b[A", "\x7f"
    assert "48" in session.answer(f"{up}{back}8")
    session.type("c\n")
    assert session.code() == ENDED


def test_control_c_discards_a_line(session: Session) -> None:
    session.until("(Pdb) ")
    session.type("raise SystemExit")
    session.until("SystemExit")
    # Python looks for signals only while it waits for a key, as it soon does again.
    session.press_until("\x03", "(Pdb) ")
    assert "42" in session.answer("p 6 * 7")
    session.type("c\n")
    assert session.outcome() == "returned 3"


def test_control_c_while_it_runs_does_not_harm_it(session: Session) -> None:
    session.until("(Pdb) ")
    # It says that it runs by a word that is not what was typed.
    session.type(f"{ACTIVE}.write('run' + 'ning' + chr(10)), __import__('time').sleep(4)\n")
    session.until("running")
    session.type("\x03")
    session.until(RUNS)
    session.until("(Pdb) ")
    session.type("\x04")
    assert session.code() == ENDED
    assert session.outcome() == "returned 3"


def test_control_d_continues_the_worker(session: Session) -> None:
    session.until("(Pdb) ")
    session.type("\x04")
    session.until("runs on")
    assert session.code() == ENDED
    assert session.outcome() == "returned 3"


@pytest.mark.parametrize("how", [signal.SIGHUP, signal.SIGTERM])
def test_closed_terminal_continues_the_worker(session: Session, how: signal.Signals) -> None:
    session.until("(Pdb) ")
    session.answer(f"b {WAITING}:{_body()}")
    os.kill(session.pid, how)
    assert session.outcome() == "returned 3"
    assert session.code() == ENDED


def test_quit_is_said_twice(session: Session) -> None:
    session.until("(Pdb) ")
    assert FAILS in session.answer("q")
    session.answer("p 1")
    assert FAILS in session.answer("quit")
    session.type("q\n")
    assert session.code() == ENDED
    assert session.outcome() == "raised BdbQuit"


def test_breakpoints_are_cleared_before_disconnecting(session: Session) -> None:
    session.until("(Pdb) ")
    assert "Breakpoint 1" in session.answer(f"b {WAITING}:{_body()}")
    session.type("c\n")
    session.until("breakpoints are cleared")
    assert session.outcome() == "returned 3"
    assert session.code() == ENDED


def test_remote_command_is_reported_to_the_follower(session: Session) -> None:
    session.until("(Pdb) ")
    session.type("remote\n")
    assert session.code() == WENT_ON


def test_output_of_the_worker_does_not_control_the_terminal(session: Session) -> None:
    session.until("(Pdb) ")
    said = session.answer(f"!print(hostile, file={ACTIVE})")
    assert said == "]0;title31mred\n"
    session.type("c\n")


def test_a_worker_that_ends_while_a_line_is_typed(session: Session) -> None:
    session.until("(Pdb) ")
    session.type("p 6 * ")
    session.program.kill()
    assert session.code() == ENDED


@pytest.fixture
def kept_signals() -> Iterator[None]:
    """The terminal sets handlers of its own for as long as its process lives."""
    numbers = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    signal.set_wakeup_fd(-1)
    for number, handler in before.items():
        signal.signal(number, handler)


class ClosedTerminal(io.StringIO):
    """Hangs up when the last words are written to it."""

    def write(self, text: str) -> int:
        if text.startswith("last words"):
            signal.raise_signal(signal.SIGHUP)
        return len(text)


@pytest.mark.usefixtures("kept_signals")
def test_a_terminal_that_closes_as_pdb_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, pdb = socket.socketpair()
    pdb.sendall(b"last words")
    pdb.close()
    monkeypatch.setattr(sys, "stdout", ClosedTerminal())
    with ours:
        assert pdb_terminal.PdbTerminal(ours).run() == ENDED


@contextmanager
def _listening() -> Iterator[socket.socket]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        yield listening


def test_closed_port_is_an_error() -> None:
    with _listening() as closed:
        assert pdb_terminal.main([f"127.0.0.1:{closed.getsockname()[1]}"]) == REFUSED


@pytest.mark.usefixtures("kept_signals")
def test_pdb_with_another_client_is_an_error() -> None:
    with _listening() as taken:
        taken.listen(1)
        host, port = taken.getsockname()
        with pdb_terminal.connected(f"{host}:{port}") as connection:
            assert pdb_terminal.PdbTerminal(connection, silent_s=0.05).run() == SILENT


def _body() -> int:
    lines = WAITING.read_text(encoding="utf-8").splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.endswith("# stands: body"))
