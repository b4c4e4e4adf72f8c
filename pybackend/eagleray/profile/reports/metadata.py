"""Reads where, when and by which nsys a report was recorded: from its database, and from the note beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from attrs import field, frozen

from eagleray.profile.recordings.file_names import REPORT
from eagleray.profile.recordings.manifest import NAME, rank_number
from eagleray.profile.reports.database import META_TABLES, Database, display_text, to_int
from eagleray.profile.reports.model import RecordedWorker, ReportMetadata
from eagleray.remote.injected.outside_files import whole

# A row of a manifest has some kilobytes, and there may be thousands.
_LARGEST_NOTE = 32 * 2**20
_VERSION = re.compile(r"\d{1,6}(\.\d{1,6}){1,5}")


@frozen
class ReportNote:
    """Notes of the node or the manifest about a report: the request to nsys, its version, and of which worker.

    Texts are "" if unknown.
    """

    trace: str = ""
    version: str = ""
    worker: RecordedWorker = field(factory=RecordedWorker)


def read_note(file: Path) -> ReportNote:
    """Blocks.  The note beside a report, or beside the database that was made of it; a stranger may have written it."""
    note = _read_json(file.with_name(file.name + ".json")) or _manifest_row(file)
    options, version = note.get("options"), note.get("nsys_version")
    return ReportNote(
        _trace(options) if isinstance(options, list) else "",
        version if isinstance(version, str) and _VERSION.fullmatch(version) else "",
        _worker(note),
    )


def _worker(note: Mapping[str, Any]) -> RecordedWorker:
    name, class_name, host, rank = (note.get(key) for key in ("name", "class", "host", "rank"))
    return RecordedWorker(
        _short_text(name),
        _short_text(class_name),
        _short_text(host),
        rank_number(rank if isinstance(rank, str) else ""),
    )


def _short_text(value: object) -> str:
    return display_text(value[:300]) if isinstance(value, str) else ""


def _manifest_row(file: Path) -> Mapping[str, Any]:
    rows = _read_json(file.with_name(NAME)).get("reports")
    names = (file.name, file.stem + REPORT)
    valid = (row for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()
    return next((row for row in valid if row.get("file") in names), {})


def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(whole(path, _LARGEST_NOTE))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _trace(options: list[object]) -> str:
    texts = [option for option in options if isinstance(option, str)]
    for at, option in enumerate(texts):
        if option.startswith("--trace="):
            return display_text(option.removeprefix("--trace="))
        if option in ("-t", "--trace") and at + 1 < len(texts):
            return display_text(texts[at + 1])
    return ""


def read_metadata(database: Database, trace: str) -> ReportMetadata:
    """Blocks."""
    export = _export_metadata(database)
    return ReportMetadata(
        host=_hostname(database),
        started_utc=_utc(
            _number(database, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs", "max(utcEpochNs)")
        ),
        duration=_number(database, "ANALYSIS_DETAILS", "duration", "max(duration)"),
        nsys_version=export.get("EXPORT_PRODUCT_VERSION", ""),
        schema_version=export.get("EXPORT_SCHEMA_VERSION", ""),
        trace=trace,
        gpus=_number(database, "TARGET_INFO_GPU", "id", "count(*)"),
        messages=_messages(database),
    )


def _export_metadata(database: Database) -> dict[str, str]:
    for table in META_TABLES:
        if database.has(table, "name", "value"):
            sql = f"SELECT name, substr(value, 1, 100) FROM {table} LIMIT 500"
            return {str(name): display_text(value) for name, value in database.rows(sql)}
    return {}


def _hostname(database: Database) -> str:
    table = "TARGET_INFO_SYSTEM_ENV"
    if not database.has(table, "name", "value"):
        return ""
    sql = f"SELECT substr(value, 1, 300) FROM {table} WHERE name = 'Hostname' LIMIT 1"
    return display_text(next(database.rows(sql), (None,))[0])


def _number(database: Database, table: str, column: str, expression: str) -> int:
    if not database.has(table, column):
        return 0
    return to_int(next(database.rows(f"SELECT {expression} FROM {table}"), (0,))[0])


def _utc(nanoseconds: int) -> str:
    try:
        began = datetime.fromtimestamp(0, timezone.utc) + timedelta(
            microseconds=nanoseconds // 1000
        )
    except OverflowError:
        return ""
    return began.isoformat(timespec="milliseconds").replace("+00:00", "Z") if nanoseconds else ""


def _messages(database: Database) -> tuple[str, ...]:
    """Warnings and errors that nsys itself put into the report."""
    if not database.has("DIAGNOSTIC_EVENT", "severity", "text"):
        return ()
    sql = "SELECT DISTINCT substr(text, 1, 300) FROM DIAGNOSTIC_EVENT WHERE severity >= 3 LIMIT 5"
    return tuple(display_text(text) for (text,) in database.rows(sql))
