"""How busy the GPUs of a recording were: the share of NCCL alone, a curve over time, the longest idle gaps.

A GPU is busy while at least one kernel runs on it.  Time counts from the first kernel of any GPU to the end of the
last one, so that what a program does before it uses its GPUs is not idle time.
"""

from __future__ import annotations

import heapq
import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, compress
from operator import gt, sub
from typing import Any, NamedTuple

from attrs import frozen

from eagleray.common.errors import EaglerayError
from eagleray.profile.reports.aggregates import ParallelReader
from eagleray.profile.reports.database import Database, display_text, process_id
from eagleray.profile.reports.gpu_activities import KERNELS, NO_KERNEL, Span, kernel_tables
from eagleray.profile.reports.model import GpuUsage

# The number of steps of a curve, and of gaps that are kept for a GPU.
STEPS = 400
MOST_GAPS = 200
# The time after the last kernel.
END = -1

# The GPU, starts, ends, row numbers, and which kernels are of NCCL.
_Kernels = tuple[Any, Sequence[int], Sequence[int], Sequence[int], Sequence[int] | None]


class UnorderedKernelsError(Exception):
    """The rows are not in the order of their start, or are not intervals."""


class Gap(NamedTuple):
    """An idle time of one GPU, and the row number of the kernel behind it; tuples are compared fast."""

    duration: int
    begin: int
    device: int
    after: int

    @property
    def end(self) -> int:
        return self.begin + self.duration


@frozen
class GpuSummary:
    """All GPUs and their gaps; `unread` counts kernels with invalid numbers, `is_clean` means that no check was needed.

    `mixed` are the numbers that several processes give to different GPUs, whose kernels are then added up.
    """

    gpus: tuple[GpuUsage, ...] = ()
    gaps: tuple[Gap, ...] = ()
    unread: int = 0
    is_clean: bool = True
    mixed: tuple[int, ...] = ()


def read(reader: ParallelReader, span: Span, nccl: frozenset[int] | None) -> GpuSummary:
    """Blocks.  `nccl` are the StringIds of kernels of NCCL, None if unknown.

    nsys writes intervals in the order of their start; only where it did not, they are checked and sorted.
    """
    if not span.count:
        return GpuSummary()
    database = reader.database
    numbers = nccl or frozenset()
    try:
        devices = _process(_in_parts(reader, numbers), span)
        count, is_clean = span.count, True
    except (UnorderedKernelsError, TypeError, ValueError, EaglerayError) as error:
        # A number that JSON cannot hold looks like damage; a damaged file fails again below.
        if isinstance(error, EaglerayError) and error.code != "damaged-report":
            raise
        checked = _checked_span(database)
        if not checked.count:
            return GpuSummary(unread=span.count, is_clean=False)
        devices = _process(_sorted(database, numbers), checked)
        count, is_clean = checked.count, False
    names = _names(database)
    gpus = [
        device.result(", ".join(sorted({*names.get(number, {}).values()})), nccl is not None)
        for number, device in sorted(devices.items())
    ]
    mixed = tuple(gpu.id for gpu in gpus if len(names.get(gpu.id, {})) > 1)
    gaps = sorted((gap for device in devices.values() for gap in device.busy.gaps()), reverse=True)
    return GpuSummary(tuple(gpus), tuple(gaps), span.count - count, is_clean, mixed)


def kernels_after(database: Database, gaps: Sequence[Gap]) -> dict[int, tuple[int | None, object]]:
    """Blocks.  The process and the name's number of the kernel behind each gap, by row number."""
    table = next((table for table in kernel_tables(database) if table.name == KERNELS), None)
    if not gaps or not table:
        return {}
    process = "globalPid" if database.has(KERNELS, "globalPid") else "NULL"
    rows = json.dumps([gap.after for gap in gaps])
    wanted = "rowid IN (SELECT value FROM json_each(?))"
    sql = f"SELECT rowid, {process}, {table.names} FROM {KERNELS} WHERE {wanted}"
    return {
        row: (process_id(pid) if isinstance(pid, int) else None, name)
        for row, pid, name in database.rows(sql, (rows,))
    }


class IntervalUnion:
    """How long at least one of the intervals lasts; they are added in lists, in the order of their start."""

    def __init__(self, begin: int) -> None:
        self._top = begin
        self.total = 0

    def add(self, starts: Sequence[int], ends: Sequence[int]) -> None:
        tops = _latest_ends(self._top, ends)
        holes = sum([pause for pause in map(sub, starts, tops) if pause > 0])
        self.total += tops[-1] - self._top - holes
        self._top = tops[-1]


def _latest_ends(top: int, ends: Sequence[int]) -> list[int]:
    """The latest end before each interval, and of all; most GPUs end their kernels in the order of their start."""
    tops = [top, *ends]
    return tops if sorted(tops) == tops else list(accumulate(tops, max))


