"""The nsys of this machine: where it is, its version, and the export of a report into a database.

An export is written under another name first, and has succeeded if that file exists: nsys exits with 0 also when it
has written none (measured with 2022.4).
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import frozen

from eagleray.common.errors import EaglerayError, error, printable
from eagleray.common.l10n import t
from eagleray.remote.injected.nsys import installations
from eagleray.remote.injected.nsys.installations import parse_version
from eagleray.routes.commands import kill, start_process

VERSION_LIMIT_S = 20.0
EXPORT_LIMIT_S = 120.0
# The time that a slow disk takes for a megabyte of a report.
EXPORT_S_PER_MB = 2.0

_PERCENT = re.compile(rb"(\d{1,3})%")
_PROGRESS_BAR = re.compile(r"[^\x20-\x7e]|\[[^\]]*\]?")

# Called with the percentage that is exported.
OnPercent = Callable[[int], None]


# fmt: off
@error("export-failed", "nsys {version} can't read {path}.",
       "It may be damaged. Copy it again, or export it with its own nsys (`nsys export --type sqlite`).")
def export_failed(path: str, version: str, output: str) -> EaglerayError: ...
@error("export-slow", "nsys took longer than {seconds} s to export {path}.",
       "Run `nsys export --type sqlite` yourself and open the .sqlite.")
def export_slow(path: str, seconds: float) -> EaglerayError: ...
# fmt: on


@frozen
class NsysTool:
    """An nsys executable."""

    program: str

    async def version(self) -> str:
        """Returns the version, such as "2022.4.2.1", or "" if nsys prints none."""
        try:
            _, output = await _run([self.program, "--version"], VERSION_LIMIT_S)
        except (OSError, asyncio.TimeoutError):
            return ""
        return parse_version(output)

    async def export(
        self, report: Path, size: int, database: Path, on_percent: OnPercent = lambda _: None
    ) -> None:
        """Makes `database` of a report of `size` bytes, completely or not at all; ends nsys when it is cancelled."""
        limit_s = EXPORT_LIMIT_S + size / 2**20 * EXPORT_S_PER_MB
        command = [self.program, "export", "--type", "sqlite", "--force-overwrite=true"]
        try:
            # A private folder: where others can write, a link could wait under the name.
            with tempfile.TemporaryDirectory(dir=database.parent, prefix=".export-") as folder:
                made = Path(folder, database.name)
                code, output = await _run(
                    [*command, "-o", str(made), str(report)], limit_s, on_percent
                )
                if code != 0 or not _move(made, database):
                    raise export_failed(str(report), await self.version(), _reason(output, code))
        except asyncio.TimeoutError as error:
            raise export_slow(str(report), limit_s) from error
        except OSError as error:
            raise export_failed(str(report), "", error.strerror or str(error)) from error


def _move(made: Path, database: Path) -> bool:
    """Moves the exported file into place; returns whether there is one."""
    if not made.is_file() or not made.stat().st_size:
        return False
    made.replace(database)
    return True


def find(environ: Mapping[str, str] = os.environ, root: str = "") -> NsysTool | None:
    """Returns the nsys that EAGLERAY_NSYS names, else one found as on a node; None if there is none."""
    program = installations.find_nsys(configured(environ), environ, root)
    return NsysTool(program) if program else None


def configured(environ: Mapping[str, str] = os.environ) -> str:
    """Returns the program that the user has configured, which need not exist; "" for none."""
    return environ.get("EAGLERAY_NSYS", "")


async def version_here() -> str:
    """Returns the version of this machine's nsys, "" if there is none."""
    nsys = find()
    return await nsys.version() if nsys is not None else ""


def _reason(output: str, code: int) -> str:
    """Returns the last line of the output that isn't a progress bar."""
    lines = [_PROGRESS_BAR.sub(" ", line).strip() for line in re.split(r"[\r\n]", output)]
    messages = [line for line in lines if line and not line.startswith("Exporting ")]
    reason = messages[-1] if messages else t("exit code {code}", code=code)
    return printable(reason).rstrip(".")


async def _run(
    command: list[str], limit_s: float, on_percent: OnPercent = lambda _: None
) -> tuple[int, str]:
    process = await start_process(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output = await asyncio.wait_for(_read_output(process, on_percent), limit_s)
    finally:
        # Its child processes too, which would keep writing.
        await kill(process)
    return await process.wait(), output


async def _read_output(process: asyncio.subprocess.Process, on_percent: OnPercent) -> str:
    """Returns the end of the output; calls `on_percent` for the progress bar in it."""
    assert process.stdout
    tail, before = b"", -1
    while chunk := await process.stdout.read(2**14):
        tail = (tail + chunk)[-(2**16) :]
        if (matches := _PERCENT.findall(chunk)) and (now := min(100, int(matches[-1]))) != before:
            before = now
            on_percent(now)
    await process.wait()
    return tail.decode("utf-8", "replace")
