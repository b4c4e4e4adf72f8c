"""A debug run in words: what was asked for and what becomes of it, and what of command and environment changes."""

from __future__ import annotations

import difflib

from eagleray.cli import printing
from eagleray.common.errors import printable
from eagleray.features.runs.presets.proposal import OUTCOMES, Proposal


def print_proposal(made: Proposal) -> None:
    """The table, then the difference; nothing where nothing was asked for."""
    if made.title:
        print(printable(made.title, 200))
    rows = sorted(made.changes, key=lambda change: OUTCOMES.index(change.outcome))
    if rows:
        printing.print_table(
            [
                [
                    one.outcome,
                    printable(one.asked, 80),
                    printable(one.where, 200),
                    printable(one.why, 400),
                ]
                for one in rows
            ]
        )
    difference = list(
        difflib.unified_diff(
            made.before.splitlines(),
            made.after.splitlines(),
            "as it is",
            "debug run",
            "",
            "",
            2,
            "",
        )
    )
    if difference:
        print("", *(printable(line, 2000) for line in difference), sep="\n")
