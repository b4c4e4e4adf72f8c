"""A row of the bench's table: what was measured of ours, of the plain tool, and what is aimed at."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Row:
    """`ours` and `peer` are medians in the unit that `name` says; `peer` and `ratio` are None without a plain tool.

    `good` says whether the goal is met; it is shown and never asserted, since machines differ.
    """

    name: str
    ours: float
    peer: float | None
    ratio: float | None
    goal: str
    samples: int
    good: bool


def at_most_times(name: str, ours: Sequence[float], peer: Sequence[float], limit: float) -> Row:
    """The goal is a ratio."""
    a, b = median(ours), median(peer)
    return _row(name, a, b, f"≤ {limit:g} × peer", len(ours), a <= limit * b)


def least_at_most_times(
    name: str, ours: Sequence[float], peer: Sequence[float], limit: float
) -> Row:
    """The goal is a ratio of the best that was seen, which is what noise adds to."""
    a, b = min(ours), min(peer)
    return _row(name, a, b, f"≤ {limit:g} × peer, best", len(ours), a <= limit * b)


def printed(name: str, ours: Sequence[float], peer: Sequence[float]) -> Row:
    """Without a goal: the number is for information."""
    return _row(name, min(ours), min(peer), "known", len(ours), True)


def printed_median(name: str, ours: Sequence[float], peer: Sequence[float]) -> Row:
    """As `printed`, of a number of which the best says too little."""
    return _row(name, median(ours), median(peer), "known, median", len(ours), True)


def at_most_more(name: str, ours: Sequence[float], peer: Sequence[float], limit: float) -> Row:
    """The goal is a difference."""
    a, b = median(ours), median(peer)
    return _row(name, a, b, f"≤ peer + {limit:g}", len(ours), a <= b + limit)


def at_most(
    name: str, ours: Sequence[float], limit: float, peer: Sequence[float] | None = None
) -> Row:
    """The goal is a number; often no plain tool does the same."""
    a, b = median(ours), median(peer) if peer else None
    return _row(name, a, b, f"≤ {limit:g}", len(ours), a <= limit)


def at_least_times(name: str, ours: Sequence[float], peer: Sequence[float], limit: float) -> Row:
    """More is better, and the goal is a ratio."""
    a, b = median(ours), median(peer)
    return _row(name, a, b, f"≥ {limit:g} × peer", len(ours), a >= limit * b)


def _row(name: str, ours: float, peer: float | None, goal: str, samples: int, good: bool) -> Row:
    ratio = round(ours / peer, 3) if peer else None
    return Row(name, round(ours, 3), peer and round(peer, 3), ratio, goal, samples, good)


def table(rows: Sequence[Row]) -> str:
    """The rows as a text for people."""
    cells = [["", "ours", "peer", "ratio", "goal", "samples", ""]]
    for row in rows:
        numbers = [_said(row.ours), _said(row.peer), _said(row.ratio)]
        verdict = "" if row.good else "missed"
        cells.append([row.name, *numbers, row.goal, str(row.samples), verdict])
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    padded = [
        [cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in cells
    ]
    return "\n".join("  ".join(line).rstrip() for line in padded)


def _said(number: float | None) -> str:
    return "–" if number is None else f"{number:g}"


def write(rows: Sequence[Row], file: Path) -> None:
    """The rows as JSON: an array of {name, ours, peer, ratio, goal, samples}."""
    kept = [{k: v for k, v in asdict(row).items() if k != "good"} for row in rows]
    file.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n")
