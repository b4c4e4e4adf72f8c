"""Databases that nodes have made of reports for those who cannot read them here: fetched, and unpacked beside them.

A report stands without its database, so that none is waited for in vain and nothing fails by one.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import logging
import os
import shutil
import tempfile
import threading
import time
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

from attrs import frozen

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.gather import gather_bounded
from eagleray.common.profile_errors import database_left_out
from eagleray.features.profiling.download import PART, Here, fetch
from eagleray.features.profiling.file_names import DATABASE, REPORT, shown
from eagleray.features.profiling.manifest import Entry, entry_of
from eagleray.features.profiling.sources import Source

AT_ONCE = 2
SOON_S = 5.0
# What did not come is asked for again after so long, each time after twice as long, and others wait for so many tries.
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
TRIES = 4
# A database has about three times the size of its report: one of so many is there to fill a disk.
_MOST_TIMES = 40
_ALWAYS = 64 * 2**20
# What is left to others when a database is unpacked.
SPARE = 2**28
_PIECE = 2**20
_BEGINS = b"SQLite format 3\0"

Key = tuple[str, str, str]

log = logging.getLogger(__name__)


class _LeftOutError(Exception):
    """Of a database that is not to be had; the text says why."""


class _DidNotComeError(_LeftOutError):
    """Of one that may come the next time."""


@frozen
class Packed:
    """A packed database as its node describes it; `of` is the report by its key, `problem` why there is none."""

    entry: Entry
    of: Key
    unpacked: int
    problem: str
    source: Source


def packed_of(name: str, text: bytes, source: Source) -> Packed | None:
    """What the file `name` says of a database; None for nonsense."""
    entry = entry_of(name.removesuffix(".json"), text)
    if entry is None:
        return None
    said = json.loads(text)
    report, hashed, unpacked = (said.get(key) for key in ("report", "report_sha256", "unpacked"))
    if not isinstance(report, str) or not isinstance(hashed, str) or not isinstance(unpacked, int):
        return None
    of = (entry.node_id or entry.host, shown(report), hashed)
    return Packed(entry, of, unpacked, printable(entry.problem), source)


@frozen
class Failed:
    """How often a database did not come, and from when on it is asked for again."""

    tries: int = 0
    again: float = 0.0


class Databases:
    """Used by one task at a time, while its `folder` is held by who gathers.

    One whose node or link fails is asked for again, less and less often; nobody waits for it beyond a few tries.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._left_out: dict[Key, EaglerayError] = {}
        self._failed: dict[Key, Failed] = {}
        self._here: dict[Key, int] = {}

    @property
    def done_bytes(self) -> int:
        return sum(self._here.values())

    @property
    def left_out(self) -> list[EaglerayError]:
        """Why some do not come."""
        return list(self._left_out.values())

    def missing(self, packed: Iterable[Packed], reports: Sequence[Entry]) -> list[Packed]:
        """Those of reports that are here, which lie beside none of them yet and are worth waiting for."""
        return [one for one in self._absent(packed, reports) if one.of not in self._left_out]

    def _absent(self, packed: Iterable[Packed], reports: Sequence[Entry]) -> list[Packed]:
        here = {entry.key: self._folder / entry.file for entry in reports}
        wanted = (one for one in packed if one.of in here)
        return [one for one in wanted if not database_beside(here[one.of]).exists()]

    def _is_due(self, one: Packed) -> bool:
        failed = self._failed.get(one.of)
        if failed is None:
            return one.of not in self._left_out
        return time.monotonic() >= failed.again

    async def fetch(self, packed: Iterable[Packed], reports: Sequence[Entry]) -> None:
        """Fetches of what is missing as much as is had soon, so that reports which become whole need not wait.

        What breaks off on its way is gone on with the next time.
        """
        here = {entry.key: entry for entry in reports}
        missing = [one for one in self._absent(packed, reports) if self._is_due(one)]
        until = time.monotonic() + SOON_S
        for at in range(0, len(missing), AT_ONCE):
            some = missing[at : at + AT_ONCE]
            await gather_bounded(lambda one: self._one(one, here[one.of]), some, AT_ONCE)
            if time.monotonic() > until:
                break

    async def _one(self, packed: Packed, report: Entry) -> None:
        database = database_beside(self._folder / report.file)
        name = database.name + DATABASE.removeprefix(".sqlite")

        def tell(here: int) -> None:
            self._here[packed.of] = here

        try:
            self._check(packed, report)
            await self._fetched(packed, name, tell)
            await _unpacked(self._folder / name, database, packed.unpacked)
            _not_older(database, self._folder / report.file)
        except _DidNotComeError as error:
            # What is here of it is gone on with.
            self._failed_again(packed.of, database_left_out(report.file, str(error)))
            return
        except _LeftOutError as error:
            self._leave_out(packed.of, database_left_out(report.file, str(error)))
        except OSError as error:
            why = error.strerror or str(error)
            self._leave_out(packed.of, database_left_out(report.file, why))
        except Exception as error:
            log.exception("the database of %s can't be fetched", report.file)
            self._leave_out(packed.of, database_left_out(report.file, type(error).__name__))
        else:
            self._failed.pop(packed.of, None)
            self._left_out.pop(packed.of, None)
        for left in (name, name + PART):
            with contextlib.suppress(OSError):
                (self._folder / left).unlink(missing_ok=True)

    async def _fetched(self, packed: Packed, name: str, tell: Here) -> None:
        """Raises _DidNotComeError for what its node or the way to it may do better the next time, or _LeftOutError."""
        try:
            await fetch(packed.source, packed.entry, self._folder, name, tell)
        except EaglerayError as error:
            if error.code == "no-room":
                raise _LeftOutError(error.detail) from error
            # What else stands in the sentence of that one is of a report.
            raise _DidNotComeError(
                error.detail if error.code == "bad-report" else error.message
            ) from error

    def _leave_out(self, key: Key, error: EaglerayError) -> None:
        self._failed.pop(key, None)
        self._left_out[key] = error

    def _failed_again(self, key: Key, error: EaglerayError) -> None:
        tries = self._failed.get(key, Failed()).tries + 1
        pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(tries - 1, 30))
        self._failed[key] = Failed(tries, time.monotonic() + pause_s)
        if tries >= TRIES:
            self._left_out[key] = error

    def _check(self, packed: Packed, report: Entry) -> None:
        """Raises why it is not even begun with."""
        if packed.problem:
            raise _LeftOutError(f"its node made none ({packed.problem})")
        most = max(_ALWAYS, _MOST_TIMES * report.size)
        for size in (packed.unpacked, packed.entry.size):
            if not 0 < size <= most:
                raise _LeftOutError(f"its node says that it has {_mb(size)} MB")
        free = shutil.disk_usage(self._folder).free
        if packed.entry.size + packed.unpacked + SPARE > free:
            raise _LeftOutError(f"only {_mb(free)} MB are free in {self._folder}")


