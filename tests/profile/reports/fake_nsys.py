"""A fake nsys that exports a given database, fails, waits or hangs: `install(folder, …)`."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
from pathlib import Path
from typing import TextIO

BODY = """\
    import os, shutil, sys, time
    words = sys.argv[1:]
    if words == ["--version"]:
        print("NVIDIA Nsight Systems version 2025.1.2.3-abc")
        sys.exit(0)
    out, report = words[words.index("-o") + 1], words[-1]
    with open({log!r}, "a") as log:
        log.write(f"{{os.getpid()}} {{' '.join(words)}}\\n")
    for percent in (10, 55, 100):
        print(f"Exporting 9 events: [==={{percent}}%   ]", end="\\r", flush=True)
"""
ENDINGS = {
    "exports": "shutil.copy({database!r}, out)",
    "fails": "print('\\nExportation error: Section Table Reference magic number mismatch.'); sys.exit(1)",
    "writes nothing": "pass",
    # Opening the pipe for writing waits until nsys is here, closing it lets it continue.
    "waits": "open({log!r} + '.pipe').read(); shutil.copy({database!r}, out)",
    "hangs": "open(out, 'w').write('half'); time.sleep(600)",
}


def install(folder: Path, ending: str, database: Path | None = None) -> Path:
    """The command; `calls(folder)` says how it was called."""
    folder.mkdir(exist_ok=True)
    program = folder / "nsys"
    text = textwrap.dedent(BODY).format(log=str(folder / "calls"))
    text += ENDINGS[ending].format(database=str(database), log=str(folder / "calls"))
    if ending == "waits":
        os.mkfifo(folder / "calls.pipe")
    program.write_text(f"#!{sys.executable}\n{text}\n")
    program.chmod(0o755)
    return program


def report_bytes(version: str = "2025.1.2.3", complete: bool = True) -> bytes:
    """A report as real ones begin and end: since 2024 with their version first, before with it near the end."""
    end = b"\n\x11\n\tTelemetry\x10\xdb\xca%\x18\x00[e\t\x00\x00\x00\x00\x00U3w[END]"
    last = b"\x04vn012\x1b%s-0a1b2c3d:\x1b%s-0a1b2c3d\xa2" % ((version.encode(),) * 2)
    named = f"{version.replace('.', '@')}-256136895201v0" if version >= "2024" else "1"
    begin = f"NVIDIA Tegra Profiler Report {named}.".encode() + b"\n\x0bLocal (CLI)"
    return begin + b"events" * 20_000 + (last + end if complete else b"")


def calls(folder: Path) -> list[str]:
    log = folder / "calls"
    return log.read_text().splitlines() if log.exists() else []


async def waiting(folder: Path) -> TextIO:
    """The pipe of an nsys that waits, once one has been started."""
    return await asyncio.to_thread((folder / "calls.pipe").open, "w")
