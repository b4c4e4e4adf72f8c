"""Prints results: JSON for programs, tables for people; messages about them go to standard error."""

from __future__ import annotations

import json
import sys
from typing import Any

from eagleray.common.errors import EaglerayError
from eagleray.features.clusters.model import ClusterProblem


def print_json(value: Any) -> None:
    """Escapes all but ASCII on a terminal: a name from the cluster may contain control sequences."""
    is_utf_8 = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    json.dump(value, sys.stdout, indent=2, ensure_ascii=sys.stdout.isatty() or not is_utf_8)
    print()


def print_table(rows: list[list[str]]) -> None:
    """Columns of text, each as wide as it needs to be."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def duration(seconds: float) -> str:
    """ "1 h 20 min", "9 min"."""
    minutes = max(1, round(seconds / 60))
    hours = f"{minutes // 60} h " if minutes >= 60 else ""
    return f"{hours}{minutes % 60} min left"


def step_now(error: EaglerayError | ClusterProblem) -> str:
    """Returns the next step for a command that ends, which doesn't retry."""
    return error.next_step or ("Try again later." if error.retries else "")


def say(message: str) -> None:
    """Prints a message to standard error."""
    print(message, file=sys.stderr, flush=True)
