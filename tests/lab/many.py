"""Very many paused workers on the nodes of a site, without the weight of as many real ones."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from tests.lab.hosts import MORE_NODES, RAY_NODES, SLURM_NODES, node_address
from tests.lab.site import Site
from tests.ray_cluster import REPOSITORY

NODES = (*RAY_NODES, *MORE_NODES, *SLURM_NODES)
PROGRAMS = REPOSITORY / "tests" / "lab" / "programs"
# The real Ray of other tests listens on the usual port of the same nodes' addresses, so this dashboard has another host.
HEAD = "node-4"
PYTHON_PATH = {"PYTHONPATH": f"{REPOSITORY}/pybackend:{REPOSITORY}"}


@contextlib.contextmanager
def fake_dashboard(
    site: Site, host: str, ports: dict[str, list[int]], token: str = ""
) -> Iterator[FakeCluster]:
    """A dashboard on the usual port of `host` that lists these as debug ports of paused workers."""
    command = ["python", str(PROGRAMS / "fake_dashboard.py"), node_address(host), token]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    fake = FakeCluster(site.popen(host, "alice", command, PYTHON_PATH, text=True, **pipes))
    try:
        fake.say(json.dumps(ports))
        yield fake
    finally:
        _end(fake.process)


@dataclass(frozen=True)
class FakeCluster:
    """Its dashboard's process."""

    process: subprocess.Popen[str]

    def say(self, line: str) -> None:
        """Sends its next input, a new token for example; it has taken the input when this returns."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() in ("ready\n", "changed\n")


@contextlib.contextmanager
def many_workers(site: Site, count: int) -> Iterator[dict[str, list[int]]]:
    """`count` debuggers, spread over all nodes, and a dashboard on `HEAD`; the answer is the ports of each address."""
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
            process = site.popen(
                node, "alice", command, PYTHON_PATH, stdout=subprocess.PIPE, text=True
            )
            stack.callback(_end, process)
            assert process.stdout
            ports[node_address(node)] = json.loads(process.stdout.readline())
        stack.enter_context(fake_dashboard(site, HEAD, ports))
        yield ports


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
