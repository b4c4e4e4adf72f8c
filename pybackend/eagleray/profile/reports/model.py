"""The records of a report: its metadata, GPUs, tables with their order and search, warnings, summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from attrs import evolve, field, frozen

from eagleray.common.l10n import later, t, translated

Cell = str | int | float | None
CellKind = Literal["text", "count", "ns", "bytes", "rate", "share"]
# The tables of a report, in the order in which they are shown; one without rows is left out.
TableId = Literal["kernels", "nvtx", "gaps", "memcpy", "cuda_api", "osrt", "threads", "nvtx_names"]

# The most rows of a table that are kept: a program that names every range differently makes millions.
MOST_ROWS = 10_000


@frozen
class Column:
    """A column; `kind` decides how its cells are shown: names, counts, nanoseconds, bytes, bytes/s, shares.

    Users sort by its `id`, on the page and on the command line.  `title` is translated where it is shown.
    """

    id: str
    title: str
    kind: CellKind


@frozen
class TableShape:
    """The title and columns of a table, the column by which it is sorted at first, and how to read it."""

    title: str
    columns: tuple[Column, ...]
    sorted_by: str
    hint: str = ""


def _columns(*ids: str) -> tuple[Column, ...]:
    kinds: Mapping[str, CellKind] = {
        "count": "count", "total": "ns", "share": "share", "avg": "ns", "p50": "ns", "min": "ns",
        "max": "ns", "bytes": "bytes", "rate": "rate", "begin": "ns", "duration": "ns",
        "osrt": "ns", "cuda": "ns",
        "calls": "count", "ranges": "count", "names": "count",
    }  # fmt: skip
    titles = {
        "count": later("Count"), "total": later("Total"), "share": later("Share"), "avg": later("Average"), "p50": "p50",
        "min": later("Min"), "max": later("Max"), "bytes": later("Bytes"), "rate": later("Rate"), "begin": later("Begin"),
        "duration": later("Idle"), "gpu": later("GPU"), "pid": later("PID"), "tid": later("TID"), "osrt": later("OS runtime"),
        "cuda": later("CUDA API"), "calls": later("Calls"), "ranges": later("NVTX ranges"), "kernel": later("Kernel"),
        "range": later("NVTX range"), "next": later("Next kernel"), "kind": later("Kind"), "call": later("Call"),
        "thread": later("Thread"), "copy": later("Copy"), "names": later("Names"),
    }  # fmt: skip
    return tuple(Column(column, titles[column], kinds.get(column, "text")) for column in ids)


_ALL_THREADS = later("Sums over all threads. A total can exceed the duration.")
_TIMES = ("count", "total", "share", "avg", "min", "max")
_RANGES = _columns("range", "kind", "count", "names", "total", "avg", "p50", "min", "max")
SHAPES: Mapping[TableId, TableShape] = {
    "kernels": TableShape(later("Kernels"), _columns("kernel", *_TIMES), "total"),
    "nvtx": TableShape(
        later("NVTX ranges"),
        _RANGES,
        "total",
        _ALL_THREADS,
    ),
    "nvtx_names": TableShape(later("NVTX ranges by full name"), _RANGES, "total", _ALL_THREADS),
    "gaps": TableShape(
        later("Idle gaps"), _columns("gpu", "begin", "duration", "range", "next"), "duration"
    ),
    "memcpy": TableShape(
        later("Memory copies"), _columns("copy", "count", "bytes", "total", "rate", "max"), "total"
    ),
    "cuda_api": TableShape(
        later("CUDA API calls"), _columns("call", *_TIMES), "total", _ALL_THREADS
    ),
    "osrt": TableShape(later("OS-runtime calls"), _columns("call", *_TIMES), "total", _ALL_THREADS),
    "threads": TableShape(
        later("Threads"),
        _columns("thread", "pid", "tid", "calls", "osrt", "cuda", "ranges"),
        "calls",
    ),
}


@frozen
class ReportTable:
    """Rows of a report; `total` counts all that exist, `note` is shown beside the title."""

    name: TableId
    rows: tuple[tuple[Cell, ...], ...]
    total: int
    note: str = ""
    sorted_by: str = ""
    descending: bool = True

    @property
    def shape(self) -> TableShape:
        return SHAPES[self.name]

    @property
    def hint(self) -> str:
        """How to read its numbers, in the user's language; "" if that needs no explanation."""
        return translated(self.shape.hint) if self.shape.hint else ""

    def ordered(self, column: str, descending: bool) -> ReportTable:
        """Sorted by a column's id, "" for the usual one; rows without a value there come last."""
        ids = [column.id for column in self.shape.columns]
        column = column if column in ids else self.shape.sorted_by
        at = ids.index(column)
        with_value = [row for row in self.rows if row[at] is not None]
        without_value = [row for row in self.rows if row[at] is None]
        with_value.sort(key=lambda row: _rank(row[at]), reverse=descending)
        return evolve(
            self, rows=(*with_value, *without_value), sorted_by=column, descending=descending
        )

    def searched(self, text: str) -> ReportTable:
        """The rows that contain `text`, ignoring case."""
        if not text:
            return self
        wanted = text.casefold()
        texts = {at for at, column in enumerate(self.shape.columns) if column.kind == "text"}
        rows = tuple(
            row
            for row in self.rows
            if any(at in texts and wanted in str(cell).casefold() for at, cell in enumerate(row))
        )
        return evolve(self, rows=rows, total=len(rows))

    def first(self, count: int) -> ReportTable:
        return evolve(self, rows=self.rows[: max(0, count)])


