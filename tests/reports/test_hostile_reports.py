"""Reports that are broken, foreign, newer or hostile: an error of the catalogue or a warning, never a crash."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.features.reports import summary, texts
from eagleray.features.reports.database import ReadLimits, open_database
from eagleray.features.reports.model import LoadedReport, Summary
from eagleray.features.reports.reports import Reports
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reports.databases import TABLES, Call, Copy, Kernel, Range, Recording, write
from tests.set_clock import SetClock

SOME = Recording(
    kernels=[Kernel(10 * n, 10 * n + 8, pid=1) for n in range(50)],
    copies=[Copy(0, 5, 100)],
    cuda=[Call(0, 4, "cudaMemcpy")],
    osrt=[Call(0, 4, "read")],
    ranges=[Range(0, 500, "step"), Range(3, 400, "forward", registered=True)],
    threads={4711: "main"},
    gpus={0: "H100"},
)
HOSTILE = "\x1b]0;owned\x07<img src=x onerror=alert(1)>|`rm -rf`\n=cmd()‮[a](command:x)"


def read(path: Path, trace: str = "") -> Summary:
    return summary.read(path, trace, ReadLimits())


def codes(summary: Summary) -> set[str]:
    return {warning.code for warning in summary.warnings}


def changed(folder: Path, *statements: str) -> Path:
    path = write(folder / "report.sqlite", SOME)
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty-report"),
        (b"hello", "damaged-report"),
        (b"SQLite format 3\0" + b"\xff" * 5000, "damaged-report"),
        (b"SQLite format 3\0", "damaged-report"),
    ],
)
async def test_file_that_is_not_a_database_is_refused(
    tmp_path: Path, content: bytes, code: str
) -> None:
    file = tmp_path / "report.sqlite"
    file.write_bytes(content)
    with pytest.raises(EaglerayError) as error:
        await Reports(lambda: tmp_path).read(str(file))
    assert error.value.code == code
    assert error.value.next_step


@pytest.mark.parametrize("name", ["missing.nsys-rep", "", "a\0b", "folder", "pipe"])
async def test_invalid_file_name_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(EaglerayError) as error:
        await Reports(lambda: tmp_path).read(f"{tmp_path}/{name}")
    assert error.value.code == "no-report"


def test_foreign_database_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "other.sqlite")
    connection.execute("CREATE TABLE customers (name TEXT)")
    connection.close()
    with pytest.raises(EaglerayError, match="not an export of nsys"):
        open_database(tmp_path / "other.sqlite", ReadLimits())


@given(st.floats(0.01, 0.99))
@settings(max_examples=25)
def test_truncated_report_is_refused(
    tmp_path_factory: pytest.TempPathFactory, share: float
) -> None:
    path = write(tmp_path_factory.mktemp("cut") / "report.sqlite", SOME)
    os.truncate(path, int(path.stat().st_size * share))
    try:
        read(path)
    except EaglerayError as error:
        assert error.code in ("damaged-report", "not-a-report")


@given(
    st.lists(st.tuples(st.integers(100, 60_000), st.binary(min_size=1, max_size=40)), max_size=8)
)
@settings(max_examples=60)
def test_flipped_bytes_raise_only_catalogue_errors(
    tmp_path_factory: pytest.TempPathFactory, flips: list[tuple[int, bytes]]
) -> None:
    path = write(tmp_path_factory.mktemp("flipped") / "report.sqlite", SOME)
    content = bytearray(path.read_bytes())
    for at, flip in flips:
        content[at % len(content) : at % len(content) + len(flip)] = flip
    path.write_bytes(content)
    try:
        read(path)
    except EaglerayError as error:
        assert error.code in ("damaged-report", "not-a-report")


@pytest.mark.parametrize("table", [name for name in TABLES if name != "EXPORT_META_DATA"])
def test_missing_tables_are_skipped(tmp_path: Path, table: str) -> None:
    summary = read(changed(tmp_path, f"DROP TABLE {table}"))
    assert summary.tables
    assert "unknown-columns" not in codes(summary)


@pytest.mark.parametrize(
    "table", ["CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS", "OSRT_API", "CUPTI_ACTIVITY_KIND_MEMCPY"]
)
def test_table_with_other_columns_is_skipped_with_a_warning(tmp_path: Path, table: str) -> None:
    summary = read(changed(tmp_path, f"ALTER TABLE {table} RENAME COLUMN end TO finish"))
    assert "unknown-columns" in codes(summary)
    assert any(table in warning.message for warning in summary.warnings)


@pytest.mark.parametrize(
    "value", ["'soon'", "NULL", "x'00ff'", "1e300", "9223372036854775807", "-1"]
)
@pytest.mark.parametrize(
    "column",
    ["KERNEL.start", "KERNEL.end", "KERNEL.deviceId", "KERNEL.globalPid", "KERNEL.demangledName"],
)
def test_invalid_kernel_numbers_are_left_out(tmp_path: Path, column: str, value: str) -> None:
    """Columns without a type, since those with one refuse or convert some of it."""
    _, _, name = column.partition(".")
    table = "CUPTI_ACTIVITY_KIND_KERNEL"
    path = changed(
        tmp_path,
        f"CREATE TABLE untyped AS SELECT * FROM {table}",
        f"DROP TABLE {table}",
        f"ALTER TABLE untyped RENAME TO {table}",
        f"UPDATE {table} SET {name} = {value} WHERE rowid % 7 = 0",
    )
    summary = read(path)
    kernels = sum(gpu.kernels for gpu in summary.gpus)
    assert kernels in (50, 43, 42)
    assert all(0 <= gpu.busy_ns <= gpu.end_ns - gpu.begin_ns for gpu in summary.gpus)
    assert ("unread-kernels" in codes(summary)) is (kernels < 50)


@pytest.mark.parametrize("table", ["NVTX_EVENTS", "OSRT_API", "CUPTI_ACTIVITY_KIND_MEMCPY"])
@pytest.mark.parametrize("value", ["'soon'", "NULL", "x'00ff'", "1e300", "9223372036854775807"])
def test_invalid_events_are_left_out(tmp_path: Path, table: str, value: str) -> None:
    path = changed(
        tmp_path,
        f"CREATE TABLE untyped AS SELECT * FROM {table}",
        f"DROP TABLE {table}",
        f"ALTER TABLE untyped RENAME TO {table}",
        *(f"UPDATE {table} SET {column} = {value}" for column in ("start", "end")),
    )
    assert read(path).gpus[0].kernels == 50


def test_newer_schema_is_read_with_a_warning(tmp_path: Path) -> None:
    path = changed(
        tmp_path,
        "UPDATE EXPORT_META_DATA SET value = '4.1.0' WHERE name = 'EXPORT_SCHEMA_VERSION'",
        "ALTER TABLE EXPORT_META_DATA RENAME TO META_DATA_EXPORT",
        "ALTER TABLE NVTX_EVENTS ADD COLUMN counterId INTEGER",
    )
    summary = read(path)
    assert "newer-schema" in codes(summary)
    assert {table.name for table in summary.tables} >= {"kernels", "nvtx", "osrt"}


def test_views_and_virtual_tables_are_ignored(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
    path = changed(
        tmp_path,
        "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL",
        "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT x AS start, x AS end, 0 AS deviceId,"
        f" 1 AS demangledName FROM ({endless})",
    )
    assert read(path).gpus == ()


def test_hostile_names_are_escaped_in_every_format(tmp_path: Path) -> None:
    recording = Recording(
        kernels=[Kernel(0, 5, HOSTILE), Kernel(9, 12, "k" * 2_000_000)],
        ranges=[Range(0, 20, HOSTILE), Range(0, 20, HOSTILE, registered=True)],
        osrt=[Call(0, 1, HOSTILE)],
        host=HOSTILE,
        gpus={0: HOSTILE},
        threads={4711: HOSTILE},
        domains={0: HOSTILE},
    )
    summary = read(write(tmp_path / "report.sqlite", recording))
    report = LoadedReport(tmp_path / HOSTILE, tmp_path / "report.sqlite", 1, summary)
    for text in (texts.plain(report, summary.tables), texts.markdown(report, summary.tables)):
        assert all(character.isprintable() or character == "\n" for character in text)
        assert max(map(len, text.splitlines())) < 4000
    assert not re.search(r"(?<!\\)[`<>\[\]]", texts.markdown(report, summary.tables))
    (kernels,) = [table for table in summary.tables if table.name == "kernels"]
    assert max(len(str(row[0])) for row in kernels.rows) <= 500
    assert "'=" in texts.comma_separated(kernels.shape.columns[:1], [("=1+1",)])


async def test_file_name_that_is_not_utf8_is_read(tmp_path: Path) -> None:
    file = write(tmp_path / "r.sqlite", SOME).rename(tmp_path / os.fsdecode(b"r\xff.sqlite"))
    report = await Reports(lambda: tmp_path).read(str(file))
    assert texts.plain(report, ()).startswith("r .sqlite\n")


def test_text_that_is_not_utf8_is_decoded(tmp_path: Path) -> None:
    path = changed(tmp_path, "UPDATE StringIds SET value = CAST(x'ff41fe' AS TEXT)")
    (kernels,) = [table for table in read(path).tables if table.name == "kernels"]
    assert kernels.rows[0][0] == "\ufffdA\ufffd"


def test_sqlite_without_json_is_its_own_error(tmp_path: Path) -> None:
    """It says of those functions what it says of one that no SQLite has."""
    database = open_database(write(tmp_path / "r.sqlite", SOME), ReadLimits())
    with pytest.raises(EaglerayError) as raised:
        list(database.rows("SELECT json_nothing(1)"))
    assert raised.value.code == "sqlite-without-json"


def test_reading_ends_when_it_is_cancelled_or_late(tmp_path: Path) -> None:
    path = write(
        tmp_path / "report.sqlite",
        Recording(kernels=(Kernel(n, n + 1) for n in range(60_000))),
    )
    cancelled = ReadLimits()
    cancelled.cancel()
    clock = SetClock()
    late = ReadLimits(5.0, clock)
    clock.move(6.0)
    for limits, code in ((cancelled, "cancelled"), (late, "reading-slow")):
        with pytest.raises(EaglerayError) as error:
            summary.read(path, "", limits)
        assert error.value.code == code


@pytest.mark.parametrize(
    ("recording", "trace", "expected"),
    [
        (Recording(), "cuda,nvtx", {"empty-capture"}),
        (Recording(domains={1: "torch"}), "nvtx", {"no-nvtx"}),
        (Recording(osrt=[Call(0, 1, "read")]), "", {"no-kernels"}),
        (Recording(osrt=[Call(0, 1, "read")]), "osrt", set()),
        (Recording(osrt=[Call(0, 1, "read")]), "nvtx,osrt", {"no-nvtx"}),
        (Recording(osrt=[Call(0, 1, "read")], domains={1: "torch"}), "osrt", {"no-nvtx"}),
        (Recording(ranges=[Range(0, 5, "a"), Range(1, None, "b")]), "nvtx", {"unfinished-ranges"}),
        (Recording(kernels=[Kernel(0, 1)]), "cuda", set()),
    ],
)
def test_warnings_name_what_is_missing(
    tmp_path: Path, recording: Recording, trace: str, expected: set[str]
) -> None:
    assert codes(read(write(tmp_path / "r.sqlite", recording), trace)) == expected


def test_diagnostics_of_nsys_become_warnings(tmp_path: Path) -> None:
    path = changed(
        tmp_path,
        "CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, severity INTEGER, text TEXT)",
        "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 3, 'Not all events were collected'), (1, 1, 'x')",
    )
    assert [warning.message for warning in read(path).warnings] == [
        "nsys says: Not all events were collected"
    ]


@pytest.mark.parametrize("column", ["start", "end"])
@pytest.mark.parametrize("number", ["9e999", "-9e999"])
@pytest.mark.parametrize("table", ["NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_KERNEL", "OSRT_API"])
def test_infinite_times_are_left_out(tmp_path: Path, table: str, column: str, number: str) -> None:
    path = changed(tmp_path, f"UPDATE {table} SET {column} = {number} WHERE rowid = 1")
    assert read(path).tables
