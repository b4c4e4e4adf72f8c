"""The runs of the adapters: their secrets, their breakpoints, and their debug proxies."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from eagleray.adapter_client.connection import AdapterConnection
from eagleray.adapter_client.connections import MEMORY_S, AdapterConnections
from eagleray.common.errors import EaglerayError
from eagleray.common.listeners import Listeners
from eagleray.protocol import runs as protocol
from eagleray.protocol.errors import unregistered_run
from eagleray.protocol.jsonlines import Empty
from eagleray.protocol.runs import (
    AdapterRunState,
    Breakpoint,
    RunBreakpoints,
    RunKey,
    RunOutput,
    RunRecording,
    RunRegister,
    RunStates,
    RunWorkerAt,
    RunWorkerKey,
)

RunsListener = Callable[[list[AdapterRunState]], None]
OutputListener = Callable[[str, str, str], None]


class AdapterRuns:
    """A part of `AdapterClient`.  This version's adapter registers runs; other requests go to the one that has the run."""

    def __init__(self, connections: AdapterConnections) -> None:
        self._connections = connections
        self._states: dict[Path, list[AdapterRunState]] = {}
        self._listeners = Listeners[[list[AdapterRunState]]]()
        self._output_listeners = Listeners[[str, str, str]]()
        connections.on_event(protocol.RUNS_EVENT, self._on_runs)
        connections.on_event(protocol.RUN_OUTPUT_EVENT, self._on_output)
        connections.on_gone.append(self._on_gone)

    async def register(self, register: RunRegister) -> None:
        """Registers a run, or its new values, with the adapter, which is started if necessary.

        An adapter that was started later doesn't have the run: callers that get `unregistered-run` register it again.
        """
        await (await self._connections.current()).request(protocol.RUN_REGISTER, register)

    async def add_worker(self, at: RunWorkerAt) -> None:
        """Announces a debug proxy of the run, again for one that was lost."""
        await (await self._owner(at.run)).request(protocol.RUN_WORKER, at)

    async def set_breakpoints(self, run: str, breakpoints: list[Breakpoint]) -> None:
        """Replaces all breakpoints of the run."""
        connection = await self._owner(run)
        await connection.request(protocol.RUN_BREAKPOINTS, RunBreakpoints(run, breakpoints))

    async def pause(self, run: str, worker_id: str) -> None:
        """Stops a worker of the run wherever it is."""
        await (await self._owner(run)).request(protocol.RUN_PAUSE, RunWorkerKey(run, worker_id))

    async def set_recording(self, recording: RunRecording) -> int:
        """Starts or ends recordings; returns the number of workers that got the request."""
        connection = await self._owner(recording.run)
        return (await connection.request(protocol.RUN_RECORDING, recording, MEMORY_S)).asked

    async def end(self, run: str) -> None:
        """Ends the run, whose workers continue; ignores an adapter that doesn't have it."""
        with contextlib.suppress(EaglerayError):
            await (await self._owner(run)).request(protocol.RUN_END, RunKey(run))

    async def states(self) -> list[AdapterRunState]:
        """Requests every run of every adapter; starts none."""
        return [
            run
            for connection in await self._connections.reachable()
            for run in await _of(connection)
        ]

    def last_states(self) -> list[AdapterRunState]:
        """Returns the last event without a request; [] without a listener."""
        return [state for states in self._states.values() for state in states]

    def listen(self, listener: RunsListener) -> Callable[[], None]:
        """Calls `listener` with all runs whenever one changes, on the loop; the returned function ends that."""
        self._connections.subscribe()
        return self._listeners.add(listener)

    def listen_output(self, listener: OutputListener) -> Callable[[], None]:
        """Calls `listener(run, worker_id, text)` for messages of log points; the returned function ends that."""
        self._connections.subscribe()
        return self._output_listeners.add(listener)

    async def _owner(self, run: str) -> AdapterConnection:
        for connection in await self._connections.reachable():
            if any(state.run == run for state in await _of(connection)):
                return connection
        raise unregistered_run(run)

    def _on_runs(self, path: Path, event: RunStates) -> None:
        self._states[path] = event.runs
        self._listeners.notify(self.last_states())

    def _on_output(self, path: Path, output: RunOutput) -> None:
        self._output_listeners.notify(output.run, output.worker_id, output.text)

    def _on_gone(self, path: Path) -> None:
        if self._states.get(path):
            self._on_runs(path, RunStates([]))


async def _of(connection: AdapterConnection) -> list[AdapterRunState]:
    return (await connection.request(protocol.RUNS, Empty(), MEMORY_S)).runs
