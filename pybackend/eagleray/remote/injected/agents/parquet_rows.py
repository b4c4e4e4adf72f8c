"""Reads rows of a Parquet file with what the user's interpreter has for that: pyarrow, or pandas with an engine."""

from __future__ import annotations

import importlib
import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def read_rows(path: str, first: int, count: int) -> dict[str, Any]:
    """An event with the rows, counted from 0, and the number of all; or with the reason why there are none."""
    try:
        rows, total = _read(path, first, count)
        plain = json.loads(json.dumps(rows, default=_plain))
    except ImportError:
        return {"event": "rows", "error": "missing"}
    except Exception as error:
        return {"event": "rows", "error": "failed", "reason": f"{type(error).__name__}: {error}"}
    return {"event": "rows", "rows": plain, "total": total}


def _read(path: str, first: int, count: int) -> tuple[list[dict[str, Any]], int]:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        return _with_pandas(path, first, count)
    opened = parquet.ParquetFile(path)
    rows: list[dict[str, Any]] = []
    position = 0
    for batch in opened.iter_batches(batch_size=1024):
        start = max(0, first - position)
        if start < batch.num_rows:
            rows += batch.slice(start, count - len(rows)).to_pylist()
        position += batch.num_rows
        if len(rows) >= count:
            break
    return rows, opened.metadata.num_rows


def _with_pandas(path: str, first: int, count: int) -> tuple[list[dict[str, Any]], int]:
    pandas = importlib.import_module("pandas")
    table = pandas.read_parquet(path)
    return table.iloc[first : first + count].to_dict("records"), len(table)


def _plain(value: Any) -> Any:
    """Nested columns are arrays of numpy in pandas; dates and bytes become text."""
    to_list = getattr(value, "tolist", None)
    return str(value) if to_list is None else to_list()
