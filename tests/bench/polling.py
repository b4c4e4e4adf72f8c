"""One poll of the list of paused workers, with few and with many finished tasks behind it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from eagleray.ray.dashboard import Dashboard

from tests.bench.rows import Row, at_most_times
from tests.ray_cluster import RayCluster

TASKS = Path(__file__).with_name("tasks.py")


async def flat(cluster: RayCluster, many: int, samples: int) -> Row:
    """The goal allows for noise only."""
    few = await _polls(cluster, 10, samples)
    lots = await _polls(cluster, many, samples)
    return at_most_times(f"one poll after {many} tasks, against after 10 (ms)", lots, few, 1.2)


async def _polls(cluster: RayCluster, tasks: int, samples: int) -> list[float]:
    program = await asyncio.to_thread(cluster.run, TASKS, str(tasks))
    await asyncio.to_thread(program.wait, 300)
    took = []
    dashboard = Dashboard(cluster.address)
    try:
        for _ in range(samples):
            begun = time.perf_counter()
            await dashboard.paused_workers()
            took.append((time.perf_counter() - begun) * 1000)
            await asyncio.sleep(0.05)
    finally:
        await dashboard.close()
    return took
