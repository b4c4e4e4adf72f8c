"""Prints the rows of a Parquet file as JSON lines, in the Python of the user: by pyarrow, or pandas with an engine.

Arguments: the file, and the most bytes to print.  Exit code 3: no library reads Parquet; 4: there are more bytes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module

# This folder has modules of Eagleray, whose names the user's libraries may need for others.
del sys.path[0]
NO_READER, TOO_LARGE = 3, 4


def main() -> int:
    out = sys.stdout
    # The output of modules during their import isn't part of the rows.
    sys.stdout = sys.stderr
    path, most = sys.argv[1], int(sys.argv[2])
    try:
        for text in _lines(path):
            most -= out.write(text)
            if most < 0:
                return TOO_LARGE
    except ImportError:
        return NO_READER
    out.flush()
    return 0


def _lines(path: str) -> Iterator[str]:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        yield str(import_module("pandas").read_parquet(path).to_json(orient="records", lines=True))
        return
    for batch in parquet.ParquetFile(path).iter_batches(batch_size=256):
        for row in batch.to_pylist():
            yield json.dumps(row, default=str) + "\n"


if __name__ == "__main__":
    sys.exit(main())
