"""A report as text: aligned columns for terminals, Markdown, CSV; names in it are escaped."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from eagleray.common.l10n import later, t, translated
from eagleray.profile.reports.database import display_text
from eagleray.profile.reports.model import Cell, Column, GpuUsage, LoadedReport, ReportTable

TextFormat = Literal["markdown", "csv"]

# The width of a name in a terminal; CSV and JSON have the whole name.
WIDEST = 72

GPU_COLUMNS = (
    Column("gpu", later("GPU"), "text"),
    Column("name", later("Name"), "text"),
    Column("kernels", later("Kernels"), "count"),
    Column("busy_share", later("Busy"), "share"),
    Column("busy", later("Busy time"), "ns"),
    Column("idle", later("Idle time"), "ns"),
    Column("nccl", "NCCL", "ns"),
    Column("nccl_alone", later("NCCL alone"), "ns"),
)
# The factor between two units.
STEP = 1000
_TIMES = ((1e3, "µs"), (1e6, "ms"), (1e9, "s"))
_SIZES = ((1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"))
_MARKS = re.compile(r"([\\`*_{}\[\]<>|#!&~])")
# A spreadsheet runs a cell with such a beginning as a formula; in some languages a `;` begins a cell.
_FORMULA = re.compile("(^|(?<=[;\t\r\n]))(?=[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-])")


def gpu_rows(gpus: Sequence[GpuUsage]) -> list[tuple[Cell, ...]]:
    return [
        (
            gpu.id,
            gpu.name,
            gpu.kernels,
            gpu.busy_share,
            gpu.busy_ns,
            gpu.idle_ns,
            gpu.nccl_ns,
            gpu.nccl_alone_ns,
        )
        for gpu in gpus
    ]


def _shown_gpus(report: LoadedReport) -> list[list[Cell]]:
    unknown = t("unknown")
    rows = gpu_rows(report.summary.gpus)
    return [[unknown if cell is None else cell for cell in row] for row in rows]


def plain(report: LoadedReport, tables: Sequence[ReportTable]) -> str:
    """For a terminal."""
    title = title_of(report)
    lines = [title, *(f"  {line}" for line in _below_title(report, title))]
    lines += [f"  ! {warning}" for warning in _warnings(report)]
    if report.summary.gpus:
        lines += ["", t("GPUs"), *_aligned(GPU_COLUMNS, _shown_gpus(report))]
    for table in tables:
        lines += ["", _heading(table), *([f"  {table.hint}"] if table.hint else [])]
        lines += [*_aligned(table.shape.columns, table.rows)]
    return "\n".join(lines) + "\n"


def markdown(report: LoadedReport, tables: Sequence[ReportTable]) -> str:
    title = title_of(report)
    lines = [f"# {_escaped(title)}"]
    for line in _below_title(report, title):
        lines += ["", _escaped(line)]
    if warnings := _warnings(report):
        lines += [
            "",
            f"## {t('Warnings')}",
            "",
            *(f"- {_escaped(warning)}" for warning in warnings),
        ]
    if report.summary.gpus:
        lines += [
            "",
            f"## {t('GPUs')}",
            "",
            *_markdown_rows(GPU_COLUMNS, _shown_gpus(report)),
        ]
    for table in tables:
        heading = f"## {_escaped(_heading(table))}"
        lines += ["", heading, *(["", table.hint] if table.hint else []), ""]
        lines += [*_markdown_rows(table.shape.columns, table.rows)]
    return "\n".join(lines) + "\n"


def table_text(table: ReportTable, form: TextFormat) -> str:
    """The rows of the table, without a heading."""
    if form == "csv":
        return comma_separated(table.shape.columns, table.rows)
    return "\n".join(_markdown_rows(table.shape.columns, table.rows)) + "\n"


def comma_separated(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> str:
    """Plain numbers, times in nanoseconds; a text that a spreadsheet would take for a formula begins with '."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([f"{column.id}_ns" if column.kind == "ns" else column.id for column in columns])
    for row in rows:
        writer.writerow([_without_formula(cell) for cell in row])
    return out.getvalue()


def title_of(report: LoadedReport) -> str:
    """The name of the worker, the same as in views: "policy-0 (rank 0)"; for an unknown worker, the name of the file."""
    worker = report.worker
    name = worker.name or worker.class_name
    if not name:
        return display_text(report.path.name)
    return name if worker.rank is None else t("{name} (rank {rank})", name=name, rank=worker.rank)


def _below_title(report: LoadedReport, title: str) -> list[str]:
    file = display_text(report.path.name)
    return [about(report), *([] if file == title else [file])]


def about(report: LoadedReport) -> str:
    """Host, start, duration, size, nsys version, trace."""
    metadata = report.summary.about
    parts = [
        metadata.host,
        metadata.started_utc.replace("T", " ").replace("Z", " UTC"),
        cell_text(metadata.duration, Column("", "", "ns")) if metadata.duration else "",
        cell_text(report.size, Column("", "", "bytes")),
        f"nsys {metadata.nsys_version}" if metadata.nsys_version else "",
        t("schema {version}", version=metadata.schema_version) if metadata.schema_version else "",
        t("trace {names}", names=metadata.trace) if metadata.trace else "",
    ]
    return " · ".join(part for part in parts if part)


def cell_text(cell: Cell, column: Column) -> str:
    """A cell with its unit: "1.25 ms", "4.10 MB", "93.1 %"."""
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


def _warnings(report: LoadedReport) -> list[str]:
    return [
        f"{warning.message} {warning.next_step}".rstrip() for warning in report.summary.warnings
    ]


def _scaled(number: float, units: Sequence[tuple[float, str]], least: str) -> str:
    text, unit = f"{number:.0f}", least
    for size, larger in units:
        # Rounding may have reached the next unit.
        if abs(float(text)) < STEP:
            break
        text, unit = f"{number / size:.3f}", larger
    return f"{text} {unit}"


def _heading(table: ReportTable) -> str:
    rows = len(table.rows)
    of = str(table.total)
    if rows < table.total:
        of = t("{n} of {total}", n=rows, total=table.total)
    return f"{translated(table.shape.title)} ({of}) {table.note}".rstrip()


def _aligned(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    """Names aligned left, numbers right; lines have no trailing spaces."""
    lines = [[translated(column.title) for column in columns]]
    lines += [[_short(cell_text(*pair)) for pair in zip(row, columns, strict=True)] for row in rows]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    for line in lines:
        cells = (
            cell.ljust(width) if column.kind == "text" else cell.rjust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        )
        yield "  " + "  ".join(cells).rstrip()


def _markdown_rows(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    yield "| " + " | ".join(translated(column.title) for column in columns) + " |"
    yield "|" + "|".join(" --- " if column.kind == "text" else " ---: " for column in columns) + "|"
    for row in rows:
        cells = (_escaped(cell_text(*pair)) for pair in zip(row, columns, strict=True))
        yield "| " + " | ".join(cells) + " |"


def _short(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", text)


def _without_formula(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return _FORMULA.sub("'", cell)
    return "" if cell is None else cell