def make_table(
    name: TableId, rows: Sequence[tuple[Cell, ...]], note: str = "", total: int = 0
) -> ReportTable:
    """A table in its usual order; of very many rows, or if `total` is more, keeps the first ones and notes that."""
    total = max(total, len(rows))
    table = ReportTable(name, tuple(rows), total, note).ordered("", descending=True)
    if total == len(rows) <= MOST_ROWS:
        return table
    first = table.first(MOST_ROWS)
    limit_note = t("Only the first {n} of {total} rows are kept.", n=len(first.rows), total=total)
    return evolve(first, note=f"{note} {limit_note}".strip())


def _rank(cell: Cell) -> tuple[bool, float, str]:
    return (True, 0.0, cell.casefold()) if isinstance(cell, str) else (False, float(cell or 0), "")


@frozen
class GpuUsage:
    """A GPU, and how much of the recording at least one kernel ran on it (`busy_ns`).

    Counts from `begin_ns`, where the first kernel of any GPU begins, to `end_ns`, where the last one ends; `curve`
    is the busy share in equal steps between them.  `nccl_ns` is how long a kernel of NCCL ran, `nccl_alone_ns` how
    long nothing else ran beside it; both are None if a kernel has no name, as in a graph that is recorded as one.
    """

    id: int
    name: str
    kernels: int
    begin_ns: int
    end_ns: int
    busy_ns: int
    idle_ns: int
    busy_share: float
    nccl_ns: int | None
    nccl_alone_ns: int | None
    curve: tuple[float, ...]


@frozen(kw_only=True)
class ReportOrigin:
    """Where, when and by which nsys a report was recorded; unknown texts are "".

    `started_utc` is in ISO 8601.  `trace` is the request to nsys, such as "cuda,nvtx", which only a note beside the
    report contains.
    """

    host: str = ""
    started_utc: str = ""
    nsys_version: str = ""
    schema_version: str = ""
    trace: str = ""


@frozen(kw_only=True)
class ReportMetadata(ReportOrigin):
    """The origin as a database has it; numbers are 0 if it lacks them."""

    duration: int = 0
    gpus: int = 0
    messages: tuple[str, ...] = ()


@frozen
class ReportWarning:
    """Why a report may lack what the user expects: a code for programs, one sentence, and what to do."""

    code: str
    message: str
    next_step: str


@frozen
class Summary:
    """Everything that is shown of a report; tables without rows are left out."""

    about: ReportMetadata
    gpus: tuple[GpuUsage, ...]
    tables: tuple[ReportTable, ...]
    warnings: tuple[ReportWarning, ...]


@frozen
class RecordedWorker:
    """The worker of a report, as its node or the manifest names it; "" and None if unknown."""

    name: str = ""
    class_name: str = ""
    host: str = ""
    rank: int | None = None


@frozen
class LoadedReport:
    """A report that was read: the file that the user named, and the database that was read for it."""

    path: Path
    database: Path
    size: int
    summary: Summary
    worker: RecordedWorker = field(factory=RecordedWorker)
