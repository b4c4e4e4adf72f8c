"""Groups, and relays under the cause of their error."""

from __future__ import annotations

from typing import Any

import pytest
from eagleray.features.workers.model import PausedGroup, PausedWorker, all_workers
from eagleray.features.workers.paused_rows import group
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.rows import CLUSTER, IP, NODE, SESSION


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
        "place": None,
        "exception": "",
        "threads": 1,
        "attempt": 0,
    }
    return PausedWorker(**{**values, **other})


def failed(worker_id: str, runs: str = "", started_by: str = "", **other: Any) -> PausedWorker:
    ids = {"task_ids": frozenset({runs}) if runs else frozenset()}
    ids["parent_ids"] = frozenset({started_by}) if started_by else frozenset()
    return paused(worker_id, **{"kind": "post-mortem", **ids, **other})


def tree(groups: tuple[PausedGroup, ...]) -> list[Any]:
    def of(worker: PausedWorker) -> Any:
        return (
            [worker.worker_id, *map(of, worker.children)] if worker.children else worker.worker_id
        )

    return [of(worker) for one in groups for worker in one.workers]


def test_workers_that_run_the_same_are_one_group() -> None:
    groups = group([paused("b", rank=1), paused("a", rank=0), paused("c", "eval")])
    assert [(one.title, [worker.worker_id for worker in one.workers]) for one in groups] == [
        ("eval", ["c"]),
        ("train", ["a", "b"]),
    ]


def test_the_same_title_in_two_clusters_is_two_groups() -> None:
    assert len(group([paused("a"), paused("b", cluster="http://other:8265")])) == 2


def test_a_relay_stands_under_its_cause_at_any_depth() -> None:
    workers = [
        failed("grandparent", runs="t1"),
        failed("parent", runs="t2", started_by="t1"),
        failed("child", runs="t3", started_by="t2", exception="ValueError: bad reward"),
    ]
    assert tree(group(workers)) == [["child", ["parent", "grandparent"]]]


@pytest.mark.parametrize(
    ("parent", "child", "grouped"),
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
def test_who_relays(parent: dict[str, Any], child: dict[str, Any], grouped: bool) -> None:
    groups = group([failed("p", runs="t1", **parent), failed("c", started_by="t1", **child)])
    assert (["c", "p"] in tree(groups)) == grouped


def test_a_parent_of_two_failed_children_stands_under_one_of_them() -> None:
    workers = [failed("p", runs="t1"), failed("a", started_by="t1"), failed("b", started_by="t1")]
    assert tree(group(workers)) == [["a", "p"], "b"]


LETTERS = st.sampled_from("abcdefgh")


@given(st.dictionaries(LETTERS, LETTERS, max_size=8))
def test_nobody_is_lost_or_shown_twice_whatever_the_cluster_says(parents: dict[str, str]) -> None:
    workers = [failed(name, runs=name, started_by=parents.get(name, "")) for name in "abcdefgh"]
    shown = [worker.worker_id for worker in all_workers(group(workers))]
    assert sorted(shown) == list("abcdefgh")


def test_a_chain_of_a_thousand_relays_is_kept() -> None:
    workers = [failed(f"w{i}", runs=f"t{i}", started_by=f"t{i - 1}") for i in range(1_000)]
    assert len(all_workers(group(workers))) == 1_000
