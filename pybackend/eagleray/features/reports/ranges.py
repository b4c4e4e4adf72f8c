"""The NVTX ranges of a recording: by name with their median, and which of them lies around a moment."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from attrs import frozen

from eagleray.features.reports import range_times
from eagleray.features.reports.busy import Gap
from eagleray.features.reports.database import LATEST, Database, pid, shown
from eagleray.features.reports.range_times import (
    EVENTS,
    NEEDED,
    PUSH_POP,
    START_END,
    STARTED,
    Key,
    RangeTimes,
)
from eagleray.features.reports.slices import Groups, Slices
from eagleray.features.reports.tables import Cell, Table, made

KINDS = {PUSH_POP: "push/pop", START_END: "start/end"}


@frozen
class Ranges:
    """`unfinished` had no end and were counted to the last event; `events` counts what is no range where there is none."""

    table: Table
    threads: dict[int, int]
    count: int = 0
    events: int = 0
    unfinished: int = 0


def read(slices: Slices, groups: Groups) -> tuple[Ranges, Naming]:
    """Blocks.  A range is called as nsys calls it: `domain:name`, and `name` in the default domain."""
    times = range_times.read(slices, groups)
    naming = Naming(slices.database, times.domains)
    return _ranges(slices.database, naming, times), naming


def _ranges(database: Database, naming: Naming, times: RangeTimes) -> Ranges:
    naming.learn(times.held)
    named: defaultdict[str, list[tuple[str, list[int]]]] = defaultdict(list)
    for (where, domain, kind, called), lasted in times.held.items():
        if ordered := _ordered(lasted):
            named[naming.name(where, domain, called)].append((KINDS[kind], ordered))
    note = ""
    if times.endless:
        note = f"{times.endless} had no end and are counted to the last event."
    table = made("nvtx", [_row(name, parts) for name, parts in named.items()], note, times.names)
    events = times.count
    if not events and database.has(EVENTS, *NEEDED):
        (events,) = next(database.rows(f"SELECT count(*) FROM {EVENTS}"))
    return Ranges(table, times.threads, times.count, events, times.endless)


def _ordered(times: Sequence[int]) -> list[int]:
    """In their order, without what no clock has shown."""
    ordered = sorted(times)
    if ordered and ordered[0] >= 0 and ordered[-1] < LATEST:
        return ordered
    return [one for one in ordered if 0 <= one < LATEST]


def around(
    database: Database, naming: Naming, gaps: Sequence[Gap], processes: Sequence[int | None]
) -> list[str]:
    """The name of the shortest range around each gap, in the process of what followed it; "" if there is none."""
    if not gaps or not database.has(EVENTS, *NEEDED):
        return ["" for _ in gaps]
    order = sorted(range(len(gaps)), key=lambda at: gaps[at].begin)
    begins = [gaps[at].begin for at in order]
    best: list[tuple[int, tuple[Any, ...]] | None] = [None] * len(gaps)
    sql = (
        f"SELECT start, end, {', '.join(range_times.columns(database))} FROM {EVENTS}"
        f" WHERE {STARTED} AND typeof(end) = 'integer' AND end - start >= ?"
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
    naming.learn([found[1] for found in best if found])
    return [naming.name(*found[1]) if found else "" for found in best]


class Naming:
    """The names of ranges, after `learn`; `domains` are the names of domains by process and number.

    A registered text stands in StringIds, another one in the row.
    """

    def __init__(self, database: Database, domains: Mapping[tuple[int, object], str]) -> None:
        self._database = database
        self._texts: dict[int, str] = {}
        self._domains = domains

    def learn(self, keys: Iterable[Key]) -> None:
        """Looks up the names at the ends of these, all at once."""
        numbers = {key[-1] for key in keys if isinstance(key[-1], int)}
        self._texts.update(self._database.strings(numbers - self._texts.keys()))

    def name(self, where: object, domain: object, called: object) -> str:
        text = self._texts.get(called) if isinstance(called, int) else called
        name = shown(text) or "(without a name)"
        process = pid(where) if isinstance(where, int) else 0
        prefix = self._domains.get((process, domain), "")
        return f"{prefix}:{name}" if prefix else name


def _row(name: str, parts: Sequence[tuple[str, list[int]]]) -> tuple[Cell, ...]:
    """All ranges of one name, which may be of several threads and both kinds; the times of each are in order."""
    ordered = parts[0][1]
    if len(parts) > 1:
        ordered = sorted(chain.from_iterable(times for _, times in parts))
    count, total = len(ordered), sum(ordered)
    middle = (ordered[(count - 1) // 2] + ordered[count // 2]) // 2
    kinds = ", ".join(sorted({kind for kind, _ in parts}))
    return (name, kinds, count, total, total // count, middle, ordered[0], ordered[-1])
