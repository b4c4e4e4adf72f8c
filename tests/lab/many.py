"""Very many paused workers on the nodes of a site, without the weight of as many real ones."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator

from tests.lab.hosts import MORE_NODES, RAY_NODES, SLURM_NODES, node_address
from tests.lab.site import Site
from tests.ray_cluster import REPOSITORY

NODES = (*RAY_NODES, *MORE_NODES, *SLURM_NODES)
PROGRAMS = REPOSITORY / "tests" / "lab" / "programs"
# The real Ray of other tests listens on the usual port of the same nodes' addresses, so this dashboard has another host.
HEAD = "node-4"


@contextlib.contextmanager
def many_workers(site: Site, count: int) -> Iterator[dict[str, list[int]]]:
    """`count` debuggers, spread over all nodes, and a dashboard on `HEAD`; the answer is the ports of each address."""
    path = {"PYTHONPATH": f"{REPOSITORY}/pybackend:{REPOSITORY}"}
    ports: dict[str, list[int]] = {}
    with contextlib.ExitStack() as stack:
        shares = [count // len(NODES) + (n < count % len(NODES)) for n in range(len(NODES))]
        for node, share in zip(NODES, shares, strict=True):
            command = [
                "python",
                str(PROGRAMS / "many_debuggers.py"),
                node_address(node),
                str(share),
            ]
            process = site.popen(node, "alice", command, path, stdout=subprocess.PIPE, text=True)
            stack.callback(_end, process)
            assert process.stdout
            ports[node_address(node)] = json.loads(process.stdout.readline())
        command = ["python", str(PROGRAMS / "many_rows.py"), node_address(HEAD)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        dashboard = site.popen(HEAD, "alice", command, path, text=True, **pipes)
        stack.callback(_end, dashboard)
        assert dashboard.stdin and dashboard.stdout
        dashboard.stdin.write(json.dumps(ports))
        dashboard.stdin.close()
        assert dashboard.stdout.readline() == "ready\n"
        yield ports


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