class BusyTime:
    """The busy time, curve and gaps of one GPU; takes its intervals in lists, in order, none outside `begin` to `end`.

    Lists are processed by functions of C: a recording has millions of kernels.
    """

    def __init__(self, device: int, begin: int, end: int) -> None:
        self._device = device
        self._begin = self._top = begin
        self._end = end
        self._idle = 0
        self._step = (end - begin) / STEPS or 1.0
        self._idle_by_step = [0.0] * STEPS
        self._gaps: list[Gap] = []

    def add(self, starts: Sequence[int], ends: Sequence[int], rows: Sequence[int]) -> None:
        tops = _latest_ends(self._top, ends)
        pauses = [pause if pause > 0 else 0 for pause in map(sub, starts, tops)]
        if max(pauses) > self._shortest_gap():
            self._keep_longest(pauses, tops, rows)
        self._idle += sum(pauses)
        at = 0
        while at < len(pauses):
            # All pauses that begin in one step of the curve; only the last of them can end behind it.
            step = self._step_at(tops[at])
            until = bisect_right(tops, step, at, len(pauses), key=self._step_at)
            self._idle_by_step[step] += sum(pauses[at : until - 1])
            if pauses[until - 1]:
                self._spread(tops[until - 1], starts[until - 1])
            at = until
        self._top = tops[-1]

    def close(self) -> None:
        """Adds the time after the last kernel of this GPU, in which another GPU still works."""
        self.add((self._end,), (self._end,), (END,))

    @property
    def idle(self) -> int:
        return self._idle

    @property
    def busy(self) -> int:
        return self._end - self._begin - self._idle

    def gaps(self) -> list[Gap]:
        return self._gaps

    def curve(self) -> list[float]:
        """The busy share of each step; empty without any time."""
        if self._end == self._begin:
            return []
        return [round(min(1.0, max(0.0, 1 - idle / self._step)), 4) for idle in self._idle_by_step]

    def _step_at(self, time: int) -> int:
        return min(STEPS - 1, int((time - self._begin) / self._step))

    def _spread(self, begin: int, end: int) -> None:
        first, last = self._step_at(begin), self._step_at(end)
        for step in range(first, last + 1):
            left = self._begin + step * self._step
            right = left + self._step if step < STEPS - 1 else max(left + self._step, self._end)
            self._idle_by_step[step] += max(0.0, min(end, right) - max(begin, left))

    def _keep_longest(
        self, pauses: Sequence[int], tops: Sequence[int], rows: Sequence[int]
    ) -> None:
        shortest = self._shortest_gap()
        longer = [(pause, at) for at, pause in enumerate(pauses) if pause > shortest]
        longest = heapq.nlargest(MOST_GAPS, longer)
        gaps = [Gap(pause, tops[at], self._device, rows[at]) for pause, at in longest]
        self._gaps = sorted((*self._gaps, *gaps), reverse=True)[:MOST_GAPS]

    def _shortest_gap(self) -> int:
        return self._gaps[-1].duration if len(self._gaps) == MOST_GAPS else 0


class GpuReader:
    """Takes the kernels of one GPU in lists; raises `UnorderedKernelsError` or TypeError if they are invalid."""

    def __init__(self, device: int, begin: int, end: int) -> None:
        self.busy = BusyTime(device, begin, end)
        self._nccl, self._other = IntervalUnion(begin), IntervalUnion(begin)
        self._device, self._begin, self._end = device, begin, end
        self._last_start = begin
        self._kernels = 0

    def add(
        self,
        starts: Sequence[int],
        ends: Sequence[int],
        rows: Sequence[int],
        nccl: Sequence[int] | None,
    ) -> None:
        """`nccl` has 1 for each kernel of NCCL; it is None if the recording has none."""
        if not (isinstance(sum(starts), int) and isinstance(sum(ends), int)):
            raise UnorderedKernelsError
        is_ordered = starts[0] >= self._last_start and sorted(starts) == list(starts)
        if not is_ordered or any(map(gt, starts, ends)) or max(ends) > self._end:
            raise UnorderedKernelsError
        self._last_start = starts[-1]
        self._kernels += len(starts)
        self.busy.add(starts, ends, rows)
        if nccl is None:
            return
        if not any(nccl):
            self._other.add(starts, ends)
            return
        other = [not flag for flag in nccl]
        for union, flags in ((self._nccl, nccl), (self._other, other)):
            if any(flags):
                union.add(list(compress(starts, flags)), list(compress(ends, flags)))

    def result(self, name: str, has_names: bool) -> GpuUsage:
        """Without the names of all kernels (`has_names`), NCCL's kernels are unknown."""
        self.busy.close()
        busy_ns, nccl_ns, span_ns = self.busy.busy, self._nccl.total, self._end - self._begin
        return GpuUsage(
            id=self._device,
            name=name,
            kernels=self._kernels,
            begin_ns=self._begin,
            end_ns=self._end,
            busy_ns=busy_ns,
            idle_ns=self.busy.idle,
            busy_share=busy_ns / span_ns if span_ns > 0 else 0.0,
            nccl_ns=nccl_ns if has_names else None,
            nccl_alone_ns=(busy_ns - self._other.total if nccl_ns else 0) if has_names else None,
            curve=tuple(self.busy.curve()),
        )


