"""The parent of a program where the log can't be written, its reader is slow, it gets signals, or who waits for it is killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import stat
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from attrs import define
from eagleray.remote.injected import step_signals
from eagleray.runs.streams import Streams
from eagleray.supervisor.launchers import local_program, program_parent
from eagleray.supervisor.launchers.local_program import LocalProgram, ProgramPaths
from eagleray.supervisor.launchers.program_parent import ProgramParent

MEGABYTES = "import sys\nfor n in range(10): sys.stdout.write('x' * 2**20)\nsys.exit(3)"
WAITS = "import time\nprint('ready', flush=True)\ntime.sleep(600)"


@define
class Attended:
    """A started program with the other ends of its streams."""

    program: LocalProgram
    pid: int
    out: int
    control: socket.socket
    gaps: list[str]

    def log_has_gap(self, reason: str) -> None:
        self.gaps.append(reason)

    def stop(self) -> None: ...

    async def expect_stop(self) -> None:
        """Waits for the next report of one."""
        while b"stopped" not in await asyncio.to_thread(self.control.recv, 4096):
            continue

    async def output(self) -> bytes:
        def read() -> bytes:
            with os.fdopen(self.out, "rb") as file:
                return file.read()

        return await asyncio.to_thread(read)


def read_line(fd: int) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        line += os.read(fd, 1)
    return line


@contextlib.asynccontextmanager
async def attended(
    text: str, log: Path, ends: tuple[Path, ...], now: Callable[[], float] = time.monotonic
) -> AsyncIterator[Attended]:
    out, given = os.pipe()
    ours, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(30)
    streams = Streams(os.open(os.devnull, os.O_RDONLY), given, os.dup(given), control.detach())
    made = Attended(None, 0, out, ours, [])  # type: ignore[arg-type]
    files = ProgramPaths(log, ends)
    command = [sys.executable, "-c", text]
    made.program = LocalProgram(command, "/", dict(os.environ), files, streams, made, now)
    started = await made.program.start()
    assert started.program is not None
    made.pid = started.program.pid
    with ours:
        yield made


async def test_full_disk_costs_the_log_and_not_the_output(tmp_path: Path) -> None:
    full, spare = Path("/dev/full"), tmp_path / "spare.json"
    async with attended(MEGABYTES, full, (full, spare)) as program:
        assert len(await program.output()) == 10 * 2**20
        assert (await program.program.ended()).code == 3
        assert program.gaps == ["No space left on device"]
    assert json.loads(spare.read_text())["code"] == 3


def test_supervisor_ignores_all_that_is_passed_on_but_what_ends() -> None:
    """The module of the parent is imported alone, and has names of its own."""
    passed_on, ending = set(program_parent.PASSED_ON), set(program_parent.ENDING)
    assert set(step_signals.IGNORED) == passed_on - ending


@pytest.mark.parametrize("last", ["b\n", ""])
async def test_gap_in_the_log_says_how_much_is_missing(tmp_path: Path, last: str) -> None:
    """The disk is full until its limit is lifted: the log is a link that leads elsewhere then."""
    log = tmp_path / "log"
    # In one piece, also where PYTHONUNBUFFERED is set.
    text = (
        f"import os\nos.write(1, b'a' * 99 + b'\\n')\ninput()\nprint({last!r}, end='', flush=True)"
    )
    log.mkdir()
    out, given = os.pipe()
    stdin, typed = os.pipe()
    ours, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    streams = Streams(stdin, given, os.dup(given), control.detach())
    files = ProgramPaths(log, (tmp_path / "end.json",))
    program = LocalProgram([sys.executable, "-c", text], "/", dict(os.environ), files, streams)
    await program.start()
    # The log can't be opened while a folder has its name.
    assert await asyncio.to_thread(read_line, out) == b"a" * 99 + b"\n"
    ours.settimeout(30)
    with ours:
        while b"gap" not in await asyncio.to_thread(ours.recv, 4096):
            continue
        log.rmdir()
        os.write(typed, b"\n")
        assert (await program.ended()).code == 0
    for fd in (out, typed):
        os.close(fd)
    note = "(eagleray: 100 bytes of output are missing here: Is a directory)"
    assert log.read_text() == f"\n{note}\n{last}"


async def test_note_of_a_gap_is_in_its_place(tmp_path: Path) -> None:
    log = tmp_path / "log"
    os.mkfifo(log)
    numbers = "".join(f"{n:015}\n" for n in range(20 * 2**16)).encode()
    text = "import signal\nfor n in range(20 * 2**16): print(f'{n:015}')\nprint('ready', flush=True)\nsignal.pause()"
    async with attended(text, log, (tmp_path / "end.json",)) as program:
        with os.fdopen(program.out, "rb") as out:
            assert await asyncio.to_thread(out.read, len(numbers)) == numbers
            # The file server answers again.
            with log.open("rb") as written:
                begin = await asyncio.to_thread(written.read, 1)
                program.control.send(b"s%d" % signal.SIGTERM)
                text = begin + await asyncio.to_thread(written.read)
    before, note, after = re.split(rb"\n(\(eagleray: .*\))\n", text)
    lost = int(note.split()[1])
    assert before == numbers[: len(before)]
    assert after == (numbers + b"ready\n")[len(before) + lost :]


async def test_file_server_that_hangs_costs_the_log_and_not_the_output(tmp_path: Path) -> None:
    hangs = tmp_path / "log"
    # It can't be opened for writing as long as nothing reads it.
    os.mkfifo(hangs)
    async with attended(MEGABYTES, hangs, (tmp_path / "end.json",)) as program:
        assert len(await program.output()) == 10 * 2**20
        assert (await program.program.ended()).code == 3


@pytest.mark.parametrize("was_asked", [True, False])
async def test_who_waits_is_killed(tmp_path: Path, was_asked: bool) -> None:
    """`timeout -k` sends SIGTERM and then SIGKILL; SIGKILL alone leaves the program running."""
    ignores = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + WAITS
    async with attended(ignores, tmp_path / "log", (tmp_path / "end.json",)) as program:
        await asyncio.to_thread(read_line, program.out)
        if was_asked:
            program.control.send(b"s%d" % signal.SIGTERM)
        program.control.close()
        if not was_asked:
            # Its output is still read, and it can be ended.
            os.kill(program.pid, signal.SIGUSR1)
        end = await program.program.ended()
    os.close(program.out)
    assert end.code == 128 + (signal.SIGKILL if was_asked else signal.SIGUSR1)


async def test_slow_reader_delays_neither_the_code_nor_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, end = tmp_path / "log", tmp_path / "end.json"
    async with attended("print('x' * 99_999); raise SystemExit(3)", log, (end,)) as program:
        ended = await asyncio.wait_for(program.program.ended(), 60)
        assert (ended.code, json.loads(end.read_text())["code"]) == (3, 3)
        assert log.stat().st_size == 100_000
        signals: list[int] = []
        monkeypatch.setattr(local_program, "send", lambda group, number: signals.append(number))
        await program.program.stop(asyncio.Event())
        assert not signals
        # It is killed with unread reports; what reads the output may still want it.
        program.control.close()
        assert len(await program.output()) == 100_000


async def test_who_waits_stops_after_the_program_has_ended(tmp_path: Path) -> None:
    """Ctrl-Z while a reader (`| less`) hasn't taken all output."""
    async with attended(
        "print('x' * 99_999)", tmp_path / "log", (tmp_path / "end.json",)
    ) as program:
        await program.program.ended()
        program.control.send(b"s%d" % signal.SIGTSTP)
        await program.expect_stop()
        program.control.send(b"s%d" % signal.SIGCONT)
        assert len(await program.output()) == 100_000


