"""The list of collected reports, `manifest.json` beside them: written atomically, read without trust."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from attrs import asdict, field, frozen

from eagleray.common.atomic_file import replace_text
from eagleray.common.errors import printable
from eagleray.profile.recordings.file_names import is_accepted
from eagleray.remote.injected.outside_files import whole

NAME = "manifest.json"
# No file system has a larger file.
_LARGEST = 2**63
_LARGEST_FILE = 64 * 2**20
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TEXTS = ("run", "node", "host", "node_id", "actor_id", "name", "rank", "nsys_version", "problem")

# Identifies a report: node, name and hash.
ReportKey = tuple[str, str, str]


@frozen
class ReportEntry:
    """A complete report as its node describes it: `source` is its name on the node, `file` its local name."""

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
    def key(self) -> ReportKey:
        """The same name on another node is another report, and so is other content."""
        return self.node_id or self.host, self.source, self.sha256


@frozen
class MissingReport:
    """A report that is complete on its node and was not collected; `why` is a sentence."""

    source: str
    host: str
    size: int
    why: str


@frozen
class Manifest:
    """The reports of a run that are in its folder, and those that should be."""

    run: str
    reports: tuple[ReportEntry, ...] = field(default=())
    missing: tuple[MissingReport, ...] = field(default=())


def parse_entry(source: str, text: bytes) -> ReportEntry | None:
    """The description of the report `source`, which another machine wrote; None if it is not valid."""
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or not is_accepted(source):
        return None
    size, sha256, pid = row.get("size"), row.get("sha256"), row.get("pid")
    if not _is_count(size) or not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        return None
    texts = {key: _text(row.get(key)) for key in _TEXTS}
    return ReportEntry(
        source=source,
        size=size,
        sha256=sha256,
        pid=pid if _is_count(pid) else 0,
        class_name=_text(row.get("class")),
        gpus=_texts(row.get("gpus")),
        options=_texts(row.get("options")),
        started_utc=_text(row.get("started_utc"))[:40],
        **texts,
    )


def rank_number(text: str) -> int | None:
    """The rank that a node has written down; None for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else None


def read(folder: Path, run: str) -> Manifest:
    """The reports that the folder's manifest lists; an empty manifest if it can't be read or is of another run."""
    try:
        content = json.loads(whole(folder / NAME, _LARGEST_FILE))
        rows = content["reports"] if content["run"] == run else []
        entries = [_parse_row(row) for row in rows if isinstance(row, dict)]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Manifest(run)
    return Manifest(run, tuple(entry for entry in entries if entry is not None))


def write(folder: Path, manifest: Manifest) -> None:
    """Replaces the folder's manifest."""
    content = {
        "run": manifest.run,
        "reports": [_row(entry) for entry in manifest.reports],
        "missing": [asdict(report) for report in manifest.missing],
    }
    replace_text(folder / NAME, json.dumps(content, indent=1))


def _row(entry: ReportEntry) -> dict[str, Any]:
    row = asdict(entry)
    row["class"] = row.pop("class_name")
    return row


def _parse_row(row: Mapping[str, Any]) -> ReportEntry | None:
    entry = parse_entry(str(row.get("source")), json.dumps(row).encode())
    file = row.get("file")
    if entry is None or not isinstance(file, str) or not is_accepted(file):
        return None
    return ReportEntry(
        **{**asdict(entry), "gpus": entry.gpus, "options": entry.options, "file": file}
    )


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST


def _text(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)[:20]
    return printable(value, 300) if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    """A list of texts; a mapping becomes `name=value` each."""
    if isinstance(value, Mapping):
        value = [f"{name}={item}" for name, item in value.items()]
    items: Sequence[Any] = value if isinstance(value, list) else []
    return tuple(_text(item) for item in items[:200])
