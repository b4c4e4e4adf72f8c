"""Reports of nsys in `--json`."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import asdict

from eagleray.cli.json_shapes import (
    INTEGER,
    INTEGER_OR_NULL,
    VERSIONED,
    WARNING,
    Field,
    Json,
    Shape,
    shaped,
)
from eagleray.profile.reports.handlers import wire_report, wire_table
from eagleray.profile.reports.model import LoadedReport, ReportTable

_TABLE = ("id", "title", "columns", "rows", "total", "sorted_by", "descending", "note")
REPORT: Shape = {
    **VERSIONED,
    "path": Field("the report"),
    "name": Field("its file name"),
    "database": Field("the database that nsys made of it"),
    "size": Field("bytes", INTEGER),
    "worker": Field('name of the recorded actor, "" if unknown'),
    "class_name": Field('its class, "" if unknown'),
    "rank": Field("its rank, null if unknown", INTEGER_OR_NULL),
    "host": Field("where it was recorded"),
    "started_utc": Field("when the recording began"),
    "duration_ns": Field("nanoseconds", INTEGER),
    "nsys_version": Field("version of nsys"),
    "schema_version": Field("version of the database's schema"),
    "trace": Field("what was traced"),
    "gpus": Field("list of GPUs with their shares and curves", "array"),
    "tables": Field(f"list of {{{', '.join(_TABLE)}}}", "array", _TABLE),
    "warnings": Field(f"list of {{{', '.join(WARNING)}}}", "array", WARNING),
}


def report_json(report: LoadedReport, tables: Sequence[ReportTable]) -> Json:
    shown = [asdict(wire_table(table, len(table.rows))) for table in tables]
    return shaped(wire_report(report), REPORT, tables=shown)
