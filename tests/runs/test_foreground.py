"""`eagleray run` in the place of the program: its streams, signals, terminal and exit code, by the real command."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from eagleray.cli.foreground import Foreground

from tests.asked import START
from tests.ray_cluster import wait_for
from tests.runs.terminal import Terminal, eagleray, listed, row

COMMAND = [sys.executable, str(START), "cli", "run", "--", sys.executable, "-c"]
LIMIT_S = 90.0
READY = """
import os, signal, sys, time
print("ready", flush=True)
while True: time.sleep(0.05)
"""
HANDLES = """
import signal, sys
def take(number, frame):
    if number == signal.SIGALRM: sys.exit(1)
    print(number, flush=True)
for number in (signal.SIGUSR1, signal.SIGRTMIN, signal.SIGHUP, signal.SIGALRM): signal.signal(number, take)
print("SIGUSR2 ignored:", signal.getsignal(signal.SIGUSR2) == signal.SIG_IGN, flush=True)
while True: signal.pause()
"""
ANSWERS = """
import os, sys
print([stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)], os.get_terminal_size())
breakpoint()
print("hello", input("name? "))
sys.stderr.write("last")
os.abort()
"""


class Screen:
    """A terminal with a command in it, of which the test reads and types."""

    def __init__(self, folder: Path, command: list[str]) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execv(command[0], command)
        termios.tcsetwinsize(self.fd, (31, 97))
        self.text = ""

    def expect(self, text: str) -> None:
        """Waits for it in what was printed after the last one."""
        deadline = time.monotonic() + LIMIT_S
        while text not in self.text:
            assert time.monotonic() < deadline and self._read(), self.text
        self.text = self.text.partition(text)[2]

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def code(self) -> int:
        while self._read():
            continue
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def close(self) -> None:
        os.close(self.fd)

    def _read(self) -> bool:
        """False at the end of the command, or if it is silent for too long."""
        if not select.select([self.fd], [], [], LIMIT_S)[0]:
            return False
        try:
            piece = os.read(self.fd, 2**16)
        except OSError:
            return False
        self.text += piece.decode()
        return bool(piece)


def run(text: str, folder: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, text], input=stdin, capture_output=True, cwd=folder, timeout=LIMIT_S, check=False
    )


def supervisor_of(run_id: str, home: Path) -> int:
    wait_for("its start", lambda: row(run_id)["state"] == "running")
    return int(json.loads((home / "runs" / run_id / "state.json").read_text())["keeper"]["pid"])


def parent_of(run_id: str, home: Path) -> tuple[int, int]:
    """The parent of the program, and the program."""
    program = int(json.loads((home / "runs" / run_id / "program.json").read_text())["pid"])
    return int(_fields(program)[1]), program


def _fields(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _state(pid: int) -> str:
    return _fields(pid)[0]


def test_input_is_read_and_the_streams_stay_apart(own_home: Path, tmp_path: Path) -> None:
    done = run(
        "import os; os.write(2, input().encode()); os.write(1, b'\\0o'); os.abort()",
        tmp_path,
        b"y\n",
    )
    assert (done.stdout, done.returncode) == (b"\0o", -signal.SIGABRT)
    said, _, printed = done.stderr.partition(b"\n")
    assert said.startswith(b"Run ")
    assert printed == b"y"
    assert (listed()[0]["state"], listed()[0]["code"]) == ("failed", 128 + signal.SIGABRT)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_signal_reaches_the_program(own_home: Path, tmp_path: Path, number: signal.Signals) -> None:
    terminal = Terminal(tmp_path, "run", "--", sys.executable, "-c", READY)
    terminal.wait_output("ready")
    terminal.process.send_signal(number)
    assert terminal.code() == -number, terminal.errors()
    assert row(terminal.run_id())["state"] == "cancelled"


def test_signals_that_programs_handle_reach_the_program(own_home: Path, tmp_path: Path) -> None:
    """SLURM sends SIGUSR1 before a job's time limit, the shell has ignored SIGUSR2, and SIGHUP means a reload."""
    command = subprocess.Popen(
        [*COMMAND, HANDLES],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN),
    )
    assert command.stdout is not None and command.stderr is not None
    assert command.stdout.readline() == b"SIGUSR2 ignored: True\n"
    for number in (signal.SIGUSR1, signal.SIGRTMIN, signal.SIGHUP):
        command.send_signal(number)
        assert command.stdout.readline() == b"%d\n" % number
    assert row(listed()[0]["id"])["state"] == "running"
    command.send_signal(signal.SIGALRM)
    command.communicate()
    assert command.returncode == 1
    assert (listed()[0]["state"], listed()[0]["code"]) == ("failed", 1)


