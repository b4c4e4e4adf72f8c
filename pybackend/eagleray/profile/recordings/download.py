"""Downloads one report: resumable, verified by SHA-256, renamed into place."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from eagleray.common.l10n import t
from eagleray.profile.recordings.errors import bad_report, no_room, report_unreachable
from eagleray.profile.recordings.manifest import ReportEntry
from eagleray.profile.recordings.sources import Source, closing
from eagleray.remote.injected.outside_files import descriptor_of

PART = ".part"
# A connection that delivers nothing for this long is lost.
IDLE_LIMIT_S = 60.0
_BATCH = 2**21

# Called with the number of bytes that are on disk.
OnProgress = Callable[[int], None]


async def download_report(
    source: Source, entry: ReportEntry, folder: Path, name: str, on_progress: OnProgress
) -> None:
    """Makes `folder/name` the report `entry`, byte for byte.

    Raises `no-room` and leaves nothing behind; raises `bad-report` or the error of the source, and resumes the partial
    file in the next call.
    """
    target, part = folder / name, folder / (name + PART)
    if await asyncio.to_thread(is_same_file, target, entry):
        on_progress(entry.size)
        return
    try:
        linked = await asyncio.to_thread(_link, source.local_path(entry.source), part)
        if not linked:
            await _fill(source, entry, part, on_progress)
        if not await asyncio.to_thread(is_same_file, part, entry):
            part.unlink(missing_ok=True)
            raise bad_report(entry.source, t("its size or its hash is wrong"))
        part.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise no_room(str(folder), error.strerror or str(error)) from error
    if linked:
        on_progress(entry.size)


def is_same_file(file: Path, entry: ReportEntry) -> bool:
    """Whether this is a regular file with the report's size and hash; never blocks on a pipe."""
    try:
        fd = descriptor_of(file)
    except OSError:
        return False
    try:
        status = os.fstat(fd)
        return status.st_size == entry.size and _sha256(fd) == entry.sha256
    except OSError:
        return False
    finally:
        os.close(fd)


def _sha256(fd: int) -> str:
    digest = hashlib.sha256()
    while piece := os.read(fd, _BATCH):
        digest.update(piece)
    return digest.hexdigest()


def _link(original: Path | None, part: Path) -> bool:
    """Hard-links a report of the same file system, which then takes no room a second time."""
    if original is None or original.is_symlink():
        return False
    with contextlib.suppress(OSError):
        part.unlink(missing_ok=True)
        os.link(original, part, follow_symlinks=False)
        return True
    return False


async def _fill(source: Source, entry: ReportEntry, part: Path, on_progress: OnProgress) -> None:
    fd = os.open(part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        start = min(os.fstat(fd).st_size, entry.size)
        os.ftruncate(fd, start)
        os.lseek(fd, start, os.SEEK_SET)
        on_progress(start)
        if start == entry.size:
            return
        pieces = source.pieces(entry.source, start)
        async with closing(pieces):
            await _write_pieces(pieces, entry, fd, start, on_progress)
        # The manifest will list it: it must survive a power failure too.
        await asyncio.to_thread(os.fsync, fd)
    finally:
        os.close(fd)


async def _write_pieces(
    pieces: AsyncIterator[bytes], entry: ReportEntry, fd: int, done: int, on_progress: OnProgress
) -> None:
    batch = bytearray()
    while True:
        piece = await _next_piece(pieces, entry)
        if piece == b"":
            # The source restarts at the beginning of the file.
            batch.clear()
            done = 0
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)
            continue
        batch += piece or b""
        done += len(piece or b"")
        if done > entry.size:
            raise bad_report(entry.source, t("it is longer than announced"))
        on_progress(done)
        if batch and (piece is None or len(batch) >= _BATCH):
            await asyncio.to_thread(_write_all, fd, bytes(batch))
            batch.clear()
        if piece is None:
            return


async def _next_piece(pieces: AsyncIterator[bytes], entry: ReportEntry) -> bytes | None:
    """The next piece, None after the last one."""
    try:
        return await asyncio.wait_for(anext(pieces), IDLE_LIMIT_S)
    except StopAsyncIteration:
        return None
    except asyncio.TimeoutError as error:
        silent = f"nothing came for {IDLE_LIMIT_S:g} s"
        raise report_unreachable(entry.source, entry.host or entry.node, silent) from error


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
