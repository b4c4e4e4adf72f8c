"""A report as text: aligned columns for terminals, Markdown, CSV.  Names in it are text, whatever they hold."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from eagleray.features.reports.database import shown
from eagleray.features.reports.device import Gpu
from eagleray.features.reports.reports import Report
from eagleray.features.reports.tables import Cell, Column, Table

Format = Literal["markdown", "csv"]

# A name takes no more of a line; CSV and JSON have it whole.
WIDEST = 72

GPU_COLUMNS = (
    Column("gpu", "GPU", "text"),
    Column("name", "Name", "text"),
    Column("kernels", "Kernels", "count"),
    Column("busy_share", "Busy", "share"),
    Column("busy", "Busy time", "ns"),
    Column("idle", "Idle time", "ns"),
    Column("nccl", "NCCL", "ns"),
    Column("nccl_alone", "NCCL alone", "ns"),
)
# Each unit is so many of the one before.
STEP = 1000
_TIMES = ((1e3, "µs"), (1e6, "ms"), (1e9, "s"))
_SIZES = ((1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"))
_MARKS = re.compile(r"([\\`*_{}\[\]<>|#!&~])")
# A spreadsheet takes a cell that begins so for a formula, and runs it; in some languages a `;` begins a cell.
_FORMULA = re.compile("(^|(?<=[;\t\r\n]))(?=[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-])")


def gpu_rows(gpus: Sequence[Gpu]) -> list[tuple[Cell, ...]]:
    return [
        (
            one.id,
            one.name,
            one.kernels,
            one.busy_share,
            one.busy,
            one.idle,
            one.nccl,
            one.nccl_alone,
        )
        for one in gpus
    ]


def plain(report: Report, tables: Sequence[Table]) -> str:
    """For a terminal."""
    lines = [shown(report.path.name), f"  {about(report)}"]
    lines += [f"  ! {warning}" for warning in _warnings(report)]
    if report.summary.gpus:
        lines += ["", "GPUs", *_aligned(GPU_COLUMNS, gpu_rows(report.summary.gpus))]
    for table in tables:
        lines += ["", _heading(table), *_aligned(table.shape.columns, table.rows)]
    return "\n".join(lines) + "\n"


def markdown(report: Report, tables: Sequence[Table]) -> str:
    lines = [f"# {_escaped(shown(report.path.name))}", "", _escaped(about(report))]
    if warnings := _warnings(report):
        lines += ["", "## Warnings", "", *(f"- {_escaped(warning)}" for warning in warnings)]
    if report.summary.gpus:
        lines += ["", "## GPUs", "", *_marked(GPU_COLUMNS, gpu_rows(report.summary.gpus))]
    for table in tables:
        heading = f"## {_escaped(_heading(table))}"
        lines += ["", heading, "", *_marked(table.shape.columns, table.rows)]
    return "\n".join(lines) + "\n"


def table_text(table: Table, form: Format) -> str:
    """Its rows and no more."""
    if form == "csv":
        return comma_separated(table.shape.columns, table.rows)
    return "\n".join(_marked(table.shape.columns, table.rows)) + "\n"


def comma_separated(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> str:
    """Numbers as they are, times in nanoseconds; what a spreadsheet would take for a formula gets a ' before it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([f"{one.id}_ns" if one.kind == "ns" else one.id for one in columns])
    for row in rows:
        writer.writerow([_harmless(cell) for cell in row])
    return out.getvalue()


def about(report: Report) -> str:
    """Where, when, how long, how large, by what."""
    said = report.summary.about
    parts = [
        said.host,
        said.started_utc.replace("T", " ").replace("Z", " UTC"),
        cell_text(said.duration, Column("", "", "ns")) if said.duration else "",
        cell_text(report.size, Column("", "", "bytes")),
        f"nsys {said.nsys_version}" if said.nsys_version else "",
        f"schema {said.schema_version}" if said.schema_version else "",
        f"trace {said.trace}" if said.trace else "",
    ]
    return " · ".join(part for part in parts if part)


def cell_text(cell: Cell, column: Column) -> str:
    """A cell for people: "1.25 ms", "4.10 MB", "93.1 %"."""
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    if column.kind == "share":
        return f"{cell * 100:.1f} %"
    if column.kind == "ns":
        return _scaled(cell, _TIMES, "ns")
    if column.kind == "bytes":
        return _scaled(cell, _SIZES, "B")
    if column.kind == "rate":
        return f"{_scaled(cell, _SIZES, 'B')}/s"
    return str(cell)


def _warnings(report: Report) -> list[str]:
    return [f"{one.message} {one.next_step}".rstrip() for one in report.summary.warnings]


def _scaled(number: float, units: Sequence[tuple[float, str]], least: str) -> str:
    text, unit = f"{number:.0f}", least
    for size, larger in units:
        # Rounding may have led to a whole one of the next unit.
        if abs(float(text)) < STEP:
            break
        text, unit = f"{number / size:.3f}", larger
    return f"{text} {unit}"


def _heading(table: Table) -> str:
    shown = len(table.rows)
    of = f"{shown} of {table.total}" if shown < table.total else f"{table.total}"
    return f"{table.shape.title} ({of}) {table.note}".rstrip()


def _aligned(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    """Names to the left, numbers to the right; the last column is not filled up."""
    lines = [[one.title for one in columns]]
    lines += [[_short(cell_text(*pair)) for pair in zip(row, columns, strict=True)] for row in rows]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    for line in lines:
        cells = (
            cell.ljust(width) if column.kind == "text" else cell.rjust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        )
        yield "  " + "  ".join(cells).rstrip()


def _marked(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    yield "| " + " | ".join(one.title for one in columns) + " |"
    yield "|" + "|".join(" --- " if one.kind == "text" else " ---: " for one in columns) + "|"
    for row in rows:
        cells = (_escaped(cell_text(*pair)) for pair in zip(row, columns, strict=True))
        yield "| " + " | ".join(cells) + " |"


def _short(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", text)


def _harmless(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return _FORMULA.sub("'", cell)
    return "" if cell is None else cell
