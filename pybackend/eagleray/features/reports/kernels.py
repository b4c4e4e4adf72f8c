"""The kernels of a recording: the tables that have them, and their sums by name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen

from eagleray.features.reports.aggregates import (
    TIMES,
    Groups,
    ParallelReader,
    Sums,
    sum_by_name,
    table_rows,
)
from eagleray.features.reports.database import Database, to_int
from eagleray.features.reports.model import ReportTable, make_table

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
# Has a graph that was recorded as one (`--cuda-graph-trace=graph`) in place of its kernels.
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
NEEDED = ("start", "end", "deviceId")
# The row number of a graph.
NO_KERNEL = 0
GRAPH = "CUDA graph"
_NCCL = re.compile(r"(void )?nccl", re.IGNORECASE)


@frozen
class KernelTable:
    """A table of what runs on GPUs; `names` is its column of names, "0" if it has none."""

    name: str
    names: str

    @property
    def number(self) -> str:
        return "rowid" if self.name == KERNELS else str(NO_KERNEL)

    def where(self, checked: bool) -> str:
        """`checked` excludes invalid intervals, which takes as long again as the reading."""
        columns = ("start", "end", "deviceId", self.names)
        are_integers = " AND ".join(f"typeof({column}) = 'integer'" for column in columns)
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

    `nccl` are the StringIds of kernels of NCCL.
    """

    by_name: dict[str, Sums]
    nccl: frozenset[int] = frozenset()
    span: Span = NO_SPAN


def kernel_tables(database: Database) -> list[KernelTable]:
    tables = []
    if database.has(KERNELS, *NEEDED):
        named = (name for name in ("demangledName", "shortName") if database.has(KERNELS, name))
        tables.append(KernelTable(KERNELS, next(named, "0")))
    if database.has(GRAPHS, *NEEDED):
        tables.append(KernelTable(GRAPHS, "0"))
    return tables


def begin(reader: ParallelReader, checked: bool = False) -> list[Groups]:
    """Begins to sum up what runs on GPUs."""
    sums = (*TIMES, "min(start)", "max(end)")
    return [
        reader.groups(table.name, (), (table.names,), sums, table.where(checked))
        for table in kernel_tables(reader.database)
    ]


def read(database: Database, groups: Sequence[Groups]) -> KernelSums:
    """Blocks."""
    rows = [row for table in groups for row in table()]
    if not rows:
        return KernelSums({})
    named = [(number or None, *sums[:4]) for number, *sums in rows]
    texts = database.strings({row[0] for row in rows if isinstance(row[0], int)})
    return KernelSums(
        sum_by_name(database, named, GRAPH),
        frozenset(number for number, text in texts.items() if _NCCL.match(text)),
        Span(
            sum(row[1] for row in rows),
            min(to_int(row[5]) for row in rows),
            max(to_int(row[6]) for row in rows),
        ),
    )


def kernels_table(kernels: KernelSums) -> ReportTable:
    return make_table("kernels", table_rows(kernels.by_name))
