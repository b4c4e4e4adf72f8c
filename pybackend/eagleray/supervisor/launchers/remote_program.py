"""Launches a program on an ssh host, or as a step of a SLURM job, where it outlives the connection and the supervisor."""

from __future__ import annotations

import asyncio
import json
import secrets
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.retry import REMOTE_PROGRAM, Backoff
from eagleray.common.tasks import wait_for_event
from eagleray.protocol import jsonlines
from eagleray.remote.scripts import detached_program
from eagleray.runs.errors import (
    not_started_there,
    outcome_unknown,
    program_elsewhere,
    program_lost,
)
from eagleray.runs.output import MISSING, Output
from eagleray.supervisor.launchers.job_output import JobOutput
from eagleray.supervisor.launchers.launcher import LaunchedProgram, ProgramEnd
from eagleray.tools.commands import Commands

REQUEST_S = 60.0
AGAIN = Backoff(first_s=1.0, longest_s=30.0)
# The host may be unreachable for long, while the program keeps running.
GIVE_UP_S = 24 * 3600.0
# The last output arrives soon, or never.
_REST_S = 30.0
STEPS = ((signal.SIGINT, 10.0), (signal.SIGTERM, 10.0), (signal.SIGKILL, 20.0))
# The first signal makes srun print the state of its tasks, and nothing else (SIGNALS in man srun).
SRUN_STEPS = STEPS[1:]
# Read at once: an update of the extension removes this folder while a supervisor lives.
_SCRIPT = jsonlines.encode(Path(detached_program.__file__).read_text("utf-8")).decode()
# The script reads the next line of its input, so that nothing of that may be buffered.
_START = (
    "import json; exec(json.loads(open(0, 'rb', 0, closefd=False).readline().decode()),"
    " {'__name__': '__main__'})"
)


@frozen
class RemoteStart:
    """The program to start on `ssh`, "" for this machine; with `slurm_job` as a step of it.

    `config` is the text of a private file whose path follows `option`, "" for none.
    """

    ssh: str
    slurm_job: str
    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str] = field(repr=False)
    option: str = ""
    config: str = field(default="", repr=False)

    @property
    def command(self) -> list[str]:
        return [*(srun_step(self.slurm_job) if self.slurm_job else ()), *self.argv]


def srun_step(job: str) -> list[str]:
    """The words before a command that make it a step on the first node of a job, beside what runs there."""
    place = ["--jobid", job, "--overlap", "--nodes=1", "--ntasks=1", "--relative=0"]
    return ["srun", *place, "--mpi=none", "--cpu-bind=none", "--job-name=eagleray"]


class RemoteProgram:
    """Starts the program, or adopts the one that the run `run` has started before; polls it by commands."""

    is_waiting = False

    def __init__(
        self,
        commands: Commands,
        start: RemoteStart,
        run: str,
        output: Output,
        *,
        is_adopted: bool = False,
    ) -> None:
        self._commands = commands
        self._start = start
        self._run = run
        self._is_adopted = is_adopted
        self._python = "python3" if start.ssh else sys.executable
        self._files = JobOutput(commands, start.ssh, output, self._on_replaced, self._python)
        self._hint = asyncio.Event()
        self._over = asyncio.Event()

    async def start(self) -> LaunchedProgram:
        request = {
            "argv": self._start.command,
            "cwd": self._start.cwd,
            "env": dict(self._start.env),
            # Variables of a job in which this process may run itself; srun would take them for options (man srun).
            "without": ["SLURM_", "SBATCH_", "SRUN_"] if self._start.slurm_job else [],
            "option": self._start.option,
            "config": self._start.config,
            "missing": MISSING,
        }
        status = await (
            self._request("status") if self._is_adopted else self._request("start", request)
        )
        self._files.add(str(status["output"]))
        return LaunchedProgram(external_id=str(status["pid"]), ssh=self._start.ssh)

    async def ended(self) -> ProgramEnd:
        """Polls again when the host doesn't answer for a while."""
        copying = tasks.lasting(self._files.run, "output of the program")
        try:
            end = await self._until_over()
            if end.code is not None:
                await self._files.finish(_REST_S)
            return end
        finally:
            self._over.set()
            copying.cancel()
            await asyncio.gather(copying, return_exceptions=True)

    async def _until_over(self) -> ProgramEnd:
        loop = asyncio.get_running_loop()
        began_at = answered_at = loop.time()
        failures = 0
        while True:
            self._hint.clear()
            try:
                status = await self._request("status")
                if not status["lives"]:
                    code = status["code"]
                    return ProgramEnd(code if isinstance(code, int) else None, _note(code))
                answered_at, failures = loop.time(), 0
            except EaglerayError as error:
                failures += 1
                if loop.time() - answered_at > GIVE_UP_S:
                    return ProgramEnd(None, outcome_unknown(error.message))
            delay_s = REMOTE_PROGRAM.delay_s(loop.time() - began_at)
            await wait_for_event(self._hint, AGAIN.wait_s(failures) if failures else delay_s)

    async def stop(self, hurry: asyncio.Event) -> None:
        for number, limit_s in SRUN_STEPS if self._start.slurm_job else STEPS:
            hurry.clear()
            if self._over.is_set():
                return
            status = await self._request("stop", number=number)
            if status["lives"] and not status["is_here"]:
                raise not_started_there(self._start.ssh, program_elsewhere(str(status["host"])))
            await self._over_or(hurry, limit_s)

    async def _over_or(self, hurry: asyncio.Event, limit_s: float) -> None:
        """Polls often, since a stopped server ends soon."""
        deadline = asyncio.get_running_loop().time() + limit_s
        while not self._over.is_set() and not hurry.is_set():
            left_s = deadline - asyncio.get_running_loop().time()
            if left_s <= 0:
                return
            self._hint.set()
            await wait_for_event(self._over, min(left_s, REMOTE_PROGRAM.interval_s(0.0)))

    def workers_ended(self) -> None:
        self._hint.set()

    async def _on_replaced(self) -> None:
        """Its output is only appended to."""

    async def _request(
        self, operation: str, request: Mapping[str, Any] | None = None, number: int = 0
    ) -> Mapping[str, Any]:
        """The status of the program; raises an error of ssh, or `not-started-there`."""
        mark = secrets.token_hex(8)
        rest = [str(int(number))] if number else []
        argv = [self._python, "-I", "-c", _START, mark, operation, self._run, *rest]
        stdin = _SCRIPT + (json.dumps(request) + "\n" if request else "")
        ran = await self._commands.run(self._start.ssh, argv, stdin, REQUEST_S)
        status = _status_in(ran.stdout, mark)
        if "error" in status or "output" not in status:
            reason = str(status.get("error") or ran.stderr or f"exit code {ran.code}")
            raise not_started_there(self._start.ssh, reason)
        return status


def _status_in(stdout: str, mark: str) -> Mapping[str, Any]:
    """Returns the output of the script, which may follow output of a shell's start files."""
    for line in stdout.splitlines():
        if line.startswith(mark):
            try:
                value = json.loads(line[len(mark) :])
            except ValueError:
                continue
            return value if isinstance(value, dict) else {}
    return {}


def _note(code: object) -> str:
    return "" if isinstance(code, int) else program_lost()
