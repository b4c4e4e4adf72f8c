"""The dashboard of a cluster with very many paused workers: `many_rows.py ADDRESS < {node address: [ports]}`."""

from __future__ import annotations

import asyncio
import json
import sys

from tests.fakes.dashboard import FakeDashboard


def filled(ports: dict[str, list[int]]) -> FakeDashboard:
    """What a real dashboard said of one node and one worker, for each of ours."""
    fake = FakeDashboard()
    node, worker = fake.rows["nodes"][0], fake.paused[0]
    fake.rows = {name: [] for name in fake.rows}
    for number, (address, its) in enumerate(ports.items()):
        node_id = f"{number:056x}"
        fake.rows["nodes"].append(
            {**node, "node_id": node_id, "node_ip": address, "is_head_node": number == 0}
        )
        fake.rows["workers"] += [
            {
                **worker,
                "worker_id": f"{number:028x}{port:028x}",
                "node_id": node_id,
                "ip": address,
                "pid": port,
            }
            | {"debugger_port": port}
            for port in its
        ]
    return fake


async def main(address: str) -> None:
    await filled(json.load(sys.stdin)).start(8265, address)
    print("ready", flush=True)
    await asyncio.Event().wait()


asyncio.run(main(sys.argv[1]))
