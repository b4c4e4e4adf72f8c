"""Tables of the terminal and their colours."""

from __future__ import annotations

import argparse
import io
import sys

import pytest
from eagleray.cli.styles import is_colored
from eagleray.cli.table import TableColumn, print_rows, table_lines, width_of
from eagleray.common.durations import duration_text

COLUMNS = (
    TableColumn("NAME"),
    TableColumn("STATE", states=True),
    TableColumn("ERROR", optional=True),
    TableColumn("ID", short=True),
    TableColumn("ID", wide=True),
)
ROWS = [
    ["policy-0", "paused", "", "2d62", "2d621af91e99"],
    ["学習\x1b[31m", "running", "", "15e9", ""],
]


def arguments(**more: object) -> argparse.Namespace:
    return argparse.Namespace(**{"format": "", "no_headers": False, **more})


def test_table_has_aligned_columns_and_marks_missing_values() -> None:
    assert table_lines(COLUMNS, ROWS, wide=False, headers=True) == [
        "NAME       STATE    ID",
        "policy-0   paused   2d62",
        "学習 [31m  running  15e9",
    ]
    assert table_lines(COLUMNS, ROWS, wide=True, headers=False) == [
        "policy-0   paused   2d621af91e99",
        "学習 [31m  running  -",
    ]
    assert table_lines(COLUMNS, [], wide=False, headers=True) == []


def test_long_values_are_cut_except_in_a_wide_table() -> None:
    rows = [["n" * 100, "paused", "", "", ""]]
    assert "n" * 59 + "…" in table_lines(COLUMNS, rows, wide=False, headers=True)[1]
    assert "n" * 100 in table_lines(COLUMNS, rows, wide=True, headers=True)[1]


def test_table_fits_a_narrow_terminal() -> None:
    columns = (TableColumn("NAME"), TableColumn("LOCATION", keeps_end=True), TableColumn("ID"))
    rows = [["main.py --steps 5 --fail", "…/deep/folder/policy.py:23", "2d621af91e99"]]
    lines = table_lines(columns, rows, wide=False, headers=True, width=50)
    assert max(map(width_of, lines)) == 50
    assert lines[1].endswith("policy.py:23  2d621af91e99") and lines[1].startswith("main.py --")
    assert table_lines(columns, rows, wide=True, headers=True, width=50) == table_lines(
        columns, rows, wide=True, headers=True
    )


def test_names_are_printed_one_per_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(COLUMNS, ROWS, ["a", "b\x1b"], arguments(format="name"))
    assert capsys.readouterr().out == "a\nb \n"


@pytest.mark.parametrize(
    ("is_terminal", "environ", "colored"),
    [
        (False, {}, False),
        (True, {}, True),
        (True, {"TERM": "dumb"}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "0"}, False),
        (True, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_output_is_colored_as_the_environment_says(
    is_terminal: bool, environ: dict[str, str], colored: bool
) -> None:
    assert is_colored(is_terminal, environ) is colored


def test_states_are_colored_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    print_rows(COLUMNS, ROWS[:1], [], arguments())
    assert out.getvalue().splitlines() == [
        "\x1b[1mNAME\x1b[0m      \x1b[1mSTATE\x1b[0m   \x1b[1mID\x1b[0m",
        "policy-0  \x1b[33mpaused\x1b[0m  2d62",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 m"),
        (80, "1 m 20 s"),
        (3600, "1 h"),
        (7500, "2 h 5 m"),
        (90000, "1 d 1 h"),
        (-3, "0 s"),
    ],
)
def test_durations_have_two_units(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
