"""The NVTX ranges of a recording: by name with their median, and which of them lies around a moment."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from attrs import frozen

from eagleray.features.profiling.reading.busy import Gap
from eagleray.features.profiling.reading.database import LONGEST_NAME, Database, pid, shown
from eagleray.features.profiling.reading.tables import Cell, Table, made

EVENTS = "NVTX_EVENTS"
PUSH_POP, START_END, DOMAIN_CREATE = 59, 60, 75
KINDS = {PUSH_POP: "push/pop", START_END: "start/end"}
_RANGES = f"typeof(start) = 'integer' AND eventType IN ({PUSH_POP}, {START_END})"


# What SQLite made of numbers that are none, or that no clock has shown.
_LONGEST = 2**62

# The kind, thread, domain and name of ranges, as they stand in the database.
_Key = tuple[Any, ...]


@frozen
class Ranges:
    """`unfinished` had no end and were counted to the last event; `events` counts all rows of NVTX."""

    table: Table
    threads: dict[int, int]
    count: int = 0
    events: int = 0
    unfinished: int = 0


def read(database: Database, naming: Naming) -> Ranges:
    """Blocks.  A range is called as nsys calls it: `domain:name`, and `name` in the default domain."""
    if not database.has(EVENTS, "start", "end", "eventType"):
        return Ranges(made("nvtx", []), {})
    found: defaultdict[_Key, list[Any]] = defaultdict(list)
    sql = f"SELECT end - start, eventType, {naming.columns} FROM {EVENTS} WHERE {_RANGES}"
    for chunk in database.chunks(f"{sql} AND typeof(end) = 'integer'"):
        for row in chunk:
            found[row[1:]].append(row[0])
    unfinished = _unfinished(database, naming, found)
    naming.learn(found)
    named: defaultdict[str, list[tuple[str, list[int]]]] = defaultdict(list)
    threads: Counter[int] = Counter()
    for (kind, where, *others), times in found.items():
        clean = _clean(times)
        if clean:
            named[naming.name(where, *others)].append((KINDS[kind], clean))
        if isinstance(where, int):
            threads[where] += len(clean)
    note = f"{unfinished} had no end and are counted to the last event." if unfinished else ""
    rows = [_row(name, parts) for name, parts in named.items()]
    count = sum(len(times) for parts in named.values() for _, times in parts)
    (events,) = next(database.rows(f"SELECT count(*) FROM {EVENTS}"))
    return Ranges(made("nvtx", rows, note), dict(threads), count, events, unfinished)


def _unfinished(database: Database, naming: Naming, found: defaultdict[_Key, list[Any]]) -> int:
    """Counts ranges without an end to the last event, as nsys does it; the answer is how many there are."""
    sql = f"SELECT start, eventType, {naming.columns} FROM {EVENTS} WHERE {_RANGES}"
    rows = list(database.rows(f"{sql} AND typeof(end) != 'integer'"))
    if not rows:
        return 0
    (last,) = next(database.rows(f"SELECT max(coalesce(end, start)) FROM {EVENTS}"))
    for start, *key in rows:
        found[tuple(key)].append(last - start if isinstance(last, int) else 0)
    return len(rows)


def _clean(times: list[Any]) -> list[int]:
    if isinstance(sum(times), int) and min(times) >= 0 and max(times) < _LONGEST:
        return times
    return [one for one in times if isinstance(one, int) and 0 <= one < _LONGEST]


def around(
    database: Database, naming: Naming, gaps: Sequence[Gap], processes: Sequence[int | None]
) -> list[str]:
    """The name of the shortest range around each gap, in the process of what followed it; "" if there is none."""
    if not gaps or not database.has(EVENTS, "start", "end", "eventType"):
        return ["" for _ in gaps]
    order = sorted(range(len(gaps)), key=lambda at: gaps[at].begin)
    begins = [gaps[at].begin for at in order]
    best: list[tuple[int, tuple[Any, ...]] | None] = [None] * len(gaps)
    sql = (
        f"SELECT start, end, {naming.columns} FROM {EVENTS}"
        f" WHERE {_RANGES} AND typeof(end) = 'integer' AND end - start >= ?"
    )
    for start, end, *named in database.rows(sql, (min(gap.duration for gap in gaps),)):
        for place in range(bisect_left(begins, start), len(begins)):
            at = order[place]
            if begins[place] > end:
                break
            process, said = processes[at], named[0]
            other = process is not None and isinstance(said, int) and pid(said) != process
            before = best[at]
            shorter = before is None or end - start < before[0]
            if gaps[at].end <= end and shorter and not other:
                best[at] = (end - start, tuple(named))
    naming.learn([(None, *found[1]) for found in best if found])
    return [naming.name(*found[1]) if found else "" for found in best]


class Naming:
    """The names of ranges; a registered text stands in StringIds, another one in the row.

    `columns` are the thread, the domain and the number or bytes of the name: texts are made of few of them.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._texts: dict[int, str] = {}
        self._domains = _domains(database)
        held = [one if database.has(EVENTS, one) else "NULL" for one in ("globalTid", "domainId")]
        number = "textId" if database.has(EVENTS, "textId") else "NULL"
        text = "NULL"
        if database.has(EVENTS, "text"):
            text = f"CAST(substr(text, 1, {LONGEST_NAME}) AS BLOB)"
        self.columns = ", ".join([*held, f"coalesce({text}, {number})"])

    def learn(self, keys: Iterable[_Key]) -> None:
        """Looks up the names of these, all at once."""
        numbers = {key[3] for key in keys if isinstance(key[3], int)}
        self._texts.update(self._database.strings(numbers - self._texts.keys()))

    def name(self, where: object, domain: object, called: object) -> str:
        if isinstance(called, bytes):
            text: object = called.decode("utf-8", "replace")
        else:
            text = self._texts.get(called) if isinstance(called, int) else None
        name = shown(text) or "(without a name)"
        process = pid(where) if isinstance(where, int) else 0
        prefix = self._domains.get((process, domain), "")
        return f"{prefix}:{name}" if prefix else name


def _domains(database: Database) -> dict[tuple[int, object], str]:
    if not database.has(EVENTS, "eventType", "domainId", "text", "globalTid"):
        return {}
    sql = (
        f"SELECT globalTid, domainId, substr(text, 1, {LONGEST_NAME}) FROM {EVENTS}"
        f" WHERE eventType = {DOMAIN_CREATE}"
    )
    return {
        (pid(where), domain): shown(text)
        for where, domain, text in database.rows(sql)
        if isinstance(where, int) and text is not None
    }


def _row(name: str, parts: Sequence[tuple[str, list[int]]]) -> tuple[Cell, ...]:
    """All ranges of one name, which may be of several threads and both kinds."""
    ordered = sorted(chain.from_iterable(times for _, times in parts))
    count, total = len(ordered), sum(ordered)
    middle = (ordered[(count - 1) // 2] + ordered[count // 2]) // 2
    kinds = ", ".join(sorted({kind for kind, _ in parts}))
    return (name, kinds, count, total, total // count, middle, ordered[0], ordered[-1])
