"""A file that a SLURM job writes, copied into the run's output while it grows, here or on a login node."""

from __future__ import annotations

import base64

from eagleray.adapter.protocol import Ran
from eagleray.clients.commands import Commands
from eagleray.common.run_errors import output_not_read
from eagleray.features.runs.output import Output

# For so many looks another login node may see less of a file than was read already.
STALE = 60
_PIECE = 2**20
_ANEW = b"\n(the job's output was begun anew)\n"
# Enough to tell what was read last from what stands there now.
_TAIL = 64

# Behind it stands what a file holds; the start files of a shell may say something before.
_MARK = "eagleray-piece:"


class JobFile:
    """Knows how far it has read; `ssh` "" is this machine, `limit_s` what a look may take."""

    def __init__(
        self, commands: Commands, ssh: str, path: str, output: Output, limit_s: float
    ) -> None:
        self._commands = commands
        self._ssh = ssh
        self._path = path
        self._output = output
        self._limit_s = limit_s
        self._read = 0
        self._tail = b""
        self._less = 0
        self._is_restarted = False

    def job_restarted(self) -> None:
        """SLURM may empty the file."""
        self._is_restarted = self._read > 0

    async def copy(self) -> None:
        """All that is new; raises `output-not-read`, and what went wrong with ssh."""
        while True:
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
        words = ["sh", "-c", script, "sh", str(begin), self._path, str(most)]
        ran: Ran = await self._commands.run(self._ssh, words, "", self._limit_s)
        _, mark, said = ran.stdout.rpartition(_MARK)
        size, _, text = said.lstrip().partition("\n")
        if not mark or not size.strip().isdecimal():
            # It is there once the job has begun.
            return self._read, b""
        try:
            return int(size), base64.b64decode(text)
        except ValueError as error:
            raise output_not_read(self._path, self._ssh) from error
