"""Ignored breakpoints: rules that hold for the life of a cluster, and the workers that go by."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.adapter_client.sessions import AdapterSessions
from eagleray.common.worker_errors import worker_busy
from eagleray.debug.attaching.ignored_breakpoints import BreakpointIgnorer
from eagleray.debug.attaching.model import IgnoredBreakpoint
from eagleray.debug.workers.model import Location
from eagleray.protocol.adapter_control import WorkerStop

from tests.debug.attaching.fakes import Row
from tests.fakes.adapter import FakeAdapter, state

RULE = IgnoredBreakpoint("http://c:8265", "session_1", "/remote/train.py", 24, listed_line=23)


@pytest.fixture
def file(own_home: Path) -> Path:
    return own_home / "ignored.json"


@pytest.fixture
async def ignoring(
    adapter: FakeAdapter, sessions: AdapterSessions, file: Path
) -> BreakpointIgnorer:
    ignoring = BreakpointIgnorer(sessions, file)
    await ignoring.ignore(RULE)
    adapter.asked.clear()
    return ignoring


async def test_worker_at_an_ignored_breakpoint_continues(
    ignoring: BreakpointIgnorer, adapter: FakeAdapter
) -> None:
    await ignoring.continue_ignored([Row("w1", location=Location("/remote/train.py", 23, "f"))])
    assert [op for op, _ in adapter.asked] == ["attach", "ignore"]
    assert adapter.states["w1"].state == "running"
    assert adapter.asked[0][1]["seen"] is False


@pytest.mark.parametrize(
    "row",
    [
        Row("w1", location=Location("/remote/train.py", 50, "f")),
        Row("w1", location=Location("/remote/other.py", 23, "f")),
        Row("w1", session="session_2"),
        Row("w1", state="held", location=Location("/remote/train.py", 23, "f")),
        Row("w1", state="debugging", location=Location("/remote/train.py", 23, "f")),
    ],
)
async def test_worker_at_another_breakpoint_stays_stopped(
    ignoring: BreakpointIgnorer, adapter: FakeAdapter, row: Row
) -> None:
    await ignoring.continue_ignored([row])
    assert adapter.asked == []


async def test_worker_with_an_unknown_line_is_attached_to(
    ignoring: BreakpointIgnorer, adapter: FakeAdapter
) -> None:
    adapter.answers["w2"] = state("w2", stop=None, state="running")
    await ignoring.continue_ignored([Row("w1"), Row("w2")])
    assert sorted(op for op, _ in adapter.asked) == ["attach", "attach", "ignore"]


async def test_worker_that_is_stopped_elsewhere_stays_stopped(
    ignoring: BreakpointIgnorer, adapter: FakeAdapter
) -> None:
    adapter.answers["w1"] = state("w1", stop=WorkerStop("breakpoint", "/b.py", 1, "f", "", 1))
    await ignoring.continue_ignored([Row("w1")])
    assert [op for op, _ in adapter.asked] == ["attach"]


async def test_error_does_not_affect_other_workers(
    ignoring: BreakpointIgnorer, adapter: FakeAdapter
) -> None:
    adapter.answers["w1"] = worker_busy("w1")
    await ignoring.continue_ignored([Row("w1"), Row("w2")])
    assert sorted(op for op, _ in adapter.asked) == ["attach", "attach", "ignore"]


async def test_rules_outlive_the_sidecar(
    ignoring: BreakpointIgnorer, sessions: AdapterSessions, file: Path
) -> None:
    assert await BreakpointIgnorer(sessions, file).rules() == [RULE]


async def test_rule_is_removed(
    ignoring: BreakpointIgnorer, adapter: FakeAdapter, sessions: AdapterSessions, file: Path
) -> None:
    await ignoring.forget(RULE.cluster, RULE.path, RULE.line)
    assert await ignoring.rules() == []
    assert adapter.asked[-1][1]["ignore"] is False
    assert await BreakpointIgnorer(sessions, file).rules() == []


async def test_windows_share_the_rules(
    ignoring: BreakpointIgnorer, adapter: FakeAdapter, sessions: AdapterSessions, file: Path
) -> None:
    theirs = IgnoredBreakpoint(RULE.cluster, RULE.session, "/remote/other.py", 7)
    await BreakpointIgnorer(sessions, file).ignore(theirs)
    mine = IgnoredBreakpoint(RULE.cluster, RULE.session, "/remote/mine.py", 8)
    await ignoring.ignore(mine)
    assert await ignoring.rules() == [RULE, theirs, mine]
    await ignoring.forget(theirs.cluster, theirs.path, theirs.line)
    assert await BreakpointIgnorer(sessions, file).rules() == [RULE, mine]
    assert [one.name for one in file.parent.glob(f"{file.name}*")] == [file.name]


async def test_restarted_cluster_has_no_rules(ignoring: BreakpointIgnorer) -> None:
    new = IgnoredBreakpoint(RULE.cluster, "session_2", "/remote/new.py", 5)
    await ignoring.ignore(new)
    assert await ignoring.rules() == [new]


async def test_ignoring_a_place_twice_stores_one_rule(ignoring: BreakpointIgnorer) -> None:
    await ignoring.ignore(RULE)
    assert await ignoring.rules() == [RULE]


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"nonsense": 1}]', "{}"])
async def test_unreadable_file_counts_as_empty(
    sessions: AdapterSessions, file: Path, text: str
) -> None:
    file.write_text(text)
    ignoring = BreakpointIgnorer(sessions, file)
    assert await ignoring.rules() == []
    await ignoring.ignore(RULE)
    assert await BreakpointIgnorer(sessions, file).rules() == [RULE]
