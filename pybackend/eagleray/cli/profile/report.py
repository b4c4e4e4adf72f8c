"""`eagleray report`: the tables of an nsys report, as text, Markdown, CSV or JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from eagleray.app import App
from eagleray.cli.arguments import add_json, completed
from eagleray.cli.command_line import did_you_mean
from eagleray.cli.output import print_json
from eagleray.cli.profile.shapes import report_json
from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.profile.reports import texts
from eagleray.profile.reports.model import SHAPES, LoadedReport, ReportTable, TableId
from eagleray.profile.reports.summary import OnProgress

TABLES = ("gpus", "kernels", "nvtx", "gaps", "memcpy", "cuda_api", "osrt", "threads", "nvtx_names")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)
    file = parser.add_argument(
        "file", metavar="FILE", help=t("A .nsys-rep file, or the .sqlite that nsys made of one.")
    )
    completed(file, "files")
    parser.add_argument("--markdown", action="store_true", help=t("Print Markdown."))
    parser.add_argument(
        "--csv",
        metavar="TABLE",
        choices=TABLES,
        default="",
        help=t("Print one table as CSV: {tables}.", tables=", ".join(TABLES)),
    )
    parser.add_argument(
        "--sort",
        metavar="COLUMN",
        default="",
        help=t("Sort by this column, such as total, count, p50 or kernel."),
    )
    parser.add_argument("--ascending", action="store_true", help=t("Sort the smallest first."))
    parser.add_argument(
        "--search", metavar="TEXT", default="", help=t("Print only rows with this text.")
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=_count,
        help=t("Print the first N rows of each table. The default is 10, for CSV all."),
    )


def check(arguments: argparse.Namespace) -> str:
    if sum(map(bool, (arguments.markdown, arguments.csv, arguments.json))) > 1:
        return t("Use only one of --markdown, --csv and --json.")
    return _wrong_column(arguments.sort) if arguments.sort else ""


async def run(app: App, arguments: argparse.Namespace) -> int:
    read = await app.reports.read(arguments.file, _progress())
    if arguments.csv == "gpus":
        print(
            texts.comma_separated(texts.GPU_COLUMNS, texts.gpu_rows(read.summary.gpus)),
            end="",
        )
        return 0
    if arguments.csv:
        table = _table(read, arguments.csv)
        shown = _shown([table], arguments, len(table.rows))
        rows = [row for selected in shown for row in selected.rows]
        print(texts.comma_separated(table.shape.columns, rows), end="")
        return 0
    tables = _shown(read.summary.tables, arguments, 10)
    if arguments.search and not tables:
        print(t("No row has “{text}”.", text=printable(arguments.search, 100)), file=sys.stderr)
    if arguments.json:
        print_json(report_json(read, tables))
    elif arguments.markdown:
        print(texts.markdown(read, tables), end="")
    else:
        print(texts.plain(read, tables), end="")
    return 0


def _table(read: LoadedReport, name: TableId) -> ReportTable:
    tables = (table for table in read.summary.tables if table.name == name)
    return next(tables, ReportTable(name, (), 0))


def _shown(
    tables: Sequence[ReportTable], arguments: argparse.Namespace, usual: int
) -> list[ReportTable]:
    """The tables filtered, sorted and cut by the arguments; a table without the column stays in its usual order.

    A table without a matching row is left out.
    """
    top = usual if arguments.top is None else arguments.top
    searched = (table.searched(arguments.search) for table in tables)
    return [
        item.ordered(arguments.sort, not arguments.ascending).first(top)
        for item in searched
        if item.total or not arguments.search
    ]


def _progress() -> OnProgress:
    """Prints each step once, on a terminal."""
    printed: list[str] = []

    def print_step(text: str, _: int) -> None:
        if sys.stderr.isatty() and text not in printed:
            printed.append(text)
            print(f"{text}…", file=sys.stderr, flush=True)

    return print_step


def _wrong_column(name: str) -> str:
    columns = sorted({column.id for shape in SHAPES.values() for column in shape.columns})
    if name in columns:
        return ""
    hint = did_you_mean(name, columns) or t("Use one of: {columns}.", columns=", ".join(columns))
    return f"{t('Unknown column {column}.', column=f'“{printable(name, 60)}”')} {hint}"


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return number
