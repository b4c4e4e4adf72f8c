"""Reads the logs of a node that is this machine, in the folder of its session."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from eagleray.common.blocking_calls import off_loop
from eagleray.common.worker_errors import no_log
from eagleray.remote.injected.outside_files import opened

_PIECE = 2**18
# Read backwards in search of the last lines.
_STEP = 2**16
_POLL_S = 0.25


async def names(folder: Path, pattern: str) -> list[str]:
    """The names of the files below the folder that match a glob, as Ray's agent lists them."""
    return await off_loop(partial(_names, folder, pattern))


async def pieces(folder: Path, name: str, lines: int) -> AsyncIterator[bytes]:
    """The last `lines` lines of a file as it is now, all for -1; raises `no-log`."""
    file = await off_loop(partial(_opened, folder, name), BinaryIO.close)
    try:
        left = await off_loop(partial(_seek_lines, file, lines))
        while left > 0 and (piece := await off_loop(partial(file.read, min(left, _PIECE)))):
            left -= len(piece)
            yield piece
    finally:
        file.close()


async def followed(folder: Path, name: str, lines: int) -> AsyncIterator[bytes]:
    """The last `lines` lines of a file and what is appended, until the caller closes the iterator; raises `no-log`."""
    file = await off_loop(partial(_opened, folder, name), BinaryIO.close)
    try:
        await off_loop(partial(_seek_lines, file, lines))
        while True:
            if piece := await off_loop(partial(file.read, _PIECE)):
                yield piece
            else:
                await asyncio.sleep(_POLL_S)
    finally:
        file.close()


def _names(folder: Path, pattern: str) -> list[str]:
    if pattern.startswith("/") or ".." in pattern.split("/"):
        return []
    try:
        return sorted(str(path.relative_to(folder)) for path in folder.glob(pattern))
    except OSError:
        return []


def _opened(folder: Path, name: str) -> BinaryIO:
    """A regular file below the folder, to which no link leads out of it: its name comes from the cluster."""
    path = folder / name
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            raise no_log(name)
        return opened(path)
    except (OSError, ValueError) as error:
        raise no_log(name) from error


def _seek_lines(file: BinaryIO, lines: int) -> int:
    """Goes to the start of the last `lines` lines, of the file for -1; returns how many bytes follow."""
    size = file.seek(0, os.SEEK_END)
    start = {-1: 0, 0: size}.get(lines)
    if start is None:
        start = _start_of_last(file, size, lines)
    file.seek(start)
    return size - start


def _start_of_last(file: BinaryIO, size: int, lines: int) -> int:
    file.seek(max(0, size - 1))
    # The line feed at the very end ends the last line.
    missing = lines + (file.read(1) == b"\n")
    begin = size
    while begin > 0:
        step = min(_STEP, begin)
        begin -= step
        file.seek(begin)
        block = file.read(step)
        feeds = block.count(b"\n")
        if feeds >= missing:
            at = len(block)
            for _ in range(missing):
                at = block.rfind(b"\n", 0, at)
            return begin + at + 1
        missing -= feeds
    return 0
