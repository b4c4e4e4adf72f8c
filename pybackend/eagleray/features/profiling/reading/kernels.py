"""The kernels of a recording by name, and what was copied between memories."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from eagleray.features.profiling.reading.database import Database, whole
from eagleray.features.profiling.reading.gpu import NO_SPAN, Span, is_nccl, sources
from eagleray.features.profiling.reading.names import TIMES, Sums, by_name, cells
from eagleray.features.profiling.reading.slices import Groups, Slices
from eagleray.features.profiling.reading.tables import Cell, Table, made

COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
SETS = "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPH = "CUDA graph"
_SUMS = ("count(*)", "total(bytes)", "total(end - start)", "max(end - start)")
_SPAN = "typeof(start) = 'integer' AND typeof(end) = 'integer' AND end >= start"
# Where the database does not say the names itself, as ENUM_CUDA_MEMCPY_OPER does.
_KINDS: dict[object, str] = {
    0: "Unknown", 1: "Host-to-Device", 2: "Device-to-Host", 3: "Host-to-Array",
    4: "Array-to-Host", 5: "Array-to-Array", 6: "Array-to-Device", 7: "Device-to-Array",
    8: "Device-to-Device", 9: "Host-to-Host", 10: "Peer-to-Peer",
}  # fmt: skip


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
        slices.groups(one.table, (), (one.name,), sums, one.where(checked))
        for one in sources(slices.database)
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
        frozenset(number for number, text in texts.items() if is_nccl(text)),
        Span(
            sum(row[1] for row in rows),
            min(whole(row[5]) for row in rows),
            max(whole(row[6]) for row in rows),
        ),
    )


def table(found: Kernels) -> Table:
    return made("kernels", cells(found.by_name))


def copies_begun(slices: Slices) -> tuple[Groups, Groups]:
    """Begins to sum up what was copied, and what was set."""
    columns = ("start", "end", "bytes")
    copied = slices.groups(COPIES, (*columns, "copyKind"), ("copyKind",), _SUMS, _SPAN)
    return copied, slices.groups(SETS, columns, ("0",), _SUMS, _SPAN)


def copies(database: Database, copied: Groups, memory_set: Groups) -> Table:
    """Blocks."""
    kinds = _kinds(database)
    found: dict[str, list[int]] = {}
    for kind, *sums in copied():
        _add(found, kinds.get(kind, f"Kind {whole(kind)}"), sums)
    for _, *sums in memory_set():
        _add(found, "Memset", sums)
    return made("memcpy", [_row(name, *sums) for name, sums in found.items()])


def _add(found: dict[str, list[int]], name: str, sums: Sequence[object]) -> None:
    count, moved, total, most = map(whole, sums)
    before = found.get(name, [0, 0, 0, 0])
    found[name] = [before[0] + count, before[1] + moved, before[2] + total, max(before[3], most)]


def _row(name: str, count: int, moved: int, total: int, most: int) -> tuple[Cell, ...]:
    return (name, count, moved, total, round(moved * 1e9 / total) if total else None, most)


def _kinds(database: Database) -> dict[object, str]:
    if not database.has("ENUM_CUDA_MEMCPY_OPER", "id", "label"):
        return dict(_KINDS)
    said = database.rows("SELECT id, substr(label, 1, 40) FROM ENUM_CUDA_MEMCPY_OPER")
    return {**_KINDS, **{key: str(label) for key, label in said if label}}
