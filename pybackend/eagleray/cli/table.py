"""Tables of the terminal: a header, aligned columns, `-` for what is missing; wide, as JSON or by name on request."""

from __future__ import annotations

import argparse
import shutil
import sys
import unicodedata
from collections.abc import Sequence

from attrs import frozen

from eagleray.cli.styles import STATES, Style, styled
from eagleray.common.errors import printable
from eagleray.common.l10n import t

MISSING = "-"
# Longer texts are cut, except in a wide table.
LONGEST = 60
# A narrow terminal cuts no column below this; ids are that long.
_SHORTEST = 12


@frozen
class TableColumn:
    """A column; `wide` ones are only in a wide table, `short` ones only in another.

    `optional` ones are there only if a row has a value.

    `keeps_end`: a narrow terminal cuts its cells at their beginning, as a path with a line needs.

    `states`: its cells are coloured by the state that they begin with.
    """

    title: str
    wide: bool = False
    short: bool = False
    optional: bool = False
    keeps_end: bool = False
    states: bool = False


def add_list_output(parser: argparse.ArgumentParser) -> None:
    """The options of every command that prints a table."""
    parser.add_argument(
        "-o",
        "--output",
        dest="format",
        choices=("wide", "json", "name"),
        default="",
        help=t("Print more columns, JSON, or one ID per line."),
    )
    parser.add_argument("--json", action="store_true", help=t("Print JSON, as -o json does."))
    parser.add_argument("--no-headers", action="store_true", help=t("Leave out the header row."))


def print_rows(
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[str]],
    names: Sequence[str],
    arguments: argparse.Namespace,
) -> None:
    """Prints the rows as the arguments request; `names` are what other commands take."""
    if arguments.format == "name":
        for name in names:
            print(printable(name, 4096))
        return
    for line in table_lines(
        columns,
        rows,
        wide=arguments.format == "wide",
        headers=not arguments.no_headers,
        width=shutil.get_terminal_size().columns if sys.stdout.isatty() else 0,
    ):
        print(line)


def table_lines(
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[str]],
    *,
    wide: bool,
    headers: bool,
    width: int = 0,
) -> list[str]:
    """The lines of a table; none without rows. `width` is the terminal's, 0 without one; a wide table ignores it."""
    if not rows:
        return []
    shown = [
        i
        for i, column in enumerate(columns)
        if not (column.short if wide else column.wide)
        and (not column.optional or any(row[i] for row in rows))
    ]
    longest = 4096 if wide else LONGEST
    cells = [[printable(row[i] or MISSING, longest) for i in shown] for row in rows]
    titles = [columns[i].title for i in shown]
    widths = [
        max(width_of(text) for text in ([titles[at]] if headers else []) + [r[at] for r in cells])
        for at in range(len(shown))
    ]
    if width and not wide:
        widths = _narrowed(widths, width)
        for row in cells:
            for at, i in enumerate(shown):
                row[at] = _cut(row[at], widths[at], columns[i].keeps_end)
    lines = [_line(titles, widths, [Style.HEADING] * len(shown))] if headers else []
    for row in cells:
        styles = [
            STATES.get(text.split()[0]) if columns[i].states and text.split() else None
            for i, text in zip(shown, row, strict=True)
        ]
        lines.append(_line(row, widths, styles))
    return lines


def _narrowed(widths: Sequence[int], width: int) -> list[int]:
    """The widths with the widest columns cut until a line fits."""
    narrowed = list(widths)
    while sum(narrowed) + 2 * (len(narrowed) - 1) > width and max(narrowed) > _SHORTEST:
        narrowed[narrowed.index(max(narrowed))] -= 1
    return narrowed


def _cut(text: str, width: int, keeps_end: bool) -> str:
    if width_of(text) <= width:
        return text
    while width_of(text) >= width:
        text = text[1:] if keeps_end else text[:-1]
    return f"…{text}" if keeps_end else f"{text}…"


def _line(cells: Sequence[str], widths: Sequence[int], styles: Sequence[Style | None]) -> str:
    last = len(cells) - 1
    parts = []
    for at, (text, width, style) in enumerate(zip(cells, widths, styles, strict=True)):
        # No spaces at the end of a line.
        padding = "" if at == last else " " * (width - width_of(text))
        parts.append((styled(text, style) if style else text) + padding)
    return "  ".join(parts)


def width_of(text: str) -> int:
    """The columns that a text takes on a terminal."""
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        for sign in text
    )
