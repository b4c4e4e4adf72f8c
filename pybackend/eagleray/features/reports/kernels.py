"""The kernels of a recording by name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen

from eagleray.features.reports.database import Database, whole
from eagleray.features.reports.kernel_tables import NO_SPAN, Span, kernel_tables
from eagleray.features.reports.names import TIMES, Sums, by_name, cells
from eagleray.features.reports.slices import Groups, Slices
from eagleray.features.reports.tables import Table, made

GRAPH = "CUDA graph"
_NCCL = re.compile(r"(void )?nccl", re.IGNORECASE)


@frozen
class Kernels:
    """The sums of all kernels by name; graphs that were recorded as one stand as "CUDA graph".

    `nccl` are the StringIds of kernels of NCCL.
    """

    by_name: dict[str, Sums]
    nccl: frozenset[int] = frozenset()
    span: Span = NO_SPAN


def begun(slices: Slices, checked: bool = False) -> list[Groups]:
    """Begins to sum up what runs on GPUs."""
    sums = (*TIMES, "min(start)", "max(end)")
    return [
        slices.groups(one.name, (), (one.names,), sums, one.where(checked))
        for one in kernel_tables(slices.database)
    ]


def read(database: Database, groups: Sequence[Groups]) -> Kernels:
    """Blocks."""
    rows = [row for one in groups for row in one()]
    if not rows:
        return Kernels({})
    named = [(number or None, *sums[:4]) for number, *sums in rows]
    texts = database.strings({row[0] for row in rows if isinstance(row[0], int)})
    return Kernels(
        by_name(database, named, GRAPH),
        frozenset(number for number, text in texts.items() if _is_nccl(text)),
        Span(
            sum(row[1] for row in rows),
            min(whole(row[5]) for row in rows),
            max(whole(row[6]) for row in rows),
        ),
    )


def table(found: Kernels) -> Table:
    return made("kernels", cells(found.by_name))


def _is_nccl(kernel: str) -> bool:
    return _NCCL.match(kernel) is not None