def database_beside(report: Path) -> Path:
    """As nsys names it."""
    return report.with_name(report.name.removesuffix(REPORT) + ".sqlite")


def _not_older(database: Path, report: Path) -> None:
    """By which a reader sees that it belongs to the report, whose time may be that of another clock."""
    made, recorded = database.stat().st_mtime_ns, report.stat().st_mtime_ns
    if made < recorded:
        os.utime(database, ns=(recorded, recorded))


async def _unpacked(packed: Path, database: Path, size: int) -> None:
    """Whoever is cancelled leaves no thread behind that goes on."""
    stopped = threading.Event()
    unpacking = asyncio.create_task(asyncio.to_thread(unpack, packed, database, size, stopped))
    try:
        await asyncio.shield(unpacking)
    finally:
        stopped.set()
        await asyncio.wait([unpacking])


def unpack(packed: Path, database: Path, size: int, stopped: threading.Event) -> None:
    """`database` is there as a whole or not at all; raises OSError, or _LeftOutError for what is not as was said."""
    fd, made = tempfile.mkstemp(prefix=f".{database.name}-", dir=database.parent)
    try:
        with os.fdopen(fd, "wb") as out:
            _copy(packed, out, size, stopped)
        Path(made).chmod(0o644)
        Path(made).replace(database)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _LeftOutError("it cannot be unpacked") from error
    finally:
        Path(made).unlink(missing_ok=True)


def _copy(packed: Path, out: BinaryIO, size: int, stopped: threading.Event) -> None:
    left, is_first = size, True
    with gzip.open(packed) as stream:
        while not stopped.is_set() and (piece := stream.read(_PIECE)):
            left -= len(piece)
            if left < 0 or (is_first and not piece.startswith(_BEGINS)):
                raise _LeftOutError("it is longer than was said, or no database")
            out.write(piece)
            is_first = False
    if left:
        raise _LeftOutError("it is shorter than was said")


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f}"