async def test_who_waits_stops_while_the_program_is_stopped(tmp_path: Path) -> None:
    async with attended(HANDLES, tmp_path / "log", (tmp_path / "end.json",)) as program:
        assert await asyncio.to_thread(read_line, program.out) == b"0\n"
        os.kill(program.pid, signal.SIGSTOP)
        await program.expect_stop()
        program.control.send(b"s%d" % signal.SIGTSTP)
        await program.expect_stop()
        for number in (signal.SIGCONT, signal.SIGUSR1):
            program.control.send(b"s%d" % number)
        assert (await program.program.ended()).code == 1
    os.close(program.out)


HANDLES = """
import signal, sys
def take(number, frame):
    if number == signal.SIGUSR1: sys.exit(1)
    print(number, flush=True)
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1): signal.signal(number, take)
print(0, flush=True)
while True: signal.pause()
"""


@pytest.mark.parametrize(
    ("number", "later_s", "was_interrupted"),
    [
        (signal.SIGHUP, 0.0, False),
        (signal.SIGTERM, 60.0, False),
        (signal.SIGTERM, 5.0, True),
    ],
)
async def test_program_that_handles_a_signal_ends_by_itself_later(
    tmp_path: Path, number: signal.Signals, later_s: float, was_interrupted: bool
) -> None:
    now = 1000.0
    async with attended(
        HANDLES, tmp_path / "log", (tmp_path / "end.json",), lambda: now
    ) as program:
        for printed in (0, number):
            assert await asyncio.to_thread(read_line, program.out) == b"%d\n" % printed
            if not printed:
                program.control.send(b"s%d" % number)
        # The supervisor has its report, too.
        while number not in program.program._signals:
            await asyncio.sleep(0)
        now += later_s
        program.control.send(b"s%d" % signal.SIGUSR1)
        end = await program.program.ended()
    os.close(program.out)
    assert (end.code, end.was_interrupted) == (1, was_interrupted)


