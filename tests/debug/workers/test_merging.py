"""Merging of Ray's list and the adapter's workers into one row per worker."""

from __future__ import annotations

from typing import Any

import pytest
from eagleray.debug.workers.model import Key, Location, PausedWorker, StopLocation, WorkerFacts
from eagleray.debug.workers.paused_rows import ListedWorker, RowSources, merge, stop_location_of
from eagleray.protocol.adapter_control import WorkerState

from tests.debug.workers.rows import CLUSTER, IP, NODE, SESSION, stop, worker_row, worker_state

KEY: Key = (SESSION, "w1")
STOPPED_AT = StopLocation("breakpoint", Location("/code/train.py", 11, "PolicyWorker.train"))


def sources(**other: Any) -> RowSources:
    values: dict[str, Any] = {
        "facts": {},
        "homes": {},
        "stops": {},
        "waiting": lambda key: 0.0,
        "to_local": lambda cluster, path: "",
    }
    return RowSources(**{**values, **other})


def listed(worker_id: str = "w1", **other: Any) -> ListedWorker:
    return ListedWorker(CLUSTER, SESSION, worker_row(worker_id, **other))


def test_worker_on_a_dead_node_is_gone_unless_the_adapter_has_it() -> None:
    dead = ListedWorker(CLUSTER, SESSION, worker_row(), gone=True)
    assert only(merge([dead], [], sources())).state == "gone"
    assert only(merge([dead], [STOPPED], sources())).state == "held"


def only(rows: list[PausedWorker]) -> PausedWorker:
    (row,) = rows
    return row


STOPPED = worker_state()


@pytest.mark.parametrize(
    ("in_list", "state", "shown"),
    [
        (True, None, "paused"),
        (True, worker_state(state="attaching", stop=None), "paused"),
        (False, worker_state(state="attaching", stop=None), "paused"),
        (False, STOPPED, "held"),
        (False, worker_state(seen=False), "paused"),
        (False, worker_state(editor=True), "debugging"),
        (False, worker_state(state="running", stop=None), "running"),
        (False, worker_state(state="running", stop=None, editor=True), "running"),
        # Ray's list is older than the adapter's.
        (True, STOPPED, "held"),
        (True, worker_state(state="running", stop=None, editor=True), "running"),
        (True, worker_state(state="gone", stop=None), "paused"),
    ],
)
def test_adapter_decides_the_state_before_ray(
    in_list: bool, state: WorkerState | None, shown: str
) -> None:
    rows = merge([listed()] if in_list else [], [state] if state else [], sources())
    assert only(rows).state == shown


def test_worker_that_is_gone_has_no_row() -> None:
    assert merge([], [worker_state(state="gone")], sources()) == []


def test_same_worker_id_in_a_restarted_cluster_is_another_worker() -> None:
    rows = merge([listed()], [worker_state(session="session_2")], sources())
    assert {(row.session, row.state) for row in rows} == {
        (SESSION, "paused"),
        ("session_2", "held"),
    }


def test_listed_worker_is_described_by_rays_lists() -> None:
    facts = WorkerFacts("policy_3", ("PolicyWorker.train",), name_rank=3, attempt=2)
    row = only(
        merge(
            [listed(pid=8, debug_port=4444, paused_threads=3)],
            [],
            sources(facts={KEY: facts}, stops={KEY: STOPPED_AT}, waiting=lambda key: 7.0),
        )
    )
    assert (row.name, row.title, row.rank, row.attempt) == ("policy_3", "PolicyWorker.train", 3, 2)
    assert (row.node_id, row.node_ip, row.pid, row.port, row.threads) == (NODE, IP, 8, 4444, 3)
    assert (row.kind, row.location, row.waiting_s) == ("breakpoint", STOPPED_AT.location, 7.0)


def test_held_worker_keeps_its_node_though_ray_no_longer_lists_it() -> None:
    state = worker_state(rank="4", held_s=60.0)
    home = worker_row(pid=9)
    row = only(merge([], [state], sources(homes={KEY: home}, waiting=lambda key: 1.0)))
    assert (row.node_ip, row.pid, row.rank, row.waiting_s) == (IP, 9, 4, 60.0)
    assert row.location == Location("/code/train.py", 12, "PolicyWorker.train")


def test_held_worker_of_a_silent_cluster_keeps_its_name() -> None:
    row = only(merge([], [worker_state(name="policy_1\n", pid=5)], sources()))
    assert (row.name, row.rank, row.title, row.pid, row.port, row.cluster) == (
        "policy_1",
        1,
        "policy_1",
        5,
        0,
        CLUSTER,
    )


def test_adapters_stop_location_overrides_the_traced_one() -> None:
    row = only(
        merge([listed()], [worker_state(stop=stop(line=23))], sources(stops={KEY: STOPPED_AT}))
    )
    assert row.location is not None and row.location.line == 23


