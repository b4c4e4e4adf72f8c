"""An adapter's registry and control server whose workers are faked at the link: COUNT attach and stop at once.

Run as `python -m tests.bench.burst_adapter FOLDER COUNT`; prints a line when it serves, begins at a line of its
input, and prints its CPU seconds and its largest memory (MB).
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from eagleray.adapter.control.server import ClientCount, ControlServer
from eagleray.adapter.main import _raise_limits
from eagleray.adapter.runs.registry import RunRegistry
from eagleray.adapter.sessions.registry import SessionRegistry
from eagleray.common import private_socket
from eagleray.common.retry import Clock
from eagleray.routes.routes import Routes

from tests.fakes.many_workers import FakeWorker, params

# Real links bring their stops one after the other, within this time.
BURST_S = 2.0
# By then everything has been sent that a client reads.
SETTLE_S = 3.0


class SpreadWorker(FakeWorker):
    """Stops at a time of its own within the burst."""

    async def attach(self) -> None:
        self.delay_s = BURST_S * (self.params.port % 997) / 997
        await super().attach()


async def burst(registry: SessionRegistry, count: int) -> None:
    """Two changes of each worker: stopped and attached."""
    results = await asyncio.gather(
        *(registry.attach(params(number), SpreadWorker) for number in range(count))
    )
    assert len(results) == count


async def serve(folder: Path, count: int) -> None:
    routes = Routes(no_carrier)
    registry = SessionRegistry(folder, Clock(), routes)
    runs = RunRegistry(registry, routes)
    parts: Any = SimpleNamespace(
        registry=registry,
        runs=runs,
        routes=routes,
        relays=SimpleNamespace(leave=lambda *_: None),
        questions=SimpleNamespace(remove=lambda *_: None),
    )
    path = folder / "adapter.sock"
    server = await private_socket.serve(path, ControlServer(parts, ClientCount()).serve)
    print("serving", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    began = time.process_time()
    await burst(registry, count)
    await asyncio.sleep(SETTLE_S)
    spent = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(json.dumps({"cpu_s": spent, "peak_mb": peak}), flush=True)
    server.stop()
    registry.close()


def no_carrier(*_: object) -> Any:
    raise NotImplementedError


if __name__ == "__main__":
    _raise_limits()
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2])))
