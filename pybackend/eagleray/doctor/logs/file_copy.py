"""Copies one log of a node through the dashboard: as a whole, or its beginning and its end.

Ray serves whole files or their last lines, but no range of bytes (2.60 state_head.py `get_logs`, log_agent.py `StreamLog`).
So the number of lines is estimated from the beginning, and corrected by what comes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncGenerator, AsyncIterator
from functools import partial
from pathlib import Path

from attrs import define, frozen

from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.ray.dashboard import Dashboard

# For a file that is too large, the beginning has this part of the copy.
_BEGINNING = 1 / 4
_LIMIT_S = 60.0
_PIECE = 2**20
_MOST_TRIES = 6
_MOST_GROWTH = 100
_SHRINKING = 8
# After the name of a log, whose end is in a file of its own.
END = ".end"


@frozen
class CopiedLog:
    """The size of a copy, and what is missing in it: "" for a whole file."""

    size: int
    missing: str = ""


@define
class _Received:
    """Bytes and lines that have come, and whether they are all that were requested."""

    size: int = 0
    lines: int = 0
    is_whole: bool = True


async def copy_log(
    dashboard: Dashboard, node_id: str, name: str, path: Path, room: int
) -> CopiedLog:
    """Copies a log to `path`, at most `room` bytes; of a larger one, its end goes into a second file beside it.

    Raises EaglerayError, OSError or TimeoutError if not even the beginning comes.
    """
    whole = await asyncio.wait_for(
        _received(dashboard.log_bytes(node_id, name), path, room), _LIMIT_S
    )
    if whole.is_whole:
        return CopiedLog(whole.size)
    first = int(room * _BEGINNING)
    end = _End(dashboard, node_id, name, path.with_name(path.name + END), room - first)
    last = await end.copied(whole.lines * (room - first) // max(1, room))
    if not last:
        return CopiedLog(whole.size, t("only its beginning"))
    await off_loop(partial(os.truncate, path, first))
    return CopiedLog(first + last, between(first, last))


def between(first: int, last: int) -> str:
    """Returns what is missing of a log of which so many bytes of its beginning and of its end were copied."""
    return t(
        "what is between its first {first} MB and its last {last} MB",
        first=f"{first / 2**20:.1f}",
        last=f"{last / 2**20:.1f}",
    )


@frozen
class _End:
    """The last `room` bytes of a log, in a file of their own: their lines have other numbers."""

    dashboard: Dashboard
    node_id: str
    name: str
    path: Path
    room: int

    async def copied(self, lines: int) -> int:
        """The size of the copy, about as many lines as these; 0 if it couldn't be read."""
        part = self.path.with_name(self.path.name + ".part")
        size = 0
        try:
            for _ in range(_MOST_TRIES):
                pieces = self.dashboard.log_bytes(self.node_id, self.name, max(1, lines))
                received = await asyncio.wait_for(_received(pieces, part, 2 * self.room), _LIMIT_S)
                if received.is_whole:
                    size = await off_loop(partial(_keep_end, part, self.path, self.room))
                if received.is_whole and (2 * received.size > self.room or received.lines < lines):
                    break
                # By the length of the lines that came; those at the end of too many may be longer.
                most = lines * _MOST_GROWTH if received.is_whole else lines // _SHRINKING
                lines = min(most, max(1, received.lines) * self.room // max(1, received.size))
        except (EaglerayError, OSError, asyncio.TimeoutError):
            # The end of an earlier try remains.
            return size
        finally:
            await off_loop(partial(part.unlink, missing_ok=True))
        return size


async def _received(pieces: AsyncIterator[bytes], path: Path, room: int) -> _Received:
    """Writes at most `room` bytes of `pieces` into a new file that only this user reads."""
    received = _Received()
    content = bytearray()
    await off_loop(partial(_new_file, path))
    assert isinstance(pieces, AsyncGenerator)
    async with contextlib.aclosing(pieces):
        async for piece in pieces:
            fitting = piece[: room - received.size]
            content += fitting
            received.size += len(fitting)
            received.lines += fitting.count(b"\n")
            if len(fitting) < len(piece):
                received.is_whole = False
                break
            if len(content) >= _PIECE:
                await off_loop(partial(_append, path, bytes(content)))
                content.clear()
    await off_loop(partial(_append, path, bytes(content)))
    return received


def _new_file(path: Path) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(b"")


def _append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


def _keep_end(part: Path, path: Path, room: int) -> int:
    """Copies the whole lines in the last `room` bytes of `part`; returns their size."""
    with part.open("rb") as source, path.open("wb") as copy:  # own file
        skipped = source.seek(0, os.SEEK_END) - room
        source.seek(max(0, skipped))
        if skipped > 0:
            source.readline()
        shutil.copyfileobj(source, copy, _PIECE)
        return copy.tell()
