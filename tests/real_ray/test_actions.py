"""Actions of rows and groups, over the sidecar, with no editor attached to any worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from eagleray.debug.attaching import messages as debugging
from eagleray.debug.workers import messages as workers

from tests.ray_cluster import Program, RayCluster, temporary_home
from tests.sidecar.stdio_client import StdioClient, sidecar

pytestmark = pytest.mark.real_ray

POLICIES = {f"policy-{rank}" for rank in range(4)}


@pytest.fixture(scope="module")
def training(cluster: RayCluster) -> Iterator[Program]:
    """Four policy workers stand in each of five steps; a nested task and a failed worker stand once."""
    program = cluster.run("rl_training/train.py", "--steps", "5")
    try:
        cluster.wait_paused(6)
        yield program
    finally:
        program.end()


@pytest.fixture
async def panel(cluster: RayCluster, training: Program) -> AsyncIterator[StdioClient]:
    """A sidecar and an adapter of the test's own, that see the policy workers stand in some step."""
    with temporary_home() as home:
        async with sidecar(**cluster.eagleray_env(home)) as client:
            await client.initialize()
            await client.result(workers.WATCH, {"visible": True})
            await client.heard(workers.CHANGED, all_are_located)
            yield client


def all_are_located(snapshot: dict[str, Any]) -> bool:
    """Whether each policy worker is listed with its line, which a trace finds a moment after the worker."""
    seen = by_name(snapshot)
    return all(name in seen and seen[name]["location"] is not None for name in POLICIES)


def by_name(snapshot: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for group in snapshot["groups"] for row in group["workers"]}


async def rows(panel: StdioClient) -> dict[str, dict[str, Any]]:
    return by_name(await panel.result(workers.REFRESH))


async def let_go_elsewhere(panel: StdioClient, cluster: RayCluster) -> int:
    """Continues by their rows what stands beside the policy workers; says how many these are."""
    seen = await rows(panel)
    elsewhere = [row["worker_id"] for name, row in seen.items() if name not in POLICIES]
    named = {"cluster": cluster.address, "worker_ids": elsewhere}
    outcome = await panel.result(debugging.CONTINUE, named)
    assert outcome == {"done": len(elsewhere), "failures": [], "ignored": []}
    return len(elsewhere)


async def ended(program: Program) -> str:
    assert await asyncio.to_thread(program.wait) == 0
    return program.output()


async def test_continue_all_others_leaves_one_that_is_attached_then(
    panel: StdioClient, cluster: RayCluster, training: Program
) -> None:
    panel.notifications.clear()
    assert await let_go_elsewhere(panel, cluster) == 2
    await panel.heard(workers.CHANGED, lambda value: value["stops"]["paused"] == 4)
    left = (await rows(panel))["policy-1"]["worker_id"]
    named = {"cluster": cluster.address, "worker_ids": [left]}
    panel.notifications.clear()
    outcome = await panel.result(debugging.CONTINUE_OTHERS, named)
    assert outcome == {"done": 3, "failures": [], "ignored": []}
    await panel.heard(
        workers.CHANGED, lambda value: value["stops"]["paused"] == 1 and value["stops"]["held"] == 0
    )
    waiting = [row for row in (await rows(panel)).values() if row["state"] == "paused"]
    assert [row["worker_id"] for row in waiting] == [left]
    # Attaching and releasing by the panel: the one that was left stands held in between.
    named = {"cluster": cluster.address, "worker": "policy-1", "workspace_folders": []}
    attached = await panel.result(debugging.ATTACH, {**named, "workDoneToken": "t"})
    assert attached["rank"] == 1
    assert attached["local"].endswith("policy.py")
    await panel.heard(workers.CHANGED, lambda value: value["stops"]["held"] == 1)
    panel.notifications.clear()
    released = {"cluster": cluster.address, "worker_ids": [attached["worker_id"]]}
    assert await panel.result(debugging.RELEASE, released) == {
        "done": 1,
        "failures": [],
        "ignored": [],
    }
    await panel.heard(workers.CHANGED, lambda value: value["stops"]["held"] == 0)


async def test_an_ignored_breakpoint_stops_no_worker_in_any_step(
    panel: StdioClient, cluster: RayCluster, training: Program
) -> None:
    worker = (await rows(panel))["policy-2"]["worker_id"]
    attach = {"cluster": cluster.address, "worker": worker, "workspace_folders": []}
    await panel.result(debugging.ATTACH, {**attach, "workDoneToken": "t"})
    await panel.heard(workers.CHANGED, lambda value: value["stops"]["held"] == 1)
    # Held in the line after the call, it is listed at the call.
    row = (await rows(panel))["policy-2"]
    assert row["location"]["line"] == 23, row
    named = {"cluster": cluster.address, "worker_ids": [worker]}
    outcome = await panel.result(debugging.IGNORE, named)
    assert (outcome["done"], outcome["failures"]) == (1, [])
    (rule,) = (await panel.result(debugging.IGNORED))["ignored"]
    assert outcome["ignored"] == [rule]
    assert rule["path"].endswith("policy.py") and rule["listed_line"] == 23
    # The others of the group go by themselves.
    await let_go_elsewhere(panel, cluster)
    assert "step 4:" in await ended(training)
