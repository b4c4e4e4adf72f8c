"""A file that is replaced as a whole: a reader sees what was there before, or all that is there now."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace_text(file: Path, text: str) -> None:
    """Puts `text` there for this user alone; raises OSError, and then nothing of it is left behind."""
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
    made = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(text)
        made.replace(file)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
