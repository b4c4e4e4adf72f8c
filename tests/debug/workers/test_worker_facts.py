"""Names, titles and ranks."""

from __future__ import annotations

import pytest
from eagleray.debug.workers.model import WorkerFacts
from eagleray.debug.workers.worker_facts import (
    NAME_LIMIT,
    clean,
    describe_worker,
    rank_of,
    rank_of_name,
    rank_of_text,
    script_of,
)
from eagleray.ray.rows import RuntimeEnv
from hypothesis import given
from hypothesis import strategies as st

from tests.debug.workers.rows import actor_row, job_row, task_row, worker_row


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("policy_0", 0),
        ("policy_12", 12),
        ("hVKrQdWorkerDict_0:3", 3),
        ("rollout-worker-7", 7),
        ("worker3", 3),
        ("Rank007", 7),
        ("5", 5),
        ("policy 4", 4),
        ("policy", None),
        ("", None),
        ("actor-v2", None),
        ("run-3fa85f", None),
        ("f81d4fae-7dec-11d0-a765-00a0c91e6bf6", None),
        ("step_1795260788979", None),
        ("policy_3_", None),
        ("policy_3 (old)", None),
        ("пять_5", 5),
        ("policy_３", None),
    ],
)
def test_rank_of_an_actor_name(name: str, rank: int | None) -> None:
    assert rank_of_name(name) == rank


@pytest.mark.parametrize(
    ("text", "rank"),
    [("0", 0), (" 3\n", 3), ("", None), ("-1", None), ("x", None), ("1.0", None), ("9" * 30, None)],
)
def test_rank_of_an_environment(text: str, rank: int | None) -> None:
    assert rank_of_text(text) == rank


@pytest.mark.parametrize(
    ("env", "name", "attached", "rank"),
    [
        (1, 2, "3", 1),
        (None, 2, "3", 2),
        (None, None, "3", 3),
        (None, None, "", None),
        (0, 2, "3", 0),
    ],
)
def test_order_of_the_rules_of_rank(
    env: int | None, name: int | None, attached: str, rank: int | None
) -> None:
    facts = WorkerFacts("policy", ("train",), env_rank=env, name_rank=name)
    assert rank_of(facts, attached) == rank


@pytest.mark.parametrize(
    ("entrypoint", "script"),
    [
        ("python train.py --lr 1", "train.py"),
        ("/usr/bin/python -u /home/me/my code/train.py", "train.py"),
        ("python '/home/me/my code/train.py'", "train.py"),
        ("python -m verl.trainer.main_ppo a=b", "-m verl.trainer.main_ppo"),
        ("bash run.sh", ""),
        ("python 'unclosed", ""),
        ("python -m", ""),
        ("", ""),
    ],
)
def test_script_of_an_entrypoint(entrypoint: str, script: str) -> None:
    assert script_of(entrypoint) == script


def test_actor_is_called_by_its_name_and_runs_its_method() -> None:
    env = RuntimeEnv(env={"RANK": "2"})
    actor = actor_row(name="policy_5", runtime_env=env)
    facts = describe_worker(worker_row(), actor, [task_row(attempt=1)], None)
    assert (facts.name, facts.titles, facts.attempt) == ("policy_5", ("PolicyWorker.train",), 1)
    assert (facts.env_rank, facts.name_rank) == (2, 5)


def test_actor_without_a_name_is_called_by_its_class() -> None:
    facts = describe_worker(worker_row(), actor_row(), [task_row()], None)
    assert facts.name == "PolicyWorker"


def test_actor_that_is_being_made_is_known_from_its_creation_task() -> None:
    task = task_row(name="PolicyWorker.__init__", kind="ACTOR_CREATION_TASK", worker_id="")
    facts = describe_worker(worker_row(), None, [task], None)
    assert (facts.name, facts.titles) == ("PolicyWorker", ("PolicyWorker.__init__",))


def test_task_is_called_by_its_function() -> None:
    facts = describe_worker(worker_row(), None, [task_row(name="reward")], None)
    assert (facts.name, facts.titles) == ("reward", ("reward",))


def test_driver_is_called_by_its_script_and_is_the_parent_of_what_it_starts() -> None:
    facts = describe_worker(worker_row(kind="driver"), None, [], job_row())
    assert (facts.name, facts.titles) == ("driver · train.py", ("Driver",))
    assert facts.task_ids == {"f" * 40 + "01000000"}
    assert describe_worker(worker_row(kind="driver"), None, [], None).name == "driver"


def test_worker_of_which_nothing_is_known_is_called_by_its_pid() -> None:
    assert describe_worker(worker_row(pid=7), None, [], None).name == "worker 7"
    assert describe_worker(None, None, [], None).titles == ("worker",)


@given(st.text())
def test_every_name_is_fit_to_be_shown(text: str) -> None:
    shown = clean(text)
    assert shown.isprintable() and len(shown) <= NAME_LIMIT


@given(st.text())
def test_name_never_breaks_the_rules_of_rank(text: str) -> None:
    rank = rank_of_name(text)
    assert rank is None or 0 <= rank < 10**6
