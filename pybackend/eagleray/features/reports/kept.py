"""Summaries that were read already, kept beside their file or, where that cannot be written, in our state folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

import cattrs
from attrs import frozen

from eagleray.common import paths
from eagleray.features.reports.database import shown
from eagleray.features.reports.summary import Summary
from eagleray.features.reports.tables import Cell

log = logging.getLogger(__name__)

# Rises when a summary is made or kept in another way.
FORMAT = 2
LARGEST = 64 * 2**20
# A smaller file is read faster than anybody waits for, so that nothing needs to lie beside it.
SMALLEST = 4 * 2**20
MOST_KEPT = 30

# Whoever gave somebody a report may have given this along: it is held to its types, and names are made
# harmless once more.
_converter = cattrs.Converter(forbid_extra_keys=True)


def _number(value: Any, kind: type[Any]) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float) if kind is float else int):
        raise ValueError("no number")
    return value


def _text(value: Any, _: object) -> str:
    if not isinstance(value, str):
        raise ValueError("no text")
    return shown(value)


def _cell(value: Any, _: object) -> Cell:
    return (
        value
        if value is None
        else _text(value, _)
        if isinstance(value, str)
        else _number(value, float)
    )


def _flag(value: Any, _: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("neither true nor false")
    return value


_converter.register_structure_hook(int, _number)
_converter.register_structure_hook(float, _number)
_converter.register_structure_hook(str, _text)
_converter.register_structure_hook(bool, _flag)
_converter.register_structure_hook(Cell, _cell)


@frozen
class _Kept:
    """A summary, and of which state of the file it is."""

    format: int
    size: int
    mtime_ns: int
    trace: str
    summary: Summary


class KeptSummaries:
    """`folder` is where those lie that cannot be beside their file; whatever cannot be read is made anew."""

    def __init__(self, folder: Path, smallest: int = SMALLEST) -> None:
        self._folder = folder
        self._smallest = smallest

    def find(self, database: Path, trace: str) -> Summary | None:
        """Blocks.  The summary of the file as it is now."""
        for place in (_beside(database), self._own(database)):
            if kept := _read(place):
                seen = database.stat()
                same = (kept.size, kept.mtime_ns) == (seen.st_size, seen.st_mtime_ns)
                if same and kept.format == FORMAT and kept.trace == trace:
                    return kept.summary
        return None

    def keep(self, database: Path, trace: str, summary: Summary, seen: os.stat_result) -> None:
        """Blocks.  `seen` is what the file was before it was read."""
        if seen.st_size < self._smallest:
            return
        kept = _Kept(FORMAT, seen.st_size, seen.st_mtime_ns, trace, summary)
        text = json.dumps(_converter.unstructure(kept), separators=(",", ":"))
        try:
            _write(_beside(database), text)
        except OSError:
            with contextlib.suppress(OSError):
                paths.private_folder(self._folder)
                _write(self._own(database), text)
                _forget_oldest(self._folder)

    def _own(self, database: Path) -> Path:
        name = hashlib.sha256(os.fsencode(database.absolute())).hexdigest()[:32]
        return self._folder / f"{name}.summary"


def _beside(database: Path) -> Path:
    return database.with_name(f".{database.name}.eagleray-summary")


def _read(place: Path) -> _Kept | None:
    try:
        if not place.is_file() or place.stat().st_size > LARGEST:
            return None
        said = json.loads(place.read_text("utf-8"), parse_constant=_refuse)
        kept = _converter.structure(said, _Kept)
        for table in kept.summary.tables:
            if any(len(row) != len(table.shape.columns) for row in table.rows):
                raise ValueError("a row is too long or too short")
        return kept
    except (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        cattrs.BaseValidationError,
    ) as error:
        log.info("%s is read anew: %s", place, type(error).__name__)
        return None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _write(place: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=place.name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(text)
        Path(name).replace(place)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _forget_oldest(folder: Path) -> None:
    files = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[MOST_KEPT:]:
        file.unlink(missing_ok=True)
