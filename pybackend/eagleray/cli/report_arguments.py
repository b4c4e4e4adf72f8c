"""The arguments of `eagleray report`."""

from __future__ import annotations

import argparse

TABLES = ("gpus", "kernels", "nvtx", "gaps", "memcpy", "cuda_api", "osrt", "threads")


def add_report(report: argparse.ArgumentParser) -> None:
    report.add_argument(
        "file", metavar="FILE", help="a .nsys-rep, or the .sqlite that nsys made of one"
    )
    report.add_argument("--markdown", action="store_true", help="print Markdown")
    report.add_argument(
        "--csv",
        metavar="TABLE",
        choices=TABLES,
        default="",
        help=f"print one of {', '.join(TABLES)}",
    )
    report.add_argument(
        "--sort",
        metavar="COLUMN",
        default="",
        help="by this column: total, count, p50, max, kernel, range…",
    )
    report.add_argument("--ascending", action="store_true", help="the smallest first")
    report.add_argument("--search", metavar="TEXT", default="", help="only rows with this text")
    report.add_argument(
        "--top", metavar="N", type=_count, help="so many rows of each table (10; of CSV all)"
    )


def wrong(asked: argparse.Namespace) -> str:
    """What argparse cannot say about the arguments."""
    if sum(map(bool, (asked.markdown, asked.csv, asked.json))) > 1:
        return "choose one of --markdown, --csv and --json"
    return _wrong_column(asked.sort) if asked.sort else ""


def _wrong_column(name: str) -> str:
    # Other commands have no need of tables.
    from eagleray.features.reports.tables import SHAPES

    known = sorted({column.id for shape in SHAPES.values() for column in shape.columns})
    if name in known:
        return ""
    return f"no table has a column {name}; there are {', '.join(known)}"


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return number
