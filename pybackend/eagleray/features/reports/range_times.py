"""How long each NVTX range took, by who made it and what it is called; of names without number only the longest."""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection
from typing import Any

from attrs import define, field

from eagleray.features.reports.database import LATEST, LONGEST_NAME, Database, pid, shown
from eagleray.features.reports.slices import Groups, Slices
from eagleray.features.reports.tables import MOST_ROWS

EVENTS = "NVTX_EVENTS"
PUSH_POP, START_END, DOMAIN_CREATE = 59, 60, 75
NEEDED = ("start", "end", "eventType")
# Numbers are less than texts and bytes, and are compared faster than a type is asked for.
STARTED = f"(eventType = {PUSH_POP} OR eventType = {START_END}) AND start < {LATEST}"
# The times of so many names are held at once; a table shows a tenth of them.
MOST_NAMES = 10 * MOST_ROWS

_INFINITE = re.compile(r"\bInf\b")

# The thread, the domain and the kind of a range and its name, as they stand in the database.
Key = tuple[Any, ...]


@define
class RangeTimes:
    """`held` are the times of each key; `domains` are the names of domains by process and number.

    `count` is that of all ranges, `threads` of those of each thread, `endless` of those without an end.  Where only the longest names are held, `names`
    says how many there are, else it is 0.
    """

    held: defaultdict[Key, array[int]] = field(factory=lambda: defaultdict(_no_times))
    domains: dict[tuple[int, object], str] = field(factory=dict)
    count: int = 0
    threads: Counter[int] = field(factory=Counter)
    endless: int = 0
    names: int = 0


def _no_times() -> array[int]:
    """Takes a fifth of the memory of a list."""
    return array("q")


def begun(slices: Slices) -> Groups:
    """Begins to gather the times of ranges that bear the same name, and the names of domains."""
    # What differs most comes first, which makes grouping cheaper.
    keys = (*reversed(columns(slices.database)), "eventType")
    where = f"{STARTED} OR eventType = {DOMAIN_CREATE}"
    return slices.groups(EVENTS, NEEDED, keys, ("json_group_array(end - start)",), where)


def read(slices: Slices, groups: Groups) -> RangeTimes:
    """Blocks."""
    found = _gathered(groups, None)
    if len(found.held) > MOST_NAMES:
        kept, names = _longest(slices.database)
        found = _gathered(begun(slices), kept)
        found.names = names
    if found.endless:
        _add_endless(slices.database, found)
    return found


def _gathered(groups: Groups, kept: Collection[Any] | None) -> RangeTimes:
    """The times of `kept` names, or of all; these are given up once there are too many names."""
    found = RangeTimes()
    for called, domain, where, kind, said in groups():
        if kind == DOMAIN_CREATE:
            if isinstance(where, int) and isinstance(called, str):
                found.domains[pid(where), domain] = shown(called)
            continue
        times = _durations(said)
        found.count += len(times)
        if isinstance(where, int):
            found.threads[where] += len(times)
        try:
            whole = array("q", times)
        except TypeError:
            found.endless += times.count(None)
            whole = array("q", [one for one in times if isinstance(one, int)])
        if kept is None or called in kept:
            found.held[where, domain, kind, called].extend(whole)
        if kept is None and len(found.held) > MOST_NAMES:
            break
    return found


def _durations(text: str) -> list[Any]:
    """Of SQLite's JSON; before version 3.42 it writes an infinite number as no JSON has it."""
    try:
        times: list[Any] = json.loads(text)
    except ValueError:
        times = json.loads(_INFINITE.sub("9e999", text))
    return times


def _add_endless(database: Database, found: RangeTimes) -> None:
    """Counts ranges without an end to the last event, as nsys does it."""
    where, domain, called = columns(database)
    rest = f"{_LAST} - start FROM {EVENTS} WHERE {STARTED} AND end IS NULL"
    for *key, time in database.rows(f"SELECT {where}, {domain}, eventType, {called}, {rest}"):
        if (not found.names or tuple(key) in found.held) and isinstance(time, int):
            found.held[tuple(key)].append(time)


_LAST = f"(SELECT max(coalesce(end, start)) FROM {EVENTS})"


def _longest(database: Database) -> tuple[set[Any], int]:
    """The names that take the most time in one domain, and how many there are."""
    _, domain, called = columns(database)
    summed = (
        f"SELECT {called} AS name, total(coalesce(end, {_LAST}) - start) AS lasted"
        f" FROM {EVENTS} WHERE {STARTED} GROUP BY name, {domain}"
    )
    sql = f"SELECT name, count(*) OVER () FROM ({summed}) ORDER BY lasted DESC LIMIT {MOST_ROWS}"
    rows = list(database.rows(sql))
    return {name for name, _ in rows}, rows[0][1]


def columns(database: Database) -> tuple[str, str, str]:
    """The thread, the domain and the name: the number of a registered one, another one as its text.

    A text may be of any length, and anything of any type.
    """
    number, text = _column(database, "textId"), _column(database, "text")
    called = (
        f"CASE WHEN length({text}) <= {LONGEST_NAME} THEN {text} WHEN {text} IS NULL THEN {number}"
        f" ELSE substr({text}, 1, {LONGEST_NAME}) END"
    )
    return _column(database, "globalTid"), _column(database, "domainId"), called


def _column(database: Database, called: str) -> str:
    return called if database.has(EVENTS, called) else "NULL"
