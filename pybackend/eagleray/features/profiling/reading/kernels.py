"""The kernels of a recording by name, and what was copied between memories."""

from __future__ import annotations

from collections.abc import Sequence

from eagleray.features.profiling.reading.database import Database, whole
from eagleray.features.profiling.reading.gpu import intervals
from eagleray.features.profiling.reading.names import Sums, by_name, cells
from eagleray.features.profiling.reading.tables import Cell, Table, made

COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
SETS = "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPH = "CUDA graph"
_SPAN = "typeof(start) = 'integer' AND typeof(end) = 'integer' AND end >= start"
# Where the database does not say the names itself, as ENUM_CUDA_MEMCPY_OPER does.
_KINDS: dict[object, str] = {
    0: "Unknown", 1: "Host-to-Device", 2: "Device-to-Host", 3: "Host-to-Array",
    4: "Array-to-Host", 5: "Array-to-Array", 6: "Array-to-Device", 7: "Device-to-Array",
    8: "Device-to-Device", 9: "Host-to-Host", 10: "Peer-to-Peer",
}  # fmt: skip


def top(database: Database, checked: bool) -> dict[str, Sums]:
    """Blocks.  The kernels by name; graphs that were recorded as one stand as "CUDA graph"."""
    source = intervals(database, checked)
    if not source:
        return {}
    sql = (
        "SELECT nullif(name, 0), count(*), total(end - start), min(end - start), max(end - start)"
        f" FROM ({source}) GROUP BY name"
    )
    return by_name(database, database.rows(sql), GRAPH)


def table(found: dict[str, Sums]) -> Table:
    return made("kernels", cells(found))


def copies(database: Database) -> Table:
    """Blocks."""
    rows: list[tuple[Cell, ...]] = []
    if database.has(COPIES, "start", "end", "bytes", "copyKind"):
        kinds = _kinds(database)
        sql = f"SELECT copyKind, {_SUMS} FROM {COPIES} WHERE {_SPAN} GROUP BY 1"
        for kind, *sums in database.rows(sql):
            rows.append(_row(kinds.get(kind, f"Kind {whole(kind)}"), sums))
    if database.has(SETS, "start", "end", "bytes"):
        sql = f"SELECT {_SUMS} FROM {SETS} WHERE {_SPAN}"
        rows += [_row("Memset", sums) for sums in database.rows(sql) if sums[0]]
    return made("memcpy", rows)


_SUMS = "count(*), total(bytes), total(end - start), max(end - start)"


def _row(name: str, sums: Sequence[object]) -> tuple[Cell, ...]:
    count, moved, total, most = (whole(one) for one in sums)
    return (name, count, moved, total, round(moved * 1e9 / total) if total else None, most)


def _kinds(database: Database) -> dict[object, str]:
    if not database.has("ENUM_CUDA_MEMCPY_OPER", "id", "label"):
        return dict(_KINDS)
    said = database.rows("SELECT id, substr(label, 1, 40) FROM ENUM_CUDA_MEMCPY_OPER")
    return {**_KINDS, **{key: str(label) for key, label in said if label}}
