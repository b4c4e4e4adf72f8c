"""What the adapter is asked about runs: their secrets, their lines, their debug proxies."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eagleray.adapter_client.connection import AdapterConnection
from eagleray.adapter_client.connections import MEMORY_S
from eagleray.adapter_client.routes import AdapterRoutes
from eagleray.common.errors import EaglerayError
from eagleray.common.listeners import Listeners
from eagleray.protocol import runs as run_protocol
from eagleray.protocol.run_errors import unregistered_run
from eagleray.protocol.runs import (
    FileLines,
    LineState,
    RunRecording,
    RunRegister,
    RunState,
    RunWorkerAt,
    RunWorkerState,
)

RunsListener = Callable[[list[RunState]], None]
OutputListener = Callable[[str, str, str], None]


class AdapterRuns(AdapterRoutes):
    """Runs belong to the adapter of our version; one that another version has is asked there."""

    def __init__(self, start: bool) -> None:
        super().__init__(start)
        self._run_states: dict[Path, list[RunState]] = {}
        self._runs_listeners = Listeners[[list[RunState]]]()
        self._output_listeners = Listeners[[str, str, str]]()

    async def run_register(self, register: RunRegister) -> None:
        """The adapter knows the run from now on, or what is new of it; it is started if need be.

        An adapter that was started later does not know the run: whoever gets `unregistered-run` says it again.
        """
        connection = await self._ours()
        await connection.request(run_protocol.RUN_REGISTER, run_protocol.to_json(register))

    async def run_worker(self, at: RunWorkerAt) -> None:
        """A debug proxy of the run; saying it again is how a lost one is found again."""
        connection = await self._having_run(at.run)
        await connection.request(run_protocol.RUN_WORKER, run_protocol.to_json(at))

    async def run_breakpoints(self, run: str, breakpoints: list[FileLines]) -> None:
        """All lines of the run, in place of those until now."""
        said = [run_protocol.to_json(file) for file in breakpoints]
        connection = await self._having_run(run)
        params = {"run": run, "breakpoints": said}
        await connection.request(run_protocol.RUN_BREAKPOINTS, params)

    async def run_pause(self, run: str, worker_id: str) -> None:
        """Stops a worker of the run wherever it is."""
        connection = await self._having_run(run)
        params = {"run": run, "worker_id": worker_id}
        await connection.request(run_protocol.RUN_PAUSE, params)

    async def run_recording(self, asked: RunRecording) -> int:
        """How many workers of the run were asked to begin or to end a recording."""
        connection = await self._having_run(asked.run)
        if not connection.knows(run_protocol.RUN_RECORDING):
            return 0
        said = await connection.request(
            run_protocol.RUN_RECORDING, run_protocol.to_json(asked), MEMORY_S
        )
        return int(said["asked"])

    async def run_end(self, run: str) -> None:
        """The run is over: its workers run on; an adapter that does not know it is content."""
        with contextlib.suppress(EaglerayError):
            connection = await self._having_run(run)
            await connection.request(run_protocol.RUN_END, {"run": run})

    async def runs(self) -> list[RunState]:
        """Every run of every adapter; starts none."""
        found = []
        for connection in await self._reachable():
            if connection.knows(run_protocol.RUNS):
                said = await connection.request(run_protocol.RUNS, limit_s=MEMORY_S)
                found += [run_state(one) for one in said["runs"]]
        return found

    def known_runs(self) -> list[RunState]:
        """What a listener was told last, without asking; [] while nobody listens."""
        return [state for states in self._run_states.values() for state in states]

    def listen_runs(self, listener: RunsListener) -> Callable[[], None]:
        """Calls `listener` with all runs whenever one changes, on the loop; the answer ends that."""
        self._keep_watching()
        return self._runs_listeners.add(listener)

    def listen_run_output(self, listener: OutputListener) -> Callable[[], None]:
        """Calls `listener(run, worker_id, text)` for what log points say; the answer ends that."""
        self._keep_watching()
        return self._output_listeners.add(listener)

    async def _having_run(self, run: str) -> AdapterConnection:
        for connection in await self._reachable():
            if connection.knows(run_protocol.RUNS):
                said = await connection.request(run_protocol.RUNS, limit_s=MEMORY_S)
                if any(one["run"] == run for one in said["runs"]):
                    return connection
        raise unregistered_run(run)

    def _on_event(self, path: Path, event: dict[str, Any]) -> None:
        super()._on_event(path, event)
        if "runs" in event:
            self._on_runs(path, [run_state(one) for one in event["runs"]])
        if event.get("event") == "run_output":
            said = (event["run"], event["worker_id"], event["text"])
            self._output_listeners.tell(*map(str, said))

    def _on_gone(self, path: Path) -> None:
        super()._on_gone(path)
        if self._run_states.get(path):
            self._on_runs(path, [])

    def _on_runs(self, path: Path, states: list[RunState]) -> None:
        self._run_states[path] = states
        self._runs_listeners.tell(self.known_runs())


def run_state(said: dict[str, Any]) -> RunState:
    """A run as an adapter says it; keys of newer versions are left out."""
    return RunState(
        str(said["run"]),
        [RunWorkerState(**_known(RunWorkerState, one)) for one in said["workers"]],
        [LineState(**_known(LineState, one)) for one in said["lines"]],
    )


def _known(kind: type[Any], said: dict[str, Any]) -> dict[str, Any]:
    return {key: said[key] for key in kind.__dataclass_fields__ if key in said}
