"""The GPUs of a recording: how busy each is, how much of it is NCCL alone, its longest pauses.

A GPU is busy while at least one kernel runs on it.  The time that counts goes from the first kernel of any
GPU to the end of the last one, so that what a program does before it uses its GPUs is no pause.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any

from attrs import frozen

from eagleray.common.errors import EaglerayError
from eagleray.features.reports.busy import Gap
from eagleray.features.reports.database import Database, pid, shown
from eagleray.features.reports.device import Device, Gpu, Strange
from eagleray.features.reports.kernel_tables import KERNELS, NO_KERNEL, Span, kernel_tables
from eagleray.features.reports.slices import Slices

# The GPU, starts, ends, numbers of rows, and which are of NCCL.
_Some = tuple[Any, Sequence[int], Sequence[int], Sequence[int], Sequence[int] | None]


@frozen
class Gpus:
    """What is known of all GPUs; `unread` counts kernels whose numbers make no sense, else all are clean."""

    gpus: tuple[Gpu, ...] = ()
    gaps: tuple[Gap, ...] = ()
    unread: int = 0
    is_clean: bool = True


def read(slices: Slices, span: Span, nccl: frozenset[int]) -> Gpus:
    """Blocks.  `nccl` are the StringIds of kernels of NCCL.

    nsys writes intervals, in the order of their start; only where it did not, they are checked and sorted.
    """
    if not span.count:
        return Gpus()
    database = slices.database
    try:
        seen, count, is_clean = _pass(_in_parts(slices, nccl), span), span.count, True
    except (Strange, TypeError, ValueError, EaglerayError) as error:
        # A number that JSON cannot hold looks like damage; what is damaged is so once more.
        if isinstance(error, EaglerayError) and error.code != "damaged-report":
            raise
        checked = _checked_span(database)
        if not checked.count:
            return Gpus(unread=span.count, is_clean=False)
        seen, count, is_clean = _pass(_sorted(database, nccl), checked), checked.count, False
    names = _names(database)
    gpus = [one.result(names.get(device, "")) for device, one in sorted(seen.items())]
    gaps = sorted((gap for one in seen.values() for gap in one.every.gaps()), reverse=True)
    return Gpus(tuple(gpus), tuple(gaps), span.count - count, is_clean)


def after(database: Database, gaps: Sequence[Gap]) -> dict[int, tuple[int | None, object]]:
    """Blocks.  The process and the number of the name of the kernel behind each gap, by the number of its row."""
    found = next((one for one in kernel_tables(database) if one.name == KERNELS), None)
    if not gaps or not found:
        return {}
    process = "globalPid" if database.has(KERNELS, "globalPid") else "NULL"
    rows = json.dumps([gap.after for gap in gaps])
    wanted = "rowid IN (SELECT value FROM json_each(?))"
    sql = f"SELECT rowid, {process}, {found.names} FROM {KERNELS} WHERE {wanted}"
    return {
        row: (pid(where) if isinstance(where, int) else None, name)
        for row, where, name in database.rows(sql, (rows,))
    }


def _pass(found: Iterator[_Some], span: Span) -> dict[int, Device]:
    seen: dict[int, Device] = {}
    for device, starts, ends, rows, nccl in found:
        if device not in seen:
            if not isinstance(device, int):
                raise Strange
            seen[device] = Device(device, span.begin, span.end)
        seen[device].add(starts, ends, rows, nccl)
    return seen


def _in_parts(slices: Slices, nccl: frozenset[int]) -> Iterator[_Some]:
    """As the rows lie in their only table; numbers come as one text for many, which is read faster than rows."""
    table, *others = kernel_tables(slices.database)
    if others:
        raise Strange
    sql = (
        "SELECT json_group_array(deviceId), json_group_array(start), json_group_array(end),"
        f" group_concat(CASE WHEN {table.names} IN (SELECT value FROM json_each(?3)) THEN rowid END)"
        f" FROM {table.name} WHERE rowid BETWEEN ?1 AND ?2"
    )
    parts = slices.parts(table.name)
    for (low, high), columns in slices.rows(sql, parts, json.dumps(list(nccl))):
        devices, starts, ends, of_nccl = columns
        begins = json.loads(starts)
        count = len(begins)
        if count != high - low + 1:
            raise Strange
        rows = range(low, high + 1) if table.name == KERNELS else [NO_KERNEL] * count
        flags = bytearray(count)
        for row in of_nccl.split(",") if of_nccl else ():
            flags[int(row) - low] = 1
        some = flags if nccl else None
        yield from _by_device(json.loads(devices), begins, json.loads(ends), rows, some)


def _by_device(
    devices: Sequence[Any],
    starts: Sequence[int],
    ends: Sequence[int],
    rows: Sequence[int],
    nccl: Sequence[int] | None,
) -> Iterator[_Some]:
    present = set(devices)
    if len(present) == 1:
        yield devices[0], starts, ends, rows, nccl
        return
    for device in present:
        here = [one == device for one in devices]
        begins, finishes, numbers = (
            list(compress(column, here)) for column in (starts, ends, rows)
        )
        yield device, begins, finishes, numbers, nccl and list(compress(nccl, here))


def _checked_span(database: Database) -> Span:
    parts = [
        f"SELECT start, end FROM {one.name} WHERE {one.where(checked=True)}"
        for one in kernel_tables(database)
    ]
    sql = f"SELECT count(*), min(start), max(end) FROM ({' UNION ALL '.join(parts)})"
    return Span(*next(database.rows(sql)))


def _sorted(database: Database, nccl: frozenset[int]) -> Iterator[_Some]:
    """Only what is an interval, in the order of its start."""
    parts = [
        f"SELECT deviceId, start, end, {one.number}, {one.names} FROM {one.name}"
        f" WHERE {one.where(checked=True)}"
        for one in kernel_tables(database)
    ]
    for chunk in database.chunks(f"{' UNION ALL '.join(parts)} ORDER BY 1, 2"):
        devices, starts, ends, rows, names = zip(*chunk, strict=True)
        flags = [name in nccl for name in names] if nccl else None
        yield from _by_device(devices, starts, ends, rows, flags)


def _names(database: Database) -> dict[int, str]:
    table = "TARGET_INFO_GPU"
    if not database.has(table, "id", "name"):
        return {}
    # CUDA numbers the GPUs of a process anew; the column came with a later schema.
    number = "coalesce(cuDevice, id)" if database.has(table, "cuDevice") else "id"
    return {key: shown(name) for key, name in database.rows(f"SELECT {number}, name FROM {table}")}
