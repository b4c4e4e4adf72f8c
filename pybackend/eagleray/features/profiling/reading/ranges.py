"""The NVTX ranges of a recording: by name with their median, and which of them lies around a moment."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from attrs import frozen

from eagleray.features.profiling.reading.busy import Gap
from eagleray.features.profiling.reading.database import LONGEST_NAME, Database, pid, shown
from eagleray.features.profiling.reading.slices import Groups, Slices
from eagleray.features.profiling.reading.tables import Cell, Table, made

EVENTS = "NVTX_EVENTS"
PUSH_POP, START_END, DOMAIN_CREATE = 59, 60, 75
KINDS = {PUSH_POP: "push/pop", START_END: "start/end"}
_NEEDED = ("start", "end", "eventType")
_STARTED = f"eventType IN ({PUSH_POP}, {START_END}) AND typeof(start) = 'integer'"
_DOMAINS = f"eventType = {DOMAIN_CREATE}"
# What SQLite made of numbers that are none, or that no clock has shown.
_LONGEST = 2**62

# The kind, thread, domain and name of ranges, as they stand in the database.
_Key = tuple[Any, ...]


@frozen
class Ranges:
    """`unfinished` had no end and were counted to the last event; `events` counts what is no range where there is none."""

    table: Table
    threads: dict[int, int]
    count: int = 0
    events: int = 0
    unfinished: int = 0


def begun(slices: Slices) -> Groups:
    """Begins to gather the times of ranges that bear the same name, and the names of domains."""
    # What differs most comes first, which makes grouping cheaper.
    keys = (*reversed(columns(slices.database)), "eventType")
    times = "CASE WHEN typeof(end) = 'integer' THEN end - start END"
    sums = (f"json_group_array({times})",)
    return slices.groups(EVENTS, _NEEDED, keys, sums, f"{_STARTED} OR {_DOMAINS}")


def read(database: Database, groups: Groups) -> tuple[Ranges, Naming]:
    """Blocks.  A range is called as nsys calls it: `domain:name`, and `name` in the default domain."""
    found: defaultdict[_Key, list[Any]] = defaultdict(list)
    domains: dict[tuple[int, object], str] = {}
    endless = 0
    for called, domain, where, kind, times in groups():
        if kind == DOMAIN_CREATE:
            if isinstance(where, int) and isinstance(called, str):
                domains[pid(where), domain] = shown(called)
            continue
        every = json.loads(times)
        if without_end := every.count(None):
            endless += without_end
            every = [one for one in every if one is not None]
        found[kind, where, domain, called].extend(every)
    if endless:
        _add_endless(database, found)
    naming = Naming(database, domains)
    return _ranges(database, naming, found, endless), naming


def _ranges(
    database: Database, naming: Naming, found: Mapping[_Key, list[Any]], endless: int
) -> Ranges:
    naming.learn(found)
    named: defaultdict[str, list[tuple[str, list[int]]]] = defaultdict(list)
    threads: Counter[int] = Counter()
    for (kind, where, *others), times in found.items():
        ordered = _ordered(times)
        if ordered:
            named[naming.name(where, *others)].append((KINDS[kind], ordered))
        if isinstance(where, int):
            threads[where] += len(ordered)
    note = f"{endless} had no end and are counted to the last event." if endless else ""
    rows = [_row(name, parts) for name, parts in named.items()]
    count = sum(len(times) for parts in named.values() for _, times in parts)
    events = count
    if not count and database.has(EVENTS, *_NEEDED):
        (events,) = next(database.rows(f"SELECT count(*) FROM {EVENTS}"))
    return Ranges(made("nvtx", rows, note), dict(threads), count, events, endless)


def _add_endless(database: Database, found: defaultdict[_Key, list[Any]]) -> None:
    """Counts ranges without an end to the last event, as nsys does it."""
    held = ", ".join(columns(database))
    sql = f"SELECT start, eventType, {held} FROM {EVENTS} WHERE {_STARTED}"
    (last,) = next(database.rows(f"SELECT max(coalesce(end, start)) FROM {EVENTS}"))
    for start, *key in database.rows(f"{sql} AND typeof(end) != 'integer'"):
        found[tuple(key)].append(last - start if isinstance(last, int) else 0)


def _ordered(times: list[Any]) -> list[int]:
    """In their order, without what is no time."""
    if isinstance(sum(times), int):
        times.sort()
        if times and times[0] >= 0 and times[-1] < _LONGEST:
            return times
    return sorted(one for one in times if isinstance(one, int) and 0 <= one < _LONGEST)


def around(
    database: Database, naming: Naming, gaps: Sequence[Gap], processes: Sequence[int | None]
) -> list[str]:
    """The name of the shortest range around each gap, in the process of what followed it; "" if there is none."""
    if not gaps or not database.has(EVENTS, *_NEEDED):
        return ["" for _ in gaps]
    order = sorted(range(len(gaps)), key=lambda at: gaps[at].begin)
    begins = [gaps[at].begin for at in order]
    best: list[tuple[int, tuple[Any, ...]] | None] = [None] * len(gaps)
    sql = (
        f"SELECT start, end, {', '.join(columns(database))} FROM {EVENTS}"
        f" WHERE {_STARTED} AND typeof(end) = 'integer' AND end - start >= ?"
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
    """The names of ranges, after `learn`; `domains` are the names of domains by process and number.

    A registered text stands in StringIds, another one in the row.
    """

    def __init__(self, database: Database, domains: Mapping[tuple[int, object], str]) -> None:
        self._database = database
        self._texts: dict[int, str] = {}
        self._domains = domains

    def learn(self, keys: Iterable[_Key]) -> None:
        """Looks up the names of these, all at once."""
        numbers = {key[3] for key in keys if isinstance(key[3], int)}
        self._texts.update(self._database.strings(numbers - self._texts.keys()))

    def name(self, where: object, domain: object, called: object) -> str:
        text = self._texts.get(called) if isinstance(called, int) else called
        name = shown(text) or "(without a name)"
        process = pid(where) if isinstance(where, int) else 0
        prefix = self._domains.get((process, domain), "")
        return f"{prefix}:{name}" if prefix else name


def columns(database: Database) -> list[str]:
    """The thread, the domain and the number or text of the name."""
    held = [one if database.has(EVENTS, one) else "NULL" for one in ("globalTid", "domainId")]
    number = "textId" if database.has(EVENTS, "textId") else "NULL"
    text = "NULL"
    if database.has(EVENTS, "text"):
        text = f"CAST(substr(text, 1, {LONGEST_NAME}) AS TEXT)"
    return [*held, f"coalesce({text}, {number})"]


def _row(name: str, parts: Sequence[tuple[str, list[int]]]) -> tuple[Cell, ...]:
    """All ranges of one name, which may be of several threads and both kinds; the times of each are in order."""
    ordered = sorted(chain.from_iterable(times for _, times in parts))
    count, total = len(ordered), sum(ordered)
    middle = (ordered[(count - 1) // 2] + ordered[count // 2]) // 2
    kinds = ", ".join(sorted({kind for kind, _ in parts}))
    return (name, kinds, count, total, total // count, middle, ordered[0], ordered[-1])