@pytest.mark.parametrize("editor", [False, True])
@pytest.mark.parametrize(("call_line", "line"), [(11, 11), (2, 2), (0, 12)])
def test_stopped_worker_is_shown_at_its_breakpoint_call(
    call_line: int, line: int, editor: bool
) -> None:
    state = worker_state(stop=stop(line=12, call_line=call_line), editor=editor)
    for stops in ({}, {KEY: STOPPED_AT}):
        row = only(merge([listed()], [state], sources(stops=stops)))
        assert row.location is not None and row.location.line == line


def test_running_worker_has_no_location() -> None:
    state = worker_state(state="running", stop=None)
    row = only(merge([], [state], sources(stops={KEY: STOPPED_AT})))
    assert (row.location, row.kind) == (None, "breakpoint")


def test_title_comes_from_the_stopped_coroutine() -> None:
    facts = WorkerFacts("server", ("Server.pull", "Server.train"))
    row = only(merge([listed()], [], sources(facts={KEY: facts}, stops={KEY: STOPPED_AT})))
    assert row.title == "Server.train"
    assert only(merge([listed()], [], sources(facts={KEY: facts}))).title == "Server.pull"


@pytest.mark.parametrize(
    ("run", "shown"),
    [
        ({"class_name": "Policy"}, ("policy-0", "Policy.train", 0)),
        ({"class_name": "Policy", "stop": stop(entry="<lambda>")}, ("policy-0", "Policy", 0)),
        ({"class_name": "Policy", "state": "running", "stop": None}, ("policy-0", "Policy", 0)),
        ({"kind": "driver", "name": "train.py"}, ("driver · train.py", "Driver", None)),
        (
            {"kind": "child", "name": "policy-0 · process 7"},
            ("policy-0 · process 7",) * 2 + (None,),
        ),
    ],
)
def test_worker_of_a_run_is_described_without_rays_lists(
    run: dict[str, Any], shown: tuple[str, str, int | None]
) -> None:
    state = worker_state(**{"name": "policy-0", "stop": stop(entry="train"), **run})
    row = only(merge([], [state], sources(facts={KEY: WorkerFacts("x", ("x",))})))
    assert (row.name, row.title, row.rank) == shown


def test_rays_tasks_describe_a_worker_of_a_run_better_than_the_run() -> None:
    facts = WorkerFacts("policy-0", ("Policy.evaluate",), task_ids=frozenset({"t"}))
    state = worker_state(class_name="Policy", stop=stop(entry="train"))
    assert only(merge([], [state], sources(facts={KEY: facts}))).title == "Policy.evaluate"


def test_local_file_is_looked_up_with_the_cluster() -> None:
    lookups: list[tuple[str, str]] = []

    def to_local(cluster: str, path: str) -> str:
        lookups.append((cluster, path))
        return "/mine/train.py"

    row = only(merge([listed()], [], sources(stops={KEY: STOPPED_AT}, to_local=to_local)))
    assert row.location is not None and row.location.local == "/mine/train.py"
    assert lookups == [(CLUSTER, "/code/train.py")]


@pytest.mark.parametrize(
    ("reason", "kind"),
    [("exception", "post-mortem"), ("breakpoint", "breakpoint"), ("step", "breakpoint")],
)
def test_exception_stop_is_post_mortem(reason: str, kind: str) -> None:
    assert stop_location_of(stop(reason=reason)).kind == kind


def test_exception_lacks_debugpys_remark() -> None:
    exception = (
        "ValueError       (note: full exception trace is shown but execution is paused at: "
        "ray._raylet.execute_task): bad reward\x1b[0m"
    )
    location = stop_location_of(stop(reason="exception", exception=exception))
    assert location.exception == "ValueError: bad reward [0m"


def test_secret_in_an_exception_is_hidden() -> None:
    exception = "KeyError: OPENAI_API_KEY=hunter22 is refused"
    location = stop_location_of(stop(reason="exception", exception=exception))
    assert "hunter22" not in location.exception and location.exception.startswith(
        "KeyError: OPENAI"
    )


def test_rows_are_ordered_by_title_then_rank_with_unranked_last() -> None:
    facts = {
        (SESSION, "w1"): WorkerFacts("b", ("train",), name_rank=10),
        (SESSION, "w2"): WorkerFacts("a", ("train",)),
        (SESSION, "w3"): WorkerFacts("c", ("train",), name_rank=2),
        (SESSION, "w4"): WorkerFacts("d", ("eval",), name_rank=99),
    }
    rows = merge([listed(f"w{i}") for i in (1, 2, 3, 4)], [], sources(facts=facts))
    assert [row.worker_id for row in rows] == ["w4", "w3", "w1", "w2"]
