"""Launches a program as a process of this machine, which keeps running when its supervisor dies."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from attrs import frozen

from eagleray.protocol import jsonlines
from eagleray.runs.errors import no_program, program_lost
from eagleray.runs.model import ProcessIdentity
from eagleray.runs.output import MISSING
from eagleray.runs.records import recorded_end
from eagleray.runs.streams import Streams
from eagleray.runs.supervisor_process import STEPS, send
from eagleray.supervisor.launchers import program_parent
from eagleray.supervisor.launchers.launcher import LaunchedProgram, ProgramEnd
from eagleray.tools.processes import born, lives

_ORPHAN_POLL_S = 0.5
# As a module, whose compiled code is stored: compiling it takes as long as starting Python.
_START = (
    "import sys; sys.path.append(sys.argv[1].rpartition('/')[0]); import program_parent;"
    " program_parent.main()"
)


@frozen
class ProgramPaths:
    """The files of a program: the log of its output, and those that can have its process id and exit code, the first first."""

    log: Path
    ends: tuple[Path, ...]


class ProgramListener(Protocol):
    """Receives the events of a program, on the event loop."""

    def stop(self) -> None:
        """The terminal that waits for the program has sent it a second signal to end it."""

    def log_has_gap(self, reason: str) -> None:
        """Its log can't be written."""


class LocalProgram:
    """A process whose parent (`program_parent.py`) passes its streams on, keeps its exit code and outlives this process."""

    is_waiting = False

    def __init__(
        self,
        command: Sequence[str],
        cwd: str,
        environ: Mapping[str, str],
        files: ProgramPaths,
        streams: Streams | None = None,
        listener: ProgramListener | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._request: dict[str, Any] = {
            "command": list(command),
            "cwd": cwd,
            "env": dict(environ),
            "log": str(files.log),
            "missing": MISSING,
            "ends": [str(path) for path in files.ends],
            "ignored": [] if streams is None else list(streams.ignored),
            "streams": None if streams is None else streams.descriptors(),
        }
        self._ends = files.ends
        self._streams = streams
        self._listener = listener
        self._now = now
        # The signals that the terminal has passed on, and the time of the last one to end the program, also of ours.
        self._signals: set[int] = set()
        self._ending_at = float("-inf")
        # Whether a signal would reach another process by now.
        self._is_gone = self._was_ending = False
        self._pid = 0
        self._code: int | None = None
        self._over = asyncio.Event()

    async def start(self) -> LaunchedProgram:
        parent, report = await asyncio.to_thread(self._spawn)
        if "pid" not in report:
            _, text, named = report.get(
                "error", (None, program_lost(), self._request["command"][0])
            )
            raise no_program(named, text)
        self._pid = int(report["pid"])
        program = ProcessIdentity(self._pid, born(self._pid))
        loop = asyncio.get_running_loop()
        threading.Thread(
            target=self._read, args=(parent, program, loop), daemon=True, name="program"
        ).start()
        return LaunchedProgram(program)

    async def ended(self) -> ProgramEnd:
        await self._over.wait()
        if self._code is None:
            return ProgramEnd(None, program_lost())
        # As in a shell.
        code = 128 - self._code if self._code < 0 else self._code
        by = {128 + number for number in self._signals}
        was_interrupted = self._code == -STEPS[0][0] or code in by or self._was_ending
        return ProgramEnd(code, was_interrupted=was_interrupted)

    def workers_ended(self) -> None:
        """The end of the process is noticed at once."""

    async def stop(self, hurry: asyncio.Event) -> None:
        """A signal to end the program that it has just got takes the place of the first one."""
        for number, limit_s in STEPS:
            hurry.clear()
            if self._over.is_set() or self._is_gone:
                return
            if number != STEPS[0][0] or not self._is_ending():
                send(self._pid, number)
            self._ending_at = self._now()
            await self._over_or(hurry, limit_s)

    def _is_ending(self) -> bool:
        """Whether the last signal to end the program may still do so; later it has handled that signal and continues."""
        return self._now() - self._ending_at < STEPS[0][1]

    async def _over_or(self, hurry: asyncio.Event, limit_s: float) -> None:
        waits = [asyncio.ensure_future(event.wait()) for event in (self._over, hurry)]
        try:
            await asyncio.wait(waits, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _spawn(self) -> tuple[subprocess.Popen[bytes], Mapping[str, Any]]:
        """Starts the parent; returns it with its first report, {} if it ended without one."""
        parent = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, program_parent.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=() if self._streams is None else self._streams.descriptors().values(),
            start_new_session=True,
        )
        assert parent.stdin is not None and parent.stdout is not None
        if self._streams is not None:
            # An output is at its end for its reader once all processes that have it are.
            self._streams.close()
        with parent.stdin as pipe:
            pipe.write(jsonlines.encode(self._request))
        line = parent.stdout.readline()
        return parent, json.loads(line) if line else {}

    def _read(
        self,
        parent: subprocess.Popen[bytes],
        program: ProcessIdentity,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        assert parent.stdout is not None
        with parent.stdout as lines:
            for line in lines:
                report = json.loads(line)
                if "code" in report:
                    self._code = int(report["code"])
                    break
                _call(loop, partial(self._take, report))
        if self._code is None:
            _wait_for_orphan(program)
            # Its parent may have been killed after that.
            recorded = recorded_end(self._ends)
            self._code = recorded.code if recorded and recorded.pid == program.pid else None
        _call(loop, self._over.set)
        parent.wait()

    def _take(self, report: Mapping[str, Any]) -> None:
        if "signal" in report:
            self._signals.add(int(report["signal"]))
            # A program may reload on SIGHUP, and print its threads on SIGQUIT.
            if report["signal"] in (signal.SIGINT, signal.SIGTERM):
                is_second, self._ending_at = self._is_ending(), self._now()
                if is_second and self._listener is not None:
                    self._listener.stop()
        elif "gone" in report:
            self._is_gone, self._was_ending = True, self._is_ending()
        elif "gap" in report and self._listener is not None:
            self._listener.log_has_gap(str(report["gap"]))


def _wait_for_orphan(program: ProcessIdentity) -> None:
    """The program of a parent that was killed keeps running; its exit code is lost."""
    waits = threading.Event()
    while lives(program.pid, program.born):
        waits.wait(_ORPHAN_POLL_S)


def _call(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    """Calls on the loop, unless that has ended."""
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:
        return
