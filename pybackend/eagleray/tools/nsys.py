"""nsys of this machine: where it is, its version, and the export of a report into a database.

It writes what it exports under another name first, and success is a file that is there: nsys ends with 0
also when it has written none.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.injected.nsys import installations
from eagleray.injected.nsys.installations import parse_version
from eagleray.routes.commands import end
from eagleray.tools.nsys_errors import export_failed, export_slow

VERSION_LIMIT_S = 20.0
EXPORT_LIMIT_S = 120.0
# A slow disk takes so long for a megabyte of a report.
EXPORT_S_PER_MB = 2.0
_LEAST_NICE = 19

_PERCENT = re.compile(rb"(\d{1,3})%")
_UNIT = re.compile(r"[^\x20-\x7e]|\[[^\]]*\]?")


@frozen
class Nsys:
    """An nsys that can be run."""

    program: str

    async def version(self) -> str:
        """ "2022.4.2.1", or "" when it does not say."""
        try:
            _, said = await _run([self.program, "--version"], VERSION_LIMIT_S)
        except (OSError, asyncio.TimeoutError):
            return ""
        return parse_version(said)

    async def export(
        self,
        report: Path,
        size: int,
        database: Path,
        percent: Callable[[int], None] = lambda _: None,
        *,
        gently: bool = False,
    ) -> None:
        """Makes `database` of a report of `size` bytes, whole or not at all; ends nsys when it is cancelled.

        `gently`: as the least of the machine's processes.
        """
        limit_s = EXPORT_LIMIT_S + size / 2**20 * EXPORT_S_PER_MB
        command = [self.program, "export", "--type", "sqlite", "--force-overwrite=true"]
        try:
            # A folder of our own: in one that others can write to, a link could wait under the name.
            with tempfile.TemporaryDirectory(dir=database.parent, prefix=".export-") as folder:
                made = Path(folder, database.name)
                code, said = await _run(
                    [*command, "-o", str(made), str(report)], limit_s, percent, gently=gently
                )
                if code != 0 or not _taken(made, database):
                    raise export_failed(str(report), await self.version(), _reason(said, code))
        except asyncio.TimeoutError as error:
            raise export_slow(str(report), limit_s) from error
        except OSError as error:
            raise export_failed(str(report), "", error.strerror or str(error)) from error


def _taken(made: Path, database: Path) -> bool:
    """Puts what was made into its place, if anything was."""
    if not made.is_file() or not made.stat().st_size:
        return False
    made.replace(database)
    return True


def find(environ: Mapping[str, str] = os.environ, root: str = "") -> Nsys | None:
    """The nsys to use: the one that EAGLERAY_NSYS names, else as on a node."""
    program = installations.find_nsys(named(environ), environ, root)
    return Nsys(program) if program else None


def named(environ: Mapping[str, str] = os.environ) -> str:
    """The program that a person has named, which need not be there; "" for none."""
    return environ.get("EAGLERAY_NSYS", "")


async def version_here() -> str:
    """That of the nsys with which reports are read on this machine, "" for none."""
    nsys = find()
    return await nsys.version() if nsys is not None else ""


def _reason(said: str, code: int) -> str:
    """The last line that is no progress bar."""
    lines = [_UNIT.sub(" ", line).strip() for line in re.split(r"[\r\n]", said)]
    spoken = [line for line in lines if line and not line.startswith("Exporting ")]
    return printable(spoken[-1] if spoken else f"it ended with {code} and wrote nothing").rstrip(
        "."
    )


async def _run(
    command: list[str],
    limit_s: float,
    percent: Callable[[int], None] = lambda _: None,
    *,
    gently: bool = False,
) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        if gently:
            # Whoever has just ended has no priority.
            with contextlib.suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PGRP, process.pid, _LEAST_NICE)
        said = await asyncio.wait_for(_followed(process, percent), limit_s)
    finally:
        # Its helpers too, which would write on.
        await end(process)
    return process.returncode or 0, said


async def _followed(process: asyncio.subprocess.Process, percent: Callable[[int], None]) -> str:
    """The end of what it says; the progress bar in it is told as numbers."""
    assert process.stdout
    kept, before = b"", -1
    while chunk := await process.stdout.read(2**14):
        kept = (kept + chunk)[-(2**16) :]
        if (found := _PERCENT.findall(chunk)) and (now := min(100, int(found[-1]))) != before:
            before = now
            percent(now)
    await process.wait()
    return kept.decode("utf-8", "replace")
