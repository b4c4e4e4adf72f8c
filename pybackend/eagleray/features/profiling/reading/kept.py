"""Summaries that were read already, kept beside their file or, where that cannot be written, in our state folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import tempfile
from pathlib import Path

import cattrs
from attrs import frozen

from eagleray.common import paths
from eagleray.features.profiling.reading.summary import Summary
from eagleray.features.profiling.reading.tables import Cell

log = logging.getLogger(__name__)

# Rises when a summary is made or kept in another way.
FORMAT = 1
LARGEST = 64 * 2**20
# A smaller file is read faster than anybody waits for, so that nothing needs to lie beside it.
SMALLEST = 4 * 2**20
MOST_KEPT = 30

_converter = cattrs.Converter(forbid_extra_keys=True)


@_converter.register_structure_hook
def _cell(value: object, _: type[Cell]) -> Cell:
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise ValueError("no cell")


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
        # Whoever gave us the report may have given us this: it is read as strictly.
        if not place.is_file() or place.stat().st_size > LARGEST:
            return None
        return _converter.structure(json.loads(place.read_text("utf-8")), _Kept)
    except (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        RecursionError,
        cattrs.BaseValidationError,
    ) as error:
        log.info("%s is read anew: %s", place, type(error).__name__)
        return None


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
