"""A picture of a job or of a run has only the part of the cluster that belongs to it."""

from __future__ import annotations

import pytest
from eagleray.observe.hangs.collecting.ray_jobs import (
    ClusterRows,
    jobs_of,
    jobs_of_run,
    of_workers,
    restricted,
    with_jobs,
)
from eagleray.observe.hangs.ray_names import NodeNames
from eagleray.ray import rows
from eagleray.runs.model import RunState, RunWorkerStatus

JOBS = [
    rows.job({"job_id": "01000000", "submission_id": ""}),
    rows.job({"job_id": "02000000", "submission_id": "raysubmit_x"}),
    rows.job({"job_id": "", "submission_id": "raysubmit_y"}),
]
DRIVER = "02000000" + "f" * 48


def listed() -> ClusterRows:
    actors = [
        rows.actor({"actor_id": f"a{job}", "job_id": f"0{job}000000", "pid": job}) for job in (1, 2)
    ]
    workers = [
        rows.worker({"worker_id": f"0{job}000000" + "f" * 48, "worker_type": "DRIVER", "pid": job})
        for job in (1, 2)
    ]
    workers.append(rows.worker({"worker_id": "02000000" + "a" * 48, "worker_type": "WORKER"}))
    tasks = [
        rows.task(
            {
                "task_id": f"t{job}",
                "job_id": f"0{job}000000",
                "state": "RUNNING",
                "worker_pid": 10 + job,
                "node_id": "n",
            }
        )
        for job in (1, 2)
    ]
    return ClusterRows(tuple(actors), tuple(workers), tuple(tasks))


def test_job_is_named_by_either_of_its_ids() -> None:
    assert jobs_of(JOBS, "01000000") == {"01000000"}
    assert jobs_of(JOBS, "raysubmit_x") == {"02000000"}
    # Its driver has not called ray.init.
    assert jobs_of(JOBS, "raysubmit_y") == frozenset()


def test_rows_of_other_jobs_are_left_out() -> None:
    part = restricted(listed(), ["02000000"])
    assert [row.actor_id for row in part.actors] == ["a2"]
    assert [row.worker_id for row in part.workers] == [DRIVER]
    assert [row.task_id for row in part.tasks] == ["t2"]
    assert restricted(listed(), []) == listed()


def test_node_samples_the_workers_that_run_tasks_of_the_job() -> None:
    names = {"n": NodeNames("10.0.0.1"), "m": NodeNames("10.0.0.2")}
    part = with_jobs(names, restricted(listed(), ["02000000"]).tasks, ["02000000"])
    assert (part["n"].workers, part["n"].jobs) == ((12,), ("02000000",))
    assert (part["m"].workers, part["m"].jobs) == ((), ("02000000",))
    assert with_jobs(names, listed().tasks, []) == names


@pytest.mark.parametrize(
    ("written", "actors", "drivers", "tasks"),
    [
        ("Policy", ["p0", "p1"], 0, []),
        ("Policy.train", ["p0", "p1"], 0, []),
        ("*olicy*", ["p0", "p1"], 0, []),
        ("reward-0, policy-1", ["p1", "r0"], 0, []),
        ("Driver", [], 1, []),
        ("driver", [], 1, []),
        ("load[0]", [], 0, ["t1"]),
        ("critic", [], 0, []),
    ],
)
def test_title_of_a_group_or_patterns_choose_workers(
    written: str, actors: list[str], drivers: int, tasks: list[str]
) -> None:
    named = [
        ("p0", "Policy", "policy-0"),
        ("p1", "Policy", "policy-1"),
        ("r0", "Reward", "reward-0"),
    ]
    rows_of_cluster = ClusterRows(
        tuple(
            rows.actor({"actor_id": actor_id, "class_name": class_name, "name": name})
            for actor_id, class_name, name in named
        ),
        listed().workers[:1],
        (
            rows.task({"task_id": "t1", "name": "load[0]"}),
            rows.task({"task_id": "t2", "name": "Policy.train", "actor_id": "p0"}),
        ),
    )
    part = of_workers(rows_of_cluster, written)
    assert [row.actor_id for row in part.actors] == actors
    assert len(part.workers) == drivers
    assert [row.task_id for row in part.tasks] == tasks


def test_node_samples_only_the_chosen_workers() -> None:
    names = {"n": NodeNames("10.0.0.1"), "m": NodeNames("10.0.0.2")}
    part = with_jobs(names, listed().tasks[:1], [], is_part=True)
    assert (part["n"].workers, part["n"].is_part) == ((11,), True)
    assert (part["m"].workers, part["m"].is_part) == ((), True)


def test_jobs_of_a_run_are_its_submission_and_its_drivers() -> None:
    driver = RunWorkerStatus(DRIVER, 2, "driver", "train.py", "running", ())
    started = RunState("running", 0.0, workers=(driver,))
    assert jobs_of_run(JOBS, listed().workers, started) == {"02000000"}
    submitted = RunState("running", 0.0, external_id="raysubmit_x")
    assert jobs_of_run(JOBS, (), submitted) == {"02000000"}
    assert jobs_of_run(JOBS, listed().workers, RunState("running", 0.0)) == frozenset()
