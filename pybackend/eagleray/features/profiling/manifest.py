"""The list of what was gathered, `manifest.json` beside the reports: it is only ever there as a whole."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from attrs import asdict, field, frozen

from eagleray.common.atomic_file import replace_text
from eagleray.common.errors import printable
from eagleray.features.profiling.file_names import is_taken

NAME = "manifest.json"
# No file system has a larger file.
_MOST = 2**63
_HASH = re.compile(r"[0-9a-f]{64}")
_TEXTS = ("run", "node", "host", "node_id", "actor_id", "name", "rank", "nsys_version", "problem")


@frozen
class Entry:
    """A whole report as its node describes it; `source` is its name there, `file` that in the folder here."""

    source: str
    size: int
    sha256: str
    run: str = ""
    node: str = ""
    host: str = ""
    node_id: str = ""
    pid: int = 0
    actor_id: str = ""
    class_name: str = ""
    name: str = ""
    rank: str = ""
    gpus: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    nsys_version: str = ""
    started_utc: str = ""
    problem: str = ""
    file: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """One report for good: the same name on another node is another report, and so is other content."""
        return self.node_id or self.host, self.source, self.sha256


@frozen
class Missing:
    """A report that is whole at its node and not here, `why` in a sentence."""

    source: str
    host: str
    size: int
    why: str


@frozen
class Manifest:
    """All reports of a run that are in its folder, and those that should be."""

    run: str
    reports: tuple[Entry, ...] = field(default=())
    missing: tuple[Missing, ...] = field(default=())


def entry_of(source: str, text: bytes) -> Entry | None:
    """The description of the report `source`; None for what is none: it was written by somebody else's machine."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or not is_taken(source):
        return None
    size, hashed, pid = said.get("size"), said.get("sha256"), said.get("pid")
    if not _is_count(size) or not isinstance(hashed, str) or not _HASH.fullmatch(hashed):
        return None
    texts = {key: _text(said.get(key)) for key in _TEXTS}
    return Entry(
        source=source,
        size=size,
        sha256=hashed,
        pid=pid if _is_count(pid) else 0,
        class_name=_text(said.get("class")),
        gpus=_listed(said.get("gpus")),
        options=_listed(said.get("options")),
        started_utc=_text(said.get("started_utc"))[:40],
        **texts,
    )


def read(folder: Path, run: str) -> Manifest:
    """What is in the folder, and nothing of what was missing; nothing at all if there is no list that can be read, or it is another run's."""
    try:
        said = json.loads((folder / NAME).read_text("utf-8"))
        rows = said["reports"] if said["run"] == run else []
        entries = [_again(row) for row in rows if isinstance(row, dict)]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Manifest(run)
    return Manifest(run, tuple(entry for entry in entries if entry is not None))


def write(folder: Path, manifest: Manifest) -> None:
    """Puts the list in place of the one before."""
    said = {
        "run": manifest.run,
        "reports": [_row(entry) for entry in manifest.reports],
        "missing": [asdict(one) for one in manifest.missing],
    }
    replace_text(folder / NAME, json.dumps(said, indent=1))


def _row(entry: Entry) -> dict[str, Any]:
    said = asdict(entry)
    said["class"] = said.pop("class_name")
    return said


def _again(row: Mapping[str, Any]) -> Entry | None:
    entry = entry_of(str(row.get("source")), json.dumps(row).encode())
    file = row.get("file")
    if entry is None or not isinstance(file, str) or not is_taken(file):
        return None
    return Entry(**{**asdict(entry), "gpus": entry.gpus, "options": entry.options, "file": file})


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST


def _text(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)[:20]
    return printable(value, 300) if isinstance(value, str) else ""


def _listed(value: Any) -> tuple[str, ...]:
    """A list of words, of which a mapping is one too: `name=value`."""
    if isinstance(value, Mapping):
        value = [f"{name}={said}" for name, said in value.items()]
    words: Sequence[Any] = value if isinstance(value, list) else []
    return tuple(_text(word) for word in words[:200])
