"""The tables of a report: their columns, their rows, in any order and searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from attrs import evolve, frozen

Cell = str | int | float | None
Kind = Literal["text", "count", "ns", "bytes", "rate", "share"]
Name = Literal["kernels", "nvtx", "gaps", "memcpy", "cuda_api", "osrt", "threads"]

# So many rows of a table are kept; whoever names every range differently makes millions.
MOST_ROWS = 10_000


@frozen
class Column:
    """`id` is what a person sorts by, in the panel and on the command line."""

    id: str
    title: str
    kind: Kind


@frozen
class Shape:
    """What a table is before it has rows; the first column that is no text is sorted by."""

    title: str
    columns: tuple[Column, ...]
    sorted_by: str


def _columns(*words: str) -> tuple[Column, ...]:
    kinds: Mapping[str, Kind] = {
        "count": "count", "total": "ns", "share": "share", "avg": "ns", "p50": "ns", "min": "ns",
        "max": "ns", "bytes": "bytes", "rate": "rate", "begin": "ns", "duration": "ns",
        "osrt": "ns", "cuda": "ns",
        "calls": "count", "ranges": "count",
    }  # fmt: skip
    titles = {
        "count": "Count", "total": "Total", "share": "Share", "avg": "Average", "p50": "p50",
        "min": "Min", "max": "Max", "bytes": "Bytes", "rate": "Rate", "begin": "Begin",
        "duration": "Idle", "gpu": "GPU", "pid": "PID", "tid": "TID", "osrt": "OS runtime",
        "cuda": "CUDA API", "calls": "Calls", "ranges": "NVTX ranges", "kernel": "Kernel",
        "range": "NVTX range", "next": "Next kernel", "kind": "Kind", "call": "Call",
        "thread": "Thread", "copy": "Copy",
    }  # fmt: skip
    return tuple(Column(word, titles[word], kinds.get(word, "text")) for word in words)


_TIMES = ("count", "total", "share", "avg", "min", "max")
SHAPES: Mapping[Name, Shape] = {
    "kernels": Shape("Kernels", _columns("kernel", *_TIMES), "total"),
    "nvtx": Shape(
        "NVTX ranges",
        _columns("range", "kind", "count", "total", "avg", "p50", "min", "max"),
        "total",
    ),
    "gaps": Shape("Idle gaps", _columns("gpu", "begin", "duration", "range", "next"), "duration"),
    "memcpy": Shape(
        "Memory copies", _columns("copy", "count", "bytes", "total", "rate", "max"), "total"
    ),
    "cuda_api": Shape("CUDA API calls", _columns("call", *_TIMES), "total"),
    "osrt": Shape("OS-runtime calls", _columns("call", *_TIMES), "total"),
    "threads": Shape(
        "Threads", _columns("thread", "pid", "tid", "calls", "osrt", "cuda", "ranges"), "calls"
    ),
}


@frozen
class Table:
    """Rows of a report; `total` counts all that there are, `note` says what is to be known of them."""

    name: Name
    rows: tuple[tuple[Cell, ...], ...]
    total: int
    note: str = ""
    sorted_by: str = ""
    descending: bool = True

    @property
    def shape(self) -> Shape:
        return SHAPES[self.name]

    def ordered(self, column: str, descending: bool) -> Table:
        """By a column's id, "" for the usual one; rows that hold nothing there come last."""
        ids = [one.id for one in self.shape.columns]
        column = column if column in ids else self.shape.sorted_by
        at = ids.index(column)
        known = [row for row in self.rows if row[at] is not None]
        unknown = [row for row in self.rows if row[at] is None]
        known.sort(key=lambda row: _rank(row[at]), reverse=descending)
        return evolve(self, rows=(*known, *unknown), sorted_by=column, descending=descending)

    def searched(self, text: str) -> Table:
        """The rows in which `text` occurs, in whatever case of letters."""
        if not text:
            return self
        wanted = text.casefold()
        texts = {at for at, one in enumerate(self.shape.columns) if one.kind == "text"}
        found = tuple(
            row
            for row in self.rows
            if any(at in texts and wanted in str(cell).casefold() for at, cell in enumerate(row))
        )
        return evolve(self, rows=found, total=len(found))

    def first(self, count: int) -> Table:
        return evolve(self, rows=self.rows[: max(0, count)])


def made(name: Name, rows: Sequence[tuple[Cell, ...]], note: str = "", there_are: int = 0) -> Table:
    """A table in its usual order; of very many rows, or where `there_are` more, only the first are kept, and it says so."""
    total = max(there_are, len(rows))
    every = Table(name, tuple(rows), total, note).ordered("", descending=True)
    if total == len(rows) <= MOST_ROWS:
        return every
    first = every.first(MOST_ROWS)
    kept = f"Only the first {len(first.rows)} of {total} rows are kept."
    return evolve(first, note=f"{note} {kept}".strip())


def _rank(cell: Cell) -> tuple[bool, float, str]:
    return (True, 0.0, cell.casefold()) if isinstance(cell, str) else (False, float(cell or 0), "")
