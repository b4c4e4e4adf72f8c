"""Paused workers behind a login node: how soon one is stopped, and how soon a job's are listed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from eagleray.adapter.sessions.registry import PORT_REST_S
from eagleray.clusters import messages as clusters
from eagleray.debug.workers import messages as workers

from tests.bench.bare_client import BareClient
from tests.bench.forwards import forward
from tests.bench.rows import Row, at_most, at_most_times
from tests.lab.adapter import LabAdapter, adapter_on, ssh
from tests.lab.eagleray import eagleray_on
from tests.lab.hosts import node_address
from tests.lab.ray import LabRay
from tests.lab.site import Site
from tests.lab.slurm import Job
from tests.lab.sshd import delayed, ssh_config
from tests.ray_cluster import wait_for

FAR_MS = 40


def attaching(site: Site, ray: LabRay, samples: int) -> Iterator[Row]:
    """A click against a forward that was made beforehand and a client that does no more than it must."""
    driver = ray.run("pausing.py", node_address(ray.nodes[-1]))
    try:
        with ssh_config(site, delayed("far", "login", FAR_MS)):
            for name, destination in (("0 ms", "login"), (f"{FAR_MS} ms", "far")):
                with adapter_on(site, "laptop") as adapter:
                    yield _attaching(site, ray, adapter, name, destination, samples)
    finally:
        driver.end()


def _attaching(
    site: Site, ray: LabRay, adapter: LabAdapter, name: str, destination: str, samples: int
) -> Row:
    ours, peer = [], []
    worker = _waiting(ray)
    where = worker["ip"], worker["debugger_port"]
    # The panel has shown the cluster for a while when the user clicks: its connection exists.  It is made
    # to another port than the debugger's, which would take the visit for a client that comes and goes.
    adapter.control.open(worker["ip"], 22, ssh(destination))
    with forward(site, destination, *where) as port:
        for _ in range(samples):
            ours.append(_clicked(adapter, _waiting(ray), destination))
            _waiting(ray)
            peer.append(_by_hand(site, port))
    return at_most_times(f"click to stopped, {name} away (ms)", ours, peer, 1.3)


def _waiting(ray: LabRay) -> dict[str, Any]:
    rows = wait_for("a paused worker", ray.paused)
    # debugpy goes deaf when it is met too soon after a client has left; the adapter keeps off as long.
    time.sleep(PORT_REST_S)
    return rows[0]


def _clicked(adapter: LabAdapter, worker: dict[str, Any], destination: str) -> float:
    key = {"session": "bench", "worker_id": worker["worker_id"]}
    begun = time.perf_counter()
    attached = adapter.control.call(
        "attach",
        **key,
        cluster="",
        name="pausing",
        host=worker["ip"],
        port=worker["debugger_port"],
        routes=[ssh(destination)],
    )
    client = adapter.dap(attached["socket"])
    client.attach()
    client.wait_for("stopped")
    took = (time.perf_counter() - begun) * 1000
    client.close()
    adapter.control.call("release", **key)
    return took


def _by_hand(site: Site, port: int) -> float:
    with site.network("laptop"):
        begun = time.perf_counter()
        client = BareClient("127.0.0.1", port)
        client.attach()
        took = (time.perf_counter() - begun) * 1000
    client.leave()
    return took


async def listing(site: Site, job: Job, samples: int) -> Row:
    """From the "+" of a job that the panel shows to all of its paused workers."""
    took = []
    for _ in range(samples):
        with eagleray_on(site, "laptop") as eagleray:
            async with eagleray.sidecar() as client:
                await client.initialize()
                await client.result(clusters.LOOK_AT, {"host": "login"})
                await client.result(workers.WATCH, {"visible": True})
                begun = time.perf_counter()
                await client.result(clusters.ADD, {"address": f"ssh://login/slurm://{job.id}"})
                await client.heard(
                    workers.CHANGED, lambda said: said["paused"] >= len(job.ray.nodes)
                )
                took.append(time.perf_counter() - begun)
                await client.end()
    return at_most("“+” on a job to its paused workers (s)", took, 3.0)
