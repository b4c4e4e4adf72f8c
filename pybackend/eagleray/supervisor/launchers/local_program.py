"""Launches a program as a process of this machine, which keeps running when its supervisor dies."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import threading
from collections.abc import Mapping, Sequence

from eagleray.features.runs.errors import no_program
from eagleray.features.runs.model import ProcessIdentity
from eagleray.features.runs.supervisor_process import STEPS, send
from eagleray.supervisor.launchers.launcher import LaunchedProgram, ProgramEnd
from eagleray.tools.processes import born, wait_for_exit


class LocalProgram:
    """A process in a session of its own that writes to `output` itself, so that no reader is needed."""

    is_waiting = False

    def __init__(
        self, command: Sequence[str], cwd: str, environ: Mapping[str, str], output: int
    ) -> None:
        self._command = list(command)
        self._cwd = cwd
        self._environ = dict(environ)
        self._output = output
        self._process: subprocess.Popen[bytes] | None = None
        self._over = asyncio.Event()

    async def start(self) -> LaunchedProgram:
        self._spawn()
        assert self._process is not None
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._wait, args=(loop,), daemon=True, name="program").start()
        return LaunchedProgram(ProcessIdentity(self._process.pid, born(self._process.pid)))

    async def ended(self) -> ProgramEnd:
        await self._over.wait()
        assert self._process is not None
        code = self._process.returncode
        # As in a shell.
        return ProgramEnd(128 - code if code < 0 else code)

    def workers_ended(self) -> None:
        """The end of the process is noticed at once."""

    async def stop(self, hurry: asyncio.Event) -> None:
        assert self._process is not None
        for number, limit_s in STEPS:
            hurry.clear()
            if self._over.is_set():
                return
            send(self._process.pid, number)
            await self._over_or(hurry, limit_s)

    async def _over_or(self, hurry: asyncio.Event, limit_s: float) -> None:
        waits = [asyncio.ensure_future(event.wait()) for event in (self._over, hurry)]
        try:
            await asyncio.wait(waits, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _spawn(self) -> None:
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                cwd=self._cwd,
                env=self._environ,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            missing = isinstance(error, FileNotFoundError) and error.filename == self._cwd
            named = self._cwd if missing else self._command[0]
            raise no_program(named, getattr(error, "strerror", "") or str(error)) from error

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        assert self._process is not None
        # This process also reads the program from inside, and would take the stops of ptrace for its end.
        wait_for_exit(self._process.pid)
        self._process.wait()
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._over.set)
