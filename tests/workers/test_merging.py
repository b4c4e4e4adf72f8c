"""One row per worker out of Ray's list and the adapter's."""

from __future__ import annotations

from typing import Any

import pytest
from eagleray.features.workers.model import Key, Location, PausedWorker, StopLocation, WorkerFacts
from eagleray.features.workers.paused_rows import ListedWorker, RowSources, merge, stop_location_of
from eagleray.protocol.control import WorkerState

from tests.workers.rows import CLUSTER, IP, NODE, SESSION, stop, worker_row, worker_state

KEY: Key = (SESSION, "w1")
STOOD = StopLocation("breakpoint", Location("/code/train.py", 11, "PolicyWorker.train"))


def known(**other: Any) -> RowSources:
    values: dict[str, Any] = {
        "facts": {},
        "homes": {},
        "stands": {},
        "waiting": lambda key: 0.0,
        "to_local": lambda cluster, path: "",
    }
    return RowSources(**{**values, **other})


def listed(worker_id: str = "w1", **other: Any) -> ListedWorker:
    return ListedWorker(CLUSTER, SESSION, worker_row(worker_id, **other))


def test_on_a_dead_node_it_is_gone_unless_the_adapter_has_it() -> None:
    dead = ListedWorker(CLUSTER, SESSION, worker_row(), gone=True)
    assert one(merge([dead], [], known())).state == "gone"
    assert one(merge([dead], [STOPPED], known())).state == "held"


def one(rows: list[PausedWorker]) -> PausedWorker:
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
        (False, worker_state(editor=True), "attached"),
        (False, worker_state(state="running", stop=None), "running"),
        (False, worker_state(state="running", stop=None, editor=True), "running"),
        # Ray's list is older than what the adapter says.
        (True, STOPPED, "held"),
        (True, worker_state(state="running", stop=None, editor=True), "running"),
        (True, worker_state(state="gone", stop=None), "paused"),
    ],
)
def test_state(in_list: bool, state: WorkerState | None, shown: str) -> None:
    rows = merge([listed()] if in_list else [], [state] if state else [], known())
    assert one(rows).state == shown


def test_a_worker_that_is_gone_has_no_row() -> None:
    assert merge([], [worker_state(state="gone")], known()) == []


def test_the_same_worker_id_in_a_restarted_cluster_is_another_worker() -> None:
    rows = merge([listed()], [worker_state(session="session_2")], known())
    assert {(row.session, row.state) for row in rows} == {
        (SESSION, "paused"),
        ("session_2", "held"),
    }


def test_a_listed_worker_is_shown_with_what_ray_says() -> None:
    facts = WorkerFacts("policy_3", ("PolicyWorker.train",), name_rank=3, attempt=2)
    row = one(
        merge(
            [listed(pid=8, debug_port=4444, paused_threads=3)],
            [],
            known(facts={KEY: facts}, stands={KEY: STOOD}, waiting=lambda key: 7.0),
        )
    )
    assert (row.name, row.title, row.rank, row.attempt) == ("policy_3", "PolicyWorker.train", 3, 2)
    assert (row.node_id, row.node_ip, row.pid, row.port, row.threads) == (NODE, IP, 8, 4444, 3)
    assert (row.kind, row.place, row.waiting_s) == ("breakpoint", STOOD.place, 7.0)


def test_a_held_worker_is_shown_at_home_although_ray_lists_it_no_more() -> None:
    state = worker_state(rank="4", held_s=60.0)
    home = worker_row(pid=9)
    row = one(merge([], [state], known(homes={KEY: home}, waiting=lambda key: 1.0)))
    assert (row.node_ip, row.pid, row.rank, row.waiting_s) == (IP, 9, 4, 60.0)
    assert row.place == Location("/code/train.py", 12, "PolicyWorker.train")


def test_a_held_worker_of_a_cluster_that_does_not_answer_keeps_its_name() -> None:
    row = one(merge([], [worker_state(name="policy_1\n", pid=5)], known()))
    assert (row.name, row.title, row.pid, row.port, row.cluster) == (
        "policy_1",
        "policy_1",
        5,
        0,
        CLUSTER,
    )


def test_the_adapter_s_word_on_the_place_wins() -> None:
    row = one(merge([listed()], [worker_state(stop=stop(line=13))], known(stands={KEY: STOOD})))
    assert row.place is not None and row.place.line == 13


def test_a_running_worker_stands_nowhere() -> None:
    state = worker_state(state="running", stop=None)
    row = one(merge([], [state], known(stands={KEY: STOOD})))
    assert (row.place, row.kind) == (None, "breakpoint")


def test_of_several_coroutines_the_title_is_the_one_that_stands() -> None:
    facts = WorkerFacts("server", ("Server.pull", "Server.train"))
    row = one(merge([listed()], [], known(facts={KEY: facts}, stands={KEY: STOOD})))
    assert row.title == "Server.train"
    assert one(merge([listed()], [], known(facts={KEY: facts}))).title == "Server.pull"


def test_the_local_file_is_looked_up_with_the_cluster() -> None:
    asked: list[tuple[str, str]] = []

    def to_local(cluster: str, path: str) -> str:
        asked.append((cluster, path))
        return "/mine/train.py"

    row = one(merge([listed()], [], known(stands={KEY: STOOD}, to_local=to_local)))
    assert row.place is not None and row.place.local == "/mine/train.py"
    assert asked == [(CLUSTER, "/code/train.py")]


@pytest.mark.parametrize(
    ("reason", "kind"),
    [("exception", "post-mortem"), ("breakpoint", "breakpoint"), ("step", "breakpoint")],
)
def test_kind_of_a_stop(reason: str, kind: str) -> None:
    assert stop_location_of(stop(reason=reason)).kind == kind


def test_debugpy_s_remark_is_not_part_of_the_exception() -> None:
    said = (
        "ValueError       (note: full exception trace is shown but execution is paused at: "
        "ray._raylet.execute_task): bad reward\x1b[0m"
    )
    stand = stop_location_of(stop(reason="exception", exception=said))
    assert stand.exception == "ValueError: bad reward [0m"


def test_a_secret_in_an_exception_is_hidden() -> None:
    said = "KeyError: OPENAI_API_KEY=hunter22 is refused"
    stand = stop_location_of(stop(reason="exception", exception=said))
    assert "hunter22" not in stand.exception and stand.exception.startswith("KeyError: OPENAI")


def test_rows_are_ordered_by_what_runs_then_rank_with_the_unranked_last() -> None:
    facts = {
        (SESSION, "w1"): WorkerFacts("b", ("train",), name_rank=10),
        (SESSION, "w2"): WorkerFacts("a", ("train",)),
        (SESSION, "w3"): WorkerFacts("c", ("train",), name_rank=2),
        (SESSION, "w4"): WorkerFacts("d", ("eval",), name_rank=99),
    }
    rows = merge([listed(f"w{i}") for i in (1, 2, 3, 4)], [], known(facts=facts))
    assert [row.worker_id for row in rows] == ["w4", "w3", "w1", "w2"]
