"""Sums over the rows of large tables, grouped by SQLite in several threads and added up by name.

SQLite works outside of Python's lock, so each statement sums up a part of the table and returns one row: a thread
takes that lock again for every row.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

from attrs import define

from eagleray.profile.reports.database import Database, to_int, unknown_name
from eagleray.profile.reports.errors import no_report
from eagleray.profile.reports.model import Cell

THREADS = min(8, os.cpu_count() or 1)
# As many rows are sorted within the caches of a processor, and their numbers take less than 128 kB: the allocator
# requests larger blocks from the system each time, which made reading half as fast.
ROWS_PER_PART = 8_000
# No row takes fewer bytes of the file.
_SMALLEST_ROW = 8
# The number of parts that may be ready before they are consumed.
PARTS_AHEAD = 2 * THREADS

# The first and the last rowid of a part of a table.
Part = tuple[int, int]
# Waits for the groups of all parts: each is its keys and its sums.
Groups = Callable[[], Iterator[list[Any]]]

# The sums of calls or kernels with the same name, in the order of `Sums.add`.
TIMES = ("count(*)", "total(end - start)", "min(end - start)", "max(end - start)")


class ParallelReader:
    """Owns its threads and a connection for each; leaving it ends both, after the statements that run."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="report")
        self._own = threading.local()
        self._connections: list[sqlite3.Connection] = []

    def __enter__(self) -> ParallelReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown(cancel_futures=True)
        for connection in self._connections:
            connection.close()

    def parts(self, table: str) -> list[Part]:
        """Blocks.  nsys numbers rows without gaps; a table with large gaps is one part."""
        sql = f"SELECT (SELECT min(rowid) FROM {table}), (SELECT max(rowid) FROM {table})"
        first, last = next(self.database.rows(sql))
        if first is None:
            return []
        if not (isinstance(first, int) and isinstance(last, int)):
            return [(first, last)]
        if last - first > _size(self.database.path) / _SMALLEST_ROW:
            return [(first, last)]
        step = ROWS_PER_PART
        return [(low, min(low + step - 1, last)) for low in range(first, last + 1, step)]

    def rows(
        self, sql: str, parts: Iterable[Part], *values: object
    ) -> Iterator[tuple[Part, tuple[Any, ...]]]:
        """The row of each part, in their order; `sql` selects rowids between ?1 and ?2."""
        waiting: deque[tuple[Part, Future[tuple[Any, ...]]]] = deque()
        for part in parts:
            waiting.append((part, self._pool.submit(self._row, sql, *part, *values)))
            if len(waiting) > PARTS_AHEAD:
                done, future = waiting.popleft()
                yield done, future.result()
        for done, future in waiting:
            yield done, future.result()

    def groups(
        self,
        table: str,
        needed: Sequence[str],
        keys: Sequence[str],
        sums: Sequence[str],
        where: str = "1",
    ) -> Groups:
        """Begins to sum up a table; without the `needed` columns it has no groups.

        A key that is neither an integer nor a text is None; sums are integers or texts.
        """
        if not self.database.has(table, *needed):
            return lambda: iter(())
        inner = ", ".join(f"{value} AS c{at}" for at, value in enumerate((*keys, *sums)))
        outer = [_key(f"c{at}") for at in range(len(keys))]
        outer += [_sum(f"c{at}") for at in range(len(keys), len(keys) + len(sums))]
        by = ", ".join(str(at + 1) for at in range(len(keys)))
        sql = (
            f"SELECT json_group_array(json_array({', '.join(outer)})) FROM (SELECT {inner} FROM {table}"
            f" WHERE rowid BETWEEN ?1 AND ?2 AND ({where}) GROUP BY {by})"
        )
        futures = deque(self._pool.submit(self._row, sql, *part) for part in self.parts(table))

        def results() -> Iterator[list[Any]]:
            # Frees data that was read, and cancels work without consumers.
            try:
                while futures:
                    yield from json.loads(futures.popleft().result()[0])
            finally:
                for future in futures:
                    future.cancel()

        return results

    def _row(self, sql: str, *values: object) -> tuple[Any, ...]:
        with self.database.errors():
            connection: sqlite3.Connection | None = getattr(self._own, "connection", None)
            if connection is None:
                connection = self._own.connection = self.database.connection()
                self._connections.append(connection)
            row: tuple[Any, ...] = connection.execute(sql, values).fetchone()
            return row


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError as error:
        raise no_report(str(file), error.strerror or str(error)) from error


def _key(name: str) -> str:
    """A key as JSON can hold it: neither bytes nor an infinite number."""
    return f"CASE WHEN typeof({name}) IN ('integer', 'text') THEN {name} END"


def _sum(name: str) -> str:
    """JSON would keep fifteen digits of a sum that is not an integer."""
    return f"CASE typeof({name}) WHEN 'text' THEN {name} ELSE CAST({name} AS INTEGER) END"


@define
class Sums:
    """The number and the times of calls or kernels with the same name."""

    count: int = 0
    total: int = 0
    shortest: int | None = None
    longest: int = 0

    def add(self, count: object, total: object, shortest: object, longest: object) -> None:
        self.count += to_int(count)
        self.total += to_int(total)
        low = to_int(shortest)
        self.shortest = low if self.shortest is None else min(self.shortest, low)
        self.longest = max(self.longest, to_int(longest))


def sum_by_name(database: Database, rows: Iterable[Sequence[Any]]) -> dict[str, Sums]:
    """Adds up rows of (StringIds number, count, total, min, max); one name may have several numbers."""
    rows = list(rows)
    names = database.strings({key for key, *_ in rows if isinstance(key, int)})
    by_name: dict[str, Sums] = {}
    for key, *sums in rows:
        by_name.setdefault(names.get(key, "") or unknown_name(key), Sums()).add(*sums)
    return by_name


def table_rows(by_name: dict[str, Sums]) -> list[tuple[Cell, ...]]:
    """Rows of a table: name, count, total, share, average, min, max."""
    total = sum(sums.total for sums in by_name.values())
    return [
        (
            name,
            sums.count,
            sums.total,
            sums.total / total if total else 0.0,
            sums.total // sums.count if sums.count else 0,
            sums.shortest,
            sums.longest,
        )
        for name, sums in by_name.items()
    ]
