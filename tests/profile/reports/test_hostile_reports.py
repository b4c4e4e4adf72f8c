"""Reports that are broken, foreign, newer or hostile: an error of the catalogue or a warning, never a crash."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path

import pytest
from attrs import evolve
from eagleray.common.errors import EaglerayError
from eagleray.profile.reports import summary, texts
from eagleray.profile.reports.database import ReadLimits, open_database
from eagleray.profile.reports.model import LoadedReport, Summary
from eagleray.profile.reports.reports import Reports
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.profile.reports.databases import (
    MARK,
    Call,
    Copy,
    Graph,
    Kernel,
    Memset,
    Range,
    Recording,
    write,
)
from tests.profile.reports.schemas import GENERATIONS, OF_2022, OF_2026, Generation
from tests.set_clock import SetClock

SOME = Recording(
    kernels=[Kernel(10 * n, 10 * n + 8, pid=1) for n in range(50)],
    copies=[Copy(0, 5, 100)],
    sets=[Memset(5, 6, 100)],
    cuda=[Call(0, 4, "cudaMemcpy")],
    osrt=[Call(0, 4, "read")],
    ranges=[Range(0, 500, "step"), Range(3, 400, "forward", registered=True)],
    threads={4711: "main"},
    gpus={0: "H100"},
)
TABLES = [
    *("StringIds", "TARGET_INFO_SYSTEM_ENV", "TARGET_INFO_SESSION_START_TIME", "ANALYSIS_DETAILS"),
    *("TARGET_INFO_GPU", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"),
    *("CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_RUNTIME", "OSRT_API", "NVTX_EVENTS"),
    "ThreadNames",
]
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


@pytest.mark.parametrize("table", TABLES)
def test_missing_tables_are_skipped(tmp_path: Path, table: str) -> None:
    summary = read(changed(tmp_path, f"DROP TABLE {table}"))
    assert summary.tables
    assert "unknown-columns" not in codes(summary)


@pytest.mark.parametrize(
    "table",
    [
        *("CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS", "OSRT_API", "CUPTI_ACTIVITY_KIND_MEMCPY"),
        *("CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_RUNTIME"),
    ],
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
        "UPDATE META_DATA_EXPORT SET value = '4.1.0' WHERE name = 'EXPORT_SCHEMA_VERSION'",
        "ALTER TABLE NVTX_EVENTS ADD COLUMN counterId INTEGER",
    )
    summary = read(path)
    assert "newer-schema" in codes(summary)
    assert {table.name for table in summary.tables} >= {"kernels", "nvtx", "osrt"}


def test_views_and_virtual_tables_are_refused_with_a_warning(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
    path = changed(
        tmp_path,
        "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL",
        "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT x AS start, x AS end, 0 AS deviceId,"
        f" 1 AS demangledName FROM ({endless})",
        "DROP TABLE OSRT_API",
        "CREATE VIRTUAL TABLE OSRT_API USING fts5(start, end, nameId)",
    )
    summary = read(path)
    assert summary.gpus == ()
    assert codes(summary) == {"unknown-columns"}
    messages = " ".join(warning.message for warning in summary.warnings)
    assert "CUPTI_ACTIVITY_KIND_KERNEL" in messages and "OSRT_API" in messages


@pytest.mark.parametrize("generation", GENERATIONS, ids=lambda one: one.schema)
def test_exports_of_every_generation_are_read_completely(
    tmp_path: Path, generation: Generation
) -> None:
    path = write(tmp_path / "r.sqlite", evolve(SOME, generation=generation))
    summary = read(path)
    assert (summary.about.nsys_version, summary.about.schema_version) == (
        generation.nsys,
        generation.schema,
    )
    assert {table.name: table.total for table in summary.tables} == {
        "kernels": 1,
        "nvtx": 2,
        "gaps": 49,
        "memcpy": 2,
        "cuda_api": 1,
        "osrt": 1,
        "threads": 1,
    }
    assert [(gpu.name, gpu.nccl_ns) for gpu in summary.gpus] == [("H100", 0)]
    assert summary.warnings == ()


def test_copies_of_unified_memory_are_named_without_the_table_of_names(tmp_path: Path) -> None:
    recording = Recording(copies=[Copy(0, 5, 100, kind) for kind in (11, 12)], generation=OF_2022)
    (copies, *_) = read(write(tmp_path / "r.sqlite", recording), "osrt").tables
    assert {row[0] for row in copies.rows} == {"Unified Host-to-Device", "Unified Device-to-Host"}


def test_cells_of_what_was_not_traced_are_unknown(tmp_path: Path) -> None:
    """Nothing tells a thread without calls from one whose calls weren't traced but the table."""
    recording = Recording(cuda=[Call(0, 4, "cudaMemcpy")])
    (*_, threads) = read(write(tmp_path / "r.sqlite", recording)).tables
    assert threads.rows == (("", 4711, 4711, 1, None, 4, None),)