async def test_signal_to_reload_does_not_replace_the_signal_of_a_stop(tmp_path: Path) -> None:
    async with attended(HANDLES, tmp_path / "log", (tmp_path / "end.json",)) as program:
        stopping = None
        for printed in (0, signal.SIGHUP, signal.SIGINT):
            assert await asyncio.to_thread(read_line, program.out) == b"%d\n" % printed
            if printed == 0:
                program.control.send(b"s%d" % signal.SIGHUP)
            elif printed == signal.SIGHUP:
                stopping = asyncio.create_task(program.program.stop(asyncio.Event()))
        program.control.send(b"s%d" % signal.SIGUSR1)
        assert (await program.program.ended()).code == 1
        assert stopping is not None
        await stopping
    os.close(program.out)


@pytest.fixture
def in_terminal(tmp_path: Path) -> Iterator[tuple[ProgramParent, socket.socket]]:
    """A parent whose program has a terminal as output, and the other end of its control socket."""
    wakeup = signal.set_wakeup_fd(-1)
    master, slave = os.openpty()
    ours, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    streams = {
        "stdin": os.open(os.devnull, os.O_RDONLY),
        "stdout": slave,
        "stderr": os.dup(slave),
        "control": control.detach(),
    }
    request = {
        "command": [sys.executable, "-c", ""],
        "cwd": "/",
        "env": {},
        "ignored": [],
        "log": str(tmp_path / "log"),
        "missing": "%d %s",
        "ends": [str(tmp_path / "end.json")],
        "streams": streams,
    }
    try:
        yield ProgramParent(request), ours
    finally:
        signal.set_wakeup_fd(wakeup)
        ours.close()
        os.close(master)


def test_closed_terminal_gets_no_size(in_terminal: tuple[ProgramParent, socket.socket]) -> None:
    parent, ours = in_terminal
    [terminal] = parent._streams
    terminal.close()
    ours.send(b"w" + bytes(8))
    parent._take_packet()
    assert parent._pipes.master == -1


def test_control_socket_that_is_reset_gives_nothing_up(
    in_terminal: tuple[ProgramParent, socket.socket],
) -> None:
    parent, ours = in_terminal
    parent._send_report(pid=1)
    ours.close()
    assert not parent._is_given_up()


def test_end_of_who_waits_frees_no_descriptor(
    in_terminal: tuple[ProgramParent, socket.socket],
) -> None:
    """The thread that records the end may be about to write to it."""
    parent, _ = in_terminal
    control = parent._control
    parent._control_ended()
    assert stat.S_ISSOCK(os.fstat(control).st_mode)
    os.close(control)


@pytest.mark.parametrize("can_log", [True, False])
async def test_code_and_output_survive_the_limit_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_log: bool
) -> None:
    start = "import threading\n_start = threading.Thread.start\n"
    start += "def start(self):\n"
    start += f"    if not {can_log} or self.name != 'log': raise RuntimeError('no new thread')\n"
    start += "    _start(self)\nthreading.Thread.start = start\n"
    monkeypatch.setattr(local_program, "_START", start + local_program._START)
    log, end = tmp_path / "log", tmp_path / "end.json"
    async with attended("print('x' * 99_999); raise SystemExit(3)", log, (end,)) as program:
        assert len(await program.output()) == 100_000
        assert (await program.program.ended()).code == 3
        assert program.gaps == ([] if can_log else ["no thread can be started"])
    assert json.loads(end.read_text())["code"] == 3
    assert not can_log or log.stat().st_size == 100_000


def test_program_began_before_its_exec(
    in_terminal: tuple[ProgramParent, socket.socket],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The file of the program may be on a slow file server."""
    parent, _ = in_terminal
    fork = os.fork

    def slow() -> int:
        pid, forked = fork(), time.time()
        if pid:
            monkeypatch.setattr(program_parent.time, "time", lambda: forked + 60.0)
        return pid

    before = time.time()
    monkeypatch.setattr(os, "fork", slow)
    assert parent._start()
    monkeypatch.undo()
    recorded = json.loads((tmp_path / "end.json").read_text())
    os.waitpid(recorded["pid"], 0)
    assert before <= recorded["began"] <= time.time()
