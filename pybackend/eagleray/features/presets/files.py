"""Text files of the user's checkout: found by the path that a script writes, read with a size limit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

# Scripts, programs and configurations are small; a larger file is something else.
_LARGEST = 2**18
# How many folders above the program are searched for the framework's own files.
_ABOVE = 8


def text_of(file: Path) -> str:
    """The text of a file, "" if it cannot be read, is too large or is not UTF-8."""
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return ""
        return file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError, ValueError):
        return ""


def near(written: str, folders: Iterable[Path]) -> Path | None:
    """The file that a script means by `written`, which may begin with a variable of unknown value."""
    known = re.split(r"[})\"]", written)[-1]
    rest = known.lstrip("/") if known != written else written
    rest = re.sub(r"^\$\w+/", "", rest)
    tried = (folder / rest for folder in roots(folders)) if rest else iter(())
    return next((file for file in tried if _is_file(file)), None)


def roots(folders: Iterable[Path]) -> Iterator[Path]:
    """The folders and those above them, each once."""
    seen: set[Path] = set()
    for folder in folders:
        for root in [folder, *folder.parents][:_ABOVE]:
            if root not in seen:
                seen.add(root)
                yield root


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except (OSError, ValueError):
        return False
