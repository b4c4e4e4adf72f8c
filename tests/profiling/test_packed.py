"""Numbers of a row that are packed into one come out as they stood there, whatever they are."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from eagleray.features.reports.database import Database
from eagleray.features.reports.limits import Limits
from eagleray.features.reports.packed import packed
from hypothesis import given, settings
from hypothesis import strategies as st

FIRST = 281_527_355_182_130
ANY = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.text("1a'\"\\ "))
THREADS = st.one_of(st.integers(FIRST - 2**47, FIRST + 2**47), ANY)
OTHERS = st.one_of(st.integers(-2, 300), ANY)


def through(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[Sequence[object]]:
    """The rows, packed by SQLite and unpacked; those that differ are packed differently."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "r.sqlite")
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(f"CREATE TABLE events ({', '.join(columns)})")
            places = ", ".join("?" * len(columns))
            connection.executemany(f"INSERT INTO events VALUES ({places})", rows)
        database = Database(path, Limits(), {"events": frozenset(columns)})
        others = ((one, 8) for one in columns if one != "globalTid")
        key = packed(database, "events", *others)
        found = [one for (one,) in database.rows(f"SELECT {key.sql} FROM events")]
    assert len(set(found)) == len(set(map(tuple, rows)))
    return [tuple(key.unpacked(one)) for one in found]


@given(st.lists(st.tuples(THREADS, OTHERS, OTHERS), max_size=20))
@settings(max_examples=60)
def test_what_was_packed_is_unpacked(rows: list[tuple[object, ...]]) -> None:
    every = [(FIRST, 0, 0), *rows]
    assert through(("globalTid", "domain", "kind"), every) == every


def test_a_table_without_threads_has_none() -> None:
    assert through(("name",), [(7,), (999,)]) == [(None, 7), (None, 999)]
