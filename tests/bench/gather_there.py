"""How long gathering takes, measured where it runs: `gather_there.py FOLDER PORT SIZE SHA256 NODE…` says the seconds.

Each node serves one report as Ray's agent does; what the head would list is said here.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

from eagleray.adapter_client.client import AdapterClient
from eagleray.profile.recordings.scanner import Scanner
from eagleray.profile.recordings.sources import NodeLogs
from eagleray.profile.recordings.store import ReportStore
from eagleray.protocol.route_spec import RouteSpec
from eagleray.ray.endpoint import Endpoint, FindEndpoint
from eagleray.ray.logs import RayAgent

RUN = "bench"
NAME = "policy.nsys-rep"
LOGIN = RouteSpec(ssh="login")


class Listing:
    """The answers of a head: what there is, and the small files."""

    def __init__(self, size: int, sha256: str) -> None:
        self._size = size
        self._sha256 = sha256

    async def log_files(self, node_id: str, pattern: str) -> list[str]:
        return [f"eagleray/{RUN}/{NAME}", f"eagleray/{RUN}/{NAME}.json"]

    async def log_bytes(self, node_id: str, filename: str) -> AsyncIterator[bytes]:
        said = {"node_id": node_id, "size": self._size, "sha256": self._sha256}
        yield json.dumps(said).encode()


def through_login(adapters: AdapterClient, node: str, port: int) -> FindEndpoint:
    async def find() -> Endpoint:
        opened = await adapters.routes.open_socket([LOGIN], node, port)
        return Endpoint(f"http://{node}:{port}", opened.socket)

    return find


async def main(folder: Path, port: int, size: int, sha256: str, nodes: list[str]) -> None:
    adapters = AdapterClient()
    agents = {
        node: RayAgent(f"http://{node}:{port}", through_login(adapters, node, port))
        for node in nodes
    }
    listing = Listing(size, sha256)
    sources = [NodeLogs(listing, node, node, RUN, lambda node=node: agents[node]) for node in nodes]
    # The connection through the login node is there: a cluster is being watched over it.
    await adapters.routes.open_socket([LOGIN], nodes[0], port)
    begun = time.perf_counter()
    gathering = ReportStore(RUN, folder)
    with gathering.locked():
        failures = await gathering.download((await Scanner().scan(sources)).reports)
    took = time.perf_counter() - begun
    assert not failures and len(gathering.entries) == len(nodes), failures
    for agent in agents.values():
        await agent.close()
    await adapters.close()
    shutil.rmtree(folder)
    print(json.dumps(took), flush=True)


asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5:]))
