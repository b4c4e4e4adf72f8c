"""What the adapter is told and asked about runs, in the terms of this feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eagleray.features.runs.gates import GateAt
from eagleray.features.runs.home_cluster import Home
from eagleray.features.runs.plan import Breakpoint, RunPlan
from eagleray.features.runs.records import Record
from eagleray.features.runs.state import SeenLine, SeenWorker
from eagleray.routes.spec import RouteSpec


class OfAdapter:
    """Asks through the client of the adapter."""

    def __init__(self, adapters: Any) -> None:
        self._adapters = adapters

    async def register(self, record: Record, plan: RunPlan, home: Home | None) -> None:
        await self._adapters.run_register(record, plan, home)

    async def worker(self, run: str, gate: GateAt, routes: list[RouteSpec]) -> None:
        await self._adapters.run_worker(run, gate.host, gate.port, routes)

    async def seen(self, run: str) -> tuple[Sequence[SeenWorker], Sequence[SeenLine]] | None:
        del run
        return (), ()

    async def end(self, run: str) -> None:
        await self._adapters.run_end(run)

    async def breakpoints(self, run: str, breakpoints: Sequence[Breakpoint]) -> None:
        await self._adapters.run_breakpoints(run, breakpoints)

    async def pause(self, run: str, worker_id: str) -> None:
        await self._adapters.run_pause(run, worker_id)
