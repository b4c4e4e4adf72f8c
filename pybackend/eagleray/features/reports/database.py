"""A database that nsys has exported, read and never written, whichever of its tables are there.

Nothing in it is trusted: neither that it is whole nor its types, names or sizes.  It is not mapped into memory,
since a file that is cut off under a map ends the process.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from attrs import frozen

from eagleray.common.errors import cancelled, printable
from eagleray.features.reports.limits import Limits
from eagleray.tools.nsys_errors import (
    damaged_report,
    not_a_report,
    reading_slow,
    sqlite_without_json,
)

# How many steps of SQLite's machine pass between two looks at the limits: some milliseconds.
STEPS = 200_000
CHUNK = 1_000
AT_ONCE = 900
LONGEST_NAME = 500
# No clock shows as many nanoseconds.
LATEST = 2**62
# Older and newer exports name the table of what they say of themselves differently.
META_TABLES = ("EXPORT_META_DATA", "META_DATA_EXPORT")


@frozen
class Database:
    """The file and the columns of its tables; every query opens it anew, so that threads share nothing."""

    path: Path
    limits: Limits
    tables: Mapping[str, frozenset[str]]

    def has(self, table: str, *columns: str) -> bool:
        return table in self.tables and self.tables[table] >= set(columns)

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
        """For one thread at a time; whoever asks closes it."""
        return _connection(self.path, self.limits)

    def errors(self) -> contextlib.AbstractContextManager[None]:
        """Makes what SQLite raises errors of the catalogue."""
        return _errors(self.path, self.limits)

    def strings(self, ids: set[int]) -> dict[int, str]:
        """The texts of StringIds, each on one line and of bounded length."""
        if not ids or not self.has("StringIds", "id", "value"):
            return {}
        found: dict[int, str] = {}
        wanted = sorted(ids)
        for at in range(0, len(wanted), AT_ONCE):
            asked = tuple(wanted[at : at + AT_ONCE])
            text = f"substr(value, 1, {LONGEST_NAME})"
            sql = f"SELECT id, {text} FROM StringIds WHERE id IN ({marks(asked)})"
            found.update((number, shown(said)) for number, said in self.rows(sql, asked))
        return found


def marks(values: Sequence[object]) -> str:
    """A place for each value in a statement."""
    return ",".join("?" * len(values))


def opened(path: Path, limits: Limits) -> Database:
    """Blocks.  Raises `damaged-report`, or `not-a-report` when nsys has not made it."""
    tables: dict[str, frozenset[str]] = {}
    with _errors(path, limits), contextlib.closing(_connection(path, limits)) as connection:
        # Views and virtual tables could run what somebody else has written.
        sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
        for (name,) in connection.execute(sql).fetchall():
            columns = connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
            tables[name] = frozenset(column for (column,) in columns)
    if not (any(name in tables for name in META_TABLES) or "StringIds" in tables):
        raise not_a_report(str(path))
    return Database(path, limits, tables)


def _connection(path: Path, limits: Limits) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(path.absolute()))}?mode=ro&immutable=1",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.text_factory = _text
        connection.set_progress_handler(limits.are_reached, STEPS)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _errors(path: Path, limits: Limits) -> Iterator[None]:
    try:
        yield
    # A damaged schema makes names, and messages that quote them, that are no text.
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if limits.is_cancelled:
            raise cancelled() from error
        if limits.are_reached():
            raise reading_slow(str(path), limits.limit_s) from error
        if str(error).startswith("no such function: json"):
            raise sqlite_without_json(sqlite3.sqlite_version) from error
        raise damaged_report(str(path), str(error)) from error


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def shown(value: object) -> str:
    """A name as it is shown: on one line, without what steers terminals, of bounded length."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return printable(text[: LONGEST_NAME + 1], LONGEST_NAME)


def whole(value: object) -> int:
    """A number of the database as an integer; what is no number is 0."""
    if isinstance(value, int):
        return value
    if isinstance(value, float) and abs(value) < 2.0**63:
        return round(value)
    return 0


def pid(global_id: int) -> int:
    """nsys packs the machine, the process and the thread into one number."""
    return global_id >> 24 & 0xFFFFFF


def tid(global_id: int) -> int:
    return global_id & 0xFFFFFF
