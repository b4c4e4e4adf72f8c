"""Reports as the user names them: exported if necessary, read once, requested table by table."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Callable
from pathlib import Path

from eagleray.common.l10n import t
from eagleray.profile.reports import summary
from eagleray.profile.reports.database import ReadLimits
from eagleray.profile.reports.errors import empty_report, no_report, other_file
from eagleray.profile.reports.export import ReportDatabases, is_database
from eagleray.profile.reports.metadata import read_note
from eagleray.profile.reports.model import LoadedReport, ReportTable, Summary, TableId
from eagleray.profile.reports.summary import OnProgress, ignore_progress
from eagleray.profile.reports.summary_cache import SummaryCache
from eagleray.remote.injected.outside_files import opened

# Summaries that stay in memory: sorting a table requests it again and again.
MOST_IN_MEMORY = 4
# Reports of nsys, and of its versions before 2021.4.
REPORT_SUFFIXES = (".nsys-rep", ".qdrep")


class Reports:
    """Lives on one event loop; `state_folder` has the files that cannot be beside a report."""

    def __init__(self, state_folder: Callable[[], Path], cache: SummaryCache | None = None) -> None:
        self._state_folder = state_folder
        self._databases = ReportDatabases(state_folder)
        self._cache = cache
        self._in_memory: dict[tuple[object, ...], Summary] = {}

    async def read(self, path: str, on_progress: OnProgress = ignore_progress) -> LoadedReport:
        """Raises an error of the catalogue; when cancelled, ends nsys and the reading."""
        file, size, is_export = await asyncio.to_thread(_examine, path)
        note = await asyncio.to_thread(read_note, file)
        database = file
        if not is_export:
            database = await self._databases.database(file, size, note.version, on_progress)
        result = await self._summary(database, note.trace, on_progress)
        return LoadedReport(file, database, size, result, note.worker)

    async def table(
        self,
        path: str,
        name: TableId,
        sort: str = "",
        descending: bool = True,
        search: str = "",
        on_progress: OnProgress = ignore_progress,
    ) -> ReportTable:
        """All matching rows of a table; an empty one if the report has no such table."""
        tables = (await self.read(path, on_progress)).summary.tables
        result = next((table for table in tables if table.name == name), None)
        return (result or ReportTable(name, (), 0)).searched(search).ordered(sort, descending)

    async def _summary(self, database: Path, trace: str, on_progress: OnProgress) -> Summary:
        limits = ReadLimits()
        loop = asyncio.get_running_loop()

        def progress(text: str, percentage: int) -> None:
            loop.call_soon_threadsafe(on_progress, text, percentage)

        reading = asyncio.create_task(
            asyncio.to_thread(self._read, database, trace, limits, progress), name="read report"
        )
        try:
            return await asyncio.shield(reading)
        finally:
            limits.cancel()
            # Nothing reads the file any more when the caller wants to remove it.
            await asyncio.wait([reading])

    def _read(
        self, database: Path, trace: str, limits: ReadLimits, on_progress: OnProgress
    ) -> Summary:
        cache = self._cache or SummaryCache(self._state_folder() / "summaries")
        status = database.stat()
        key = (database, status.st_size, status.st_mtime_ns, trace)
        result = self._in_memory.pop(key, None) or cache.find(database, trace)
        if result is None:
            result = summary.read(database, trace, limits, on_progress)
            cache.save(database, trace, result, status)
        while len(self._in_memory) >= MOST_IN_MEMORY:
            self._in_memory.pop(next(iter(self._in_memory)), None)
        self._in_memory[key] = result
        return result


def _examine(path: str) -> tuple[Path, int, bool]:
    """The absolute file, its size, and whether it is a database; raises an error if it can't be read."""
    file = Path(path)
    try:
        file = file.expanduser().absolute()
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            raise no_report(str(file), t("it is not a file"))
        opened(file).close()
    except OSError as error:
        raise no_report(str(file), error.strerror or str(error)) from error
    except (RuntimeError, ValueError) as error:
        raise no_report(str(file), t("no file can have such a name")) from error
    if not status.st_size:
        raise empty_report(str(file))
    if not (is_export := is_database(file)) and file.suffix not in REPORT_SUFFIXES:
        raise other_file(str(file))
    return file, status.st_size, is_export
