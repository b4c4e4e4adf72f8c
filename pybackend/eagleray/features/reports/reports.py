"""Reports of nsys as a person names them: exported where that is needed, read once, asked for table by table."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from eagleray.features.reports import notes, summary
from eagleray.features.reports.exporting import Exports, is_database
from eagleray.features.reports.kept import KeptSummaries
from eagleray.features.reports.limits import Limits
from eagleray.features.reports.summary import Say, Summary
from eagleray.features.reports.tables import Name, Table
from eagleray.tools.nsys_errors import empty_report, no_report

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
        self._exports = Exports(folder)
        self._given = kept
        self._at_hand: dict[tuple[object, ...], Summary] = {}

    async def read(self, path: str, say: Say = lambda text, percentage: None) -> Report:
        """Raises an error of the catalogue; cancelled, it ends nsys and the reading."""
        file, size, is_export = await asyncio.to_thread(_looked_at, path)
        note = await asyncio.to_thread(notes.beside, file)
        database = file
        if not is_export:
            database = await self._exports.database(file, size, note.version, say)
        return Report(file, database, size, await self._summary(database, note.trace, say))

    async def ahead(self, path: str) -> None:
        """Has the database made of a report that nobody has opened yet; raises an error of the catalogue."""
        file, size, is_export = await asyncio.to_thread(_looked_at, path)
        if not is_export:
            await self._exports.ahead(file, size)

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
    return file, seen.st_size, is_database(file)
