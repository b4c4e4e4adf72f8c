"""What is written beside a report of how it came to be: by its node, or in the list of those who gathered it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from eagleray.features.profiling.file_names import REPORT
from eagleray.features.profiling.manifest import NAME
from eagleray.features.reports.database import shown

# A row of a list has some kilobytes, and there may be thousands.
_LARGEST = 32 * 2**20
_VERSION = re.compile(r"\d{1,6}(\.\d{1,6}){1,5}")


@frozen
class Note:
    """`trace` is what nsys was asked to record, `version` the nsys that did; "" where nothing is said."""

    trace: str = ""
    version: str = ""


def beside(file: Path) -> Note:
    """Blocks.  Of a report, or of the database that was made of it; whoever gave it away may have written that."""
    said = _read(file.with_name(file.name + ".json")) or _row(file)
    options, version = said.get("options"), said.get("nsys_version")
    return Note(
        _trace(options) if isinstance(options, list) else "",
        version if isinstance(version, str) and _VERSION.fullmatch(version) else "",
    )


def _row(file: Path) -> Mapping[str, Any]:
    rows = _read(file.with_name(NAME)).get("reports")
    names = (file.name, file.stem + REPORT)
    known = (row for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()
    return next((row for row in known if row.get("file") in names), {})


def _read(place: Path) -> Mapping[str, Any]:
    try:
        if place.stat().st_size > _LARGEST:
            return {}
        said = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _trace(options: list[object]) -> str:
    words = [word for word in options if isinstance(word, str)]
    for at, word in enumerate(words):
        if word.startswith("--trace="):
            return shown(word.removeprefix("--trace="))
        if word in ("-t", "--trace") and at + 1 < len(words):
            return shown(words[at + 1])
    return ""
