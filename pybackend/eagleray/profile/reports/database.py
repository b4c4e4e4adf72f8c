"""Reads a database that nsys has exported, whichever of its tables exist; never writes to it.

Nothing in it is trusted: neither that it is complete nor its types, names or sizes.  It is not mapped into memory,
since truncating a mapped file ends the process.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from attrs import field, frozen

from eagleray.common.errors import cancelled, printable
from eagleray.common.l10n import t
from eagleray.common.retry import Clock
from eagleray.profile.reports.errors import (
    damaged_report,
    not_a_report,
    reading_slow,
    sqlite_without_json,
)

READ_LIMIT_S = 180.0
# Steps of SQLite's virtual machine between two checks of the limits: some milliseconds.
STEPS = 200_000
CHUNK = 1_000
IDS_PER_QUERY = 900
LONGEST_NAME = 500
# No clock shows as many nanoseconds.
LATEST = 2**62
# Older and newer exports name the table of their metadata differently.
META_TABLES = ("EXPORT_META_DATA", "META_DATA_EXPORT")
# Has the names of kernels, calls, threads and registered NVTX ranges; other tables have their numbers.
STRINGS = "StringIds"
STRINGS_NEEDED = ("id", "value")


class ReadLimits:
    """The time limit and the cancellation of one reading; checked by the reading threads, cancelled from any thread."""

    def __init__(self, limit_s: float = READ_LIMIT_S, clock: Clock | None = None) -> None:
        self.limit_s = limit_s
        self._clock = clock or Clock()
        self._end = self._clock.now() + limit_s
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        self._cancelled.set()

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    def are_reached(self) -> bool:
        """Whether to stop, because of a cancellation or the time limit."""
        return self.is_cancelled or self._clock.now() > self._end


@frozen
class Database:
    """The file and the columns of its tables; every query opens it again, so that threads share nothing.

    `refused` are names of views and virtual tables, which could run SQL of a stranger.  `unnamed` collects the numbers
    that `strings` was given and that have no text.
    """

    path: Path
    limits: ReadLimits
    tables: Mapping[str, frozenset[str]]
    refused: frozenset[str] = frozenset()
    unnamed: set[int] = field(factory=set, init=False)

    def has(self, table: str, *columns: str) -> bool:
        return table in self.tables and self.tables[table] >= set(columns)

    def count(self, table: str) -> int:
        """The number of rows of a table that exists."""
        quoted = table.replace('"', '""')
        return to_int(next(self.rows(f'SELECT count(*) FROM "{quoted}"'))[0])

    def rows(self, sql: str, values: tuple[object, ...] = ()) -> Iterator[tuple[Any, ...]]:
        for chunk in self.chunks(sql, values):
            yield from chunk

    def chunks(
        self, sql: str, values: tuple[object, ...] = (), size: int = CHUNK
    ) -> Iterator[list[tuple[Any, ...]]]:
        """The rows in lists of `size`; raises an error of the catalogue, also in the middle."""
        with self.errors(), contextlib.closing(self.connection()) as connection:
            cursor = connection.execute(sql, values)
            while chunk := cursor.fetchmany(size):
                yield chunk

    def connection(self) -> sqlite3.Connection:
        """A connection for one thread at a time; the caller closes it."""
        return _connect(self.path, self.limits)

    def errors(self) -> contextlib.AbstractContextManager[None]:
        """Maps errors of SQLite to errors of the catalogue."""
        return _mapped_errors(self.path, self.limits)

    def strings(self, ids: set[int]) -> dict[int, str]:
        """The texts of StringIds, each on one line and of bounded length."""
        texts: dict[int, str] = {}
        wanted = sorted(ids) if self.has(STRINGS, *STRINGS_NEEDED) else []
        for at in range(0, len(wanted), IDS_PER_QUERY):
            batch = tuple(wanted[at : at + IDS_PER_QUERY])
            text = f"substr(value, 1, {LONGEST_NAME})"
            places = ",".join("?" * len(batch))
            sql = f"SELECT id, {text} FROM {STRINGS} WHERE id IN ({places})"
            texts.update((number, display_text(value)) for number, value in self.rows(sql, batch))
        self.unnamed.update(ids - texts.keys())
        return texts


def open_database(path: Path, limits: ReadLimits) -> Database:
    """Blocks.  Raises `damaged-report`, or `not-a-report` if nsys has not made it."""
    tables: dict[str, frozenset[str]] = {}
    refused: set[str] = set()
    with _mapped_errors(path, limits), contextlib.closing(_connect(path, limits)) as connection:
        # SQLite itself writes these two words before the name of a table that is neither.
        is_table = "type = 'table' AND sql LIKE 'CREATE TABLE %'"
        sql = f"SELECT name, {is_table} FROM sqlite_master WHERE type IN ('table', 'view')"
        for name, is_plain in connection.execute(sql).fetchall():
            if not is_plain:
                refused.add(name)
                continue
            columns = connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
            tables[name] = frozenset(column for (column,) in columns)
    if not (any(name in tables for name in META_TABLES) or STRINGS in tables):
        raise not_a_report(str(path))
    return Database(path, limits, tables, frozenset(refused))


def _connect(path: Path, limits: ReadLimits) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(path.absolute()))}?mode=ro&immutable=1",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.text_factory = _decode
        connection.set_progress_handler(limits.are_reached, STEPS)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _mapped_errors(path: Path, limits: ReadLimits) -> Iterator[None]:
    try:
        yield
    # A damaged schema makes names, and messages that quote them, that are not text.
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if limits.is_cancelled:
            raise cancelled() from error
        if limits.are_reached():
            raise reading_slow(str(path), limits.limit_s) from error
        if str(error).startswith("no such function: json"):
            raise sqlite_without_json(sqlite3.sqlite_version) from error
        raise damaged_report(str(path), str(error)) from error


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def display_text(value: object) -> str:
    """A name for display: on one line, without control characters, of bounded length."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return printable(text[: LONGEST_NAME + 1], LONGEST_NAME)


def unknown_name(number: object) -> str:
    """Stands in a row in place of a name that StringIds lacks, or that has no number either."""
    if not isinstance(number, int):
        return t("name unknown")
    return t("name unknown ({table} {number})", table=STRINGS, number=number)


def to_int(value: object) -> int:
    """A number of the database as an integer; 0 for anything else."""
    if isinstance(value, int):
        return value
    if isinstance(value, float) and abs(value) < 2.0**63:
        return round(value)
    return 0


def process_id(global_id: int) -> int:
    """nsys packs the machine, the process and the thread into one number (User Guide, "Serialized Process …")."""
    return global_id >> 24 & 0xFFFFFF


def thread_id(global_id: int) -> int:
    return global_id & 0xFFFFFF
