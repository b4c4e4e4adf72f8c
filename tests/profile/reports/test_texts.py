"""Reports as text: units after rounding, no formulas in CSV, no markup in Markdown."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve
from eagleray.profile.reports import texts
from eagleray.profile.reports.model import (
    Cell,
    CellKind,
    Column,
    LoadedReport,
    RecordedWorker,
    ReportMetadata,
    ReportTable,
    ReportWarning,
    Summary,
)

COPIES = ReportTable(
    "memcpy",
    (
        ('Host|<b>, "x"', 3, 2_000_000, 1_500_000, 1_333_333_333, 900),
        ("=Memset", 12345, 0, 0, None, 0),
    ),
    7,
)


@pytest.mark.parametrize(
    ("cell", "kind", "expected"),
    [
        (0, "ns", "0 ns"),
        (999.4, "ns", "999 ns"),
        (999.6, "ns", "1.000 µs"),
        (999_999_400, "ns", "999.999 ms"),
        (999_999_600, "ns", "1.000 s"),
        (-999_999_600, "ns", "-1.000 s"),
        (12_345_678, "ns", "12.346 ms"),
        (3_600_500_000_000, "ns", "3600.500 s"),
        (999_999_999, "bytes", "1.000 GB"),
        (999_999_999, "rate", "1.000 GB/s"),
        (0.99999, "share", "100.0 %"),
        (None, "ns", "–"),
        ("gemm", "text", "gemm"),
    ],
)
def test_cell_has_a_unit(cell: Cell, kind: CellKind, expected: str) -> None:
    assert texts.cell_text(cell, Column("", "", kind)) == expected


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠"])
def test_csv_cells_are_not_formulas(sign: str) -> None:
    columns = [Column("name", "Name", "text"), Column("count", "Count", "count")]
    text = texts.comma_separated(columns, [(f"{sign}x", -1), (f"f;{sign}x", 2)])
    assert text.replace('"', "") == f"name,count\n'{sign}x,-1\nf;'{sign}x,2\n"


def test_table_is_exported_as_csv_and_markdown() -> None:
    assert texts.table_text(COPIES, "csv") == (
        "copy,count,bytes,total_ns,rate,max_ns\n"
        '"Host|<b>, ""x""",3,2000000,1500000,1333333333,900\n'
        "'=Memset,12345,0,0,,0\n"
    )
    assert texts.table_text(COPIES, "markdown") == (
        "| Copy | Count | Bytes | Total | Rate | Max |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: |\n"
        '| Host\\|\\<b\\>, "x" | 3 | 2.000 MB | 1.500 ms | 1.333 GB/s | 900 ns |\n'
        "| =Memset | 12345 | 0 B | 0 ns | – | 0 ns |\n"
    )


def test_report_is_exported_as_markdown() -> None:
    warnings = (ReportWarning("a", "No *rows*.", "Compare."), ReportWarning("b", "Cut off.", ""))
    summary = Summary(
        ReportMetadata(host="node_7", duration=2_000_000_000), (), (COPIES,), warnings
    )
    report = LoadedReport(Path("/w/a_b.nsys-rep"), Path("/w/a_b.sqlite"), 4096, summary)
    assert texts.markdown(report, ()) == (
        "# a\\_b.nsys-rep\n\nnode\\_7 · 2.000 s · 4.096 kB\n\n"
        "## Warnings\n\n- No \\*rows\\*. Compare.\n- Cut off.\n"
    )
    of_worker = evolve(report, worker=RecordedWorker("policy-3", "Policy", "n", 3))
    assert texts.markdown(of_worker, ()).startswith(
        "# policy-3 (rank 3)\n\nnode\\_7 · 2.000 s · 4.096 kB\n\na\\_b.nsys-rep\n"
    )
    assert "## Memory copies (2 of 7)\n\n| Copy |" in texts.markdown(report, [COPIES])
