"""The nsys that a framework has started around a worker."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from eagleray.remote.injected.nsys import (
    framework_nsys,
)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["nsys", "profile", "-o", "/a/w_%p"], "/a/w_7"),
        (["nsys", "profile", "--output=w_%h_%q{RANK}%%"], f"/logs/w_{socket.gethostname()}_3%"),
        (["nsys", "profile", "--output", "/a/r.nsys-rep"], "/a/r"),
        (["nsys", "profile"], "/logs/report"),
    ],
)
def test_output_of_the_frameworks_nsys_is_parsed(words: list[str], expected: str) -> None:
    assert framework_nsys.output_of(words, "/logs", {"RANK": "3"}, 7) == expected


def test_reports_of_the_frameworks_nsys_are_found_by_pid(tmp_path: Path) -> None:
    """Another worker, whose number begins with this one's, keeps its own."""
    for name in ("w[_12.nsys-rep", "w[_12.3.nsys-rep", "w[_123.nsys-rep", "w[_12.qdstrm"):
        (tmp_path / name).touch()
    found = framework_nsys.reports_of(str(tmp_path / "w[_12"))
    assert [Path(item).name for item in found] == ["w[_12.3.nsys-rep", "w[_12.nsys-rep"]


def test_arguments_of_nsys_end_before_the_interpreter() -> None:
    words = [
        "nsys",
        "profile",
        "--python-sampling=true",
        "-o",
        "x",
        "/venv/bin/python3",
        "-u",
        "a.py",
    ]
    assert framework_nsys.nsys_arguments(words) == words[1:5]


def test_process_without_nsys_has_no_framework_nsys() -> None:
    assert framework_nsys.framework_nsys(dict(os.environ)) is None
