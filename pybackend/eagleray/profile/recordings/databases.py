"""Downloads databases that nodes made of reports which this machine's nsys cannot read, and unpacks them beside them.

No report waits for its database, and none fails because of it.
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
from eagleray.common.l10n import t
from eagleray.common.tasks import gather_bounded
from eagleray.profile.recordings.download import PART, OnProgress, download_report
from eagleray.profile.recordings.errors import database_left_out
from eagleray.profile.recordings.file_names import DATABASE, REPORT, display_name
from eagleray.profile.recordings.manifest import ReportEntry, ReportKey, parse_entry
from eagleray.profile.recordings.sources import Source

CONCURRENCY = 2
# After this long a call returns, so that the next reports are downloaded first.
ROUND_LIMIT_S = 5.0
# A failed download is repeated after a pause, which doubles each time; after `TRIES` failures no caller waits for it.
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
TRIES = 4
# A database is about three times as large as its report; a larger one than this is meant to fill a disk.
_LARGEST_FACTOR = 40
_ALWAYS_ALLOWED = 64 * 2**20
# Disk space that unpacking leaves to others.
SPARE = 2**28
_PIECE = 2**20
_SQLITE_HEADER = b"SQLite format 3\0"

log = logging.getLogger(__name__)


class _UnavailableError(Exception):
    """A database that can't be downloaded; the text says why."""


class _RetryError(_UnavailableError):
    """A database whose download failed and may succeed the next time."""


@frozen
class PackedDatabase:
    """A packed database as its node describes it: `report` is the key of its report, `problem` why there is none."""

    entry: ReportEntry
    report: ReportKey
    unpacked: int
    problem: str
    source: Source


def parse_database(name: str, text: bytes, source: Source) -> PackedDatabase | None:
    """The description `name` of a database; None if it is not valid."""
    entry = parse_entry(name.removesuffix(".json"), text)
    if entry is None:
        return None
    row = json.loads(text)
    report, sha256, unpacked = (row.get(key) for key in ("report", "report_sha256", "unpacked"))
    if not isinstance(report, str) or not isinstance(sha256, str) or not isinstance(unpacked, int):
        return None
    key = (entry.node_id or entry.host, display_name(report), sha256)
    return PackedDatabase(entry, key, unpacked, printable(entry.problem), source)


@frozen
class _Failures:
    """The number of failed downloads of a database, and when the next one is due."""

    tries: int = 0
    retry_at: float = 0.0


