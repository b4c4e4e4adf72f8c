"""The plain tool for reaching a node: `ssh -L`, made by hand on the laptop of the site."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import time
from collections.abc import Iterator

from tests.lab.site import Site
from tests.ray_cluster import wait_for

_ports = itertools.count(20_000)
# As people and tools set it, so that ssh notices a dead link at all.
_ALIVE = ["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3", "-o", "BatchMode=yes"]


@contextlib.contextmanager
def forward(site: Site, destination: str, host: str, port: int) -> Iterator[int]:
    """A port of 127.0.0.1 on the laptop that leads to `host:port`, in an ssh of its own."""
    local = next(_ports)
    words = ["ssh", *_ALIVE, "-N", "-L", f"127.0.0.1:{local}:{host}:{port}", destination]
    process = site.popen("laptop", "alice", words)
    try:
        wait_for("the forward", lambda: _listens(site, local))
        yield local
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def master(site: Site, destination: str) -> Iterator[str]:
    """The control path of a connection on which forwards are made by command."""
    path = f"/home/alice/.ssh/bench-{destination}"
    words = ["ssh", *_ALIVE, "-N", "-M", "-S", path, destination]
    process = site.popen("laptop", "alice", words)
    try:
        wait_for("the master", site.path("laptop", path).exists)
        yield path
    finally:
        process.kill()
        process.wait()


def forwarding(site: Site, destination: str, host: str, port: int, samples: int) -> list[float]:
    """Milliseconds of `ssh -O forward`; what it costs to enter the laptop's namespaces is taken off."""
    with master(site, destination) as path:
        took = []
        for _ in range(samples):
            local = f"127.0.0.1:{next(_ports)}:{host}:{port}"
            words = ["ssh", "-S", path, "-O", "forward", "-L", local, destination]
            took.append(_run(site, words) - _run(site, ["true"]))
    return took


def _run(site: Site, words: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(site.argv("laptop", "alice", words), check=True, capture_output=True)
    return (time.perf_counter() - begun) * 1000


def _listens(site: Site, port: int) -> bool:
    with contextlib.suppress(OSError), site.connect("laptop", "127.0.0.1", port):
        return True
    return False
