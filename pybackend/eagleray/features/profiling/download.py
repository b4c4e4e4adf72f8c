"""Fetching of one report into a folder: in part first, gone on with after an end, and compared before it is one."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from eagleray.common.profile_errors import bad_report, no_room, report_unreachable
from eagleray.features.profiling.manifest import Entry
from eagleray.features.profiling.sources import Source, closing

PART = ".part"
# A link over which nothing comes for so long is lost.
IDLE_S = 60.0
_BATCH = 2**21

Here = Callable[[int], None]


async def fetch(source: Source, entry: Entry, folder: Path, name: str, tell: Here) -> None:
    """The report `entry` is `folder/name` now, byte for byte; `tell` is told how much of it is here.

    Raises `no-room` and leaves nothing of it; raises `bad-report` or what its source came to, and what is here of
    it is gone on with the next time.
    """
    target, part = folder / name, folder / (name + PART)
    if await asyncio.to_thread(is_same, target, entry):
        tell(entry.size)
        return
    try:
        linked = await asyncio.to_thread(_linked, source.file(entry.source), part)
        if not linked:
            await _filled(source, entry, part, tell)
        if not await asyncio.to_thread(is_same, part, entry):
            part.unlink(missing_ok=True)
            raise bad_report(entry.source, "its size or its hash is another")
        part.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise no_room(str(folder), error.strerror or str(error)) from error
    if linked:
        tell(entry.size)


def is_same(file: Path, entry: Entry) -> bool:
    """Whether the file is the report, by its size and its hash; nothing but a file is one, and none is waited for."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        known = os.fstat(fd)
        is_report = stat.S_ISREG(known.st_mode) and known.st_size == entry.size
        return is_report and _hash(fd) == entry.sha256
    except OSError:
        return False
    finally:
        os.close(fd)


def _hash(fd: int) -> str:
    made = hashlib.sha256()
    while piece := os.read(fd, _BATCH):
        made.update(piece)
    return made.hexdigest()


def _linked(there: Path | None, part: Path) -> bool:
    """A report of the same file system takes no room a second time."""
    if there is None or there.is_symlink():
        return False
    with contextlib.suppress(OSError):
        part.unlink(missing_ok=True)
        os.link(there, part, follow_symlinks=False)
        return True
    return False


async def _filled(source: Source, entry: Entry, part: Path, tell: Here) -> None:
    fd = os.open(part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        start = min(os.fstat(fd).st_size, entry.size)
        os.ftruncate(fd, start)
        os.lseek(fd, start, os.SEEK_SET)
        tell(start)
        if start == entry.size:
            return
        pieces = source.pieces(entry.source, start)
        async with closing(pieces):
            await _written(pieces, entry, fd, start, tell)
        # The list names it for good: it must be there after a power failure, too.
        await asyncio.to_thread(os.fsync, fd)
    finally:
        os.close(fd)


async def _written(
    pieces: AsyncIterator[bytes], entry: Entry, fd: int, here: int, tell: Here
) -> None:
    batch = bytearray()
    while True:
        piece = await _next(pieces, entry)
        if piece == b"":
            # It is sent from its beginning.
            batch.clear()
            here = 0
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)
            continue
        batch += piece or b""
        here += len(piece or b"")
        if here > entry.size:
            raise bad_report(entry.source, "it is longer than was said")
        tell(here)
        if batch and (piece is None or len(batch) >= _BATCH):
            await asyncio.to_thread(_write_all, fd, bytes(batch))
            batch.clear()
        if piece is None:
            return


async def _next(pieces: AsyncIterator[bytes], entry: Entry) -> bytes | None:
    """The next piece, None after the last one."""
    try:
        return await asyncio.wait_for(anext(pieces), IDLE_S)
    except StopAsyncIteration:
        return None
    except asyncio.TimeoutError as error:
        silent = f"nothing came for {IDLE_S:g} s"
        raise report_unreachable(entry.source, entry.host or entry.node, silent) from error


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
