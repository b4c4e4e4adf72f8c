"""The output of a run as text for a terminal: cleaned, piece by piece, and its last lines.

A terminal obeys what it is sent.  Colours and movements of the cursor pass.  Sequences that write the clipboard, set
titles or working directories, make the terminal answer as if the user typed, or switch its modes (mouse, pasting,
screens) are removed.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import functools
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from attrs import frozen

from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import printable
from eagleray.common.redact import redact_text
from eagleray.runs.failure_reason import reason_in
from eagleray.runs.output import Growth, older
from eagleray.runs.records import StoredRun

# A sequence that is not complete by then is removed without its end.
LONGEST = 2**16

# At the end of the text another sequence follows, which is not complete yet.
_END = r"(?:\x07|\x1b\\|(?=[\x18\x1a])|(?=\x1b[^\\])|(?=\x1b?\Z))"
_SEQUENCE = re.compile(
    r"\x1b\[(?P<parameters>[0-?]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    rf"|\x1b\][^\x07\x1b\x18\x1a]*{_END}"
    rf"|\x1b[PX^_][^\x07\x1b\x18\x1a]*{_END}"
    r"|(?P<plain>\x1b(?:[78DEM]|\([0B]))"
    r"|\x1b[ -/]*[0-~]"
    r"|\x1b"
    r"|[\x00-\x06\x0b-\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]"
)
_INCOMPLETE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\x18\x1a]*\x1b?|[ -/]*)?\Z", re.DOTALL
)
# Colours, movement of the cursor, erasing, inserting, scrolling.
_FINALS = frozenset("ABCDEFGHJKLMPSTXZ@`adefmrsu")
_PARAMETERS = re.compile(r"[0-9;:]{0,64}")
# The cursor's visibility, and line wrapping.
_MODES = ("?25", "?7")
_SURROGATE = re.compile("[\ud800-\udfff]")
PIECE = 2**18
# A terminal keeps some thousand lines: of what was printed before, and while it could not follow, only the end is read.
TAIL = 2**20
BEHIND = 2**23
WAIT_S = 20.0
_LINE = 2**16
_BYTES = 2**14
_LINES = 12
_LONGEST = 300
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[@-~]|\([0B]|[78DEM])")


def clean(text: str) -> tuple[str, str]:
    """`text` without harmful sequences, and the beginning of a sequence at its end, of which more has to come."""
    match = _INCOMPLETE.search(text, max(0, len(text) - LONGEST))
    at = match.start() if match else len(text)
    return _SEQUENCE.sub(_harmless, text[:at]), text[at:]


def decode(data: bytes, *, is_end: bool) -> tuple[str, int]:
    """The clean text of `data`, and how many of its bytes that is; the rest waits for more unless this is the end."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    text = decoder.decode(data, is_end)
    shown, rest = clean(text)
    waiting = 0 if is_end else len(decoder.getstate()[0]) + _size(rest)
    return _SURROGATE.sub("\ufffd", shown), len(data) - waiting


class TerminalOutput:
    """Bytes in, clean text out; keeps an incomplete character or sequence."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> str:
        data = self._rest + data
        text, used = decode(data, is_end=False)
        self._rest = data[used:]
        return text


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _harmless(match: re.Match[str]) -> str:
    if match["plain"]:
        return match[0]
    final = match["final"]
    if final is None or match["between"]:
        return ""
    if final in "hl":
        return match[0] if match["parameters"] in _MODES else ""
    return match[0] if final in _FINALS and _PARAMETERS.fullmatch(match["parameters"]) else ""


@frozen
class Piece:
    """`next` is the offset of the piece that follows; `skipped` bytes before this one were left out.

    Offsets count all that was printed, also what was moved away from the log or given back to the disk.
    """

    text: str
    next: int
    skipped: int
    is_over: bool


async def next_piece(
    path: Path, offset: int, is_over: Callable[[], bool], wait_s: float = WAIT_S
) -> Piece:
    """Returns the output from `offset` on, as soon as there is any, the output has ended, or after `wait_s`.

    A negative offset asks for the end of what was printed so far.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_s
    growth = Growth(path.parent)
    try:
        await growth.begin()
        while True:
            piece = await off_loop(partial(_read, path, offset, is_over))
            if piece.text or piece.next > offset >= 0 or piece.is_over or loop.time() >= deadline:
                return piece
            await growth.wait()
    finally:
        growth.close()


def _read(path: Path, offset: int, is_over: Callable[[], bool]) -> Piece:
    # Checked first, so that all output before the end is read.
    over = is_over()
    try:
        file = path.open("rb", buffering=0)  # own file
    except FileNotFoundError:
        # A run that never began has no output.
        return Piece("", max(offset, 0), 0, over)
    with file:
        moved = older(path)
        first = moved.end if moved else 0
        end = first + os.fstat(file.fileno()).st_size
        start = _start(offset, end)
        if moved and start < first:
            moved_data = moved.last(first - start)
            start, data = first - len(moved_data), moved_data[:PIECE]
        else:
            start = first + _to_data(file.fileno(), start - first)
            data = os.pread(file.fileno(), PIECE, start - first)
    if start > max(offset, 0) and (line := data.find(b"\n", 0, _LINE)) >= 0:
        # A line that was cut is left out.
        start, data = start + line + 1, data[line + 1 :]
    is_end = over and start + len(data) >= end
    text, used = decode(data, is_end=is_end)
    # An output that was started over is read from its new beginning.
    skipped = start - offset if 0 <= offset <= end else start
    return Piece(text, start + used, skipped, is_end)


def _start(offset: int, end: int) -> int:
    """1. Where the last piece ended, unless the output was started over since.

    2. Near the end, for a new terminal or one that is too far behind.
    """
    start = offset if 0 <= offset <= end else 0
    return end - TAIL if end - start > (BEHIND if offset >= 0 else TAIL) else start


def _to_data(fd: int, start: int) -> int:
    """Skips the part that was freed, which would read as zeros."""
    with contextlib.suppress(OSError, AttributeError):
        return os.lseek(fd, start, os.SEEK_DATA)
    return start


@frozen
class Tail:
    """`reason` is one line, `lines` are the last ones; both "" where there is nothing to say."""

    reason: str = ""
    lines: str = ""


def tail_of(run: StoredRun) -> Tail:
    """The tail of a failed run; cached, since its output is complete."""
    if run.state.phase != "failed":
        return Tail()
    try:
        size = run.record.output.stat().st_size
    except OSError:
        return Tail()
    return _tail(run.record.output, size)


def tail_in(text: str) -> Tail:
    plain = _ESCAPE.sub("", text).replace("\r", "\n")
    lines = [line.rstrip() for line in redact_text(plain).split("\n") if line.strip()]
    last = [printable(line, _LONGEST) for line in lines[-_LINES:]]
    return Tail(printable(reason_in(lines), _LONGEST), "\n".join(last))


@functools.lru_cache(maxsize=128)
def _tail(path: Path, size: int) -> Tail:
    """`size` is only part of the key: an output that was started over has another one."""
    try:
        with path.open("rb", buffering=0) as file:  # own file
            file.seek(max(0, size - _BYTES))
            return tail_in(decode(file.read(_BYTES), is_end=True)[0])
    except OSError:
        return Tail()
