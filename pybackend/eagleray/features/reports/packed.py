"""Who did something, and a few numbers of it, as one number in SQL: SQLite sorts and Python tells apart one value faster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from eagleray.features.reports.database import Database, whole

# How far the numbers of threads may lie from that of the first one: those of one machine do.
_FAR = 2**46


@frozen
class Packed:
    """The thread of a row of `table` and other columns or expressions, each with its number of bits.

    What does not fit becomes a text, so that two that differ never look the same.
    """

    thread: str
    others: tuple[tuple[str, int], ...]
    first: int

    @property
    def sql(self) -> str:
        fits = [f"{self.thread} BETWEEN {self.first - _FAR} AND {self.first + _FAR}"]
        number = f"({self.thread} - {self.first})"
        for column, bits in self.others:
            fits.append(f"{column} BETWEEN 0 AND {2**bits - 1}")
            number = f"({number} * {2**bits} + {column})"
        every = ", ".join(_harmless(one) for one in (self.thread, *(one for one, _ in self.others)))
        return f"CASE WHEN {' AND '.join(fits)} THEN {number} ELSE json_array({every}) || '' END"

    def unpacked(self, value: Any) -> Sequence[Any]:
        """The thread and the others, as they stand in the database."""
        if isinstance(value, str):
            said: Sequence[Any] = json.loads(value)
            return said
        found, number = [], whole(value)
        for _, bits in reversed(self.others):
            found.append(number % 2**bits)
            number >>= bits
        return [number + self.first, *reversed(found)]


def packed(database: Database, table: str, *others: tuple[str, int]) -> Packed:
    """Blocks.  Of a table that may lack the column of threads."""
    if not database.has(table, "globalTid"):
        return Packed("NULL", others, 0)
    first = next(database.rows(f"SELECT globalTid FROM {table} LIMIT 1"), (0,))[0]
    return Packed("globalTid", others, first if isinstance(first, int) else 0)


def _harmless(column: str) -> str:
    """What JSON can hold."""
    return f"CASE WHEN typeof({column}) IN ('integer', 'text') THEN {column} END"
