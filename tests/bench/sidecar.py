"""The sidecar by itself: its start, its memory, and what it costs to watch a cluster."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import psutil
from eagleray.clusters import messages as clusters
from eagleray.debug.workers import messages as workers

from tests.bench.rows import Row, at_most, at_most_times
from tests.ray_cluster import RayCluster
from tests.sidecar.stdio_client import sidecar

WATCHING_S = 30.0


def start(home: Path, samples: int) -> Row:
    """Until the first answer, against the time that importing its two libraries takes."""
    ours, peer = [], []
    for _ in range(samples):
        begun = time.perf_counter()
        imports = [sys.executable, "-c", "import pygls.lsp.server, aiohttp"]
        subprocess.run(imports, check=True)
        peer.append((time.perf_counter() - begun) * 1000)
        ours.append(asyncio.run(_first_answer(home)))
    return at_most_times("sidecar, first answer (ms)", ours, peer, 1.5)


async def _first_answer(home: Path) -> float:
    begun = time.perf_counter()
    async with sidecar(EAGLERAY_HOME=str(home), EAGLERAY_DISCOVERY="off") as client:
        await client.initialize()
        took = (time.perf_counter() - begun) * 1000
        await client.end()
    return took


async def watching(home: Path, cluster: RayCluster) -> list[Row]:
    """Memory and processor time while one cluster is watched closely."""
    async with sidecar(**cluster.eagleray_env(home)) as client:
        await client.initialize()
        await client.result(clusters.REFRESH)
        await client.result(workers.WATCH, {"visible": True})
        await client.result(workers.REFRESH)
        process = psutil.Process(client.process.pid)
        before = process.cpu_times()
        await asyncio.sleep(WATCHING_S)
        after = process.cpu_times()
        used = after.user + after.system - before.user - before.system
        memory = process.memory_info().rss / 1e6
        await client.end()
    return [
        at_most("sidecar, memory while watching (MB)", [memory], 80),
        at_most("sidecar, one core while watching (%)", [100 * used / WATCHING_S], 1.0),
    ]