def _process(kernels: Iterator[_Kernels], span: Span) -> dict[int, GpuReader]:
    devices: dict[int, GpuReader] = {}
    for device, starts, ends, rows, nccl in kernels:
        if device not in devices:
            if not isinstance(device, int):
                raise UnorderedKernelsError
            devices[device] = GpuReader(device, span.begin, span.end)
        devices[device].add(starts, ends, rows, nccl)
    return devices


def _in_parts(reader: ParallelReader, nccl: frozenset[int]) -> Iterator[_Kernels]:
    """The rows of the only table in their order; many numbers come as one text, which is read faster than rows."""
    table, *others = kernel_tables(reader.database)
    if others:
        raise UnorderedKernelsError
    sql = (
        "SELECT json_group_array(deviceId), json_group_array(start), json_group_array(end),"
        f" group_concat(CASE WHEN {table.names} IN (SELECT value FROM json_each(?3)) THEN rowid END)"
        f" FROM {table.name} WHERE rowid BETWEEN ?1 AND ?2"
    )
    parts = reader.parts(table.name)
    for (low, high), columns in reader.rows(sql, parts, json.dumps(list(nccl))):
        devices, starts, ends, nccl_rows = columns
        begins = json.loads(starts)
        count = len(begins)
        if count != high - low + 1:
            raise UnorderedKernelsError
        rows = range(low, high + 1) if table.name == KERNELS else [NO_KERNEL] * count
        flags = bytearray(count)
        for row in nccl_rows.split(",") if nccl_rows else ():
            flags[int(row) - low] = 1
        yield from _by_device(
            json.loads(devices), begins, json.loads(ends), rows, flags if nccl else None
        )


def _by_device(
    devices: Sequence[Any],
    starts: Sequence[int],
    ends: Sequence[int],
    rows: Sequence[int],
    nccl: Sequence[int] | None,
) -> Iterator[_Kernels]:
    present = set(devices)
    if len(present) == 1:
        yield devices[0], starts, ends, rows, nccl
        return
    for device in present:
        is_device = [other == device for other in devices]
        begins, finishes, numbers = (
            list(compress(column, is_device)) for column in (starts, ends, rows)
        )
        yield device, begins, finishes, numbers, nccl and list(compress(nccl, is_device))


def _checked_span(database: Database) -> Span:
    parts = [
        f"SELECT start, end FROM {table.name} WHERE {table.where(checked=True)}"
        for table in kernel_tables(database)
    ]
    sql = f"SELECT count(*), min(start), max(end) FROM ({' UNION ALL '.join(parts)})"
    return Span(*next(database.rows(sql)))


def _sorted(database: Database, nccl: frozenset[int]) -> Iterator[_Kernels]:
    """The valid intervals in the order of their start."""
    parts = [
        f"SELECT deviceId, start, end, {table.number}, {table.names} FROM {table.name}"
        f" WHERE {table.where(checked=True)}"
        for table in kernel_tables(database)
    ]
    for chunk in database.chunks(f"{' UNION ALL '.join(parts)} ORDER BY 1, 2"):
        devices, starts, ends, rows, names = zip(*chunk, strict=True)
        flags = [name in nccl for name in names] if nccl else None
        yield from _by_device(devices, starts, ends, rows, flags)


def _names(database: Database) -> dict[int, dict[int, str]]:
    """The names of the GPUs to which CUDA gives a number, by that number and by the GPU's own.

    CUDA numbers the GPUs that a process sees; later schemas have these numbers for each process.
    """
    table, numbers = "TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE"
    if not database.has(table, "id", "name"):
        return {}
    sql = f"SELECT {'coalesce(cuDevice, id)' if database.has(table, 'cuDevice') else 'id'}, id, name FROM {table}"
    if database.has(numbers, "gpuId", "cudaId"):
        sql = f"SELECT cudaId, id, name FROM {numbers} JOIN {table} ON gpuId = id"
    names: dict[int, dict[int, str]] = {}
    for number, gpu, name in database.rows(sql):
        names.setdefault(number, {})[gpu] = display_text(name)
    return names
