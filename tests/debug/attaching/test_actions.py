"""Actions on several workers: the requests to the adapter, and the failures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from eagleray.adapter_client.sessions import AdapterSessions
from eagleray.common.worker_errors import worker_ran_on, worker_unreachable
from eagleray.debug.attaching.actions import WorkerActions
from eagleray.debug.attaching.attacher import WorkerAttacher
from eagleray.debug.attaching.ignored_breakpoints import BreakpointIgnorer
from eagleray.debug.workers.model import Location
from eagleray.protocol.adapter_control import WorkerStop

from tests.debug.attaching.fakes import List, Maps, Row
from tests.fakes.adapter import STOP, FakeAdapter, state

CLUSTER = "http://c:8265"


def actions(sessions: AdapterSessions, folder: Path, *rows: Row) -> WorkerActions:
    listed = List(list(rows))
    attaching = WorkerAttacher(sessions, listed.find, Maps())
    ignoring = BreakpointIgnorer(sessions, folder / "ignored.json")
    return WorkerActions(sessions, attaching, ignoring, listed.find, listed.all)


def ops(adapter: FakeAdapter, worker_id: str) -> list[str]:
    return [op for op, params in adapter.asked if params.get("worker_id") == worker_id]


async def test_continue_attaches_only_to_workers_that_are_not_held(
    adapter: FakeAdapter, sessions: AdapterSessions, own_home: Path
) -> None:
    adapter.change(state("held"))
    core = actions(sessions, own_home, Row("held", "held"), Row("new"))
    result = await core.continue_(CLUSTER, ["held", "new"])
    assert (result.done, result.failed) == (2, ())
    assert ops(adapter, "held") == ["continue"]
    assert ops(adapter, "new") == ["attach", "continue"]


async def test_failure_does_not_affect_other_workers(
    adapter: FakeAdapter, sessions: AdapterSessions, own_home: Path
) -> None:
    adapter.answers["bad"] = worker_unreachable("name of bad", "10.0.0.1", 7000)
    core = actions(sessions, own_home, Row("bad"), Row("good"))
    result = await core.continue_(CLUSTER, ["bad", "good", "gone"])
    assert result.done == 1
    codes = {failed.worker_id: failed.error.code for failed in result.failed}
    assert codes == {"bad": "worker-unreachable", "gone": "unknown-worker"}
    assert ops(adapter, "good") == ["attach", "continue"]


async def test_continue_others_leaves_the_named_workers_stopped(
    adapter: FakeAdapter, sessions: AdapterSessions, own_home: Path
) -> None:
    adapter.change(state("mine"), state("theirs"), state("runs", state="running"))
    core = actions(
        sessions,
        own_home,
        Row("mine", "debugging"),
        Row("theirs", "held"),
        Row("runs", "running"),
        Row("new"),
        Row("elsewhere", cluster="http://d:8265"),
    )
    result = await core.continue_others(CLUSTER, ["mine"])
    assert (result.done, result.failed) == (2, ())
    asked = {params["worker_id"] for _, params in adapter.asked}
    assert asked == {"theirs", "new"}


async def test_worker_on_a_departed_node_is_reported_as_failed(
    adapter: FakeAdapter, sessions: AdapterSessions, own_home: Path
) -> None:
    core = actions(sessions, own_home, Row("stale", "gone"), Row("new"))
    assert (await core.continue_others(CLUSTER, [])).done == 1
    for act in (core.continue_, core.ignore):
        result = await act(CLUSTER, ["stale"])
        assert [failed.error.code for failed in result.failed] == ["node-gone"]
    assert {params["worker_id"] for _, params in adapter.asked} == {"new"}


async def test_hundred_workers_continue_at_once(
    adapter: FakeAdapter, sessions: AdapterSessions, own_home: Path
) -> None:
    ids = [f"w{i}" for i in range(100)]
    core = actions(sessions, own_home, *(Row(worker_id) for worker_id in ids))
    assert (await core.continue_(CLUSTER, ids)).done == 100


async def test_release_detaches_from_workers(
    adapter: FakeAdapter, sessions: AdapterSessions, own_home: Path
) -> None:
    adapter.change(state("held"))
    core = actions(sessions, own_home, Row("held", "held"), Row("new"))
    result = await core.release(CLUSTER, ["held", "new"])
    assert result.done == 1
    assert [failed.error.code for failed in result.failed] == ["unknown-worker"]


async def test_ignore_stores_the_stop_location_and_continues_the_worker(
    adapter: FakeAdapter, sessions: AdapterSessions, own_home: Path
) -> None:
    core = actions(sessions, own_home, Row("new", location=Location("/remote/train.py", 23, "f")))
    assert (await core.ignore(CLUSTER, ["new"])).done == 1
    assert [op for op, _ in adapter.asked] == ["attach", "ignore"]
    assert adapter.states["new"].state == "running"
    assert adapter.asked[1][1] == {
        "session": "session_1",
        "path": "/remote/train.py",
        "line": 24,
        "ignore": True,
    }


async def test_ignore_of_an_attached_worker_stores_the_line_of_the_call(
    adapter: FakeAdapter, sessions: AdapterSessions, own_home: Path
) -> None:
    place = Location("/remote/train.py", 24, "f")
    for call_line in (23, 0):
        adapter.answers["known"] = state("known", stop=replace(STOP, call_line=call_line))
        core = actions(sessions, own_home, Row("known", "debugging", location=place))
        result = await core.ignore(CLUSTER, ["known"])
        assert [(rule.line, rule.listed_line) for rule in result.ignored] == [(24, call_line)]


async def test_worker_that_has_resumed_is_not_a_failure(
    adapter: FakeAdapter, sessions: AdapterSessions, own_home: Path
) -> None:
    adapter.answers["ran"] = state("ran", stop=None, state="running")
    adapter.answers["resumed"] = worker_ran_on("name of resumed")
    adapter.answers["bad"] = worker_unreachable("name of bad", "10.0.0.1", 7000)
    core = actions(sessions, own_home, *(Row(w) for w in ("new", "ran", "resumed", "bad")))
    result = await core.ignore(CLUSTER, ["new", "ran", "resumed", "bad"])
    assert [failed.error.code for failed in result.failed] == ["worker-unreachable"]
    assert (result.done, len(result.ignored)) == (1, 1)
    again = await core.continue_(CLUSTER, ["resumed"])
    assert (again.done, again.failed) == (0, ())


@pytest.mark.parametrize(
    ("stop", "code"),
    [
        (replace(STOP, reason="exception", exception="ValueError: x"), "not-at-breakpoint"),
        (replace(STOP, reason="step"), "not-at-breakpoint"),
        (None, "worker-ran-on"),
    ],
)
async def test_ignore_fails_at_other_stops(
    adapter: FakeAdapter,
    sessions: AdapterSessions,
    own_home: Path,
    stop: WorkerStop | None,
    code: str,
) -> None:
    adapter.answers["w1"] = state("w1", stop=stop, state="stopped" if stop else "running")
    result = await actions(sessions, own_home, Row("w1")).ignore(CLUSTER, ["w1"])
    assert [failed.error.code for failed in result.failed] == [code]
    assert [op for op, _ in adapter.asked] == ["attach"]
    assert not (own_home / "ignored.json").exists()
