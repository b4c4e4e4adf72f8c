"""The GPUs of a recording: how busy each is, how much of it is NCCL alone, its longest pauses.

A GPU is busy while at least one kernel runs on it.  The time that counts goes from the first kernel of any
GPU to the end of the last one, so that what a program does before it uses its GPUs is no pause.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import gt, itemgetter
from typing import Any

from attrs import frozen

from eagleray.features.profiling.reading.busy import Busy, Gap, Union
from eagleray.features.profiling.reading.database import Database, marks, pid, shown

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
# A graph that was recorded as one (`--cuda-graph-trace=graph`) stands here instead of its kernels.
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_NCCL = re.compile(r"(void )?nccl", re.IGNORECASE)
_INTEGERS = (
    "typeof(start) = 'integer' AND typeof(end) = 'integer'"
    " AND typeof(deviceId) = 'integer' AND end >= start"
)


@frozen
class Gpu:
    """Times in nanoseconds; `nccl_alone` is how long kernels of NCCL ran and nothing else did."""

    id: int
    name: str
    kernels: int
    begin: int
    end: int
    busy: int
    idle: int
    nccl: int
    nccl_alone: int
    curve: tuple[float, ...]

    @property
    def busy_share(self) -> float:
        return self.busy / (self.end - self.begin) if self.end > self.begin else 0.0


@frozen
class Gpus:
    """What is known of all GPUs; `unread` counts kernels whose numbers make no sense, else all are clean."""

    gpus: tuple[Gpu, ...] = ()
    gaps: tuple[Gap, ...] = ()
    unread: int = 0
    is_clean: bool = True


class _Strange(Exception):
    """The rows do not lie in the order of their start, or are no intervals."""


def is_nccl(kernel: str) -> bool:
    return _NCCL.match(kernel) is not None


def intervals(database: Database, checked: bool) -> str:
    """What runs on GPUs, as (deviceId, start, end, name); "" when there is nothing of it.

    `checked` leaves out what is no interval, which costs as much again as the reading.
    """
    where = f" WHERE {_INTEGERS}" if checked else ""
    parts = []
    if name := kernel_name(database):
        named = f" AND typeof({name}) = 'integer'" if checked else ""
        parts.append(f"SELECT deviceId, start, end, {name} AS name FROM {KERNELS}{where}{named}")
    if database.has(GRAPHS, "start", "end", "deviceId"):
        parts.append(f"SELECT deviceId, start, end, 0 AS name FROM {GRAPHS}{where}")
    return " UNION ALL ".join(parts)


def kernel_name(database: Database) -> str:
    """The column that names kernels, "" when there are none."""
    if not database.has(KERNELS, "start", "end", "deviceId"):
        return ""
    named = (one for one in ("demangledName", "shortName") if database.has(KERNELS, one))
    return next(named, "0")


def read(database: Database, nccl: frozenset[int]) -> Gpus:
    """Blocks.  `nccl` are the StringIds of kernels of NCCL.

    nsys writes intervals, in the order of their start; only where it did not, they are checked and sorted.
    """
    source = intervals(database, checked=False)
    if not source:
        return Gpus()
    every, begin, end = _span(database, source)
    if not every:
        return Gpus()
    try:
        seen, count, is_clean = _pass(database, source, nccl, begin, end), every, True
    except (_Strange, TypeError):
        source = intervals(database, checked=True)
        count, begin, end = _span(database, source)
        if not count:
            return Gpus(unread=every, is_clean=False)
        seen = _pass(database, f"{source} ORDER BY 1, 2", nccl, begin, end)
        is_clean = False
    names = _names(database)
    gpus = [one.result(names.get(device, "")) for device, one in sorted(seen.items())]
    gaps = sorted((gap for one in seen.values() for gap in one.every.gaps()), reverse=True)
    return Gpus(tuple(gpus), tuple(gaps), every - count, is_clean)


def _span(database: Database, source: str) -> tuple[int, Any, Any]:
    return next(
        (count, begin, end)
        for count, begin, end in database.rows(
            f"SELECT count(*), min(start), max(end) FROM ({source})"
        )
    )


def processes_after(database: Database, gaps: Sequence[Gap]) -> list[int | None]:
    """Blocks.  The process of the kernel behind each gap, None where that is not known."""
    if not gaps or not database.has(KERNELS, "start", "deviceId", "globalPid"):
        return [None for _ in gaps]
    ends = tuple(gap.end for gap in gaps)
    sql = f"SELECT deviceId, start, globalPid FROM {KERNELS} WHERE start IN ({marks(ends)})"
    found = {
        (device, start): pid(where)
        for device, start, where in database.rows(sql, ends)
        if isinstance(where, int)
    }
    return [found.get((gap.device, gap.end)) for gap in gaps]


class _Device:
    """One GPU while its kernels pass by."""

    def __init__(self, device: int, begin: int, end: int) -> None:
        self.every = Busy(device, begin, end)
        self._nccl, self._other = Union(begin), Union(begin)
        self._device, self._begin, self._end = device, begin, end
        self._last = begin
        self._kernels = 0

    def add(self, rows: Sequence[tuple[Any, ...]], nccl: frozenset[int]) -> None:
        _, starts, ends, names = zip(*rows, strict=True)
        is_ordered = starts[0] >= self._last and not any(map(gt, starts, islice(starts, 1, None)))
        if not is_ordered or any(map(gt, starts, ends)) or max(ends) > self._end:
            raise _Strange
        if not all(isinstance(name, int) for name in set(names)):
            raise _Strange
        self._last = starts[-1]
        self._kernels += len(rows)
        self.every.add(starts, ends, names)
        if not nccl:
            return
        if nccl.isdisjoint(names):
            self._other.add(starts, ends)
            return
        for union, wanted in ((self._nccl, True), (self._other, False)):
            if some := [row for row in rows if (row[3] in nccl) is wanted]:
                _, starts, ends, _ = zip(*some, strict=True)
                union.add(starts, ends)

    def result(self, name: str) -> Gpu:
        self.every.close()
        busy, nccl = self.every.busy, self._nccl.total
        return Gpu(
            id=self._device,
            name=name,
            kernels=self._kernels,
            begin=self._begin,
            end=self._end,
            busy=busy,
            idle=self.every.idle,
            nccl=nccl,
            nccl_alone=busy - self._other.total if nccl else 0,
            curve=tuple(self.every.curve()),
        )


def _pass(
    database: Database, sql: str, nccl: frozenset[int], begin: int, end: int
) -> dict[int, _Device]:
    seen: dict[int, _Device] = {}
    for chunk in database.chunks(sql):
        for device, rows in _by_device(chunk):
            if device not in seen:
                if not isinstance(device, int):
                    raise _Strange
                seen[device] = _Device(device, begin, end)
            seen[device].add(rows, nccl)
    return seen


def _by_device(
    chunk: list[tuple[Any, ...]],
) -> Iterator[tuple[Any, list[tuple[Any, ...]]]]:
    if len(set(map(itemgetter(0), chunk))) == 1:
        yield chunk[0][0], chunk
        return
    rows: defaultdict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    for row in chunk:
        rows[row[0]].append(row)
    yield from rows.items()


def _names(database: Database) -> dict[int, str]:
    table = "TARGET_INFO_GPU"
    if not database.has(table, "id", "name"):
        return {}
    # CUDA numbers the GPUs of a process anew; the column came with a later schema.
    number = "coalesce(cuDevice, id)" if database.has(table, "cuDevice") else "id"
    return {key: shown(name) for key, name in database.rows(f"SELECT {number}, name FROM {table}")}
