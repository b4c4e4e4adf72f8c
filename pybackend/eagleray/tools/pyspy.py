"""Stacks of a process by py-spy, parsed from its JSON and from the text that a dashboard passes on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sys
from pathlib import Path

from attrs import frozen

from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import UNREADABLE_JSON
from eagleray.remote.sampling.proc import link, writes_to_pipe
from eagleray.remote.sampling.seccomp import may_kill
from eagleray.routes.commands import start_process
from eagleray.tools.processes import is_own

AT_ONCE = 2
TIME_LIMIT_S = 10.0
MAX_DUMP = 8 * 2**20

_PROCESS = re.compile(r"Process (\d+): (.*)")
_THREAD = re.compile(r'Thread (?:0x)?[0-9A-Fa-f]+ \([^)]*\)(?:: "(.*)")?')
# Longer than any function name and path; `int` rejects longer numbers.
_LONGEST_LINE = 4096


@frozen
class Frame:
    """A Python frame.  `path` is absolute in our own dumps, shortened in a dashboard's text."""

    function: str
    path: str
    line: int


@frozen
class Stack:
    """The frames of one thread, innermost first."""

    thread: str
    frames: tuple[Frame, ...]


@frozen
class Dump:
    """The stacks of one process; `title` is its command line, "" if the dump has none."""

    pid: int
    title: str
    stacks: tuple[Stack, ...]


class PySpy:
    """Runs py-spy on processes of this user on this machine, at most two at a time.

    Used from one event loop.  A py-spy process ends with its call, also when that is cancelled.
    """

    def __init__(self, program: str | None = None) -> None:
        self._program = program if program is not None else find_program()
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def dump(self, pid: int) -> Dump | None:
        """Returns the stacks of `pid`; None if it isn't ours or has ended, or if py-spy is missing or lacks permission."""
        if not self._program or not is_own(pid):
            return None
        async with self._slots:
            # Blocking first: it fails least on a running process, but can't read one in state T, and may harm some.
            is_harmful = await off_loop(lambda: may_kill(pid) or writes_to_pipe(pid))
            text = None if is_harmful else await self._run(pid)
            if text is None:
                text = await self._run(pid, "--nonblocking")
        return None if text is None else parse_json(pid, text, link(f"/proc/{pid}/cwd"))

    async def _run(self, pid: int, *options: str) -> bytes | None:
        command = (self._program or "", "dump", "--json", *options, "--pid", str(pid))
        try:
            process = await start_process(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except OSError:
            return None
        try:
            out, _ = await asyncio.wait_for(process.communicate(), TIME_LIMIT_S)
        except asyncio.TimeoutError:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        return out if process.returncode == 0 and len(out) <= MAX_DUMP else None


def find_program() -> str:
    """Returns py-spy beside this Python, else in `bin` of a folder of libraries, else "".

    Ignores PATH, which may include a folder with other people's code.
    """
    places = [Path(sys.executable).parent, *(Path(entry) / "bin" for entry in sys.path if entry)]
    for place in places:
        if os.access(place / "py-spy", os.X_OK):
            return str(place / "py-spy")
    return ""


def parse_json(pid: int, text: bytes, folder: str = "") -> Dump | None:
    """Parses `py-spy dump --json`; relative paths are relative to `folder`, the working directory of the process."""
    try:
        stacks = tuple(
            Stack(
                str(thread.get("thread_name") or ""),
                tuple(_frame(frame, folder) for frame in thread["frames"]),
            )
            for thread in json.loads(text)
        )
    except UNREADABLE_JSON:
        return None
    return Dump(pid, "", stacks)


def parse_text(text: str) -> Dump | None:
    """Parses py-spy's text form, as a dashboard's trace endpoint returns it; None if it is something else."""
    process: re.Match[str] | None = None
    threads: list[tuple[str, list[Frame]]] = []
    for line in text.splitlines():
        if len(line) > _LONGEST_LINE:
            continue
        if process is None:
            process = _PROCESS.fullmatch(line)
        elif thread := _THREAD.fullmatch(line):
            threads.append((thread[1] or "", []))
        elif threads and (frame := _frame_of_line(line)):
            threads[-1][1].append(frame)
    if process is None:
        return None
    stacks = tuple(Stack(name, tuple(frames)) for name, frames in threads)
    return Dump(int(process[1]), process[2], stacks)


def _frame_of_line(line: str) -> Frame | None:
    """Parses a frame `    function (path:12)`; splits at the last bracket, since a pattern would try each of them."""
    if not line.startswith("    ") or not line.endswith(")"):
        return None
    function, bracket, place = line[4:-1].rpartition(" (")
    path, _, number = place.rpartition(":")
    if not bracket or not function.strip() or function[0].isspace() or not path:
        return None
    return Frame(function, path, int(number)) if number.isascii() and number.isdigit() else None


def _frame(raw: dict[str, object], folder: str) -> Frame:
    path, line = str(raw["filename"]), raw["line"]
    if folder and not path.startswith(("/", "<")):
        path = os.path.normpath(f"{folder}/{path}")
    return Frame(str(raw["name"]), path, line if isinstance(line, int) else 0)
