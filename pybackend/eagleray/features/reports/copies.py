"""What was copied between memories, and what was set in them, by the kind of it."""

from __future__ import annotations

from collections.abc import Sequence

from eagleray.features.reports.database import Database, whole
from eagleray.features.reports.slices import Groups, Slices
from eagleray.features.reports.tables import Cell, Table, made

COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
SETS = "CUPTI_ACTIVITY_KIND_MEMSET"
_SUMS = ("count(*)", "total(bytes)", "total(end - start)", "max(end - start)")
_SPAN = "typeof(start) = 'integer' AND typeof(end) = 'integer' AND end >= start"
# Where the database does not say the names itself, as ENUM_CUDA_MEMCPY_OPER does.
_KINDS: dict[object, str] = {
    0: "Unknown", 1: "Host-to-Device", 2: "Device-to-Host", 3: "Host-to-Array",
    4: "Array-to-Host", 5: "Array-to-Array", 6: "Array-to-Device", 7: "Device-to-Array",
    8: "Device-to-Device", 9: "Host-to-Host", 10: "Peer-to-Peer",
}  # fmt: skip


def begun(slices: Slices) -> tuple[Groups, Groups]:
    """Begins to sum up what was copied, and what was set."""
    columns = ("start", "end", "bytes")
    copied = slices.groups(COPIES, (*columns, "copyKind"), ("copyKind",), _SUMS, _SPAN)
    return copied, slices.groups(SETS, columns, ("0",), _SUMS, _SPAN)


def read(database: Database, copied: Groups, memory_set: Groups) -> Table:
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