def test_nccl_is_unknown_where_graphs_are_recorded_as_one(tmp_path: Path) -> None:
    recording = Recording(
        kernels=[Kernel(0, 5, "ncclDevKernel_AllReduce")], graphs=[Graph(5, 9), Graph(10, 12)]
    )
    summary = read(write(tmp_path / "r.sqlite", recording))
    assert [(gpu.kernels, gpu.busy_ns, gpu.nccl_ns, gpu.nccl_alone_ns) for gpu in summary.gpus] == [
        (3, 11, None, None)
    ]
    (warning,) = summary.warnings
    assert warning.code == "graphs-as-one" and warning.message.startswith("2 runs of CUDA graphs")


NCCL = "ncclDevKernel_AllReduce"
KERNEL_TABLE = "CUPTI_ACTIVITY_KIND_KERNEL"


@pytest.mark.parametrize(
    ("statement", "lacking", "kernels"),
    [
        ("DROP TABLE StringIds", "no readable table StringIds", 2),
        ("ALTER TABLE StringIds RENAME COLUMN value TO text", "no readable table StringIds", 2),
        ("DELETE FROM StringIds", "StringIds lacks 9 names", 2),
        (f"DELETE FROM StringIds WHERE value = '{NCCL}'", "StringIds lacks 1 name ", 2),
        (f"ALTER TABLE {KERNEL_TABLE} DROP COLUMN demangledName", f"{KERNEL_TABLE} lacks names", 1),
        (f"UPDATE {KERNEL_TABLE} SET demangledName = NULL", f"{KERNEL_TABLE} lacks names", 1),
        ("UPDATE StringIds SET id = -id", "StringIds lacks 9 names", 2),
    ],
)
@pytest.mark.parametrize("is_ordered", [True, False])
def test_report_without_names_shows_no_false_ones(
    tmp_path: Path, statement: str, lacking: str, kernels: int, is_ordered: bool
) -> None:
    both = [Kernel(0, 5, NCCL), Kernel(9, 12, "gemm"), Kernel(15, 18, NCCL)]
    recording = Recording(
        kernels=both if is_ordered else both[::-1],
        ranges=[Range(0, 20, name, registered=True) for name in ("forward", "backward")],
        cuda=[Call(0, 4, "cudaLaunchKernel"), Call(5, 6, "cudaMemcpy")],
        osrt=[Call(0, 4, "read"), Call(5, 6, "poll")],
        threads={4711: "main"},
    )
    path = write(tmp_path / "r.sqlite", recording)
    connection = sqlite3.connect(path)
    if KERNEL_TABLE in statement:
        # nsys creates it with NOT NULL.
        connection.executescript(
            f"CREATE TABLE k AS SELECT * FROM {KERNEL_TABLE}; DROP TABLE {KERNEL_TABLE};"
            f"ALTER TABLE k RENAME TO {KERNEL_TABLE}; ALTER TABLE {KERNEL_TABLE} DROP COLUMN shortName"
        )
    connection.execute(statement)
    connection.commit()
    connection.close()
    result = read(path)
    assert [(gpu.kernels, gpu.busy_ns, gpu.nccl_ns, gpu.nccl_alone_ns) for gpu in result.gpus] == [
        (3, 11, None, None)
    ]
    tables = {table.name: table for table in result.tables}
    assert tables["kernels"].total == kernels
    rows = [row for table in result.tables for row in table.rows]
    assert "CUDA graph" not in {cell for row in rows for cell in row}
    assert any("name unknown" in str(row[0]) for row in tables["kernels"].rows)
    assert all(tables[name].total == 2 for name in ("nvtx", "cuda_api", "osrt"))
    (warning,) = [warning for warning in result.warnings if warning.code == "no-names"]
    assert lacking in warning.message
    assert warning.message.endswith("How long kernels of NCCL ran is unknown.")
    shown = texts.plain(LoadedReport(path, path, 0, result), result.tables)
    lines = shown.splitlines()
    assert lines[lines.index("GPUs") + 2].split()[-2:] == [
        "unknown",
        "unknown",
    ]


