"""Finds frames without the head of a dump: a pasted part of a dump, the traceback of a Ctrl-C, or /proc/PID/stack.

Each run of such lines is read as one thread of a process of its own, since nothing says to what it belongs.  The traceback
of another exception shows where a program failed, not where it hangs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attrs import define, field

from eagleray.observe.hangs.library_waits import KERNEL_FILE
from eagleray.observe.hangs.pasted.dumps_in_text import (
    DumpedProcess,
    Tags,
    full_name,
    plain_line,
    tags_of,
)
from eagleray.remote.sampling.frames import PythonFrame
from eagleray.remote.sampling.pyspy_dumps import Thread

UNKNOWN_THREAD = "?"
_FRAME = re.compile(
    r"^[\s>|]*(?P<function>[\w<][\w.<>\[\] ]*) \((?P<file>[^\s()]+\.pyx?|<string>):(?P<line>\d{1,9})\)\s*$"
)
_FILE = re.compile(
    r"^(?P<prefix>.{0,200}?)\bFile \"(?P<file>[^\"]{1,1000})\", line (?P<line>\d{1,9})(?P<comma>,?) in (?P<function>\S.*?)\s*$"
)
# A line of /proc/PID/stack, and the PID above it.
_KERNEL = re.compile(r"^[\s>|]*\[<[0-9a-f]+>\] (?P<function>\w[\w.]*)\+0x")
# The file with the function of the kernel in which a process waits, above that or beside it.
_WCHAN = re.compile(r"/proc/(?P<pid>\d{1,9})/wchan(?:$|[\s;:]+(?P<function>[a-z_]\w*)?)")
_FUNCTION = re.compile(r"[a-z_]\w{2,60}\s*$")
_PID = re.compile(r"(?:/proc/|=+ *|\bpid\W*)(\d{1,9})\b", re.IGNORECASE)
_EXCEPTION = re.compile(
    r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning|Timeout)\b"
)
_INTERRUPT = "KeyboardInterrupt"
_GAP = re.compile(r"[\s>|]*(?:\.{3}|…)?\s*$")
_FEWEST = 2
# Longer lines aren't frames, and take patterns long.
_LONGEST = 2000
_MOST_RUNS = 64


@define
class _Run:
    """Frames in lines that follow each other, in their order."""

    prefix: str = ""
    frames: list[PythonFrame] = field(factory=list)
    outermost_first: bool = False
    pid: int = 0
    is_wchan: bool = False

    def process(self, number: int) -> DumpedProcess | None:
        if len(self.frames) < (1 if self.is_wchan else _FEWEST):
            return None
        is_outermost_first = self.outermost_first and self.frames[-1].function != "<module>"
        frames = tuple(self.frames if is_outermost_first else reversed(self.frames))
        thread = Thread(UNKNOWN_THREAD, True, False, False, frames)
        tags = tags_of(self.prefix) if self.prefix.strip() else Tags()
        is_headless = tags == Tags() and not self.pid
        source = "" if self.pid else str(number)
        return DumpedProcess(
            tags, self.pid, "", (thread,), source, natives=((),), is_headless=is_headless
        )


def fragments_in(lines: Iterable[str]) -> list[DumpedProcess]:
    listed: list[DumpedProcess] = []
    for run in _runs(lines):
        if (process := run.process(len(listed))) is not None:
            listed.append(process)
        if len(listed) >= _MOST_RUNS:
            break
    return listed


def _runs(lines: Iterable[str]) -> Iterator[_Run]:
    run = _Run()
    # Python writes this above the tracebacks of exceptions.
    is_traceback = False
    above = ""
    for line in lines:
        text = plain_line(line[:_LONGEST])
        short, long = _FRAME.match(text), _FILE.match(text)
        if wchan := _wchan(text, above):
            run = _Run(frames=[wchan[1]], pid=wchan[0], is_wchan=True)
            yield run
            run = _Run()
        elif kernel := _KERNEL.match(text):
            if not run.frames and (pids := _PID.findall(above)):
                run.pid = int(pids[-1])
            run.frames.append(PythonFrame(kernel["function"], KERNEL_FILE, 0))
        elif match := long or short:
            if run.frames and run.outermost_first != bool(long and long["comma"]):
                yield run
                run = _Run()
            run.outermost_first = bool(long and long["comma"])
            run.prefix = long["prefix"] if long else ""
            place = full_name(match["file"])
            run.frames.append(PythonFrame(match["function"], place, int(match["line"])))
        elif run.frames and not _GAP.match(text) and not _is_source(run, text):
            closing = text.removeprefix(run.prefix.rstrip()).strip()
            is_exception = is_traceback or _EXCEPTION.match(closing)
            if not is_exception or closing.startswith(_INTERRUPT):
                yield run
            run, is_traceback = _Run(), False
        above = text
        if "Traceback (most recent call last)" in text:
            is_traceback = True
    if run.frames and not is_traceback:
        yield run


def _wchan(text: str, above: str) -> tuple[int, PythonFrame] | None:
    """The process and the function of the kernel that `text` names, below a line with the path of `wchan` or in it."""
    if (match := _WCHAN.search(text)) is None or not match["function"]:
        match, text = _WCHAN.search(above), text if _FUNCTION.match(text) else ""
    else:
        text = match["function"]
    if match is None or not text:
        return None
    return int(match["pid"]), PythonFrame(text.strip(), KERNEL_FILE, 0)


def _is_source(run: _Run, text: str) -> bool:
    """Whether `text` is a line of source below a frame, which is indented further."""
    rest = text.removeprefix(run.prefix.rstrip())
    indent = len(run.prefix) - len(run.prefix.rstrip())
    return run.outermost_first and len(rest) - len(rest.lstrip()) > indent
