"""Prints the proposal of a debug run: where its workers stop, its changes, the difference, the composed configuration."""

from __future__ import annotations

import difflib
import shutil
import sys
import textwrap
from collections.abc import Iterator

from eagleray.common.errors import printable
from eagleray.common.l10n import later, t, translated
from eagleray.runs.model import RunPlan
from eagleray.runs.presets.composed_config import Composed, error_of, shown_values
from eagleray.runs.presets.model import DebugRunProposal
from eagleray.runs.presets.proposal_text import WIDEST, lines_of

_NARROWEST = 60
_TITLES = (later("as it is"), later("debug run"))


def print_proposal(made: DebugRunProposal, details: bool = False) -> None:
    """Prints nothing if nothing was asked for."""
    columns = _columns()
    shown = _parts(made, columns, details)
    for part in shown:
        if part:
            print("", *part, sep="\n")
    if shown != _parts(made, columns, True):
        print(f"\n{t('--details shows shortened lines and values in full.')}")


def _parts(made: DebugRunProposal, columns: int, details: bool) -> tuple[list[str], list[str]]:
    return lines_of(made, columns, details), list(_diff(made, columns, details))


def _columns() -> int:
    """Returns the columns of the terminal, at most 100; 100 where the output goes to a file or a pipe."""
    if not sys.stdout.isatty():
        return WIDEST
    return max(_NARROWEST, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns))


def _diff(made: DebugRunProposal, columns: int, details: bool) -> Iterator[str]:
    """Changed lines in full, wrapped; the lines around them are shortened."""
    texts = (made.before.splitlines(), made.after.splitlines())
    titles = (translated(_TITLES[0]), translated(_TITLES[1]))
    for line in difflib.unified_diff(*texts, *titles, "", "", 2, ""):
        shown = printable(line, 8000)
        if len(shown) <= columns:
            yield shown
        elif line.startswith(" ") and not details:
            yield f"{shown[: columns - 1]}…"
        else:
            yield from _wrapped(shown, columns)


def _wrapped(line: str, columns: int) -> list[str]:
    """A line of the difference whose continuation lines have its sign and a deeper indent."""
    sign, text = line[:1], line[1:]
    indent = sign + text[: len(text) - len(text.lstrip())]
    return textwrap.wrap(
        text.lstrip(),
        columns,
        initial_indent=indent,
        subsequent_indent=f"{sign}      ",
        break_on_hyphens=False,
    )


def stop_lines(plan: RunPlan) -> list[str]:
    """Where the workers of a planned run stop, one line each; none for a plan without breakpoints."""
    lines = []
    for breakpoint_ in plan.breakpoints:
        for line in breakpoint_.lines:
            where = f"{breakpoint_.path}:{line.line}"
            lines.append(
                t("breakpoint {where} if {condition}", where=where, condition=line.condition)
                if line.condition
                else t("breakpoint {where}", where=where)
            )
    if plan.workers:
        lines.append(t("workers {names}", names=", ".join(plan.workers)))
    if plan.ranks is not None:
        lines.append(t("ranks {ranks}", ranks=", ".join(map(str, plan.ranks))))
    if plan.post_mortem:
        lines.append(t("failing workers pause ({option})", option="--post-mortem"))
    if plan.children:
        lines.append(t("child processes pause too ({option})", option="--children"))
    return [printable(text, 400) for text in lines]


def print_composed(made: Composed) -> bool:
    """Prints each key with its value, or the error; False after an error."""
    if error := error_of(made):
        print(error, file=sys.stderr)
        return False
    print(f"\n{t('Composed configuration:')}")
    for key, value in shown_values(made).items():
        print(f"  {key}: {value}")
    return True
