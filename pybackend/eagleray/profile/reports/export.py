"""The database of a report: found beside it or in the state folder, otherwise exported on demand by this machine's nsys."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from weakref import WeakValueDictionary

from eagleray.common import paths
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.profile.reports.database import ReadLimits, open_database
from eagleray.profile.reports.errors import (
    damaged_report,
    incomplete_report,
    no_report,
    nsys_missing,
    nsys_older,
    nsys_unusable,
    other_file,
)
from eagleray.profile.reports.report_file import examine
from eagleray.profile.reports.summary import OnProgress
from eagleray.remote.injected.nsys.installations import is_newer
from eagleray.remote.injected.outside_files import content_of
from eagleray.tools import nsys

SQLITE_HEADER = b"SQLite format 3\0"
MOST_EXPORTS = 5


class ReportDatabases:
    """Lives on one event loop; `state_folder` has the databases that cannot be beside their reports."""

    def __init__(self, state_folder: Callable[[], Path]) -> None:
        self._state_folder = state_folder
        # A lock lives as long as a caller uses it.
        self._locks = WeakValueDictionary[Path, asyncio.Lock]()
        self._listeners: defaultdict[Path, list[OnProgress]] = defaultdict(list)

    async def database(
        self, report: Path, size: int, version: str, on_progress: OnProgress
    ) -> Path:
        """The database of a report; its note says that an nsys of this version has written it, "" if it doesn't.

        1. `name.sqlite` beside it, as nsys names it, if that is a database of nsys and not older.
        2. A new one there, unless another file has that name or the folder is read-only.
        3. One in the state folder, whose name depends on the report's path, size and time.

        A second caller waits for the export, and exports itself if the first one is cancelled.
        """
        lock = self._locks.setdefault(report, asyncio.Lock())
        self._listeners[report].append(on_progress)
        if lock.locked():
            on_progress(t("Exporting with nsys"), 0)
        try:
            async with lock:
                return await self._find_or_export(report, size, version)
        finally:
            self._listeners[report].remove(on_progress)
            if not self._listeners[report]:
                del self._listeners[report]

    async def _find_or_export(self, report: Path, size: int, version: str) -> Path:
        database, exists = await asyncio.to_thread(self._place, report)
        if exists:
            return database
        tool = nsys.find()
        if tool is None:
            made_by = await self._checked(report, version)
            if configured := nsys.configured():
                raise nsys_unusable(configured, str(report))
            raise nsys_missing(str(report), made_by)

        def on_percent(percent: int) -> None:
            for on_progress in self._listeners.get(report, ()):
                on_progress(t("Exporting with nsys"), percent)

        on_percent(0)
        try:
            await tool.export(report, size, database, on_percent)
        except EaglerayError as error:
            if error.code != "export-failed":
                raise
            made_by, here = await self._checked(report, version), await tool.version()
            if is_newer(made_by, here):
                raise nsys_older(str(report), made_by, here, error.output) from error
            raise
        return database

    async def _checked(self, report: Path, version: str) -> str:
        """The version of the nsys that wrote the file; raises an error if it isn't a report, or incomplete."""
        try:
            file = await asyncio.to_thread(examine, report)
        except OSError as error:
            raise no_report(str(report), error.strerror or str(error)) from error
        if not file.is_report:
            raise other_file(str(report))
        if not file.is_complete:
            raise incomplete_report(str(report))
        return file.version or version

    def _place(self, report: Path) -> tuple[Path, bool]:
        """The path of the report's database, and whether it exists."""
        beside = report.with_suffix(".sqlite")
        if _is_export(beside, report):
            return beside, True
        in_state = self._path_in_state_folder(report)
        if in_state.exists():
            return in_state, True
        is_free = not beside.exists() or _is_nsys(beside)
        if is_free and os.access(report.parent, os.W_OK):
            return beside, False
        _remove_oldest(in_state.parent)
        return in_state, False

    def _path_in_state_folder(self, report: Path) -> Path:
        status = report.stat()
        folder = paths.private_folder(self._state_folder() / "exports")
        key = f"{report}\n{status.st_size}\n{status.st_mtime_ns}"
        return folder / f"{hashlib.sha256(os.fsencode(key)).hexdigest()[:32]}.sqlite"


def is_database(file: Path) -> bool:
    """Whether the file begins as a database; raises `damaged-report` if only its name says so."""
    try:
        has_header = content_of(file, len(SQLITE_HEADER)) == SQLITE_HEADER
    except OSError as error:
        raise no_report(str(file), error.strerror or str(error)) from error
    if not has_header and file.suffix in (".sqlite", ".db"):
        raise damaged_report(str(file), t("it is not a database"))
    return has_header


def _is_export(database: Path, report: Path) -> bool:
    try:
        is_newer = database.stat().st_mtime_ns >= report.stat().st_mtime_ns
    except OSError:
        return False
    return is_newer and _is_nsys(database)


def _is_nsys(database: Path) -> bool:
    try:
        return bool(is_database(database) and open_database(database, ReadLimits()))
    except EaglerayError:
        return False


def _remove_oldest(folder: Path) -> None:
    files = sorted(folder.glob("*.sqlite"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[MOST_EXPORTS:]:
        file.unlink(missing_ok=True)