class DatabaseDownloads:
    """Used by one task at a time, while the collector holds `folder`.

    A database whose node or link fails is requested again at increasing intervals; no caller waits for it after a few tries.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._left_out: dict[ReportKey, EaglerayError] = {}
        self._failures: dict[ReportKey, _Failures] = {}
        self._done: dict[ReportKey, int] = {}

    @property
    def done_bytes(self) -> int:
        return sum(self._done.values())

    @property
    def left_out(self) -> list[EaglerayError]:
        """Why some databases are not downloaded."""
        return list(self._left_out.values())

    def missing(
        self, databases: Iterable[PackedDatabase], reports: Sequence[ReportEntry]
    ) -> list[PackedDatabase]:
        """The databases of collected reports that are not beside them yet and are worth waiting for."""
        absent = self._absent(databases, reports)
        return [database for database in absent if database.report not in self._left_out]

    def _absent(
        self, databases: Iterable[PackedDatabase], reports: Sequence[ReportEntry]
    ) -> list[PackedDatabase]:
        files = {entry.key: self._folder / entry.file for entry in reports}
        wanted = (database for database in databases if database.report in files)
        return [item for item in wanted if not database_beside(files[item.report]).exists()]

    def _is_due(self, database: PackedDatabase) -> bool:
        failures = self._failures.get(database.report)
        if failures is None:
            return database.report not in self._left_out
        return time.monotonic() >= failures.retry_at

    async def download(
        self, databases: Iterable[PackedDatabase], reports: Sequence[ReportEntry]
    ) -> None:
        """Downloads missing databases for a short time, so that reports which become complete need not wait.

        An interrupted download is resumed in the next call.
        """
        entries = {entry.key: entry for entry in reports}
        missing = [item for item in self._absent(databases, reports) if self._is_due(item)]
        deadline = time.monotonic() + ROUND_LIMIT_S
        for at in range(0, len(missing), CONCURRENCY):
            batch = missing[at : at + CONCURRENCY]
            await gather_bounded(
                lambda item: self._download_database(item, entries[item.report]), batch, CONCURRENCY
            )
            if time.monotonic() > deadline:
                break

    async def _download_database(self, packed: PackedDatabase, report: ReportEntry) -> None:
        database = database_beside(self._folder / report.file)
        name = database.name + DATABASE.removeprefix(".sqlite")

        def on_progress(done: int) -> None:
            self._done[packed.report] = done

        try:
            self._check(packed, report)
            await self._download(packed, name, on_progress)
            await _unpack_in_thread(self._folder / name, database, packed.unpacked)
            _make_newer(database, self._folder / report.file)
        except _RetryError as error:
            # The partial file is resumed.
            self._schedule_retry(packed.report, database_left_out(report.file, str(error)))
            return
        except _UnavailableError as error:
            self._leave_out(packed.report, database_left_out(report.file, str(error)))
        except OSError as error:
            why = error.strerror or str(error)
            self._leave_out(packed.report, database_left_out(report.file, why))
        except Exception as error:
            log.exception("the database of %s can't be fetched", report.file)
            self._leave_out(packed.report, database_left_out(report.file, type(error).__name__))
        else:
            self._failures.pop(packed.report, None)
            self._left_out.pop(packed.report, None)
        for leftover in (name, name + PART):
            with contextlib.suppress(OSError):
                (self._folder / leftover).unlink(missing_ok=True)

    async def _download(self, packed: PackedDatabase, name: str, on_progress: OnProgress) -> None:
        """Raises _RetryError where the node or the connection may do better next time, else _UnavailableError."""
        try:
            await download_report(packed.source, packed.entry, self._folder, name, on_progress)
        except EaglerayError as error:
            if error.code == "no-room":
                raise _UnavailableError(error.detail) from error
            # The message of `bad-report` is about a report.
            raise _RetryError(
                error.detail if error.code == "bad-report" else error.message
            ) from error

    def _leave_out(self, key: ReportKey, error: EaglerayError) -> None:
        self._failures.pop(key, None)
        self._left_out[key] = error

    def _schedule_retry(self, key: ReportKey, error: EaglerayError) -> None:
        tries = self._failures.get(key, _Failures()).tries + 1
        pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(tries - 1, 30))
        self._failures[key] = _Failures(tries, time.monotonic() + pause_s)
        if tries >= TRIES:
            self._left_out[key] = error

    def _check(self, packed: PackedDatabase, report: ReportEntry) -> None:
        """Raises _UnavailableError for a database that is not even requested."""
        if packed.problem:
            raise _UnavailableError(t("its node made none ({why})", why=packed.problem))
        largest = max(_ALWAYS_ALLOWED, _LARGEST_FACTOR * report.size)
        for size in (packed.unpacked, packed.entry.size):
            if not 0 < size <= largest:
                raise _UnavailableError(t("it has {size} MB, as its node reports", size=_mb(size)))
        free = shutil.disk_usage(self._folder).free
        if packed.entry.size + packed.unpacked + SPARE > free:
            raise _UnavailableError(
                t("only {size} MB are free in {folder}", size=_mb(free), folder=self._folder)
            )


def database_beside(report: Path) -> Path:
    """The path of a report's database, as nsys names it."""
    return report.with_name(report.name.removesuffix(REPORT) + ".sqlite")


def _make_newer(database: Path, report: Path) -> None:
    """Readers take a database that is not older than the report; the report's time may be of another clock."""
    made, recorded = database.stat().st_mtime_ns, report.stat().st_mtime_ns
    if made < recorded:
        os.utime(database, ns=(recorded, recorded))


async def _unpack_in_thread(packed: Path, database: Path, size: int) -> None:
    """Stops its thread when it is cancelled."""
    stopped = threading.Event()
    unpacking = asyncio.create_task(asyncio.to_thread(unpack, packed, database, size, stopped))
    try:
        await asyncio.shield(unpacking)
    finally:
        stopped.set()
        await asyncio.wait([unpacking])


def unpack(packed: Path, database: Path, size: int, stopped: threading.Event) -> None:
    """Makes `database` completely or not at all; raises OSError, or _UnavailableError if it is not as described."""
    fd, made = tempfile.mkstemp(prefix=f".{database.name}-", dir=database.parent)
    try:
        with os.fdopen(fd, "wb") as out:
            _copy(packed, out, size, stopped)
        Path(made).chmod(0o644)
        Path(made).replace(database)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _UnavailableError(t("it can't be unpacked")) from error
    finally:
        Path(made).unlink(missing_ok=True)


def _copy(packed: Path, out: BinaryIO, size: int, stopped: threading.Event) -> None:
    left, is_first = size, True
    with gzip.open(packed) as stream:  # own file
        while not stopped.is_set() and (piece := stream.read(_PIECE)):
            left -= len(piece)
            if left < 0 or (is_first and not piece.startswith(_SQLITE_HEADER)):
                raise _UnavailableError(t("it is longer than announced, or no database"))
            out.write(piece)
            is_first = False
    if left:
        raise _UnavailableError(t("it is shorter than announced"))


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f}"
