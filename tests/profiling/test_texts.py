"""How a report's cells are written: numbers in the unit that fits after rounding, and no formula in CSV."""

from __future__ import annotations

import pytest
from eagleray.features.profiling.reading import texts
from eagleray.features.profiling.reading.tables import Cell, Column, Kind


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
def test_a_cell_for_people(cell: Cell, kind: Kind, expected: str) -> None:
    assert texts.cell_text(cell, Column("", "", kind)) == expected


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠"])
def test_no_cell_is_a_formula(sign: str) -> None:
    columns = [Column("name", "Name", "text"), Column("count", "Count", "count")]
    said = texts.comma_separated(columns, [(f"{sign}x", -1), (f"f;{sign}x", 2)])
    assert said.replace('"', "") == f"name,count\n'{sign}x,-1\nf;'{sign}x,2\n"
