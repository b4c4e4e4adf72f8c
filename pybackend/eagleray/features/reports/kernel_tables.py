"""Where a database has its kernels: one by one, and graphs of them that were recorded as one."""

from __future__ import annotations

from attrs import frozen

from eagleray.features.reports.database import Database

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
# A graph that was recorded as one (`--cuda-graph-trace=graph`) stands here instead of its kernels.
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
# What stands for the number of a row where it is none of the kernels.
NO_KERNEL = 0


@frozen
class KernelTable:
    """A table of what runs on GPUs, and `names`, its column of them, "0" where it has none."""

    name: str
    names: str

    @property
    def number(self) -> str:
        return "rowid" if self.name == KERNELS else str(NO_KERNEL)

    def where(self, checked: bool) -> str:
        """`checked` leaves out what is no interval, which costs as much again as the reading."""
        columns = ("start", "end", "deviceId", self.names)
        whole = " AND ".join(f"typeof({column}) = 'integer'" for column in columns)
        return f"{whole} AND end >= start" if checked else "1"


@frozen
class Span:
    """How many kernels there are, and from when to when."""

    count: int
    begin: int
    end: int


NO_SPAN = Span(0, 0, 0)


def kernel_tables(database: Database) -> list[KernelTable]:
    needed = ("start", "end", "deviceId")
    found = []
    if database.has(KERNELS, *needed):
        named = (one for one in ("demangledName", "shortName") if database.has(KERNELS, one))
        found.append(KernelTable(KERNELS, next(named, "0")))
    if database.has(GRAPHS, *needed):
        found.append(KernelTable(GRAPHS, "0"))
    return found
