"""The client of the debug adapter's control protocol: finds the adapters, starts one, asks them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from attrs import frozen

from eagleray.adapter import protocol
from eagleray.adapter.protocol import (
    AttachParams,
    AttachResult,
    IgnoreParams,
    Mapping,
    Stop,
    WorkerState,
)
from eagleray.clients import adapter_process
from eagleray.clients.adapter_connection import HELLO_S, AdapterConnection
from eagleray.common.errors import EaglerayError, adapter_lost, adapter_stuck, unknown_worker
from eagleray.common.paths import adapter_socket, adapter_sockets

# What an adapter answers from memory; one that does not within this time is stuck, and left out.
_MEMORY_S = 5.0
# The adapter waits for the debugger and for the stop, each with a limit; this one is beyond their sum.
_ATTACH_MORE_S = 60.0

# How often the run folder is looked at for adapters that others started.
_LOOK_S = 1.0

Listener = Callable[[list[WorkerState]], None]

log = logging.getLogger(__name__)


@frozen
class FileOfWorker:
    """The text of a worker's file (its beginning if `truncated`) and the hash of all its bytes."""

    text: str
    truncated: bool
    sha256: str


class Adapters:
    """All adapters of this user on this machine: ours, and other versions' that still hold sessions.

    Owned by the sidecar or one run of the command line, on one event loop; `close` ends its
    connections, never an adapter.  All methods raise errors of the catalogue only; an adapter that is
    not there has no workers.
    """

    def __init__(self, start: bool = True) -> None:
        self._may_start = start
        self._connections: dict[Path, AdapterConnection] = {}
        self._states: dict[Path, list[WorkerState]] = {}
        self._listeners: list[Listener] = []
        self._watching: asyncio.Task[None] | None = None
        self._opening: defaultdict[Path, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def workers(self) -> list[WorkerState]:
        """Every worker that is attached or held, of all adapters; starts none."""
        return [state for _, state in await self._workers()]

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener` with all workers whenever one changes, on the loop; the answer ends that.

        Adapters that others start are found within a second.
        """
        self._listeners.append(listener)
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(), name="adapters")
        return lambda: self._listeners.remove(listener)

    async def watch(self) -> AsyncIterator[list[WorkerState]]:
        """What a listener is told, as an iterator that begins with what is known and never ends by itself."""
        changed = asyncio.Event()
        changed.set()
        end = self.listen(lambda _: changed.set())
        try:
            while True:
                await changed.wait()
                changed.clear()
                yield self.known()
        finally:
            end()

    def known(self) -> list[WorkerState]:
        """What a listener was told last, without asking; [] while nobody listens."""
        return [state for states in self._states.values() for state in states]

    async def attach(self, params: AttachParams) -> AttachResult:
        """Attaches through the adapter that has the worker already, else through ours, starting it."""
        having = await self._having(params.session, params.worker_id)
        connection = having or await self._ours()
        limit_s = params.timeout_s + _ATTACH_MORE_S
        result = await connection.request(protocol.ATTACH, protocol.to_json(params), limit_s)
        return AttachResult(socket=str(result["socket"]), worker=worker_state(result["worker"]))

    async def continue_(self, session: str, worker_id: str) -> None:
        """Lets an attached or held worker run on; `unknown-worker` if no adapter has it."""
        await self._ask_having(protocol.CONTINUE, session, worker_id)

    async def release(self, session: str, worker_id: str) -> None:
        """Lets a worker run on and gives it up; `unknown-worker` if no adapter has it."""
        await self._ask_having(protocol.RELEASE, session, worker_id)

    async def set_mappings(self, session: str, worker_id: str, mappings: list[Mapping]) -> None:
        """New mappings of one worker, at once."""
        listed = [protocol.to_json(mapping) for mapping in mappings]
        await self._ask_having(protocol.SET_MAPPINGS, session, worker_id, mappings=listed)

    async def read_file(self, session: str, worker_id: str, path: str) -> FileOfWorker:
        """A file as an attached worker sees it; `no-worker-file` if it cannot read it."""
        said = await self._ask_having(protocol.READ_FILE, session, worker_id, path=path)
        return FileOfWorker(str(said["text"]), bool(said["truncated"]), str(said["sha256"]))

    async def ignore(self, params: IgnoreParams) -> None:
        """Tells every adapter which breakpoint() of a cluster is (not) to stop at."""
        asked = (
            connection.request(protocol.IGNORE, protocol.to_json(params))
            for connection in await self._reachable()
        )
        for answer in await asyncio.gather(*asked, return_exceptions=True):
            if isinstance(answer, BaseException):
                raise answer

    async def close(self) -> None:
        """Ends the connections."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        connections = list(self._connections.values())
        self._connections.clear()
        await asyncio.gather(*(connection.close() for connection in connections))

    async def _ask_having(
        self, op: str, session: str, worker_id: str, **more: object
    ) -> dict[str, Any]:
        connection = await self._having(session, worker_id)
        if connection is None:
            raise unknown_worker(worker_id)
        return await connection.request(op, {"session": session, "worker_id": worker_id, **more})

    async def _having(self, session: str, worker_id: str) -> AdapterConnection | None:
        """The adapter that has the worker, if one has it."""
        for connection, state in await self._workers():
            if (state.session, state.worker_id) == (session, worker_id) and state.state != "gone":
                return connection
        return None

    async def _workers(self) -> list[tuple[AdapterConnection, WorkerState]]:
        connections = await self._reachable()
        answers = await asyncio.gather(
            *(
                connection.request(protocol.WORKERS, limit_s=_MEMORY_S)
                for connection in connections
            ),
            return_exceptions=True,
        )
        return [
            (connection, worker_state(said))
            for connection, answer in zip(connections, answers, strict=True)
            if isinstance(answer, dict)
            for said in answer["workers"]
        ]

    async def _reachable(self) -> list[AdapterConnection]:
        await asyncio.gather(*(self._open(path) for path in adapter_sockets().values()))
        connections = self._connections.values()
        return [c for c in connections if not c.lost.is_set() and not c.is_stuck]

    async def _ours(self) -> AdapterConnection:
        """Our version's adapter, started if it is not there."""
        path = adapter_socket()
        found = await self._open(path)
        if found is None and not self._may_start:
            raise adapter_lost()
        if found is None:
            started: AdapterConnection = await adapter_process.start(path, lambda: self._open(path))
            return started
        if found.is_stuck:
            await found.greet()
        if found.is_stuck:
            raise adapter_stuck(HELLO_S)
        return found

    async def _open(self, path: Path) -> AdapterConnection | None:
        async with self._opening[path]:
            known = self._connections.get(path)
            alive = known if known is not None and not known.lost.is_set() else None
            if alive is not None and (alive.is_greeted or alive.is_stuck):
                return alive
            # One that was stuck from the first is greeted again once it has said something.
            if alive is not None:
                opened = await alive.greet()
            else:
                opened = await AdapterConnection.open(path, lambda e: self._on_event(path, e))
            if opened is None:
                self._connections.pop(path, None)
            else:
                self._connections[path] = opened
        if opened is not None and opened.is_greeted and self._watching is not None:
            await self._subscribe(path, opened)
        return opened

    async def _subscribe(self, path: Path, connection: AdapterConnection) -> None:
        with contextlib.suppress(EaglerayError):
            self._on_event(path, await connection.request(protocol.SUBSCRIBE, limit_s=_MEMORY_S))

    def _on_event(self, path: Path, said: dict[str, Any]) -> None:
        self._set_states(path, [worker_state(worker) for worker in said["workers"]])

    def _set_states(self, path: Path, states: list[WorkerState]) -> None:
        self._states[path] = states
        for listener in list(self._listeners):
            listener(self.known())

    async def _watch(self) -> None:
        """Keeps a subscription at every adapter there is, and forgets those that are gone."""
        for path, connection in list(self._connections.items()):
            await self._subscribe(path, connection)
        while True:
            try:
                await self._reachable()
            except EaglerayError as error:
                log.warning("%s", error)
            for path, states in list(self._states.items()):
                having = self._connections.get(path)
                if states and (having is None or having.lost.is_set()):
                    self._set_states(path, [])
            await asyncio.sleep(_LOOK_S)


def worker_state(said: dict[str, Any]) -> WorkerState:
    """A worker as an adapter says it; keys of newer versions are left out."""
    known = {key: said[key] for key in WorkerState.__dataclass_fields__ if key in said}
    stop = said.get("stop")
    known["stop"] = stop and Stop(**{k: stop[k] for k in Stop.__dataclass_fields__})
    return WorkerState(**known)
