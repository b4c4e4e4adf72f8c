"""The states of breakpoints, combined from several workers."""

from __future__ import annotations

from typing import Any

import pytest
from eagleray.adapter.runs.breakpoint_table import BreakpointTable
from eagleray.protocol.runs import Breakpoint, LineBreakpoint, LineState

PATH = "/home/me/a.py"


def lines(*numbers: int) -> BreakpointTable:
    return BreakpointTable([Breakpoint(PATH, [LineBreakpoint(number) for number in numbers])])


def row(line: int, verified: bool = True, **more: Any) -> dict[str, Any]:
    return {"line": line, "verified": verified, **more}


@pytest.mark.parametrize(
    ("said", "state", "moved_to", "workers"),
    [
        ({}, "pending", 0, []),
        ({"w1": row(10)}, "verified", 0, ["w1"]),
        ({"w1": row(12)}, "moved", 12, ["w1"]),
        ({"w1": row(10, False)}, "unreachable", 0, []),
        ({"w1": row(12), "w2": row(10)}, "verified", 0, ["w1", "w2"]),
        ({"w1": row(10, False), "w2": row(12)}, "moved", 12, ["w2"]),
        ({"w1": {}}, "unreachable", 0, []),
        ({"w1": {"line": "x", "verified": "yes"}}, "unreachable", 0, []),
    ],
)
def test_state_combines_all_workers(
    said: dict[str, dict[str, Any]], state: str, moved_to: int, workers: list[str]
) -> None:
    asked = lines(10)
    for worker, one in said.items():
        asked.answered(worker, PATH, [one])
    [found] = asked.states()
    assert (found.state, found.moved_to, found.workers) == (state, moved_to, workers)


def test_line_that_is_verified_later_is_updated() -> None:
    asked = lines(10, 20)
    asked.answered("w1", PATH, [row(10, False, id=1, message="not loaded"), row(20, id=2)])
    assert asked.states()[0] == LineState(PATH, 10, "unreachable", message="not loaded")
    assert asked.changed("w1", row(11, id=1))
    assert asked.states()[0] == LineState(PATH, 10, "moved", 11, ["w1"])
    assert not asked.changed("w2", row(10, id=1)) and not asked.changed("w1", row(10, id=9))
    asked.forget("w1")
    assert not asked.changed("w1", row(10, id=1))


def test_ended_workers_do_not_count_beside_living_ones() -> None:
    asked = lines(10)
    for worker in ("w1", "w2"):
        asked.answered(worker, PATH, [row(10)])
    asked.forget("w1")
    assert asked.states()[0].workers == ["w2"]
    asked.forget("w2")
    assert asked.states()[0] == LineState(PATH, 10, "verified", workers=["w2"])
    asked.answered("w3", PATH, [row(12)])
    assert asked.states()[0] == LineState(PATH, 10, "moved", 12, ["w3"])
    asked.answered("w2", PATH, [row(10)])
    assert asked.states()[0].workers == ["w2", "w3"]


def test_reason_of_some_workers_is_kept_beside_those_that_stop() -> None:
    asked = lines(10)
    for number, worker in enumerate(("w1", "w2", "w3")):
        asked.answered(worker, PATH, [row(10, id=number)])
    asked.changed("w2", row(10, False, id=1, message="torch.compile runs it."))
    reason = "Not in 1 of 3 processes: torch.compile runs it."
    assert asked.states()[0] == LineState(PATH, 10, "verified", 0, ["w1", "w3"], reason)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (PATH, "debugpy doesn't find this file in the process."),
        ("/w/data.zipx/a.py", "debugpy takes a path with .zip or .egg for an archive."),
    ],
)
def test_file_that_debugpy_does_not_find_is_not_said_to_be_missing(path: str, reason: str) -> None:
    table = BreakpointTable([Breakpoint(path, [LineBreakpoint(1)])])
    said = "Breakpoint in file that does not exist."
    table.answered("w1", path, [row(1, False, message=said)])
    assert [state.message for state in table.states()] == [reason]


def test_replacing_returns_changed_files_only() -> None:
    asked = BreakpointTable(
        [
            Breakpoint("/a", [LineBreakpoint(1)]),
            Breakpoint("/b", [LineBreakpoint(1)]),
            Breakpoint("/c", []),
        ]
    )
    asked.answered("w1", "/a", [row(1)])
    after = [Breakpoint("/a", [LineBreakpoint(1)]), Breakpoint("/d", [LineBreakpoint(1, log="x")])]
    assert sorted(asked.replace(after)) == ["/b", "/d"]
    assert asked.replace(after) == []
    assert [state.state for state in asked.states()] == ["verified", "pending"]
    assert (asked.has("/b"), asked.of("/b"), asked.of("/d")) == (
        False,
        [],
        [{"line": 1, "logMessage": "x"}],
    )
