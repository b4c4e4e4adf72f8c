"""Prefixes, colours, folded lines and times of log lines."""

from __future__ import annotations

import time

import pytest
from eagleray.doctor.logs.lines import LogLine, parse_line, time_of

WRITTEN = time.mktime((2026, 11, 22, 12, 0, 0, 0, 0, -1))


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (b"plain\r\n", LogLine("plain")),
        (
            b"\x1b[36m(WorkerDict pid=29197, ip=33.138.51.184)\x1b[0m it failed\x1b[32m [repeated 14x across cluster]\x1b[0m",
            LogLine("it failed", "WorkerDict pid=29197", "33.138.51.184", 14),
        ),
        (b"(pid=12) it failed", LogLine("it failed", "pid=12")),
        (b" 3: it failed", LogLine("it failed", "task 3")),
        (b"3:", LogLine("", "task 3")),
        (
            b"12: (Policy pid=7, ip=10.0.0.3) it failed",
            LogLine("it failed", "Policy pid=7", "10.0.0.3"),
        ),
        (b"12: [rank12]: it failed", LogLine("it failed", "task 12", rank=12)),
        (b"[rank2]: [rank2]: Last error:", LogLine("Last error:", rank=2)),
        (b"[1,12]<stderr>:it failed", LogLine("it failed", "task 12")),
        (b"[default0]:it failed", LogLine("it failed", "default0")),
        (
            b"2026-11-21T01:20:07.123456789Z stderr F (Policy pid=7) it failed",
            LogLine("it failed", "Policy pid=7", stamp="2026-11-21T01:20:07.123456789Z"),
        ),
        (b"01:20:07 it failed", LogLine("01:20:07 it failed")),
        (b"[4]: it failed", LogLine("[4]: it failed")),
        (b"(raylet, ip=10.0.0.3) killed", LogLine("killed", "raylet", "10.0.0.3")),
        (
            b"(train(x) pid=1) no prefix of Ray, but of a function",
            LogLine("(train(x) pid=1) no prefix of Ray, but of a function"),
        ),
        ("(Führer pid=3) 错误".encode(), LogLine("错误", "Führer pid=3")),
        (b"\xff\xfe broken", LogLine("�� broken")),
    ],
)
def test_line_is_parsed(raw: bytes, line: LogLine) -> None:
    assert parse_line(raw) == line


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-21 01:25:07,250 ERROR", (2026, 11, 21, 1, 25, 7)),
        ("[2026-11-21 01:25:07.250 E 1 1]", (2026, 11, 21, 1, 25, 7)),
        ("time=2026-11-21T01:25:07.25Z", (2026, 11, 21, 1, 25, 7)),
        ("INFO 11-21 01:25:07.250 [core.py:10]", (2026, 11, 21, 1, 25, 7)),
        ("2026-11-21T01:25:07.250000000Z stderr F Traceback", (2026, 11, 21, 1, 25, 7)),
        ("I1121 01:25:07.250000 4711 file.cc:12]", (2026, 11, 21, 1, 25, 7)),
        # Read in November: of last year.
        ("INFO 12-31 23:59:59.250 [core.py:10]", (2025, 12, 31, 23, 59, 59)),
    ],
)
def test_time_is_read(text: str, moment: tuple[int, ...]) -> None:
    assert time_of(parse_line(text.encode()), WRITTEN) == time.mktime((*moment, 0, 0, -1)) + 0.25


@pytest.mark.parametrize(
    "text", ["", "no time", "version 2026-13-45 99:99:99", "x" * 200 + "2026-11-21 01:25:07"]
)
def test_line_without_a_time_has_none(text: str) -> None:
    assert time_of(LogLine(text), WRITTEN) is None
