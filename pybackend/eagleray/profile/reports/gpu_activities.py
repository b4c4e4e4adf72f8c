"""The activities of GPUs in a recording: kernels by name, memory copies and memory sets by kind."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen

from eagleray.profile.reports.aggregates import (
    TIMES,
    Groups,
    ParallelReader,
    Sums,
    sum_by_name,
    table_rows,
)
from eagleray.profile.reports.database import Database, to_int
from eagleray.profile.reports.model import Cell, ReportTable, make_table

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
# Has a graph that was recorded as one (`--cuda-graph-trace=graph`) in place of its kernels.
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
NEEDED = ("start", "end", "deviceId")
# The row number of a graph.
NO_KERNEL = 0
GRAPH = "CUDA graph"
_NCCL = re.compile(r"(void )?nccl", re.IGNORECASE)
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
SETS = "CUPTI_ACTIVITY_KIND_MEMSET"
SETS_NEEDED = ("start", "end", "bytes")
COPIES_NEEDED = (*SETS_NEEDED, "copyKind")
_COPY_SUMS = ("count(*)", "total(bytes)", "total(end - start)", "max(end - start)")
_COPY_SPAN = "typeof(start) = 'integer' AND typeof(end) = 'integer' AND end >= start"
_UNKNOWN_COPY = 0
# The names where the database lacks them, as in ENUM_CUDA_MEMCPY_OPER.
_COPY_KINDS: dict[object, str] = {
    _UNKNOWN_COPY: "Unknown", 1: "Host-to-Device", 2: "Device-to-Host", 3: "Host-to-Array",
    4: "Array-to-Host", 5: "Array-to-Array", 6: "Array-to-Device", 7: "Device-to-Array",
    8: "Device-to-Device", 9: "Host-to-Host", 10: "Peer-to-Peer", 11: "Unified Host-to-Device",
    12: "Unified Device-to-Host", 13: "Unified Device-to-Device",
}  # fmt: skip


@frozen
class KernelTable:
    """A table of what runs on GPUs; `names` is its column of names, "NULL" if it has none."""

    name: str
    names: str

    @property
    def number(self) -> str:
        return "rowid" if self.name == KERNELS else str(NO_KERNEL)

    def where(self, checked: bool) -> str:
        """`checked` excludes invalid intervals, which takes as long again as the reading."""
        are_integers = " AND ".join(f"typeof({column}) = 'integer'" for column in NEEDED)
        return f"{are_integers} AND end >= start" if checked else "1"


@frozen
class Span:
    """The number of kernels, and the time from the first to the last."""

    count: int
    begin: int
    end: int


NO_SPAN = Span(0, 0, 0)


@frozen
class KernelSums:
    """The sums of all kernels by name; graphs that were recorded as one are "CUDA graph".

    `nccl` are the StringIds of kernels of NCCL, None unless every kernel has a name; `unnamed` counts kernels without one.
    """

    by_name: dict[str, Sums]
    nccl: frozenset[int] | None = frozenset()
    unnamed: int = 0
    span: Span = NO_SPAN


def kernel_tables(database: Database) -> list[KernelTable]:
    tables = []
    if database.has(KERNELS, *NEEDED):
        named = (name for name in ("demangledName", "shortName") if database.has(KERNELS, name))
        tables.append(KernelTable(KERNELS, next(named, "NULL")))
    if database.has(GRAPHS, *NEEDED):
        tables.append(KernelTable(GRAPHS, "NULL"))
    return tables


def begin_kernels(reader: ParallelReader, checked: bool = False) -> list[Groups]:
    """Begins to sum up what runs on GPUs."""
    sums = (*TIMES, "min(start)", "max(end)")
    return [
        reader.groups(table.name, (), (table.names,), sums, table.where(checked))
        for table in kernel_tables(reader.database)
    ]


def read_kernels(database: Database, groups: Sequence[Groups]) -> KernelSums:
    """Blocks."""
    by_table = {
        table.name: list(rows())
        for table, rows in zip(kernel_tables(database), groups, strict=True)
    }
    kernels, graphs = by_table.get(KERNELS, []), by_table.get(GRAPHS, [])
    rows = [*kernels, *graphs]
    if not rows:
        return KernelSums({})
    texts = database.strings({row[0] for row in kernels if isinstance(row[0], int)})
    by_name = sum_by_name(database, [row[:5] for row in kernels])
    for _, *sums in graphs:
        by_name.setdefault(GRAPH, Sums()).add(*sums[:4])
    unnamed = sum(to_int(count) for number, count, *_ in kernels if not texts.get(number))
    nccl = frozenset(number for number, text in texts.items() if _NCCL.match(text))
    return KernelSums(
        by_name,
        None if unnamed or graphs else nccl,
        unnamed,
        Span(
            sum(row[1] for row in rows),
            min(to_int(row[5]) for row in rows),
            max(to_int(row[6]) for row in rows),
        ),
    )


def kernels_table(kernels: KernelSums) -> ReportTable:
    return make_table("kernels", table_rows(kernels.by_name))


def begin_copies(reader: ParallelReader) -> tuple[Groups, Groups]:
    """Begins to sum up copies and sets."""
    copies = reader.groups(COPIES, COPIES_NEEDED, ("copyKind",), _COPY_SUMS, _COPY_SPAN)
    return copies, reader.groups(SETS, SETS_NEEDED, ("0",), _COPY_SUMS, _COPY_SPAN)


def read_copies(database: Database, copies: Groups, sets: Groups) -> ReportTable:
    """Blocks."""
    kinds = _copy_kinds(database)
    by_name: dict[str, list[int]] = {}
    for kind, *sums in copies():
        number = kind if isinstance(kind, int) else _UNKNOWN_COPY
        _add_copies(by_name, kinds.get(number, f"Kind {number}"), sums)
    for _, *sums in sets():
        _add_copies(by_name, "Memset", sums)
    return make_table("memcpy", [_copy_row(name, *sums) for name, sums in by_name.items()])


def _add_copies(by_name: dict[str, list[int]], name: str, sums: Sequence[object]) -> None:
    count, moved, total, longest = map(to_int, sums)
    before = by_name.get(name, [0, 0, 0, 0])
    longest = max(before[3], longest)
    by_name[name] = [before[0] + count, before[1] + moved, before[2] + total, longest]


def _copy_row(name: str, count: int, moved: int, total: int, longest: int) -> tuple[Cell, ...]:
    return (name, count, moved, total, round(moved * 1e9 / total) if total else None, longest)


def _copy_kinds(database: Database) -> dict[object, str]:
    if not database.has("ENUM_CUDA_MEMCPY_OPER", "id", "label"):
        return dict(_COPY_KINDS)
    rows = database.rows("SELECT id, substr(label, 1, 40) FROM ENUM_CUDA_MEMCPY_OPER")
    return {**_COPY_KINDS, **{key: str(label) for key, label in rows if label}}
