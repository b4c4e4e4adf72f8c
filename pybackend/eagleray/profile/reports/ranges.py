"""The NVTX ranges of a recording: their times by name with the median, and the range around a moment.

A range is named as nsys names it: `domain:name`, and `name` in the default domain.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from attrs import define, field, frozen

from eagleray.common.l10n import t
from eagleray.profile.reports.aggregates import Groups, ParallelReader
from eagleray.profile.reports.database import (
    LATEST,
    LONGEST_NAME,
    Database,
    display_text,
    process_id,
    to_int,
    unknown_name,
)
from eagleray.profile.reports.gpu import Gap
from eagleray.profile.reports.model import MOST_ROWS, Cell, ReportTable, make_table
from eagleray.profile.reports.range_names import group_name, merged_names

EVENTS = "NVTX_EVENTS"
PUSH_POP, START_END, DOMAIN_CREATE, MARK = 59, 60, 75, 34
KINDS = {PUSH_POP: "push/pop", START_END: "start/end"}
NEEDED = ("start", "end", "eventType")
# Numbers are less than texts and bytes, and compared faster than their type is queried.
_STARTED = f"(eventType = {PUSH_POP} OR eventType = {START_END}) AND start < {LATEST}"
_LAST = f"(SELECT max(coalesce(end, start)) FROM {EVENTS})"
# The times of so many names are held at once; a table shows a tenth of them.
MOST_NAMES = 10 * MOST_ROWS
_INFINITE = re.compile(r"\bInf\b")

# The thread, domain and kind of a range and its name, as the database has them.
_RangeKey = tuple[Any, ...]
# The kind of ranges, and their times in order.
_Parts = list[tuple[str, list[int]]]
# The column with the number of names of a group.
_NAMES = 3


@frozen
class Ranges:
    """The tables of ranges, by group and by name, and their number by thread; `names` has no rows without groups.

    `threads` is None if the report doesn't say which thread a range is of.  `unfinished` ranges had no end and were
    counted to the last event; `events` counts all NVTX events of a report without ranges, `marks` those without a duration.
    """

    table: ReportTable
    names: ReportTable
    threads: dict[int, int] | None
    count: int = 0
    events: int = 0
    marks: int = 0
    unfinished: int = 0


class RangeNames:
    """The names of ranges, after `load`; `domains` are the names of domains by process and number.

    StringIds has the text of a registered name, the row itself the text of any other name.
    """

    def __init__(self, database: Database, domains: Mapping[tuple[int, object], str | int]) -> None:
        self._database = database
        numbers = {called for called in domains.values() if isinstance(called, int)}
        self._texts = database.strings(numbers)
        self._domains = domains

    def load(self, keys: Iterable[_RangeKey]) -> None:
        """Looks up the names at the ends of these keys, all at once."""
        numbers = {key[-1] for key in keys if isinstance(key[-1], int)}
        self._texts.update(self._database.strings(numbers - self._texts.keys()))

    def name(self, thread: object, domain: object, called: object) -> str:
        name = self._text(called) or t("(without a name)")
        process = process_id(thread) if isinstance(thread, int) else 0
        prefix = self._text(self._domains.get((process, domain), ""))
        return f"{prefix}:{name}" if prefix else name

    def _text(self, called: object) -> str:
        if isinstance(called, int):
            return self._texts.get(called, unknown_name(called))
        return display_text(called)


@define
class _RangeTimes:
    """The times of ranges by key, and the names of domains by process and number.

    `count` counts all ranges, `threads` the ranges of each thread, `endless` the ranges without an end.  If only the
    longest names are held, `names` is the number of all, else 0.  `groups` are the times by the name of the group,
    `members` what differs in it, as hashes, and `examples` one of its names.
    """

    groups: defaultdict[_RangeKey, array[int]] = field(factory=lambda: defaultdict(_no_times))
    members: defaultdict[_RangeKey, set[int]] = field(factory=lambda: defaultdict(set))
    examples: dict[_RangeKey, Any] = field(factory=dict)
    held: defaultdict[_RangeKey, array[int]] = field(factory=lambda: defaultdict(_no_times))
    domains: dict[tuple[int, object], str | int] = field(factory=dict)
    count: int = 0
    threads: Counter[int] = field(factory=Counter)
    endless: int = 0
    names: int = 0

    def add(self, key: _RangeKey, times: array[int]) -> None:
        """Adds to the group of the name that the key ends with."""
        *others, called = key
        group = (*others, group_name(called) if isinstance(called, str) else called)
        self.groups[group].extend(times)
        self.members[group].add(hash(called))
        self.examples[group] = called


def _no_times() -> array[int]:
    """Takes a fifth of the memory of a list."""
    return array("q")


def begin(reader: ParallelReader) -> Groups:
    """Begins to collect the times of ranges with the same name, and the names of domains."""
    # Grouping is cheaper if the column that differs most comes first.
    keys = (*reversed(_columns(reader.database)), "eventType")
    where = f"{_STARTED} OR eventType = {DOMAIN_CREATE}"
    return reader.groups(EVENTS, NEEDED, keys, ("json_group_array(end - start)",), where)


def read(reader: ParallelReader, groups: Groups) -> tuple[Ranges, RangeNames]:
    """Blocks."""
    database = reader.database
    times = _collect(groups, None)
    if len(times.held) > MOST_NAMES:
        longest, count = _longest_names(database)
        held = _collect(begin(reader), longest)
        held.names = count
        if len(times.groups) <= MOST_NAMES:
            held.groups, held.members, held.examples = times.groups, times.members, times.examples
        times = held
    if times.endless:
        _add_endless(database, times)
    names = RangeNames(database, times.domains)
    return _ranges(database, names, times), names


def range_around(
    database: Database, names: RangeNames, gaps: Sequence[Gap], processes: Sequence[int | None]
) -> list[str]:
    """The name of the shortest range around each gap in the process of the kernel behind it; "" if there is none."""
    if not gaps or not database.has(EVENTS, *NEEDED):
        return ["" for _ in gaps]
    order = sorted(range(len(gaps)), key=lambda at: gaps[at].begin)
    begins = [gaps[at].begin for at in order]
    best: list[tuple[int, tuple[Any, ...]] | None] = [None] * len(gaps)
    sql = (
        f"SELECT start, end, {', '.join(_columns(database))} FROM {EVENTS}"
        f" WHERE {_STARTED} AND typeof(end) = 'integer' AND end - start >= ?"
    )
    for start, end, *key in database.rows(sql, (min(gap.duration for gap in gaps),)):
        for place in range(bisect_left(begins, start), len(begins)):
            at = order[place]
            if begins[place] > end:
                break
            process, thread = processes[at], key[0]
            is_other = (
                process is not None and isinstance(thread, int) and process_id(thread) != process
            )
            before = best[at]
            is_shorter = before is None or end - start < before[0]
            if gaps[at].end <= end and is_shorter and not is_other:
                best[at] = (end - start, tuple(key))
    names.load([match[1] for match in best if match])
    return [names.name(*match[1]) if match else "" for match in best]


def _ranges(database: Database, names: RangeNames, times: _RangeTimes) -> Ranges:
    names.load([*times.held, *times.groups])
    by_name: defaultdict[str, _Parts] = defaultdict(list)
    for (thread, domain, kind, called), durations in times.held.items():
        if ordered := _ordered(durations):
            by_name[names.name(thread, domain, called)].append((KINDS[kind], ordered))
    note = ""
    if times.endless:
        note = t("{n} had no end and are counted to the last event.", n=times.endless)
    single = [_row(name, 1, parts) for name, parts in by_name.items()]
    grouped = [_row(name, count, parts) for name, count, parts in _groups(names, times)]
    if not grouped:
        # There are too many groups to hold them.
        table, by_full_name = (
            make_table("nvtx", single, note, times.names),
            make_table("nvtx_names", []),
        )
    else:
        table = make_table("nvtx", grouped, note)
        is_folded = any(row[_NAMES] != 1 for row in grouped)
        by_full_name = make_table(
            "nvtx_names", single if is_folded else [], note, times.names if is_folded else 0
        )
    events, marks = times.count, 0
    if not events and database.has(EVENTS, *NEEDED):
        sql = f"SELECT count(*), total(eventType = {MARK}) FROM {EVENTS}"
        events, marks = map(to_int, next(database.rows(sql)))
    threads = times.threads if database.has(EVENTS, *NEEDED, "globalTid") else None
    return Ranges(table, by_full_name, threads, times.count, events, marks, times.endless)


def _groups(names: RangeNames, times: _RangeTimes) -> Iterator[tuple[str, int, _Parts]]:
    """The groups with the number of names in each; one of a single name has that name."""
    parts: defaultdict[str, _Parts] = defaultdict(list)
    members: defaultdict[str, set[int]] = defaultdict(set)
    examples: dict[str, str] = {}
    for key, durations in times.groups.items():
        thread, domain, kind, _ = key
        if ordered := _ordered(durations):
            full = names.name(thread, domain, times.examples[key])
            group = group_name(full)
            parts[group].append((KINDS[kind], ordered))
            members[group] |= times.members[key]
            examples[group] = full
    merged: defaultdict[str, list[str]] = defaultdict(list)
    for group, name in merged_names(parts).items():
        merged[name].append(group)
    for name, groups in merged.items():
        count = len(set().union(*(members[group] for group in groups)))
        times_of_all = [part for group in groups for part in parts[group]]
        yield (name if count > 1 else examples[groups[0]]), count, times_of_all


def _ordered(times: Sequence[int]) -> list[int]:
    """The valid times in their order."""
    ordered = sorted(times)
    if ordered and ordered[0] >= 0 and ordered[-1] < LATEST:
        return ordered
    return [time for time in ordered if 0 <= time < LATEST]


def _row(name: str, names: int, parts: _Parts) -> tuple[Cell, ...]:
    """All ranges of one name, which may be of several threads and both kinds; the times of each part are in order."""
    ordered = parts[0][1]
    if len(parts) > 1:
        ordered = sorted(chain.from_iterable(times for _, times in parts))
    count, total = len(ordered), sum(ordered)
    median = (ordered[(count - 1) // 2] + ordered[count // 2]) // 2
    kinds = ", ".join(sorted({kind for kind, _ in parts}))
    return (name, kinds, count, names, total, total // count, median, ordered[0], ordered[-1])


def _collect(groups: Groups, wanted: Collection[Any] | None) -> _RangeTimes:
    """The times of the `wanted` names, or of all and their groups; holds no names once there are too many."""
    times = _RangeTimes()
    for called, domain, thread, kind, text in groups():
        if kind == DOMAIN_CREATE:
            if isinstance(thread, int) and isinstance(called, (str, int)):
                times.domains[process_id(thread), domain] = called
            continue
        durations = _durations(text)
        times.count += len(durations)
        if isinstance(thread, int):
            times.threads[thread] += len(durations)
        try:
            integers = array("q", durations)
        except TypeError:
            times.endless += durations.count(None)
            integers = array("q", [time for time in durations if isinstance(time, int)])
        key = (thread, domain, kind, called)
        if wanted is None:
            times.add(key, integers)
            if len(times.held) > MOST_NAMES and len(times.groups) > MOST_NAMES:
                break
        if called in wanted if wanted is not None else len(times.held) <= MOST_NAMES:
            times.held[key].extend(integers)
    return times


def _durations(text: str) -> list[Any]:
    """Parses JSON of SQLite, which before version 3.42 writes an infinite number as `Inf`."""
    try:
        durations: list[Any] = json.loads(text)
    except ValueError:
        durations = json.loads(_INFINITE.sub("9e999", text))
    return durations


def _add_endless(database: Database, times: _RangeTimes) -> None:
    """Counts ranges without an end to the last event, as nsys does."""
    thread, domain, called = _columns(database)
    rest = f"{_LAST} - start FROM {EVENTS} WHERE {_STARTED} AND end IS NULL"
    for *key, time in database.rows(f"SELECT {thread}, {domain}, eventType, {called}, {rest}"):
        if not isinstance(time, int):
            continue
        if not times.names or tuple(key) in times.held:
            times.held[tuple(key)].append(time)
        if times.groups:
            times.add(tuple(key), array("q", [time]))


def _longest_names(database: Database) -> tuple[set[Any], int]:
    """The names that take the most time in one domain, and the number of all names."""
    _, domain, called = _columns(database)
    sums = (
        f"SELECT {called} AS name, total(coalesce(end, {_LAST}) - start) AS lasted"
        f" FROM {EVENTS} WHERE {_STARTED} GROUP BY name, {domain}"
    )
    sql = f"SELECT name, count(*) OVER () FROM ({sums}) ORDER BY lasted DESC LIMIT {MOST_ROWS}"
    rows = list(database.rows(sql))
    return {name for name, _ in rows}, rows[0][1]


def _columns(database: Database) -> tuple[str, str, str]:
    """The thread, the domain and the name: the number of a registered name, else its text.

    A text may have any length, and a cell any type.
    """
    number, text = _column(database, "textId"), _column(database, "text")
    called = (
        f"CASE WHEN length({text}) <= {LONGEST_NAME} THEN {text} WHEN {text} IS NULL THEN {number}"
        f" ELSE substr({text}, 1, {LONGEST_NAME}) END"
    )
    return _column(database, "globalTid"), _column(database, "domainId"), called


def _column(database: Database, name: str) -> str:
    return name if database.has(EVENTS, name) else "NULL"
