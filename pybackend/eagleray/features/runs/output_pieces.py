"""Output of a run piece by piece, for a terminal that asks for the next piece when it has shown the last one."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from eagleray.features.runs.terminal_text import decode

PIECE = 2**18
# A terminal keeps some thousand lines: of what was printed before, and while it could not follow, only the end is read.
TAIL = 2**20
BEHIND = 2**23
WAIT_S = 20.0
_FIRST_LOOK_S, _LONGEST_LOOK_S = 0.05, 0.5
_LINE = 2**16


@frozen
class Piece:
    """`next` is the offset of the piece that follows; `skipped` bytes before this one were left out."""

    text: str
    next: int
    skipped: int
    is_over: bool


async def next_piece(
    path: Path, offset: int, is_over: Callable[[], bool], wait_s: float = WAIT_S
) -> Piece:
    """What was printed from `offset` on, as soon as there is any, it is over, or after `wait_s`.

    A negative offset asks for the end of what was printed so far.
    """
    loop = asyncio.get_running_loop()
    deadline, look_s = loop.time() + wait_s, _FIRST_LOOK_S
    while True:
        piece = await asyncio.to_thread(_read, path, offset, is_over)
        if piece.text or piece.next > offset >= 0 or piece.is_over or loop.time() >= deadline:
            return piece
        await asyncio.sleep(look_s)
        look_s = min(2 * look_s, _LONGEST_LOOK_S)


def _read(path: Path, offset: int, is_over: Callable[[], bool]) -> Piece:
    # Asked first: what is printed before the end is read then.
    over = is_over()
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        # One that never began has printed nothing.
        return Piece("", max(offset, 0), 0, over)
    try:
        size = os.fstat(fd).st_size
        start = _start(fd, offset, size)
        data = os.pread(fd, PIECE, start)
    finally:
        os.close(fd)
    is_end = over and start + len(data) >= size
    text, used = decode(data, is_end=is_end)
    # After a beginning that was thrown away it is read from its new beginning.
    skipped = start - offset if 0 <= offset <= size else start
    return Piece(text, start + used, skipped, is_end)


def _start(fd: int, offset: int, size: int) -> int:
    """1. Where the last piece ended, unless the file was written anew since.

    2. Near the end, at the beginning of a line, for a terminal that begins or is too far behind.
    3. Never in what was given back to the disk, which would read as zeros.
    """
    start = offset if 0 <= offset <= size else 0
    if size - start > (BEHIND if offset >= 0 else TAIL):
        start = size - TAIL
        start += os.pread(fd, _LINE, start).find(b"\n") + 1
    with contextlib.suppress(OSError, AttributeError):
        start = os.lseek(fd, start, os.SEEK_DATA)
    return start
