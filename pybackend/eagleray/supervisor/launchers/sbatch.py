"""Launches a script as a SLURM job, from this machine or a login node, and follows the job."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from collections.abc import Mapping, Sequence

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t
from eagleray.common.retry import JOB_STATE, Backoff
from eagleray.common.slurm_errors import job_over, slurm_failed
from eagleray.common.tasks import wait_for_event
from eagleray.protocol.adapter_control import CommandOutput
from eagleray.runs.errors import (
    copy_not_there,
    folder_not_there,
    not_submitted,
    outcome_unknown,
)
from eagleray.runs.output import Output
from eagleray.runs.sbatch_arguments import (
    WITH_VARIABLES,
    script_index,
    submission,
    variables,
)
from eagleray.slurm import jobs
from eagleray.slurm.job_output import fields
from eagleray.slurm.jobs import SlurmJob
from eagleray.slurm.queue import SlurmQueue
from eagleray.supervisor.launchers.job_output import JobOutput
from eagleray.supervisor.launchers.launcher import LaunchedProgram, ProgramEnd
from eagleray.tools.commands import Commands

SUBMIT_S = 60.0
AGAIN = Backoff(first_s=1.0, longest_s=30.0)
# SLURM forgets a job after its end (`MinJobAge`, 300 s unless a site sets it).  `scontrol show job` then exits with 1,
# as it does for every other failure, such as a controller that is away, and has no `--json` (both in SLURM 22.05).
# Only the message distinguishes them; it belongs to ESLURM_INVALID_JOB_ID.
_FORGOTTEN = "Invalid job id"
# After this many such messages in a row the end of the job stays unknown.
TRIES = 5
# A login node or SLURM itself may be unreachable for long, while the job keeps running.
GIVE_UP_S = 24 * 3600.0
_AGAIN = b"\n(SLURM has put the job back into its queue)\n"

# The script begins in the folder of the submission; the command comes in as arguments, never as text.
_IN_FOLDER = ("sh", "-c", 'cd -- "$1" || exit 113; shift;' + WITH_VARIABLES, "sh")
_NO_FOLDER = 113
_EXPORT = r"s/^#SBATCH[[:space:]].*--export[=[:space:]]\([^[:space:]]*\).*/\1/p"
_SUBMITTED = re.compile(r"^(?:Submitted batch job )?([0-9]{1,10})(?:;[\w.-]+)?\s*$", re.MULTILINE)


class Sbatch:
    """Submits, follows and cancels one job, or adopts the existing `job`; `ssh` "" is this machine."""

    def __init__(
        self,
        commands: Commands,
        ssh: str,
        command: Sequence[str],
        cwd: str,
        environ: Mapping[str, str],
        output: Output,
        queue: SlurmQueue,
        job: str = "",
    ) -> None:
        self._commands = commands
        self._queue = queue
        self._ssh = ssh
        self._command = command
        self._cwd = cwd
        self._environ = environ
        self._output = output
        self._job = job
        python = "python3" if ssh else sys.executable
        self._files = JobOutput(commands, ssh, output, self._on_replaced, python)
        self._restarts = ""
        self._forgotten = 0
        self._hint = asyncio.Event()
        self._is_listed = True
        self._listing: object = None
        self._changed_at = float("-inf")
        self.is_waiting = True

    async def start(self) -> LaunchedProgram:
        if self._job:
            return LaunchedProgram(external_id=self._job, ssh=self._ssh)
        await self._check_copy()
        arguments = submission(self._command, self._environ, await self._exported_by_script())
        ran = await self._in_folder(arguments, variables(self._environ, is_remote=bool(self._ssh)))
        if ran.code == _NO_FOLDER:
            raise folder_not_there(self._cwd, self._ssh or t("this machine"))
        match = _SUBMITTED.search(ran.stdout)
        if ran.code != 0 or match is None:
            raise not_submitted(ran.stderr or ran.stdout)
        self._job = match[1]
        self._output.write((ran.stdout + ran.stderr).encode())
        return LaunchedProgram(external_id=self._job, ssh=self._ssh)

    async def _check_copy(self) -> None:
        """Raises if a login node doesn't have the copy of the script, which is in a folder of this machine."""
        copy = next(iter(self._command[script_index(self._command) :]), "")
        if self._ssh and "EAGLERAY_SCRIPT" in self._environ:
            ran = await self._in_folder(["test", "-r", copy])
            if ran.code not in (0, _NO_FOLDER):
                raise copy_not_there(copy, self._ssh)

    async def _in_folder(self, command: Sequence[str], stdin: str = "") -> CommandOutput:
        argv = [*_IN_FOLDER, self._cwd, *command]
        return await self._commands.run(self._ssh, argv, stdin, SUBMIT_S)

    async def _exported_by_script(self) -> str:
        """The `--export` of the script itself, which one on the command line would override."""
        script = self._command[script_index(self._command) :][:1]
        ran = await self._in_folder(["sed", "-n", _EXPORT, "--", *script]) if script else None
        values = ran.stdout.split() if ran is not None and ran.code == 0 else []
        return values[-1] if values else "ALL"

    async def ended(self) -> ProgramEnd:
        """Polls again when a login node or SLURM doesn't answer for a while."""
        copying = tasks.lasting(self._files.run, "output of the job")
        try:
            ending = await self._until_over()
            if ending.code is not None:
                await self._files.finish(GIVE_UP_S)
            return ending
        finally:
            copying.cancel()
            await asyncio.gather(copying, return_exceptions=True)

    async def _until_over(self) -> ProgramEnd:
        """Polls at once after a hint, often after a change, else as rarely as a site wants it."""
        loop = asyncio.get_running_loop()
        answered_at, failures = loop.time(), 0
        while True:
            self._hint.clear()
            try:
                job = await self._changed_job(loop.time())
                if job and jobs.state_of(job["JobState"]) == "over":
                    return _ending(job)
                answered_at, failures, self._forgotten = loop.time(), 0, 0
            except EaglerayError as error:
                failures += 1
                if self._forgotten > TRIES or loop.time() - answered_at > GIVE_UP_S:
                    return ProgramEnd(None, outcome_unknown(error.message))
            delay_s = JOB_STATE.delay_s(loop.time() - self._changed_at)
            await wait_for_event(self._hint, AGAIN.wait_s(failures) if failures else delay_s)

    async def _changed_job(self, now: float) -> dict[str, str] | None:
        """The fields of the job by `scontrol`, None if the shared queue shows no change of it.

        A job that the queue doesn't list, such as the first one of an array, is only asked for by `scontrol`.
        """
        listed = None
        if self._is_listed:
            max_age_s = JOB_STATE.interval_s(now - self._changed_at)
            listed = (await self._queue.get(self._ssh, max_age_s)).job(self._job)
        listing = _listing_of(listed) if listed else None
        if listing is not None and listing == self._listing:
            return None
        job = await self._show()
        self._update(job)
        word = job["JobState"]
        self._is_listed = listed is not None or word == "PENDING"
        if (listing or word) != self._listing:
            self._listing, self._changed_at = listing or word, now
        return job

    async def stop(self, hurry: asyncio.Event) -> None:
        ran = await self._commands.run(self._ssh, ["scancel", self._job], "", SUBMIT_S)
        if ran.code != 0:
            raise slurm_failed("scancel", ran.stderr)
        self._poll_soon()

    def workers_ended(self) -> None:
        self._poll_soon()

    def _poll_soon(self) -> None:
        """Polls now, and often for a minute."""
        self._changed_at = asyncio.get_running_loop().time()
        self._hint.set()

    async def _show(self) -> dict[str, str]:
        """The fields of the job; raises once SLURM has forgotten it."""
        show = ["env", "LC_ALL=C", "scontrol", "-o", "show", "job", self._job]
        ran = await self._commands.run(self._ssh, show, "", SUBMIT_S)
        job = fields(ran.stdout) if ran.code == 0 else {}
        if "JobState" not in job:
            if _FORGOTTEN in ran.stderr:
                self._forgotten += 1
                raise job_over(self._job, "")
            raise slurm_failed("scontrol", ran.stderr)
        return job

    def _update(self, job: Mapping[str, str]) -> None:
        """Follows the output files, and notes a restart; errors have a file of their own if the script or user wants that."""
        self.is_waiting = job["JobState"] != "RUNNING"
        for path in (job.get("StdOut"), job.get("StdErr")):
            if path:
                self._files.add(path)
        restarts = job.get("Restarts", "")
        if self._restarts not in ("", restarts):
            self._output.write(_AGAIN)
            self._files.job_restarted()
        self._restarts = restarts

    async def _on_replaced(self) -> None:
        """Writes the note about a restart before the output after it, however late the poll would notice the restart."""
        with contextlib.suppress(EaglerayError):
            self._update(await self._show())
        self._poll_soon()


def _listing_of(job: SlurmJob) -> object:
    """The part of a row whose change makes a call of `scontrol` worth it; the expected start changes often and isn't in it."""
    return (job.word, job.started if job.state == "running" else 0.0)


def _ending(job: Mapping[str, str]) -> ProgramEnd:
    word = job.get("JobState", "")
    code, _, number = job.get("ExitCode", "").partition(":")
    if word == "COMPLETED":
        return ProgramEnd(0)
    ended = int(code) if code.isdigit() else 1
    if number.isdigit() and int(number):
        ended = 128 + int(number)
    return ProgramEnd(ended or 1, f"SLURM says {printable(word, 40)}.")
