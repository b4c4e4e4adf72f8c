"""The databases that nsys makes of reports: found where one lies, else made, one at a time of each report."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from weakref import WeakValueDictionary

from eagleray.common import paths
from eagleray.common.errors import EaglerayError
from eagleray.features.reports.database import opened
from eagleray.features.reports.limits import Limits
from eagleray.features.reports.summary import Say
from eagleray.injected.nsys.installations import is_newer
from eagleray.tools import nsys
from eagleray.tools.nsys_errors import (
    damaged_report,
    no_report,
    nsys_missing,
    nsys_older,
    nsys_unusable,
)

SQLITE = b"SQLite format 3\0"
MOST_EXPORTS = 5
# A database has about three times the size of its report; what nobody asked for leaves all that is beyond this to others.
ROOM = 8
SPARE = 2**28
_EXPORTING = "Exporting with nsys"


class Exports:
    """Lives on one event loop; `folder` is where that lies which cannot be beside a report."""

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder
        # A lock lives as long as somebody uses it.
        self._locks = WeakValueDictionary[Path, asyncio.Lock]()
        self._told: defaultdict[Path, list[Say]] = defaultdict(list)

    async def database(self, report: Path, size: int, version: str, say: Say) -> Path:
        """That of a report which an nsys of this version has written, "" if that is not known.

        1. `name.sqlite` beside it, as nsys names it, when that is a database of nsys and not older.
        2. One that is made there now, unless something else bears that name or nothing can be written.
        3. One in our state folder, which bears the report's place, size and time in its name.

        Who asks while it is being made waits for that, and makes it if whoever began has given up.
        """
        alone = self._locks.setdefault(report, asyncio.Lock())
        self._told[report].append(say)
        if alone.locked():
            say(_EXPORTING, 0)
        try:
            async with alone:
                return await self._found(report, size, version)
        finally:
            self._told[report].remove(say)
            if not self._told[report]:
                del self._told[report]

    async def ahead(self, report: Path, size: int) -> None:
        """Makes it before anybody asks, as the least of the machine's processes, or not where room is short."""
        async with self._locks.setdefault(report, asyncio.Lock()):
            database, is_made = await asyncio.to_thread(self._place, report)
            tool = nsys.find()
            room = await asyncio.to_thread(shutil.disk_usage, database.parent)
            if not is_made and tool is not None and room.free > ROOM * size + SPARE:
                await tool.export(report, size, database, self._teller(report), gently=True)

    async def _found(self, report: Path, size: int, version: str) -> Path:
        database, is_made = await asyncio.to_thread(self._place, report)
        if is_made:
            return database
        tool = nsys.find()
        if tool is None and (named := nsys.named()):
            raise nsys_unusable(named, str(report))
        if tool is None:
            raise nsys_missing(str(report), version)

        percent = self._teller(report)
        percent(0)
        try:
            await tool.export(report, size, database, percent)
        except EaglerayError as error:
            here = await tool.version() if version else ""
            if error.code == "export-failed" and is_newer(version, here):
                raise nsys_older(str(report), version, here, error.detail) from error
            raise
        return database

    def _teller(self, report: Path) -> Callable[[int], None]:
        def percent(now: int) -> None:
            for say in self._told.get(report, ()):
                say(_EXPORTING, now)

        return percent

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


def is_database(file: Path) -> bool:
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
        return bool(is_database(database) and opened(database, Limits()))
    except EaglerayError:
        return False


def _forget_oldest(folder: Path) -> None:
    files = sorted(folder.glob("*.sqlite"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[MOST_EXPORTS:]:
        file.unlink(missing_ok=True)
