"""Paused workers: how soon they are seen, and how soon one stands at their line."""

from __future__ import annotations

import asyncio
import subprocess
import time
from pathlib import Path
from typing import Any

from eagleray.adapter_client.client import AdapterClient
from eagleray.clusters import messages as clusters
from eagleray.debug.workers import messages as workers
from eagleray.protocol.adapter_control import AttachParams

from tests.bench.bare_client import BareClient
from tests.bench.rows import Row, at_most_more, at_most_times
from tests.dap_client import DapClient
from tests.ray_cluster import RayCluster, wait_for
from tests.sidecar.stdio_client import StdioClient, sidecar

PROGRAM = Path(__file__).with_name("pausing.py")
REQUESTS = 100


class Pausing:
    """The program whose workers pause, one more at each `next`."""

    def __init__(self, cluster: RayCluster, actors: int) -> None:
        self._process = subprocess.Popen(
            [cluster.python, str(PROGRAM), str(actors)],
            env=cluster.program_env(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout
        # From 20 workers on, Ray prints a warning about their number before.
        assert "ready\n" in iter(self._process.stdout.readline, "")

    def next(self) -> None:
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


async def pause_to_row(home: Path, cluster: RayCluster, samples: int) -> Row:
    """From the command that makes a worker pause to the row, against Ray's own list asked all the time."""
    program = await asyncio.to_thread(Pausing, cluster, samples)
    ours, peer = [], []
    try:
        async with sidecar(**cluster.eagleray_env(home)) as client:
            await client.initialize()
            await client.result(clusters.REFRESH)
            await client.result(workers.WATCH, {"visible": True})
            for count in range(1, samples + 1):
                begun = time.perf_counter()
                program.next()
                row = asyncio.create_task(_row_seen(client, count))
                await asyncio.to_thread(_listed, cluster, count)
                peer.append(time.perf_counter() - begun)
                ours.append(await row - begun)
    finally:
        program.end()
    return at_most_more("pause to row (s)", ours, peer, 1.0)


async def _row_seen(client: StdioClient, count: int) -> float:
    await client.heard(workers.CHANGED, lambda snapshot: snapshot["stops"]["paused"] >= count)
    return time.perf_counter()


def _listed(cluster: RayCluster, count: int) -> None:
    while len(cluster.paused()) < count:
        time.sleep(0.01)


async def attaching(home: Path, cluster: RayCluster, samples: int) -> list[Row]:
    """Attach and single requests through the adapter, against a bare socket to the same workers.

    The adapter has told their debuggers not to delay small packets, which helps the bare socket as well:
    by itself it would wait for 44 ms at every request.
    """
    program = await asyncio.to_thread(Pausing, cluster, 1)
    program.next()
    adapters = AdapterClient()
    ours, peer, our_requests, peer_requests = [], [], [], []
    try:
        for _ in range(samples):
            worker = await asyncio.to_thread(_waiting, cluster)
            took, requests = await _through_adapter(adapters, cluster, worker)
            ours.append(took)
            our_requests += requests
            worker = await asyncio.to_thread(_waiting, cluster)
            took, requests = await asyncio.to_thread(_bare, worker)
            peer.append(took)
            peer_requests += requests
    finally:
        await adapters.close()
        program.end()
    return [
        at_most_times("attach, request to stopped (ms)", ours, peer, 1.3),
        at_most_more("one request to a stopped worker (ms)", our_requests, peer_requests, 2.0),
    ]


def _waiting(cluster: RayCluster) -> dict[str, Any]:
    rows = wait_for("a paused worker", cluster.paused)
    # debugpy goes deaf when it is met within milliseconds after a client has left.
    time.sleep(0.5)
    return rows[0]


async def _through_adapter(
    adapters: AdapterClient, cluster: RayCluster, worker: dict[str, Any]
) -> tuple[float, list[float]]:
    key = {"session": cluster.session, "worker_id": worker["worker_id"]}
    where = {"host": worker["ip"], "port": worker["debugger_port"]}
    begun = time.perf_counter()
    attached = await adapters.sessions.attach(
        AttachParams(**key, **where, cluster=cluster.address, name="pausing-0")
    )
    client = await asyncio.to_thread(DapClient.unix, attached.socket)
    await asyncio.to_thread(client.attach)
    stopped = await asyncio.to_thread(client.wait_for, "stopped")
    took = (time.perf_counter() - begun) * 1000
    requests = await asyncio.to_thread(_requests, client, stopped["body"]["threadId"])
    await asyncio.to_thread(client.close)
    await adapters.sessions.release(cluster.session, worker["worker_id"])
    return took, requests


def _bare(worker: dict[str, Any]) -> tuple[float, list[float]]:
    begun = time.perf_counter()
    client = BareClient(worker["ip"], worker["debugger_port"])
    stopped = client.attach()
    took = (time.perf_counter() - begun) * 1000
    requests = _requests(client, stopped["body"]["threadId"])
    client.leave()
    return took, requests


def _requests(client: DapClient | BareClient, thread: int) -> list[float]:
    """Milliseconds of evaluations, each answered before the next is sent."""
    frame = client.request("stackTrace", threadId=thread)["stackFrames"][0]["id"]
    took = []
    for _ in range(REQUESTS):
        begun = time.perf_counter()
        client.request("evaluate", expression="1 + 1", frameId=frame, context="watch")
        took.append((time.perf_counter() - begun) * 1000)
    return took
