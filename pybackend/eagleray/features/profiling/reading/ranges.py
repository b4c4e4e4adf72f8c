"""The NVTX ranges of a recording: by name with their median, and which of them lies around a moment."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Any

from attrs import define, field, frozen

from eagleray.features.profiling.reading.busy import Gap
from eagleray.features.profiling.reading.database import LONGEST_NAME, Database, pid, shown
from eagleray.features.profiling.reading.tables import Cell, Table, made

EVENTS = "NVTX_EVENTS"
PUSH_POP, START_END, DOMAIN_CREATE = 59, 60, 75
KINDS = {PUSH_POP: "push/pop", START_END: "start/end"}
_RANGES = f"eventType IN ({PUSH_POP}, {START_END}) AND typeof(start) = 'integer'"


@define
class _Named:
    """All ranges of one name."""

    durations: array[int] = field(factory=lambda: array("q"))
    kinds: set[str] = field(factory=set)


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
    events, last = next(database.rows(f"SELECT count(*), max(coalesce(end, start)) FROM {EVENTS}"))  # noqa: S608
    last = last if isinstance(last, int) else 0
    found: dict[str, _Named] = {}
    threads: Counter[int] = Counter()
    count = unfinished = 0
    sql = f"SELECT start, end, eventType, {naming.columns} FROM {EVENTS} WHERE {_RANGES}"  # noqa: S608
    for start, end, kind, where, domain, number, text in database.rows(sql):
        if not isinstance(end, int):
            end = last
            unfinished += 1
        if 0 <= end - start < 2**62:
            one = found.setdefault(naming.name(where, domain, number, text), _Named())
            one.durations.append(end - start)
            one.kinds.add(KINDS[kind])
            threads[where] += 1
            count += 1
    note = f"{unfinished} had no end and are counted to the last event." if unfinished else ""
    rows = [_row(name, one) for name, one in found.items()]
    known = {where: ranges for where, ranges in threads.items() if isinstance(where, int)}
    return Ranges(made("nvtx", rows, note), known, count, events, unfinished)


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
        f"SELECT start, end, {naming.columns} FROM {EVENTS}"  # noqa: S608
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
    return [naming.name(*found[1]) if found else "" for found in best]


class Naming:
    """The names of ranges, each made once; a registered text stands in StringIds, another one in the row."""

    def __init__(self, database: Database) -> None:
        self._texts = _texts(database)
        self._domains = _domains(database)
        self._names: dict[tuple[Any, ...], str] = {}
        columns = ("globalTid", "domainId", "textId")
        held = [one if database.has(EVENTS, one) else "NULL" for one in columns]
        has_text = database.has(EVENTS, "text")
        text = f"substr(text, 1, {LONGEST_NAME})" if has_text else "NULL"
        self.columns = ", ".join([*held, text])

    def name(self, where: object, domain: object, number: object, text: object) -> str:
        process = pid(where) if isinstance(where, int) else 0
        key = (process, domain, number, text)
        if key not in self._names:
            self._names[key] = self._made(*key)
        return self._names[key]

    def _made(self, process: int, domain: object, number: object, text: object) -> str:
        if text is None and isinstance(number, int):
            text = self._texts.get(number)
        name = shown(text) or "(without a name)"
        prefix = self._domains.get((process, domain), "")
        return f"{prefix}:{name}" if prefix else name


def _texts(database: Database) -> dict[int, str]:
    if not database.has(EVENTS, "textId"):
        return {}
    numbers = database.rows(f"SELECT DISTINCT textId FROM {EVENTS}")  # noqa: S608
    return database.strings({number for (number,) in numbers if isinstance(number, int)})


def _domains(database: Database) -> dict[tuple[int, object], str]:
    if not database.has(EVENTS, "eventType", "domainId", "text", "globalTid"):
        return {}
    sql = (
        f"SELECT globalTid, domainId, substr(text, 1, {LONGEST_NAME}) FROM {EVENTS}"  # noqa: S608
        f" WHERE eventType = {DOMAIN_CREATE}"
    )
    return {
        (pid(where), domain): shown(text)
        for where, domain, text in database.rows(sql)
        if isinstance(where, int) and text is not None
    }


def _row(name: str, one: _Named) -> tuple[Cell, ...]:
    ordered = sorted(one.durations)
    count, total = len(ordered), sum(ordered)
    middle = (ordered[(count - 1) // 2] + ordered[count // 2]) // 2
    kinds = ", ".join(sorted(one.kinds))
    return (name, kinds, count, total, total // count, middle, ordered[0], ordered[-1])
