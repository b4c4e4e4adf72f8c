"""Calls of the threads of a recording: of the OS runtime and of CUDA, by name and by thread."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from eagleray.profile.reports.aggregates import (
    TIMES,
    Groups,
    ParallelReader,
    sum_by_name,
    table_rows,
)
from eagleray.profile.reports.database import LATEST, Database, process_id, thread_id, to_int
from eagleray.profile.reports.model import ReportTable, TableId, make_table

OSRT = "OSRT_API"
CUDA = "CUPTI_ACTIVITY_KIND_RUNTIME"
NEEDED = ("start", "end", "nameId")
# Numbers are less than texts and bytes, and compared faster than their type is queried.
_SPAN = f"start < {LATEST} AND end < {LATEST} AND end >= start"
# The table also has the events of nsys itself, when it starts and stops tracing: ENUM_NSYS_EVENT_CLASS.
_CALLS = " AND eventClass NOT BETWEEN 10 AND 12 AND eventClass NOT BETWEEN 31 AND 32"


@frozen
class CallSums:
    """The calls of one table by name, and their number and time by thread, None if the report has no such table."""

    table: ReportTable
    threads: dict[int, tuple[int, int]] | None


def begin(reader: ParallelReader, source: str) -> Groups:
    """Begins to sum up the calls of a table by name and thread."""
    database = reader.database
    thread = "globalTid" if database.has(source, "globalTid") else "NULL"
    calls = _CALLS if database.has(source, "eventClass") else ""
    return reader.groups(source, NEEDED, ("nameId", thread), TIMES, f"{_SPAN}{calls}")


def read(database: Database, groups: Groups, source: str, name: TableId) -> CallSums:
    """Blocks."""
    rows = list(groups())
    threads: dict[int, tuple[int, int]] = {}
    for _, thread, count, total, *_ in rows:
        if isinstance(thread, int):
            calls, time = threads.get(thread, (0, 0))
            threads[thread] = (calls + to_int(count), time + to_int(total))
    by_name = sum_by_name(database, [(name, *sums) for name, _, *sums in rows])
    has_threads = database.has(source, *NEEDED, "globalTid")
    return CallSums(make_table(name, table_rows(by_name)), threads if has_threads else None)


def threads_table(
    database: Database,
    osrt: dict[int, tuple[int, int]] | None,
    cuda: dict[int, tuple[int, int]] | None,
    ranges: dict[int, int] | None,
) -> ReportTable:
    """The threads that did something; nsys also names the threads of all other processes of the machine.

    Cells are None for what the report has no table of: it was not traced, or never happened.
    """
    tables = [table for table in (osrt, cuda) if table is not None]
    threads = sorted({thread for table in tables for thread in table} | {*(ranges or {})})
    none = (0, 0)
    names = _thread_names(database, threads)
    return make_table(
        "threads",
        [
            (
                names.get(number, ""),
                process_id(number),
                thread_id(number),
                sum(table.get(number, none)[0] for table in tables) if tables else None,
                None if osrt is None else osrt.get(number, none)[1],
                None if cuda is None else cuda.get(number, none)[1],
                None if ranges is None else ranges.get(number, 0),
            )
            for number in threads
        ],
    )


def _thread_names(database: Database, threads: Sequence[int]) -> dict[int, str]:
    if not database.has("ThreadNames", "nameId", "globalTid"):
        return {}
    wanted = set(threads)
    named = {
        thread: number
        for thread, number in database.rows("SELECT globalTid, nameId FROM ThreadNames")
        if thread in wanted and isinstance(number, int)
    }
    texts = database.strings(set(named.values()))
    return {thread: texts.get(number, "") for thread, number in named.items()}
