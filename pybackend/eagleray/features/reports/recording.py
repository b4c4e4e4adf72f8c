"""Where and when a report was recorded, and by what."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from attrs import frozen

from eagleray.features.reports.database import META_TABLES, Database, shown, whole


@frozen
class About:
    """What a database says of itself; texts are "" and numbers 0 where it says nothing.

    `trace` is what nsys was asked to record, which only a note beside the report can say.
    """

    host: str = ""
    started_utc: str = ""
    duration: int = 0
    nsys_version: str = ""
    schema_version: str = ""
    trace: str = ""
    gpus: int = 0
    messages: tuple[str, ...] = ()


def read(database: Database, trace: str) -> About:
    """Blocks."""
    said = _said(database)
    return About(
        host=_one(
            database,
            "TARGET_INFO_SYSTEM_ENV",
            ("name", "value"),
            "substr(value, 1, 300)",
            "WHERE name = 'Hostname'",
        ),
        started_utc=_utc(
            _number(database, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs", "max(utcEpochNs)")
        ),
        duration=_number(database, "ANALYSIS_DETAILS", "duration", "max(duration)"),
        nsys_version=said.get("EXPORT_PRODUCT_VERSION", ""),
        schema_version=said.get("EXPORT_SCHEMA_VERSION", ""),
        trace=trace,
        gpus=_number(database, "TARGET_INFO_GPU", "id", "count(*)"),
        messages=_messages(database),
    )


def _said(database: Database) -> dict[str, str]:
    for table in META_TABLES:
        if database.has(table, "name", "value"):
            sql = f"SELECT name, substr(value, 1, 100) FROM {table} LIMIT 500"
            return {str(name): shown(value) for name, value in database.rows(sql)}
    return {}


def _one(database: Database, table: str, columns: tuple[str, ...], wanted: str, where: str) -> str:
    if not database.has(table, *columns):
        return ""
    rows = database.rows(f"SELECT {wanted} FROM {table} {where} LIMIT 1")
    return shown(next(rows, (None,))[0])


def _number(database: Database, table: str, column: str, wanted: str) -> int:
    if not database.has(table, column):
        return 0
    return whole(next(database.rows(f"SELECT {wanted} FROM {table}"), (0,))[0])


def _utc(nanoseconds: int) -> str:
    try:
        began = datetime.fromtimestamp(0, timezone.utc) + timedelta(
            microseconds=nanoseconds // 1000
        )
    except OverflowError:
        return ""
    return began.isoformat(timespec="milliseconds").replace("+00:00", "Z") if nanoseconds else ""


def _messages(database: Database) -> tuple[str, ...]:
    """What nsys itself complains of in the report: warnings and errors."""
    if not database.has("DIAGNOSTIC_EVENT", "severity", "text"):
        return ()
    sql = "SELECT DISTINCT substr(text, 1, 300) FROM DIAGNOSTIC_EVENT WHERE severity >= 3 LIMIT 5"
    return tuple(shown(text) for (text,) in database.rows(sql))
