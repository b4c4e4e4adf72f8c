"""The dashboard of a cluster that a test invents: `fake_dashboard.py ADDRESS [TOKEN] < {node address: [ports]}`.

Each port is a paused worker.  It ends when its standard input does, and each further line is its new token.
"""

from __future__ import annotations

import asyncio
import json
import sys

from tests.fakes.dashboard import FakeDashboard


def filled(ports: dict[str, list[int]]) -> FakeDashboard:
    """Returns a real dashboard's answer about one node and one worker, for each of ours."""
    fake = FakeDashboard()
    node, worker = fake.rows["nodes"][0], fake.paused[0]
    fake.rows = {name: [] for name in fake.rows}
    for number, (address, its) in enumerate(ports.items()):
        node_id = f"{number:056x}"
        fake.rows["nodes"].append(
            {**node, "node_id": node_id, "node_ip": address, "is_head_node": number == 0}
        )
        fake.rows["workers"] += [
            {**worker, "worker_id": f"{number:028x}{port:028x}", "node_id": node_id}
            | {"ip": address, "pid": port, "debugger_port": port}
            for port in its
        ]
    return fake


async def main(address: str, token: str = "") -> None:
    fake = filled(json.loads(sys.stdin.readline()))
    fake.token = token
    await fake.start(8265, address)
    print("ready", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        fake.token = line.strip()
        print("changed", flush=True)


asyncio.run(main(*sys.argv[1:]))
