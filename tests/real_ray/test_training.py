"""The RL-shaped demo program: ranks, groups, a nested task and a post-mortem, attached to at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.ray_cluster import PROGRAMS, Program, RayCluster, wait_for
from tests.real_ray.command import Command, Row, stand
from tests.sidecar.stdio_client import sidecar

pytestmark = pytest.mark.real_ray

FOLDER = PROGRAMS / "rl_training"


@pytest.fixture(scope="module")
def training(cluster: RayCluster) -> Iterator[Program]:
    program = cluster.run(FOLDER / "train.py", "--steps", "1")
    try:
        cluster.wait_paused(6)
        yield program
    finally:
        program.end()


async def rows_of_the_panel(eagleray: Command) -> dict[str, list[Row]]:
    """The groups that a sidecar says, by title."""
    async with sidecar(**eagleray.env) as client:
        await client.initialize(discovery="off")
        await client.result("eagleray/clusters/refresh")

        def all_told_apart(snapshot: Row) -> bool:
            workers = [worker for group in snapshot["groups"] for worker in group["workers"]]
            return len(workers) == 6 and all(worker["kind"] != "unknown" for worker in workers)

        snapshot = await client.heard("eagleray/workers/changed", all_told_apart)
        assert (snapshot["stops"]["paused"], snapshot["stops"]["held"]) == (6, 0)
        return {group["title"]: group["workers"] for group in snapshot["groups"]}


async def test_panel_lists_the_ranks_of_a_training(training: Program, eagleray: Command) -> None:
    groups = await rows_of_the_panel(eagleray)
    policies = groups["PolicyWorker.train"]
    assert [worker["rank"] for worker in policies] == [0, 1, 2, 3]
    assert [worker["name"] for worker in policies] == [f"policy-{rank}" for rank in range(4)]
    for worker in policies:
        assert worker["kind"] == "breakpoint"
        assert worker["location"]["path"] == str(FOLDER / "policy.py")
        assert worker["location"]["function"].endswith("train")
    (nested,) = groups["score_batch"]
    assert nested["location"]["path"] == str(FOLDER / "rewards.py")
    (broken,) = groups["RolloutWorker.sample_broken"]
    assert (broken["name"], broken["rank"], broken["kind"]) == ("rollout-1", 1, "post-mortem")


def test_four_ranks_are_debugged_at_once_and_independently(
    training: Program, cluster: RayCluster, eagleray: Command
) -> None:
    rows = {row["name"]: row for row in (eagleray.wait_row(f"policy-{n}") for n in range(4))}
    ids = [rows[f"policy-{rank}"]["worker_id"] for rank in range(4)]
    with ThreadPoolExecutor(4) as pool:
        attached = list(pool.map(eagleray.attach, ids))
    assert [one["worker_id"] for one in attached] == ids
    with eagleray.editor(ids[2]) as (client, _):
        frame = stand(client)
        assert client.evaluate("self.rank", frame["id"]) == "2"
        assert "advantage" in client.variables(frame["id"])
        assert client.evaluate("len(rewards)", frame["id"]) == "4"
        client.request("continue", threadId=frame["thread"])
        client.leave()
    held = {row["name"] for row in eagleray.paused() if row["held"]}
    assert held == {"policy-0", "policy-1", "policy-3"}
    for name in ("policy-0", "policy-1", "policy-3"):
        assert eagleray.run("release", rows[name]["worker_id"]).returncode == 0
    nested = eagleray.wait_row("score_batch")["worker_id"]
    assert eagleray.run("continue", nested).returncode == 0
    training.wait_output("step 0: mean reward")
    broken = eagleray.wait_row("rollout-1")["worker_id"]
    with eagleray.editor(broken) as (client, _):
        assert stand(client)["file"] == str(FOLDER / "rewards.py")
        client.leave()
    training.wait_output("training is done")
    wait_for("an empty list", lambda: not eagleray.paused())
