"""Files of our home that a newer version of Eagleray may have written: what this one can't read, it doesn't replace."""

from __future__ import annotations

import json
from pathlib import Path

from eagleray.common.errors import newer_file


def check_replaceable(file: Path, version: int) -> None:
    """Raises `newer-file` if the file says that it has a newer format.

    What can't be read at all is no loss: a power failure has left it, or an editor.
    """
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return
    written = said.get("version") if isinstance(said, dict) else None
    if isinstance(written, int) and written > version:
        raise newer_file(str(file))
