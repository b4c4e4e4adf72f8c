"""The names of one column of StringIds, and sums over calls and kernels that bear the same name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import define

from eagleray.features.reports.database import Database, shown, whole
from eagleray.features.reports.tables import Cell

# What is summed up of things with one name, in the order of `Sums.add`.
TIMES = ("count(*)", "total(end - start)", "min(end - start)", "max(end - start)")


@define
class Sums:
    """Of things with one name: how many, and their times."""

    count: int = 0
    total: int = 0
    least: int | None = None
    most: int = 0

    def add(self, count: object, total: object, least: object, most: object) -> None:
        self.count += whole(count)
        self.total += whole(total)
        low = whole(least)
        self.least = low if self.least is None else min(self.least, low)
        self.most = max(self.most, whole(most))


def by_name(database: Database, rows: Iterable[Sequence[Any]], unnamed: str) -> dict[str, Sums]:
    """Rows of (StringIds number, count, total, min, max); one name may have several numbers."""
    every = list(rows)
    names = database.strings({key for key, *_ in every if isinstance(key, int)})
    found: dict[str, Sums] = {}
    for key, *sums in every:
        name = names.get(key, "") or (f"{unnamed} {shown(key)}" if key is not None else unnamed)
        found.setdefault(name, Sums()).add(*sums)
    return found


def cells(found: dict[str, Sums]) -> list[tuple[Cell, ...]]:
    """Rows of a table: name, count, total, share, average, min, max."""
    every = sum(one.total for one in found.values())
    return [
        (
            name,
            one.count,
            one.total,
            one.total / every if every else 0.0,
            one.total // one.count if one.count else 0,
            one.least,
            one.most,
        )
        for name, one in found.items()
    ]
