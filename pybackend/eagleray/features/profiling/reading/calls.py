"""Calls that the threads of a recording made: of the OS runtime and of CUDA, by name and by thread."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, frozen

from eagleray.features.profiling.reading.database import Database, pid, tid, whole
from eagleray.features.profiling.reading.names import TIMES, by_name, cells
from eagleray.features.profiling.reading.slices import Groups, Slices
from eagleray.features.profiling.reading.tables import Name, Table, made

OSRT = "OSRT_API"
CUDA = "CUPTI_ACTIVITY_KIND_RUNTIME"
_SPAN = "typeof(start) = 'integer' AND typeof(end) = 'integer' AND end >= start"
# That nsys began or ended to look stands among the calls: ENUM_NSYS_EVENT_CLASS.
_NO_CALLS = (10, 11, 12, 31, 32)


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
    """Begins to sum up the calls of a table."""
    thread = "globalTid" if slices.database.has(source, "globalTid") else "NULL"
    kinds = ""
    if slices.database.has(source, "eventClass"):
        kinds = f" AND eventClass NOT IN {_NO_CALLS}"
    columns = ("start", "end", "nameId")
    return slices.groups(source, columns, ("nameId", thread), TIMES, f"{_SPAN}{kinds}")


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
