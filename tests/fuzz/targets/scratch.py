"""Files for parsers that read files: one folder in memory where there is one, removed at the end of the process."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

MEMORY = Path("/dev/shm")


@cache
def folder() -> Path:
    made = Path(tempfile.mkdtemp(prefix="er-fuzz-", dir=MEMORY if MEMORY.is_dir() else None))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def written(name: str, content: str | bytes) -> Path:
    """A file of that name below the folder, for this user alone."""
    path = folder() / name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    path.write_bytes(raw)
    path.chmod(0o600)
    return path
