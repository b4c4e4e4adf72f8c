"""Reports of nsys as a person names them: exported where that is needed, read once, asked for table by table."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from eagleray.clients import nsys
from eagleray.common import paths
from eagleray.common.errors import EaglerayError
from eagleray.common.report_errors import (
    damaged_report,
    empty_report,
    no_report,
    nsys_missing,
    nsys_older,
    nsys_unusable,
)
from eagleray.features.profiling.reading import notes, summary
from eagleray.features.profiling.reading.database import opened
from eagleray.features.profiling.reading.kept import KeptSummaries
from eagleray.features.profiling.reading.limits import Limits
from eagleray.features.profiling.reading.summary import Say, Summary
from eagleray.features.profiling.reading.tables import Name, Table

SQLITE = b"SQLite format 3\0"
MOST_EXPORTS = 5
# Summaries that are at hand: who sorts a table asks for it again and again.
MOST_AT_HAND = 4


@frozen
class Report:
    """A report that was read: the file that a person named, and the database that was read for it."""

    path: Path
    database: Path
    size: int
    summary: Summary


class Reports:
    """Lives on one event loop; `folder` is where that lies which cannot be beside a report."""

    def __init__(self, folder: Callable[[], Path], kept: KeptSummaries | None = None) -> None:
        self._folder = folder
        self._given = kept
        self._at_hand: dict[tuple[object, ...], Summary] = {}

    async def read(self, path: str, say: Say = lambda text, percentage: None) -> Report:
        """Raises an error of the catalogue; cancelled, it ends nsys and the reading."""
        file, size, is_database = await asyncio.to_thread(_looked_at, path)
        note = await asyncio.to_thread(notes.beside, file)
        database = file if is_database else await self._exported(file, size, note.version, say)
        return Report(file, database, size, await self._summary(database, note.trace, say))

    async def table(
        self,
        path: str,
        name: Name,
        sort: str = "",
        descending: bool = True,
        search: str = "",
        say: Say = lambda text, percentage: None,
    ) -> Table:
        """All rows of a table that fit; an empty one where the report has none of it."""
        report = await self.read(path, say)
        found = next((one for one in report.summary.tables if one.name == name), None)
        table = found or Table(name, (), 0)
        return table.searched(search).ordered(sort, descending)

    async def _summary(self, database: Path, trace: str, say: Say) -> Summary:
        limits = Limits()
        loop = asyncio.get_running_loop()

        def tell(text: str, percentage: int) -> None:
            loop.call_soon_threadsafe(say, text, percentage)

        reading = asyncio.create_task(
            asyncio.to_thread(self._read, database, trace, limits, tell), name="read report"
        )
        try:
            return await asyncio.shield(reading)
        finally:
            limits.cancel()
            # Nothing is left that reads a file which somebody wants to remove.
            await asyncio.wait([reading])

    def _read(self, database: Path, trace: str, limits: Limits, say: Say) -> Summary:
        kept = self._given or KeptSummaries(self._folder() / "summaries")
        seen = database.stat()
        key = (database, seen.st_size, seen.st_mtime_ns, trace)
        made = self._at_hand.pop(key, None) or kept.find(database, trace)
        if made is None:
            made = summary.read(database, trace, limits, say)
            kept.keep(database, trace, made, seen)
        while len(self._at_hand) >= MOST_AT_HAND:
            self._at_hand.pop(next(iter(self._at_hand)), None)
        self._at_hand[key] = made
        return made

    async def _exported(self, report: Path, size: int, version: str, say: Say) -> Path:
        """The database of a report that an nsys of this version has written, "" if that is not known.

        1. `name.sqlite` beside it, as nsys names it, when that is a database of nsys and not older.
        2. One that is made there now, unless something else bears that name or nothing can be written.
        3. One in our state folder, which bears the report's place, size and time in its name.
        """
        database, is_made = await asyncio.to_thread(self._place, report)
        if is_made:
            return database
        tool = nsys.find()
        if tool is None and (named := nsys.named()):
            raise nsys_unusable(named, str(report))
        if tool is None:
            raise nsys_missing(str(report), version)

        def percent(now: int) -> None:
            say("Exporting with nsys", now)

        percent(0)
        try:
            await tool.export(report, size, database, percent)
        except EaglerayError as error:
            here = await tool.version() if version else ""
            if error.code == "export-failed" and nsys.is_newer(version, here):
                raise nsys_older(str(report), version, here, error.detail) from error
            raise
        return database

    def _place(self, report: Path) -> tuple[Path, bool]:
        """Where the database of a report lies or is to lie, and whether it does."""
        beside = report.with_suffix(".sqlite")
        if _is_export(beside, report):
            return beside, True
        own = self._own(report)
        if own.exists():
            return own, True
        free = not beside.exists() or _is_nsys(beside)
        if free and os.access(report.parent, os.W_OK):
            return beside, False
        _forget_oldest(own.parent)
        return own, False

    def _own(self, report: Path) -> Path:
        seen = report.stat()
        folder = paths.private_folder(self._folder() / "exports")
        key = f"{report}\n{seen.st_size}\n{seen.st_mtime_ns}"
        return folder / f"{hashlib.sha256(os.fsencode(key)).hexdigest()[:32]}.sqlite"


def _looked_at(path: str) -> tuple[Path, int, bool]:
    """A file that can be read, its size, and whether it is a database; raises what is wrong with it."""
    file = Path(path)
    try:
        file = file.expanduser().absolute()
        seen = file.stat()
        if not stat.S_ISREG(seen.st_mode):
            raise no_report(str(file), "it is not a file")
        with file.open("rb"):
            pass
    except OSError as error:
        raise no_report(str(file), error.strerror or str(error)) from error
    except (RuntimeError, ValueError) as error:
        raise no_report(str(file), "no file can have such a name") from error
    if not seen.st_size:
        raise empty_report(str(file))
    return file, seen.st_size, _is_database(file)


def _is_database(file: Path) -> bool:
    """By its beginning; a name that promises a database is held to it."""
    try:
        with file.open("rb") as read:
            found = read.read(len(SQLITE)) == SQLITE
    except OSError as error:
        raise no_report(str(file), error.strerror or str(error)) from error
    if not found and file.suffix in (".sqlite", ".db"):
        raise damaged_report(str(file), "it is not a database")
    return found


def _is_export(database: Path, report: Path) -> bool:
    try:
        newer = database.stat().st_mtime_ns >= report.stat().st_mtime_ns
    except OSError:
        return False
    return newer and _is_nsys(database)


def _is_nsys(database: Path) -> bool:
    try:
        return bool(_is_database(database) and opened(database, Limits()))
    except EaglerayError:
        return False


def _forget_oldest(folder: Path) -> None:
    files = sorted(folder.glob("*.sqlite"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[MOST_EXPORTS:]:
        file.unlink(missing_ok=True)
