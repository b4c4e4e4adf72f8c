"""The debug sessions of all adapters: their workers, attaching to them, and resuming them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from pathlib import Path

from eagleray.adapter_client.connection import AdapterConnection
from eagleray.adapter_client.connections import MEMORY_S, USER_S, AdapterConnections
from eagleray.common.listeners import Listeners
from eagleray.common.worker_errors import unknown_worker
from eagleray.protocol import adapter_control
from eagleray.protocol.adapter_control import (
    AttachParams,
    AttachResult,
    FileContent,
    IgnoreParams,
    Mounts,
    PathMapping,
    ReadFile,
    SetMappings,
    WorkerChanges,
    WorkerKey,
    WorkerState,
    WorkerStates,
)
from eagleray.protocol.jsonlines import Empty

# The adapter waits for the debugger and for the stop, each with a limit; this one is beyond their sum.
_ATTACH_MORE_S = 60.0

WorkersListener = Callable[[list[WorkerState]], None]


class AdapterSessions:
    """A part of `AdapterClient`."""

    def __init__(self, connections: AdapterConnections) -> None:
        self._connections = connections
        self._states: dict[Path, dict[WorkerKey, WorkerState]] = {}
        # Workers that this client attaches to, until the adapter's first event about each: Ray's list may be faster.
        self._attaching: dict[WorkerKey, WorkerState] = {}
        self._listeners = Listeners[[list[WorkerState]]]()
        connections.on_event(adapter_control.WORKERS_EVENT, self._on_workers)
        connections.on_event(adapter_control.CHANGES_EVENT, self._on_changes)
        connections.on_gone.append(self._on_gone)

    async def workers(self) -> list[WorkerState]:
        """Requests every attached or held worker of all adapters; starts none."""
        states = [state for _, state in await self._workers()]
        return [*states, *self._attaching_beside({_key(state) for state in states})]

    def listen(self, listener: WorkersListener) -> Callable[[], None]:
        """Calls `listener` with all workers whenever one changes, on the loop; the returned function ends that.

        Adapters that other processes start are found within a second.
        """
        self._connections.subscribe()
        return self._listeners.add(listener)

    async def watch(self) -> AsyncIterator[list[WorkerState]]:
        """Yields what a listener gets, beginning with `last_workers()`, without an end."""
        changed = asyncio.Event()
        changed.set()
        end = self.listen(lambda _: changed.set())
        try:
            while True:
                await changed.wait()
                changed.clear()
                yield self.last_workers()
        finally:
            end()

    def last_workers(self) -> list[WorkerState]:
        """Returns the last event without a request; [] without a listener."""
        from_events = {
            key: state for states in self._states.values() for key, state in states.items()
        }
        return [*from_events.values(), *self._attaching_beside(from_events.keys())]

    async def attach(self, params: AttachParams) -> AttachResult:
        """Attaches through the adapter that has the worker, else through this version's, starting it."""
        key = WorkerKey(params.session, params.worker_id)
        connection = await self._owner(key) or await self._connections.current()
        limit_s = params.timeout_s + _ATTACH_MORE_S * len(params.routes)
        if any(route.ssh for route in params.routes):
            limit_s += USER_S
        self._attaching[key] = _attaching(params)
        self._notify()
        try:
            result = await connection.request(adapter_control.ATTACH, params, limit_s)
            if key in self._attaching:
                self._attaching[key] = result.worker
            return result
        except BaseException:
            self._attaching.pop(key, None)
            raise
        finally:
            if not self._states:
                # Nothing is subscribed.
                self._attaching.pop(key, None)
            self._notify()

    async def continue_(self, session: str, worker_id: str) -> None:
        """Resumes an attached or held worker; raises `unknown-worker` if no adapter has it."""
        key = WorkerKey(session, worker_id)
        await (await self._required_owner(key)).request(adapter_control.CONTINUE, key)

    async def release(self, session: str, worker_id: str) -> None:
        """Resumes a worker and detaches from it; raises `unknown-worker` if no adapter has it."""
        key = WorkerKey(session, worker_id)
        await (await self._required_owner(key)).request(adapter_control.RELEASE, key)

    async def set_mappings(self, session: str, worker_id: str, mappings: list[PathMapping]) -> None:
        """Replaces the mappings of one worker, at once."""
        connection = await self._required_owner(WorkerKey(session, worker_id))
        await connection.request(
            adapter_control.SET_MAPPINGS, SetMappings(session, worker_id, mappings)
        )

    async def read_file(self, session: str, worker_id: str, path: str) -> FileContent:
        """Reads a file in the file system of an attached worker; raises `no-worker-file` if the worker can't read it."""
        connection = await self._required_owner(WorkerKey(session, worker_id))
        return await connection.request(
            adapter_control.READ_FILE, ReadFile(session, worker_id, path)
        )

    async def mounts(self, session: str, worker_id: str) -> Mounts:
        """Returns the mounts that an attached worker reported."""
        key = WorkerKey(session, worker_id)
        return await (await self._required_owner(key)).request(adapter_control.MOUNTS, key)

    async def ignore(self, params: IgnoreParams) -> None:
        """Ignores a breakpoint() of a cluster, or stops there again, in every adapter."""
        requests = (
            connection.request(adapter_control.IGNORE, params)
            for connection in await self._connections.reachable()
        )
        for result in await asyncio.gather(*requests, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    async def _required_owner(self, key: WorkerKey) -> AdapterConnection:
        connection = await self._owner(key)
        if connection is None:
            raise unknown_worker(key.worker_id)
        return connection

    async def _owner(self, key: WorkerKey) -> AdapterConnection | None:
        """Returns the connection to the adapter that has the worker, None if none has it."""
        for connection, state in await self._workers():
            if _key(state) == key and state.state != "gone":
                return connection
        return None

    async def _workers(self) -> list[tuple[AdapterConnection, WorkerState]]:
        connections = await self._connections.reachable()
        results = await asyncio.gather(
            *(each.request(adapter_control.WORKERS, Empty(), MEMORY_S) for each in connections),
            return_exceptions=True,
        )
        return [
            (connection, state)
            for connection, result in zip(connections, results, strict=True)
            if isinstance(result, WorkerStates)
            for state in result.workers
        ]

    def _on_workers(self, path: Path, event: WorkerStates) -> None:
        self._states[path] = {}
        self._on_changes(path, WorkerChanges(event.workers, []))

    def _on_changes(self, path: Path, changes: WorkerChanges) -> None:
        states = self._states.setdefault(path, {})
        for worker in changes.changed:
            states[_key(worker)] = worker
            self._attaching.pop(_key(worker), None)
        for key in changes.gone:
            states.pop(key, None)
            self._attaching.pop(key, None)
        self._notify()

    def _on_gone(self, path: Path) -> None:
        self._attaching.clear()
        if self._states.get(path):
            self._on_workers(path, WorkerStates([]))

    def _notify(self) -> None:
        self._listeners.notify(self.last_workers())

    def _attaching_beside(self, others: Collection[WorkerKey]) -> list[WorkerState]:
        return [state for key, state in self._attaching.items() if key not in others]


def _key(state: WorkerState) -> WorkerKey:
    return WorkerKey(state.session, state.worker_id)


def _attaching(params: AttachParams) -> WorkerState:
    return WorkerState(
        session=params.session,
        worker_id=params.worker_id,
        cluster=params.cluster,
        name=params.name,
        pid=0,
        state="attaching",
        editor=False,
        held_s=0.0,
        rank=params.rank,
        stop=None,
        socket="",
        seen=params.seen,
        kind=params.kind,
        class_name=params.class_name,
    )
