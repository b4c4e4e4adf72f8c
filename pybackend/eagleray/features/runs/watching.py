"""Watching over a run: its processes are looked for and handed to the adapter, which stops them at the breakpoints."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from attrs import evolve

from eagleray.common.errors import EaglerayError
from eagleray.common.run_errors import (
    ended_before_stopping,
    found_no_cluster,
    nothing_imported,
)
from eagleray.features.runs.gates import GateAt, in_folder, in_table
from eagleray.features.runs.home_cluster import Home, HomeCluster
from eagleray.features.runs.plan import RunPlan
from eagleray.features.runs.records import Record
from eagleray.features.runs.starters.starting import Ending
from eagleray.features.runs.state import RunState, SeenLine, SeenWorker
from eagleray.routes.spec import DIRECT, RouteSpec

# While workers come and go the table is looked at often: somebody waits for a stop.
SOON_S = 0.25
LATER_S = 1.0
SOON_FOR_S = 30.0
TRIES = 5

log = logging.getLogger(__name__)


class RunsOfAdapter(Protocol):
    """What the adapter is asked, see `AdapterRuns`."""

    async def register(self, record: Record, plan: RunPlan, home: Home | None) -> None: ...

    async def worker(self, run: str, gate: GateAt, routes: list[RouteSpec]) -> None: ...

    async def seen(self, run: str) -> tuple[Sequence[SeenWorker], Sequence[SeenLine]] | None: ...

    async def end(self, run: str) -> None: ...


class Watching:
    """Belongs to the keeper of a run, on its loop; `run` goes on until it is cancelled, `close` gives the run up."""

    def __init__(
        self,
        record: Record,
        plan: RunPlan,
        cluster: HomeCluster,
        adapter: RunsOfAdapter,
        routes: Callable[[str, str], list[RouteSpec]],
    ) -> None:
        self._record = record
        self._plan = plan
        self._cluster = cluster
        self._adapter = adapter
        self._routes = routes
        self._state = record.state()
        self._tried: dict[GateAt, int] = {}
        self._handing: dict[GateAt, asyncio.Task[None]] = {}
        self._registered: Home | str | None = "not yet"
        self._workers: tuple[SeenWorker, ...] = ()
        self._lines: tuple[SeenLine, ...] = ()
        self._stopped_once = False
        self._alive = -1
        self._changed_at = 0.0

    async def run(self) -> None:
        self._changed_at = _now()
        while True:
            try:
                await self._look()
            except EaglerayError as error:
                log.info("%s", error)
            except Exception:
                # A fault of one look must not end all looking.
                log.exception("a look at the run failed")
            await asyncio.sleep(SOON_S if _now() - self._changed_at < SOON_FOR_S else LATER_S)

    async def last_look(self) -> None:
        """What the adapter has seen up to the end."""
        try:
            await self._ask_seen()
        except EaglerayError as error:
            log.info("%s", error)

    def update(self, state: RunState) -> RunState:
        """The state of the run with what is known of its processes."""
        self._state = state
        home = self._cluster.found
        return evolve(
            state,
            cluster=home.cluster if home else state.cluster,
            session=home.session if home else state.session,
            workers=self._workers,
            lines=self._lines,
        )

    def note(self, ending: Ending) -> str:
        """Why nothing stopped in a run that was to stop somewhere."""
        if self._stopped_once or not self._plan.breakpoints:
            return ""
        if self._cluster.found is None and not self._workers and not self._lines:
            return found_no_cluster() if ending.code == 0 else ""
        pending = {line.path for line in self._lines if line.state == "pending"}
        unseen = [one.path for one in self._plan.breakpoints if one.path in pending]
        return nothing_imported(unseen) if unseen else ended_before_stopping()

    async def close(self) -> None:
        for task in self._handing.values():
            task.cancel()
        await asyncio.gather(*self._handing.values(), return_exceptions=True)
        try:
            await self._adapter.end(self._record.id)
        except EaglerayError as error:
            log.info("%s", error)

    async def _look(self) -> None:
        home = await self._cluster.look(self._state)
        if self._registered != home:
            await self._adapter.register(self._record, self._plan, home)
            self._registered = home
        gates = list(in_folder(self._record.folder))
        if home is not None:
            rows = await home.dashboard.all_workers()
            if len(rows) != self._alive:
                self._alive, self._changed_at = len(rows), _now()
            gates += in_table(rows, int(self._state.started * 1000))
        for gate in gates:
            self._hand(gate, home)
        await self._ask_seen()

    def _hand(self, gate: GateAt, home: Home | None) -> None:
        if gate in self._handing or self._tried.get(gate, 0) >= TRIES:
            return
        self._tried[gate] = self._tried.get(gate, 0) + 1
        task = asyncio.create_task(self._hand_over(gate, home), name=f"gate {gate.key}")
        self._handing[gate] = task

    async def _hand_over(self, gate: GateAt, home: Home | None) -> None:
        routes = [DIRECT] if gate.here or home is None else self._routes(home.cluster, gate.host)
        try:
            await self._adapter.worker(self._record.id, gate, routes)
            self._tried[gate] = TRIES
        except EaglerayError as error:
            # Another run's worker, or a debugger of the person's own.
            log.info("%s: %s", gate, error)
        finally:
            self._handing.pop(gate, None)

    async def _ask_seen(self) -> None:
        seen = await self._adapter.seen(self._record.id)
        if seen is None:
            # The adapter is another one now, and knows nothing of the run.
            self._registered = "not yet"
            self._tried.clear()
            return
        workers, lines = seen
        if {one.worker_id for one in workers} != {one.worker_id for one in self._workers}:
            self._changed_at = _now()
        self._workers, self._lines = tuple(workers), tuple(lines)
        self._stopped_once = self._stopped_once or any(w.state == "stopped" for w in workers)


def _now() -> float:
    return asyncio.get_running_loop().time()