def test_names_that_no_row_uses_may_be_missing(tmp_path: Path) -> None:
    summary = read(write(tmp_path / "r.sqlite", Recording(copies=[Copy(0, 5, 100)])), "osrt")
    assert codes(summary) == set()


def test_copies_without_a_kind_are_unknown(tmp_path: Path) -> None:
    table = "CUPTI_ACTIVITY_KIND_MEMCPY"
    statements = (f"CREATE TABLE c AS SELECT * FROM {table}", f"DROP TABLE {table}")
    path = changed(
        tmp_path,
        *statements,
        f"ALTER TABLE c RENAME TO {table}",
        f"UPDATE {table} SET copyKind = 'x'",
    )
    (copies,) = [table for table in read(path).tables if table.name == "memcpy"]
    assert {row[0] for row in copies.rows} == {"Unknown", "Memset"}


def test_gpus_that_processes_number_alike_are_named_and_noted(tmp_path: Path) -> None:
    devices = [{"gpuId": 2, "cudaId": 0, "pid": 1}, {"gpuId": 3, "cudaId": 0, "pid": 2}]
    recording = Recording(
        kernels=[Kernel(0, 5, pid=1), Kernel(0, 5, pid=2)],
        gpus={0: "A100", 2: "H100", 3: "H200"},
        others={"TARGET_INFO_CUDA_DEVICE": devices},
    )
    summary = read(write(tmp_path / "r.sqlite", recording))
    assert [gpu.name for gpu in summary.gpus] == ["H100, H200"]
    assert codes(summary) == {"mixed-gpus"}


def test_report_of_other_events_is_not_called_empty(tmp_path: Path) -> None:
    rows = [{"timestamp": 7, "typeId": 1, "metricId": 2, "value": 3}]
    summary = read(write(tmp_path / "r.sqlite", Recording(others={"GPU_METRICS": rows})))
    (warning,) = summary.warnings
    assert warning.code == "only-other-events" and "GPU_METRICS" in warning.message


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
        (Recording(ranges=[Range(3, None, "saved", MARK)]), "nvtx", {"no-nvtx"}),
    ],
)
def test_warnings_name_what_is_missing(
    tmp_path: Path, recording: Recording, trace: str, expected: set[str]
) -> None:
    assert codes(read(write(tmp_path / "r.sqlite", recording), trace)) == expected


def test_diagnostics_of_nsys_become_warnings(tmp_path: Path) -> None:
    path = changed(
        tmp_path,
        OF_2026.create("DIAGNOSTIC_EVENT"),
        "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 1, 3, 'Not all events were collected', 0),"
        " (1, 1, 1, 1, 'x', 0)",
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
