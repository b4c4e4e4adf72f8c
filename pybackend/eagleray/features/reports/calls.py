"""Calls that the threads of a recording made: of the OS runtime and of CUDA, by name and by thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from attrs import define, frozen

from eagleray.features.reports.database import LATEST, Database, pid, tid, whole
from eagleray.features.reports.names import TIMES, by_name, cells
from eagleray.features.reports.packed import packed
from eagleray.features.reports.slices import Groups, Slices
from eagleray.features.reports.tables import Name, Table, made

OSRT = "OSRT_API"
CUDA = "CUPTI_ACTIVITY_KIND_RUNTIME"
_NEEDED = ("start", "end", "nameId")
# Numbers are less than texts and bytes, and are compared faster than a type is asked for.
_SPAN = f"start < {LATEST} AND end < {LATEST} AND end >= start"
# That nsys began or ended to look stands among the calls: ENUM_NSYS_EVENT_CLASS.
_CALLS = " AND eventClass NOT BETWEEN 10 AND 12 AND eventClass NOT BETWEEN 31 AND 32"
# How many bits the number of a name has in a packed key.
_NAME_BITS = 16


@define
class OfThread:
    """What one thread did; times in nanoseconds."""

    calls: int = 0
    osrt: int = 0
    cuda: int = 0
    ranges: int = 0


@frozen
class Calls:
    """The calls of one table by name, and their number and time of each thread."""

    table: Table
    threads: dict[int, tuple[int, int]]


def begun(slices: Slices, source: str) -> Groups:
    """Begins to sum up the calls of a table: for each name and thread its sums."""
    if not slices.database.has(source, *_NEEDED):
        return lambda: iter(())
    key = packed(slices.database, source, ("nameId", _NAME_BITS))
    calls = _CALLS if slices.database.has(source, "eventClass") else ""
    groups = slices.groups(source, _NEEDED, (key.sql,), TIMES, f"{_SPAN}{calls}")

    def found() -> Iterator[list[Any]]:
        for both, *sums in groups():
            thread, name = key.unpacked(both)
            yield [name, thread, *sums]

    return found


def read(database: Database, groups: Groups, name: Name) -> Calls:
    """Blocks."""
    rows = list(groups())
    threads: dict[int, tuple[int, int]] = {}
    for _, where, count, total, *_ in rows:
        if isinstance(where, int):
            calls, time = threads.get(where, (0, 0))
            threads[where] = (calls + whole(count), time + whole(total))
    found = by_name(database, [(name, *sums) for name, _, *sums in rows], "call")
    return Calls(made(name, cells(found)), threads)


def threads(
    database: Database,
    osrt: dict[int, tuple[int, int]],
    cuda: dict[int, tuple[int, int]],
    ranges: dict[int, int],
) -> Table:
    """The threads that did something; nsys also names those of all other processes of the machine."""
    found: dict[int, OfThread] = {}
    for where, (calls, time) in osrt.items():
        one = found.setdefault(where, OfThread())
        one.calls, one.osrt = one.calls + calls, time
    for where, (calls, time) in cuda.items():
        one = found.setdefault(where, OfThread())
        one.calls, one.cuda = one.calls + calls, time
    for where, count in ranges.items():
        found.setdefault(where, OfThread()).ranges = count
    names = _names(database, list(found))
    return made(
        "threads",
        [
            (
                names.get(where, ""),
                pid(where),
                tid(where),
                one.calls,
                one.osrt,
                one.cuda,
                one.ranges,
            )
            for where, one in found.items()
        ],
    )


def _names(database: Database, wanted: Sequence[int]) -> dict[int, str]:
    if not database.has("ThreadNames", "nameId", "globalTid"):
        return {}
    asked = set(wanted)
    named = {
        where: number
        for where, number in database.rows("SELECT globalTid, nameId FROM ThreadNames")
        if where in asked and isinstance(number, int)
    }
    texts = database.strings(set(named.values()))
    return {where: texts.get(number, "") for where, number in named.items()}
