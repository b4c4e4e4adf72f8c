"""Copies the output files of a SLURM job into the run's output, by one process that follows them all."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import resources

from eagleray.common.errors import EaglerayError
from eagleray.common.retry import Backoff
from eagleray.common.tasks import wait_for_event
from eagleray.protocol import jsonlines
from eagleray.remote.scripts.follow_files import PIECE, TAIL
from eagleray.routes.commands import kill
from eagleray.runs.errors import output_not_read
from eagleray.runs.output import Output
from eagleray.tools.commands import EXIT_NO_COMMAND, Commands

AGAIN = Backoff(first_s=1.0, longest_s=60.0)
# The follower takes a longer silence for a lost link.
_ALIVE_S = 60.0
_REPLACED = b"\n(the job's output file was emptied or replaced)\n"
# Its own text is the first line of its input: nothing of it is read by a shell.
_START = "import json; exec(json.loads(open(0, 'rb', 0, closefd=False).readline().decode()))"
_LARGEST_NOISE = 2**20
_NO_FRAMES = (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, IndexError)

log = logging.getLogger(__name__)


class _File:
    """How far a file was copied; `tail` distinguishes it from one that was emptied or replaced."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.read = 0
        self.tail = b""

    @property
    def arguments(self) -> list[str]:
        return [self.path, str(self.read), base64.b64encode(self.tail).decode()]


class JobOutput:
    """Belongs to one run; `ssh` "" is this machine.

    `run` copies until it is cancelled or `finish` was called.  A follower that is lost with its link is started again
    and continues where the copy ends, so that no byte is lost or copied twice.  `on_replaced` is awaited before the first
    byte of a file that was emptied or replaced is copied.
    """

    def __init__(
        self,
        commands: Commands,
        ssh: str,
        output: Output,
        on_replaced: Callable[[], Awaitable[None]],
        python: str = "python3",
    ) -> None:
        self._commands = commands
        self._ssh = ssh
        self._output = output
        self._on_replaced = on_replaced
        self._python = python
        self._files: list[_File] = []
        self._process: asyncio.subprocess.Process | None = None
        self._is_last = False
        self._is_whole = asyncio.Event()
        self._changed = asyncio.Event()

    def add(self, path: str) -> None:
        """Follows one more file, from its beginning."""
        if path not in [file.path for file in self._files]:
            self._files.append(_File(path))
            self._changed.set()

    def job_restarted(self) -> None:
        """SLURM may empty the files."""
        self._say(b"restarted\n")

    async def finish(self, limit_s: float) -> None:
        """The job is over: returns when all that it wrote is copied, or after `limit_s`."""
        self._is_last = True
        self._changed.set()
        if self._files:
            await wait_for_event(self._is_whole, limit_s)

    async def run(self) -> None:
        failures = 0
        while not self._is_whole.is_set():
            copied = sum(file.read for file in self._files)
            self._changed.clear()
            if self._files:
                try:
                    await self._follow()
                except EaglerayError as error:
                    log.info("%s", error)
                failures = 1 if copied != sum(file.read for file in self._files) else failures + 1
            if not self._is_whole.is_set():
                await wait_for_event(self._changed, AGAIN.wait_s(failures))

    async def _follow(self) -> None:
        """Starts a follower and copies what it says, until it ends or there is another file to follow."""
        mark = secrets.token_hex(8)
        arguments = [word for file in self._files for word in file.arguments]
        argv = [self._python, "-I", "-c", _START, mark, *arguments]
        process = self._process = await self._commands.start(self._ssh, argv)
        copying = asyncio.ensure_future(self._copy(process, mark))
        try:
            self._say(_follower_text() + (b"end\n" if self._is_last else b""))
            while not copying.done():
                if self._changed.is_set():
                    self._changed.clear()
                    if not self._is_last:
                        return
                    self._say(b"end\n")
                changed = asyncio.ensure_future(self._changed.wait())
                await asyncio.wait(
                    [copying, changed], timeout=_ALIVE_S, return_when=asyncio.FIRST_COMPLETED
                )
                changed.cancel()
                self._say(b"\n")
            copying.result()
        finally:
            self._process = None
            copying.cancel()
            try:
                await asyncio.gather(copying, return_exceptions=True)
            finally:
                await kill(process)

    def _say(self, message: bytes) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError, RuntimeError):
                self._process.stdin.write(message)

    async def _copy(self, process: asyncio.subprocess.Process, mark: str) -> None:
        assert process.stdout is not None and process.stderr is not None
        errors = asyncio.ensure_future(process.stderr.read(2000))
        try:
            await _greeted(process.stdout, mark)
            async for kind, number, piece in _frames(process.stdout):
                await self._take(kind, self._files[number], piece)
        except _NO_FRAMES as error:
            code = await process.wait()
            if code == EXIT_NO_COMMAND:
                self._commands.use_login_shell(self._ssh, self._python)
            output = (await errors).decode("utf-8", "replace") or f"exit code {code}"
            paths = ", ".join(file.path for file in self._files)
            raise output_not_read(paths, self._ssh, output) from error
        finally:
            errors.cancel()

    async def _take(self, kind: str, file: _File, piece: bytes) -> None:
        if kind == "E":
            self._is_whole.set()
        elif kind == "N":
            await self._on_replaced()
            file.read, file.tail = 0, b""
            self._output.write(_REPLACED)
        else:
            file.read += len(piece)
            file.tail = (file.tail + piece)[-TAIL:]
            self._output.write(piece)


def _follower_text() -> bytes:
    text = resources.files("eagleray.remote.scripts").joinpath("follow_files.py").read_text("utf-8")
    return jsonlines.encode(text)


async def _greeted(stdout: asyncio.StreamReader, mark: str) -> None:
    """Passes over what the start files of a shell say; raises IncompleteReadError or ValueError."""
    noise = 0
    while (line := await stdout.readline()) != mark.encode() + b"\n":
        noise += len(line)
        if not line or noise > _LARGEST_NOISE:
            raise asyncio.IncompleteReadError(line, None)


async def _frames(stdout: asyncio.StreamReader) -> AsyncIterator[tuple[str, int, bytes]]:
    """Until the last one; raises IncompleteReadError where it ends before, ValueError for bytes that aren't a frame."""
    while True:
        kind, number, length = (await stdout.readuntil(b"\n")).split()
        if int(length) > PIECE:
            raise ValueError("the frame is too long")
        piece = await stdout.readexactly(int(length))
        yield kind.decode(), int(number), piece
        if kind == b"E":
            return
