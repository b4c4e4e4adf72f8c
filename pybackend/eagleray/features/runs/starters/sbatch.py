"""A script that is given to SLURM as it is, here or on a login node, and the job that it becomes."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Mapping, Sequence

from eagleray.adapter.protocol import Ran
from eagleray.clients import slurm_jobs
from eagleray.clients.commands import Commands
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.retry import Backoff
from eagleray.common.run_errors import (
    copy_not_there,
    far_lost,
    folder_not_there,
    not_submitted,
    output_not_read,
)
from eagleray.common.slurm_errors import slurm_failed
from eagleray.features.runs.output import Output
from eagleray.features.runs.sbatch_words import WITH_VARIABLES, script_index, submission, variables
from eagleray.features.runs.starters.starting import Ending, Started

SUBMIT_S = 60.0
LOOK_S = 1.0
AGAIN = Backoff(first_s=1.0, longest_s=30.0)
# Said this often, SLURM has forgotten the job.
TRIES = 5
# A login node or SLURM itself may be away for long, while the job goes on.
GIVE_UP_S = 24 * 3600.0
# For so many looks another login node may see less of a file than was read already.
STALE = 60
_PIECE = 2**20
_FORGOTTEN = "Invalid job id"
_AGAIN = b"\n(SLURM has put the job back into its queue)\n"
_ANEW = b"\n(the job's output was begun anew)\n"
# Enough to tell what was read last from what stands there now.
_TAIL = 64

# Behind it stands what a file holds; the start files of a shell may say something before.
_MARK = "eagleray-piece:"
# The folder of the submission is where the script begins; the words come in as arguments, never as text.
_IN_FOLDER = ("sh", "-c", 'cd -- "$1" || exit 113; shift;' + WITH_VARIABLES, "sh")
_NO_FOLDER = 113
_EXPORT = r"s/^#SBATCH[[:space:]].*--export[=[:space:]]\([^[:space:]]*\).*/\1/p"
_SUBMITTED = re.compile(r"^(?:Submitted batch job )?([0-9]{1,10})(?:;[\w.-]+)?\s*$", re.MULTILINE)


class Sbatch:
    """Submits, follows and cancels one job, or the one that is there already, `job`; `ssh` "" is this machine."""

    def __init__(
        self,
        commands: Commands,
        ssh: str,
        command: Sequence[str],
        cwd: str,
        environ: Mapping[str, str],
        output: Output,
        job: str = "",
    ) -> None:
        self._commands = commands
        self._ssh = ssh
        self._command = command
        self._cwd = cwd
        self._environ = environ
        self._output = output
        self._job = job
        self._file = ""
        self._read = 0
        self._restarts = ""
        self._is_restarted = False
        self._less = 0
        self._tail = b""

    async def start(self) -> Started:
        if self._job:
            return Started(far_id=self._job, ssh=self._ssh)
        await self._see_copy()
        words = submission(self._command, self._environ, await self._exported_by_script())
        ran = await self._in_folder(words, variables(self._environ, is_far=bool(self._ssh)))
        if ran.code == _NO_FOLDER:
            raise folder_not_there(self._cwd, self._ssh or "this machine")
        found = _SUBMITTED.search(ran.stdout)
        if ran.code != 0 or found is None:
            raise not_submitted(ran.stderr.strip() or ran.stdout.strip())
        self._job = found[1]
        self._output.write((ran.stdout + ran.stderr).encode())
        return Started(far_id=self._job, ssh=self._ssh)

    async def _see_copy(self) -> None:
        """The copy that stands in place of a script lies on this machine, whose folders the other one may not have."""
        copy = next(iter(self._command[script_index(self._command) :]), "")
        if self._ssh and "EAGLERAY_SCRIPT" in self._environ:
            ran = await self._in_folder(["test", "-r", copy])
            if ran.code not in (0, _NO_FOLDER):
                raise copy_not_there(copy, self._ssh)

    async def _in_folder(self, words: Sequence[str], stdin: str = "") -> Ran:
        argv = [*_IN_FOLDER, self._cwd, *words]
        return await self._commands.run(self._ssh, argv, stdin, SUBMIT_S)

    async def _exported_by_script(self) -> str:
        """What the script itself says about `--export`, which a word on the command line would override."""
        script = self._command[script_index(self._command) :][:1]
        ran = await self._in_folder(["sed", "-n", _EXPORT, "--", *script]) if script else None
        said = ran.stdout.split() if ran is not None and ran.code == 0 else []
        return said[-1] if said else "ALL"

    async def ended(self) -> Ending:
        """A login node or a SLURM that does not answer for a while is asked again."""
        loop = asyncio.get_running_loop()
        heard, failures, forgotten = loop.time(), 0, 0
        while True:
            try:
                said = await self._show()
                over = slurm_jobs.state_of([said["JobState"]]) == "over"
                self._see(said)
                await self._copy_output()
                if over:
                    return _ending(said)
                heard, failures, forgotten = loop.time(), 0, 0
            except EaglerayError as error:
                failures += 1
                forgotten += _FORGOTTEN in error.message
                if forgotten > TRIES or loop.time() - heard > GIVE_UP_S:
                    return Ending(None, far_lost(error.message))
            await asyncio.sleep(AGAIN.wait_s(failures) if failures else LOOK_S)

    async def stop(self, hurry: asyncio.Event) -> None:
        ran = await self._commands.run(self._ssh, ["scancel", self._job], "", SUBMIT_S)
        if ran.code != 0:
            raise slurm_failed("scancel", ran.stderr)

    async def _show(self) -> dict[str, str]:
        """What SLURM knows of the job; raises once it knows nothing any more."""
        show = ["env", "LC_ALL=C", "scontrol", "-o", "show", "job", self._job]
        ran = await self._commands.run(self._ssh, show, "", SUBMIT_S)
        said = fields(ran.stdout) if ran.code == 0 else {}
        if "JobState" not in said:
            raise slurm_failed("scontrol", ran.stderr)
        return said

    def _see(self, said: Mapping[str, str]) -> None:
        file, restarts = said.get("StdOut", self._file), said.get("Restarts", "")
        if file != self._file:
            self._file, self._read, self._tail = file, 0, b""
        if self._restarts not in ("", restarts):
            self._is_restarted = True
            self._output.write(_AGAIN)
        self._restarts = restarts

    async def _copy_output(self) -> None:
        while self._file:
            size, piece = await self._piece()
            new = piece[len(self._tail) :]
            if self._is_anew(size, piece):
                self._read, self._tail, self._less, self._is_restarted = 0, b"", 0, False
                self._output.write(_ANEW)
            elif new:
                self._read += len(new)
                self._tail = (self._tail + new)[-_TAIL:]
                self._output.write(new)
            else:
                return

    def _is_anew(self, size: int, piece: bytes) -> bool:
        """Whether the file was emptied: SLURM does so where it starts a job once more, unless the job says otherwise."""
        if size < self._read:
            self._less += 1
            return self._less > (0 if self._is_restarted else STALE)
        self._less = 0
        is_other = len(piece) >= len(self._tail) and not piece.startswith(self._tail)
        return self._is_restarted and is_other

    async def _piece(self) -> tuple[int, bytes]:
        """How long the file is, and what stands there from the tail on; base64, since a letter may be cut in two."""
        script = f'printf %s {_MARK}; wc -c < "$2" && tail -c "+$1" -- "$2" | head -c "$3" | base64'
        begin, most = self._read - len(self._tail) + 1, _PIECE + len(self._tail)
        words = ["sh", "-c", script, "sh", str(begin), self._file, str(most)]
        ran: Ran = await self._commands.run(self._ssh, words, "", SUBMIT_S)
        _, mark, said = ran.stdout.rpartition(_MARK)
        size, _, text = said.lstrip().partition("\n")
        if not mark or not size.strip().isdecimal():
            # It is there once the job has begun.
            return self._read, b""
        try:
            return int(size), base64.b64decode(text)
        except ValueError as error:
            raise output_not_read(self._file, self._ssh) from error


def fields(text: str) -> dict[str, str]:
    """The words `Name=value` of `scontrol -o show job`; a value ends where the next name begins."""
    found = re.findall(r"(?:^|\s)([A-Z][A-Za-z/:_]*)=(.*?)(?=\s+[A-Z][A-Za-z/:_]*=|\s*$)", text)
    return dict(found)


def _ending(said: Mapping[str, str]) -> Ending:
    word = said.get("JobState", "")
    code, _, number = said.get("ExitCode", "").partition(":")
    if word == "COMPLETED":
        return Ending(0)
    ended = int(code) if code.isdigit() else 1
    if number.isdigit() and int(number):
        ended = 128 + int(number)
    return Ending(ended or 1, f"SLURM says {printable(word, 40)}.")
