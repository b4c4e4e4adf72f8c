"""`eagleray report`: what nsys has recorded, as tables, Markdown, CSV or JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from eagleray.app import App
from eagleray.cli import printing
from eagleray.common.errors import printable
from eagleray.features.reports import texts
from eagleray.features.reports.handlers import wire_report, wire_table
from eagleray.features.reports.reports import Report
from eagleray.features.reports.summary import Say
from eagleray.features.reports.tables import Name, Table


async def report(parts: App, asked: argparse.Namespace) -> int:
    read = await parts.reports.read(asked.file, _teller())
    if asked.csv == "gpus":
        print(
            texts.comma_separated(texts.GPU_COLUMNS, texts.gpu_rows(read.summary.gpus)),
            end="",
        )
        return 0
    if asked.csv:
        table = _table(read, asked.csv)
        shown = _shown([table], asked, len(table.rows))
        rows = [row for one in shown for row in one.rows]
        print(texts.comma_separated(table.shape.columns, rows), end="")
        return 0
    tables = _shown(read.summary.tables, asked, 10)
    if asked.search and not tables:
        print(f"No row has “{printable(asked.search, 100)}”.", file=sys.stderr)
    if asked.json:
        plain = printing.plain(wire_report(read))
        plain["tables"] = [printing.plain(wire_table(one, len(one.rows))) for one in tables]
        printing.print_json(plain)
    elif asked.markdown:
        print(texts.markdown(read, tables), end="")
    else:
        print(texts.plain(read, tables), end="")
    return 0


def _table(read: Report, name: Name) -> Table:
    found = (one for one in read.summary.tables if one.name == name)
    return next(found, Table(name, (), 0))


def _shown(tables: Sequence[Table], asked: argparse.Namespace, usual: int) -> list[Table]:
    """Searched, in order and cut as asked; a table without the column stays in its usual order.

    One in which a search finds nothing is left out.
    """
    top = usual if asked.top is None else asked.top
    found = (one.searched(asked.search) for one in tables)
    return [
        one.ordered(asked.sort, not asked.ascending).first(top)
        for one in found
        if one.total or not asked.search
    ]


def _teller() -> Say:
    """Says each step once, to somebody who waits at a terminal."""
    said: list[str] = []

    def tell(text: str, _: int) -> None:
        if sys.stderr.isatty() and text not in said:
            said.append(text)
            print(f"{text}…", file=sys.stderr, flush=True)

    return tell
