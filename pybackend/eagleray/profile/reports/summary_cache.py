"""Caches summaries beside their database or, where that is read-only, in the state folder."""

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
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import shown_language
from eagleray.profile.reports.database import display_text
from eagleray.profile.reports.model import Cell, Summary
from eagleray.remote.injected.outside_files import whole

log = logging.getLogger(__name__)

# Rises when a summary is computed or stored in another way.
FORMAT = 7
LARGEST = 64 * 2**20
# A smaller file is read so fast that no cache file needs to be beside it.
SMALLEST = 4 * 2**20
MOST_FILES = 30

# A stranger who shared a report may have shared this file too: its types are enforced, and names are made harmless again.
_converter = cattrs.Converter(forbid_extra_keys=True)


def _structure_number(value: Any, kind: type[Any]) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float) if kind is float else int):
        raise ValueError("no number")
    return value


def _structure_text(value: Any, _: object) -> str:
    if not isinstance(value, str):
        raise ValueError("no text")
    return display_text(value)


def _structure_cell(value: Any, _: object) -> Cell:
    if value is None:
        return None
    if isinstance(value, str):
        return _structure_text(value, _)
    number: float = _structure_number(value, float)
    return number


def _structure_flag(value: Any, _: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("neither true nor false")
    return value


_converter.register_structure_hook(int, _structure_number)
_converter.register_structure_hook(float, _structure_number)
_converter.register_structure_hook(str, _structure_text)
_converter.register_structure_hook(bool, _structure_flag)
_converter.register_structure_hook(Cell, _structure_cell)


@frozen
class CachedSummary:
    """A summary in a language, and the size and time of the database that it was read from."""

    format: int
    size: int
    mtime_ns: int
    trace: str
    language: str
    summary: Summary


class SummaryCache:
    """`folder` has the summaries that cannot be beside their file; one that cannot be read is computed again."""

    def __init__(self, folder: Path, smallest: int = SMALLEST) -> None:
        self._folder = folder
        self._smallest = smallest

    def find(self, database: Path, trace: str) -> Summary | None:
        """Blocks.  The summary of the file as it is now."""
        for path in (_beside(database), self._path_in_folder(database)):
            if cached := _read(path):
                status = database.stat()
                is_same = (cached.size, cached.mtime_ns) == (status.st_size, status.st_mtime_ns)
                wanted = (FORMAT, trace, shown_language())
                if is_same and (cached.format, cached.trace, cached.language) == wanted:
                    return cached.summary
        return None

    def save(self, database: Path, trace: str, summary: Summary, status: os.stat_result) -> None:
        """Blocks.  `status` is the file's before it was read."""
        if status.st_size < self._smallest:
            return
        cached = CachedSummary(
            FORMAT, status.st_size, status.st_mtime_ns, trace, shown_language(), summary
        )
        text = json.dumps(_converter.unstructure(cached), separators=(",", ":"))
        try:
            _write(_beside(database), text)
        except OSError:
            with contextlib.suppress(OSError, EaglerayError):
                paths.private_folder(self._folder)
                _write(self._path_in_folder(database), text)
                _remove_oldest(self._folder)

    def _path_in_folder(self, database: Path) -> Path:
        name = hashlib.sha256(os.fsencode(database.absolute())).hexdigest()[:32]
        return self._folder / f"{name}.summary"


def _beside(database: Path) -> Path:
    return database.with_name(f".{database.name}.eagleray-summary")


def _read(path: Path) -> CachedSummary | None:
    try:
        # Beside a report that is shared, others may have made it.
        content = json.loads(whole(path, LARGEST), parse_constant=_refuse_constant)
        cached = _converter.structure(content, CachedSummary)
        for table in cached.summary.tables:
            if any(len(row) != len(table.shape.columns) for row in table.rows):
                raise ValueError("a row is too long or too short")
        return cached
    except (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        cattrs.BaseValidationError,
    ) as error:
        log.info("%s is read again: %s", path, type(error).__name__)
        return None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} isn't a number")


def _write(path: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(text)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _remove_oldest(folder: Path) -> None:
    files = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[MOST_FILES:]:
        file.unlink(missing_ok=True)
