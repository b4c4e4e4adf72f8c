"""Groups, and relays under the cause of their error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from eagleray.debug.workers.model import (
    Location,
    PausedGroup,
    PausedWorker,
    WorkerFacts,
    all_workers,
)
from eagleray.debug.workers.paused_rows import group, listed
from hypothesis import given
from hypothesis import strategies as st

from tests.debug.workers.rows import CLUSTER, IP, NODE, SESSION


def paused(worker_id: str, title: str = "train", **other: Any) -> PausedWorker:
    values: dict[str, Any] = {
        "cluster": CLUSTER,
        "session": SESSION,
        "worker_id": worker_id,
        "name": title,
        "title": title,
        "rank": None,
        "node_id": NODE,
        "node_ip": IP,
        "port": 4000,
        "pid": 1,
        "kind": "breakpoint",
        "state": "paused",
        "waiting_s": 0.0,
        "location": None,
        "exception": "",
        "threads": 1,
        "attempt": 0,
    }
    return PausedWorker(**{**values, **other})


def failed(worker_id: str, **other: Any) -> PausedWorker:
    return paused(worker_id, **{"kind": "post-mortem", **other})


def running(task: str = "", started_by: str = "") -> WorkerFacts:
    """The facts of a worker that runs `task`, which the task `started_by` started."""
    task_ids, parent_ids = ({id_} if id_ else () for id_ in (task, started_by))
    return WorkerFacts("", ("",), task_ids=frozenset(task_ids), parent_ids=frozenset(parent_ids))


def grouped(described: Sequence[tuple[PausedWorker, WorkerFacts]]) -> tuple[PausedGroup, ...]:
    return group([worker for worker, _ in described], {w.key: facts for w, facts in described})


def tree(groups: tuple[PausedGroup, ...]) -> list[Any]:
    def of(worker: PausedWorker) -> Any:
        return (
            [worker.worker_id, *map(of, worker.children)] if worker.children else worker.worker_id
        )

    return [of(worker) for group in groups for worker in group.workers]


def test_workers_that_run_the_same_form_one_group() -> None:
    groups = group([paused("b", rank=1), paused("a", rank=0), paused("c", "eval")], {})
    assert [(group.title, [w.worker_id for w in group.workers]) for group in groups] == [
        ("eval", ["c"]),
        ("train", ["a", "b"]),
    ]


def test_failed_workers_form_the_first_groups_and_drivers_the_last() -> None:
    workers = [paused("d", "Driver"), paused("a"), failed("b"), paused("e", "Eval.run")]
    groups = group(workers, {})
    assert [(group.title, group.post_mortem) for group in groups] == [
        ("train", True),
        ("Eval.run", False),
        ("train", False),
        ("Driver", False),
    ]


def at(line: int) -> Location:
    return Location("/code/policy.py", line, "train")


def test_worker_whose_method_is_not_known_joins_those_at_its_line() -> None:
    workers = [
        paused("a", "Policy.train", location=at(23), rank=10),
        paused("b", "Policy.evaluate", location=at(40)),
        paused("c", "Policy", location=at(23), rank=2),
        paused("d", "Policy", location=at(99)),
        paused("e", "PolicyServer.train", location=at(99)),
    ]
    assert {group.title: [w.worker_id for w in group.workers] for group in group(workers, {})} == {
        "Policy": ["d"],
        "Policy.evaluate": ["b"],
        "Policy.train": ["c", "a"],
        "PolicyServer.train": ["e"],
    }


def test_worker_without_a_location_joins_the_only_method_of_its_class() -> None:
    workers = [paused("a", "Policy.train", location=at(23)), paused("b", "Policy")]
    (only,) = group(workers, {})
    assert (only.title, len(only.workers)) == ("Policy.train", 2)
    two = [*workers, paused("c", "Policy.evaluate", location=at(40))]
    assert {group.title for group in group(two, {})} == {
        "Policy",
        "Policy.train",
        "Policy.evaluate",
    }


def test_list_leaves_out_running_workers_and_shows_their_relays_instead() -> None:
    workers = [
        (failed("p"), running("t1")),
        (failed("c", kind="unknown", state="running"), running(started_by="t1")),
        (paused("r", state="running"), running()),
    ]
    assert tree(listed(grouped(workers))) == ["p"]


def test_same_title_in_two_clusters_forms_two_groups() -> None:
    assert len(group([paused("a"), paused("b", cluster="http://other:8265")], {})) == 2


def test_relay_is_listed_below_its_cause_at_any_depth() -> None:
    workers = [
        (failed("grandparent"), running("t1")),
        (failed("parent"), running("t2", "t1")),
        (failed("child", exception="ValueError: bad reward"), running("t3", "t2")),
    ]
    assert tree(grouped(workers)) == [["child", ["parent", "grandparent"]]]


@pytest.mark.parametrize(
    ("parent", "child", "is_relay"),
    [
        ({}, {}, True),
        ({"exception": "RayTaskError(ValueError): bad"}, {"exception": "ValueError: bad"}, True),
        ({"exception": "KeyError: its own"}, {}, False),
        ({"kind": "breakpoint"}, {}, False),
        ({"kind": "unknown"}, {}, False),
        ({}, {"kind": "breakpoint"}, False),
        # The child was continued and its error went on to the parent.
        ({}, {"kind": "unknown", "state": "running"}, True),
        ({}, {"session": "session_2"}, False),
    ],
)
def test_worker_relays_only_an_error_of_a_failed_child(
    parent: dict[str, Any], child: dict[str, Any], is_relay: bool
) -> None:
    workers = [
        (failed("p", **parent), running("t1")),
        (failed("c", **child), running(started_by="t1")),
    ]
    assert (["c", "p"] in tree(grouped(workers))) == is_relay


def test_parent_of_two_failed_children_is_listed_below_one_of_them() -> None:
    workers = [
        (failed("p"), running("t1")),
        (failed("a"), running(started_by="t1")),
        (failed("b"), running(started_by="t1")),
    ]
    assert tree(grouped(workers)) == [["a", "p"], "b"]


LETTERS = st.sampled_from("abcdefgh")


@given(st.dictionaries(LETTERS, LETTERS, max_size=8))
def test_each_worker_is_shown_once_whatever_the_cluster_reports(parents: dict[str, str]) -> None:
    workers = [(failed(name), running(name, parents.get(name, ""))) for name in "abcdefgh"]
    shown = [worker.worker_id for worker in all_workers(grouped(workers))]
    assert sorted(shown) == list("abcdefgh")


def test_chain_of_a_thousand_relays_is_complete() -> None:
    workers = [(failed(f"w{i}"), running(f"t{i}", f"t{i - 1}")) for i in range(1_000)]
    assert len(all_workers(grouped(workers))) == 1_000
