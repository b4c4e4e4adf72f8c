"""Memory copies and memory sets of a recording, by kind."""

from __future__ import annotations

from collections.abc import Sequence

from eagleray.features.reports.aggregates import Groups, ParallelReader
from eagleray.features.reports.database import Database, to_int
from eagleray.features.reports.model import Cell, ReportTable, make_table

COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
SETS = "CUPTI_ACTIVITY_KIND_MEMSET"
_SUMS = ("count(*)", "total(bytes)", "total(end - start)", "max(end - start)")
_SPAN = "typeof(start) = 'integer' AND typeof(end) = 'integer' AND end >= start"
# The names where the database lacks them, as in ENUM_CUDA_MEMCPY_OPER.
_KINDS: dict[object, str] = {
    0: "Unknown", 1: "Host-to-Device", 2: "Device-to-Host", 3: "Host-to-Array",
    4: "Array-to-Host", 5: "Array-to-Array", 6: "Array-to-Device", 7: "Device-to-Array",
    8: "Device-to-Device", 9: "Host-to-Host", 10: "Peer-to-Peer",
}  # fmt: skip


def begin(reader: ParallelReader) -> tuple[Groups, Groups]:
    """Begins to sum up copies and sets."""
    columns = ("start", "end", "bytes")
    copies = reader.groups(COPIES, (*columns, "copyKind"), ("copyKind",), _SUMS, _SPAN)
    return copies, reader.groups(SETS, columns, ("0",), _SUMS, _SPAN)


def read(database: Database, copies: Groups, sets: Groups) -> ReportTable:
    """Blocks."""
    kinds = _kinds(database)
    by_name: dict[str, list[int]] = {}
    for kind, *sums in copies():
        _add(by_name, kinds.get(kind, f"Kind {to_int(kind)}"), sums)
    for _, *sums in sets():
        _add(by_name, "Memset", sums)
    return make_table("memcpy", [_row(name, *sums) for name, sums in by_name.items()])


def _add(by_name: dict[str, list[int]], name: str, sums: Sequence[object]) -> None:
    count, moved, total, longest = map(to_int, sums)
    before = by_name.get(name, [0, 0, 0, 0])
    longest = max(before[3], longest)
    by_name[name] = [before[0] + count, before[1] + moved, before[2] + total, longest]


def _row(name: str, count: int, moved: int, total: int, longest: int) -> tuple[Cell, ...]:
    return (name, count, moved, total, round(moved * 1e9 / total) if total else None, longest)


def _kinds(database: Database) -> dict[object, str]:
    if not database.has("ENUM_CUDA_MEMCPY_OPER", "id", "label"):
        return dict(_KINDS)
    rows = database.rows("SELECT id, substr(label, 1, 40) FROM ENUM_CUDA_MEMCPY_OPER")
    return {**_KINDS, **{key: str(label) for key, label in rows if label}}
