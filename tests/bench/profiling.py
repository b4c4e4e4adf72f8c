"""Profiled runs: what one costs a program of which nothing is profiled, and how fast reports are gathered."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.rows import Row, at_least_times, least_at_most_times
from tests.bench.runs import in_turn
from tests.lab.hosts import MORE_NODES, RAY_NODES, SLURM_NODES, node_address
from tests.lab.site import Site
from tests.ray_cluster import start_cluster, wait_for
from tests.remote.injected.runs import Run

NODES = (*RAY_NODES, *MORE_NODES, *SLURM_NODES)
SIZE = 32 * 2**20
PORT = 7003
NAME = "policy.nsys-rep"
# The sshd of the site offers no sftp.
SCP = ("scp", "-O", "-q", "-o", "ProxyJump=login", "-o", "BatchMode=yes")
# As Ray's agent serves its logs.
SERVER = f"""
import os
from aiohttp import web
application = web.Application()
application.router.add_static("/logs", os.path.expanduser("~/bench"), show_index=True)
web.run_app(application, port={PORT}, print=lambda *_: None)
"""


def nobody(samples: int) -> Row:
    """Pairs of plain and ours in turn, the best of each."""
    with start_cluster() as cluster, tempfile.TemporaryDirectory() as folder:
        profile = {"workers": ["*Nobody*"], "when": "always", "trace": "cuda,nvtx,osrt"}
        run = Run(Path(folder), breakpoints=[], profile=profile)
        plain, ours = in_turn(cluster, "env", samples, {}, run.env())
        title = "CPU of 8 actors with a runtime_env, a profile for nobody (s)"
        return least_at_most_times(title, ours["cpu"], plain["cpu"], 1.03)


def gathered(site: Site, samples: int) -> Row:
    """From eight nodes at once, through the login node, as MB/s of all together."""
    report = random.Random(1).randbytes(SIZE)
    ours, peer = [], []
    with serving(site, report):
        for _ in range(samples):
            ours.append(_by_us(site, report))
            peer.append(_by_scp(site))
    title = f"gathering from {len(NODES)} nodes through login, scp side by side (MB/s)"
    return at_least_times(title, ours, peer, 0.9)


@contextlib.contextmanager
def serving(site: Site, report: bytes) -> Iterator[None]:
    """Each node has the report and serves it."""
    with contextlib.ExitStack() as stack:
        for node in NODES:
            folder = "/home/alice/bench/eagleray/bench"
            site.run_as(node, "alice", ["mkdir", "-p", folder])
            site.path(node, f"{folder}/{NAME}").write_bytes(report)
            process = site.popen(node, "alice", ["python", "-c", SERVER])
            stack.callback(process.wait)
            stack.callback(process.kill)
        for node in NODES:
            wait_for(f"the server of {node}", lambda node=node: _listens(site, node))
        yield


def _listens(site: Site, node: str) -> bool:
    try:
        site.connect(node, node_address(node), PORT).close()
    except OSError:
        return False
    return True


def _by_us(site: Site, report: bytes) -> float:
    script = str(Path(__file__).with_name("gather_there.py"))
    words = ["python", script, "/home/alice/gathered", str(PORT)]
    words += [str(SIZE), hashlib.sha256(report).hexdigest(), *NODES]
    home = "/tmp/er-bench-gather"
    site.run_as("laptop", "alice", ["mkdir", "-p", "-m", "700", home])
    took = json.loads(site.run_as("laptop", "alice", words, {"EAGLERAY_HOME": home}).stdout)
    return len(NODES) * SIZE / 1e6 / float(took)


def _by_scp(site: Site) -> float:
    """One for each node, all at once, each through the login node."""
    site.run_as("laptop", "alice", ["mkdir", "-p", "/home/alice/copied"])
    begun = time.perf_counter()
    copies = [
        site.popen(
            "laptop",
            "alice",
            [*SCP, f"{node}:bench/eagleray/bench/{NAME}", f"/home/alice/copied/{node}"],
        )
        for node in NODES
    ]
    assert [copy.wait(120) for copy in copies] == [0] * len(NODES)
    return len(NODES) * SIZE / 1e6 / (time.perf_counter() - begun)