def test_reader_that_leaves_ends_the_output_of_the_program(own_home: Path, tmp_path: Path) -> None:
    endless = "for n in range(10**9): print(n)"
    command = subprocess.Popen(
        [*COMMAND, endless], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert command.stdout is not None and command.stderr is not None
    with command.stdout as out:
        assert out.readline() == b"0\n"
    with command.stderr as err:
        assert b"BrokenPipeError" in err.read()
    assert command.wait(LIMIT_S) == 1


def test_program_in_a_terminal_has_one(own_home: Path, tmp_path: Path) -> None:
    screen = Screen(tmp_path, [*COMMAND, ANSWERS])
    screen.expect("[True, True, True] os.terminal_size(columns=97, lines=31)\r\n")
    screen.expect("(Pdb) ")
    screen.type("p 40 + 2\r")
    screen.expect("\n42\r\n")
    screen.type("c\r")
    screen.expect("name? ")
    screen.type("bobb\x7f\r")
    assert screen.code() == -signal.SIGABRT
    assert screen.text.endswith("hello bob\r\nlast")
    screen.close()


def test_control_c_and_control_z_act_as_in_a_terminal(own_home: Path, tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    program.write_text(READY)
    screen = Screen(tmp_path, ["/bin/bash", "--norc", "--noediting", "-i"])
    screen.type(f"{' '.join(COMMAND[:-1])} p.py\n")
    screen.expect("ready\r\n")
    screen.type("\x1a")
    screen.expect("Stopped")
    pid = json.loads(next((own_home / "runs").glob("*/program.json")).read_text())["pid"]
    screen.expect("bash-")
    assert _state(pid) == "T"
    screen.type("stty -a | grep -o '.icanon.'; fg\n")
    # The shell has its terminal as it was; a late echo of Ctrl-Z may come before.
    screen.expect(" icanon ")
    wait_for("it continues", lambda: _state(pid) != "T")
    screen.type("\x03")
    screen.expect("KeyboardInterrupt")
    # Text typed before the shell has its terminal again would be for the program.
    screen.expect("bash-")
    screen.type("echo code=$?; exit\n")
    screen.expect("code=130")
    screen.code()
    screen.close()
    assert listed()[0]["state"] == "cancelled"


def test_control_z_stops_a_program_whose_input_is_a_pipe(own_home: Path, tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    program.write_text(READY)
    screen = Screen(tmp_path, ["/bin/bash", "--norc", "--noediting", "-i"])
    screen.type(f"echo y | {' '.join(COMMAND[:-1])} p.py\n")
    screen.expect("ready\r\n")
    pid = json.loads(next((own_home / "runs").glob("*/program.json")).read_text())["pid"]
    # A program that stops without the terminal leaves that to the shell, too.
    for stop in (lambda: os.kill(pid, signal.SIGSTOP), lambda: screen.type("\x1a")):
        stop()
        screen.expect("Stopped")
        screen.expect("bash-")
        assert _state(pid) == "T"
        screen.type("fg\n")
        wait_for("it continues", lambda: _state(pid) != "T")
    screen.type("\x03")
    screen.expect("KeyboardInterrupt")
    screen.type("exit\n")
    screen.code()
    screen.close()


def test_command_stops_while_the_output_of_an_ended_program_is_read(
    own_home: Path, tmp_path: Path
) -> None:
    command = subprocess.Popen(
        [*COMMAND, "print('x' * 99_999)"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # The kernel ignores SIGTSTP for a group that no parent in the session controls.
        preexec_fn=os.setpgrp,
    )
    wait_for("its end", lambda: [each["state"] for each in listed()] == ["exited"])
    command.send_signal(signal.SIGTSTP)
    wait_for("its stop", lambda: _state(command.pid) == "T")
    command.send_signal(signal.SIGCONT)
    out, _ = command.communicate(timeout=LIMIT_S)
    assert (len(out), command.returncode) == (100_000, 0)


@pytest.fixture
async def foreground(
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[tuple[Foreground, socket.socket, list[int]]]:
    """With the other end of its socket, and the signals that would stop this process."""
    stops: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: stops.append(number))
    monkeypatch.setattr(os, "killpg", lambda group, number: stops.append(number))
    attending = Foreground()
    ours = socket.socket(fileno=os.dup(attending.streams.control))
    attending._close_given()
    with ours:
        yield attending, ours, stops
        attending.close()


async def test_command_stops_when_the_parent_of_the_program_has_gone(
    foreground: tuple[Foreground, socket.socket, list[int]],
) -> None:
    attending, ours, stops = foreground
    ours.close()
    attending._take()
    attending._stop()
    assert stops == [signal.SIGTSTP]


async def test_command_that_continues_at_once_is_not_stopped(
    foreground: tuple[Foreground, socket.socket, list[int]],
) -> None:
    """The program has stopped before its parent has read that it continues."""
    attending, ours, stops = foreground
    for continued in (0, 1):
        attending._stop()
        assert ours.recv(99) == b"s%d" % signal.SIGTSTP
        attending._resume()
        packet = ours.recv(99)
        assert (ours.recv(99) if packet[:1] == b"w" else packet) == b"s%d" % signal.SIGCONT
        ours.send(json.dumps({"stopped": signal.SIGSTOP, "continued": continued}).encode())
        attending._take()
        assert len(stops) == 0


def test_exit_code_outlives_the_supervisor(own_home: Path, tmp_path: Path) -> None:
    text = "import time, sys; print('ready', flush=True); sys.stdin.read(); sys.exit(4)"
    command = subprocess.Popen(
        [*COMMAND, text],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert command.stdout is not None and command.stderr is not None
    assert command.stdout.readline() == b"ready\n"
    run_id = listed()[0]["id"]
    os.kill(supervisor_of(run_id, own_home), signal.SIGKILL)
    wait_for("unwatched", lambda: row(run_id)["state"] == "unwatched")
    command.communicate()
    assert command.returncode == 4
    assert (row(run_id)["state"], row(run_id)["code"]) == ("failed", 4)


def test_program_without_an_exit_code_has_not_succeeded(own_home: Path, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "run", "--", sys.executable, "-c", READY)
    terminal.wait_output("ready")
    run_id = terminal.run_id()
    parent, program = parent_of(run_id, own_home)
    os.kill(parent, signal.SIGKILL)
    os.kill(program, signal.SIGKILL)
    assert terminal.code() == 1, terminal.errors()
    assert (row(run_id)["state"], row(run_id)["code"]) == ("unknown", None)
    assert "exit code is not known" in terminal.errors()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_command_ends_by_the_signal_of_the_program(number: signal.Signals) -> None:
    text = f"from eagleray.cli.foreground import end_as\nend_as({-number})"
    assert subprocess.run([sys.executable, "-c", text], check=False).returncode == -number


def test_terminal_is_in_use_also_without_its_device_file(tmp_path: Path) -> None:
    """A container may lack /dev/tty."""
    text = """
import os
from eagleray.cli import foreground
found = os.open
def open_file(path, *rest):
    if path == "/dev/tty": raise FileNotFoundError(path)
    return found(path, *rest)
os.open = open_file
print("in use:", foreground._is_in_foreground())
"""
    screen = Screen(tmp_path, [sys.executable, "-c", text])
    screen.expect("in use: True")
    assert screen.code() == 0
    screen.close()


def test_run_without_a_terminal_reads_nothing(own_home: Path, tmp_path: Path) -> None:
    text = "import sys; print(repr(sys.stdin.read()), sys.stdout.write_through)"
    run_id = eagleray(tmp_path, "run", "--detach", "--", sys.executable, "-c", text).strip()
    wait_for("the end", lambda: row(run_id)["state"] == "exited")
    assert (own_home / "runs" / run_id / "output.log").read_text() == "'' True\n"
