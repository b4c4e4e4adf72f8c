"""Launches a program as a job of a Ray cluster, through its dashboard."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping

from eagleray.common.errors import EaglerayError, printable
from eagleray.ray import job_logs
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.jobs import JobState
from eagleray.runs.errors import outcome_unknown, rest_not_read
from eagleray.runs.injected_config import plain_json
from eagleray.runs.output import Output
from eagleray.supervisor.launchers.launcher import LaunchedProgram, ProgramEnd
from eagleray.tools.code_copies import Package, zip_package

AGAIN_S = 2.0
# A cluster that answers nothing for so long has ended, with all that ran there.
GIVE_UP_S = 600.0
# How often the log of an ended job is requested without result.
TRIES = 3


class RayJob:
    """Submits, follows and stops one job, or adopts the existing `job`.

    `environ` are the variables of the program and of its workers.
    """

    is_waiting = False

    def __init__(
        self,
        dashboard: Dashboard,
        command: tuple[str, ...],
        cwd: str,
        name: str,
        of: Package,
        environ: Mapping[str, str],
        output: Output,
        job: str = "",
    ) -> None:
        self._dashboard = dashboard
        self._command = command
        self._cwd = cwd
        self._name = name
        self._package = of
        self._environ = dict(environ)
        self._output = output
        self._job = job
        self._copied = 0

    async def start(self) -> LaunchedProgram:
        if self._job:
            return LaunchedProgram(external_id=self._job)
        jobs = self._dashboard.job_api
        name, archive = zip_package(self._package)
        if not await jobs.has_package(name):
            await jobs.put_package(name, archive)
        entry = {"argv": self._command, "cwd": self._cwd}
        # Constant words alone: whatever the user typed is sent in a variable, past the shell of the head.
        self._job = await jobs.submit(
            shlex.join(["python", "-m", f"{self._package.name}.job_entry"]),
            runtime_env={
                "py_modules": [f"gcs://{name}"],
                "env_vars": self._environ | {"EAGLERAY_ENTRY": plain_json(entry)},
            },
            metadata={"name": printable(self._name), "eagleray": "run"},
        )
        return LaunchedProgram(external_id=self._job)

    async def ended(self) -> ProgramEnd:
        """A lost connection loses nothing of the log; a log that can't be read doesn't delay the end."""
        loop = asyncio.get_running_loop()
        heard, failures = loop.time(), 0
        while True:
            try:
                await self._follow()
                return ending(await job_logs.wait_ended(self._dashboard, self._job))
            except EaglerayError as error:
                state = await self._state()
                if state is not None:
                    heard = loop.time()
                    failures += state.ended
                if state is not None and failures == TRIES:
                    over = ending(state)
                    return ProgramEnd(
                        over.code, f"{over.note} {rest_not_read(error.message)}".strip()
                    )
                if error.code == "no-job" or loop.time() - heard > GIVE_UP_S:
                    return ProgramEnd(None, outcome_unknown(error.message))
            await asyncio.sleep(AGAIN_S)

    def workers_ended(self) -> None:
        """The stream of its log ends with the job."""

    async def stop(self, hurry: asyncio.Event) -> None:
        await self._dashboard.job_api.stop(self._job)

    async def _follow(self) -> None:
        """Skips the part that was copied before the connection was lost, which the log repeats."""
        passed = 0
        async for text in job_logs.follow(self._dashboard, self._job):
            new = text[max(0, self._copied - passed) :]
            passed += len(text)
            if new:
                self._copied += len(new)
                self._output.write(new.encode("utf-8", "replace"))

    async def _state(self) -> JobState | None:
        """Returns the state of the job; None without an answer."""
        try:
            return await self._dashboard.job_api.state(self._job)
        except EaglerayError:
            return None


def ending(state: JobState) -> ProgramEnd:
    """How a job ended, by its status and message: answers of HTTP do not say it."""
    if state.status == "SUCCEEDED":
        return ProgramEnd(0)
    if state.status == "STOPPED":
        return ProgramEnd(130, "The job was stopped.")
    lines = [line for line in state.message.splitlines() if line.strip()]
    return ProgramEnd(state.code or 1, printable(lines[0], 400) if lines else "")
