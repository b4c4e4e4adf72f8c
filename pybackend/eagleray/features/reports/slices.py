"""Statements over a large table, run on parts of it in several threads: SQLite works outside of Python's lock.

A statement answers with one row for each part, since a thread asks for that lock anew for every row.
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

from eagleray.features.reports.database import Database
from eagleray.tools.nsys_errors import no_report

THREADS = min(8, os.cpu_count() or 1)
# So many rows are sorted within the caches of a processor, and their numbers take less than 128 kB: more than
# that the allocator asks anew from the system each time, which made reading half as fast.
SLICE = 8_000
# No row takes fewer bytes of the file.
_LEAST_ROW = 8
# So many parts may be ready before they are asked for.
AHEAD = 2 * THREADS

# The first and the last row of a part, by its number.
Part = tuple[int, int]
# Waits for each group of each part: its keys and its sums.
Groups = Callable[[], Iterator[list[Any]]]


class Slices:
    """Owns its threads and a connection for each; leaving it ends both, after the statements that run."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="report")
        self._own = threading.local()
        self._connections: list[sqlite3.Connection] = []

    def __enter__(self) -> Slices:
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
        """Blocks.  Rows are numbered as nsys writes them; with holes that make work the whole table is one part."""
        sql = f"SELECT (SELECT min(rowid) FROM {table}), (SELECT max(rowid) FROM {table})"
        first, last = next(self.database.rows(sql))
        if first is None:
            return []
        if not (isinstance(first, int) and isinstance(last, int)):
            return [(first, last)]
        if last - first > _size(self.database.path) / _LEAST_ROW:
            return [(first, last)]
        return [(low, min(low + SLICE - 1, last)) for low in range(first, last + 1, SLICE)]

    def rows(
        self, sql: str, parts: Iterable[Part], *values: object
    ) -> Iterator[tuple[Part, tuple[Any, ...]]]:
        """The row of each part, in their order; `sql` asks for rowids between ?1 and ?2."""
        waiting: deque[tuple[Part, Future[tuple[Any, ...]]]] = deque()
        for part in parts:
            waiting.append((part, self._pool.submit(self._row, sql, *part, *values)))
            if len(waiting) > AHEAD:
                yield _done(waiting.popleft())
        yield from map(_done, waiting)

    def groups(
        self,
        table: str,
        needed: Sequence[str],
        keys: Sequence[str],
        sums: Sequence[str],
        where: str = "1",
    ) -> Groups:
        """Begins to sum up; there is nothing of a table without the columns that are needed.

        A key that is neither a whole number nor a text is None; sums are whole numbers or texts.
        """
        if not self.database.has(table, *needed):
            return lambda: iter(())
        inner = ", ".join(f"{said} AS c{at}" for at, said in enumerate((*keys, *sums)))
        outer = [_key(f"c{at}") for at in range(len(keys))]
        outer += [_sum(f"c{at}") for at in range(len(keys), len(keys) + len(sums))]
        by = ", ".join(str(at + 1) for at in range(len(keys)))
        sql = (
            f"SELECT json_group_array(json_array({', '.join(outer)})) FROM (SELECT {inner} FROM {table}"
            f" WHERE rowid BETWEEN ?1 AND ?2 AND ({where}) GROUP BY {by})"
        )
        begun = deque(self._pool.submit(self._row, sql, *part) for part in self.parts(table))

        def found() -> Iterator[list[Any]]:
            # What was read is let go of, and what nobody asks for any more is not begun with.
            try:
                while begun:
                    yield from json.loads(begun.popleft().result()[0])
            finally:
                for one in begun:
                    one.cancel()

        return found

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


def _done(
    one: tuple[Part, Future[tuple[Any, ...]]],
) -> tuple[Part, tuple[Any, ...]]:
    return one[0], one[1].result()


def _key(name: str) -> str:
    """What JSON can hold: neither bytes nor what is no finite number."""
    return f"CASE WHEN typeof({name}) IN ('integer', 'text') THEN {name} END"


def _sum(name: str) -> str:
    """JSON would keep fifteen digits of a sum that is no integer."""
    return f"CASE typeof({name}) WHEN 'text' THEN {name} ELSE CAST({name} AS INTEGER) END"
