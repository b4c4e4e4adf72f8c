"""The client of the debug adapter's control protocol: finds the adapters, starts one, asks them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from attrs import frozen

from eagleray.adapter_client.connection import AdapterConnection
from eagleray.adapter_client.routes import PERSON_S
from eagleray.adapter_client.runs import AdapterRuns
from eagleray.common.listeners import Listeners
from eagleray.common.worker_errors import unknown_worker
from eagleray.protocol import control
from eagleray.protocol.control import (
    AttachParams,
    AttachResult,
    IgnoreParams,
    Mapping,
    Mounts,
    Stop,
    WorkerKey,
    WorkerState,
)

# What an adapter answers from memory; one that does not within this time is stuck, and left out.
_MEMORY_S = 5.0
# The adapter waits for the debugger and for the stop, each with a limit; this one is beyond their sum.
_ATTACH_MORE_S = 60.0

# What `attach` has got since there were routes.
_LATER = frozenset({"routes"})

Listener = Callable[[list[WorkerState]], None]


@frozen
class FileOfWorker:
    """The text of a worker's file (its beginning if `truncated`) and the hash of all its bytes."""

    text: str
    truncated: bool
    sha256: str


class Adapters(AdapterRuns):
    """All adapters of this user on this machine: ours, and other versions' that still hold sessions.

    Owned by the sidecar or one run of the command line, on one event loop; `close` ends its
    connections, never an adapter.  All methods raise errors of the catalogue only; an adapter that is
    not there has no workers.
    """

    def __init__(self, start: bool = True) -> None:
        super().__init__(start)
        self._states: dict[Path, dict[WorkerKey, WorkerState]] = {}
        self._listeners = Listeners[[list[WorkerState]]]()

    async def workers(self) -> list[WorkerState]:
        """Every worker that is attached or held, of all adapters; starts none."""
        return [state for _, state in await self._workers()]

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener` with all workers whenever one changes, on the loop; the answer ends that.

        Adapters that others start are found within a second.
        """
        self._keep_watching()
        return self._listeners.add(listener)

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
        return [state for states in self._states.values() for state in states.values()]

    async def attach(self, params: AttachParams) -> AttachResult:
        """Attaches through the adapter that has the worker already, else through ours, starting it."""
        having = await self._having(params.session, params.worker_id)
        connection = having or await self._ours()
        limit_s = params.timeout_s + _ATTACH_MORE_S * len(params.routes)
        if any(route.ssh for route in params.routes):
            limit_s += PERSON_S
        said = control.to_json(params)
        if not connection.knows(control.OPEN_SOCKET):
            # Of the first version, which has the worker already and takes no key that it does not know.
            said = {key: said[key] for key in said if key not in _LATER}
        result = await connection.request(control.ATTACH, said, limit_s)
        return AttachResult(socket=str(result["socket"]), worker=worker_state(result["worker"]))

    async def continue_(self, session: str, worker_id: str) -> None:
        """Lets an attached or held worker run on; `unknown-worker` if no adapter has it."""
        await self._ask_having(control.CONTINUE, session, worker_id)

    async def release(self, session: str, worker_id: str) -> None:
        """Lets a worker run on and gives it up; `unknown-worker` if no adapter has it."""
        await self._ask_having(control.RELEASE, session, worker_id)

    async def set_mappings(self, session: str, worker_id: str, mappings: list[Mapping]) -> None:
        """New mappings of one worker, at once."""
        listed = [control.to_json(mapping) for mapping in mappings]
        await self._ask_having(control.SET_MAPPINGS, session, worker_id, mappings=listed)

    async def read_file(self, session: str, worker_id: str, path: str) -> FileOfWorker:
        """A file as an attached worker sees it; `no-worker-file` if it cannot read it."""
        said = await self._ask_having(control.READ_FILE, session, worker_id, path=path)
        return FileOfWorker(str(said["text"]), bool(said["truncated"]), str(said["sha256"]))

    async def mounts(self, session: str, worker_id: str) -> Mounts:
        """What is mounted for an attached worker, as it said when it was attached to."""
        said = await self._ask_having(control.MOUNTS, session, worker_id)
        return Mounts(str(said["boot"]), str(said["mountinfo"]))

    async def ignore(self, params: IgnoreParams) -> None:
        """Tells every adapter which breakpoint() of a cluster is (not) to stop at."""
        asked = (
            connection.request(control.IGNORE, control.to_json(params))
            for connection in await self._reachable()
        )
        for answer in await asyncio.gather(*asked, return_exceptions=True):
            if isinstance(answer, BaseException):
                raise answer

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
            *(connection.request(control.WORKERS, limit_s=_MEMORY_S) for connection in connections),
            return_exceptions=True,
        )
        return [
            (connection, worker_state(said))
            for connection, answer in zip(connections, answers, strict=True)
            if isinstance(answer, dict)
            for said in answer["workers"]
        ]

    def _on_workers(self, path: Path, said: list[dict[str, Any]]) -> None:
        self._states[path] = {}
        self._on_changes(path, said, [])

    def _on_changes(
        self, path: Path, changed: list[dict[str, Any]], gone: list[dict[str, Any]]
    ) -> None:
        states = self._states.setdefault(path, {})
        for worker in map(worker_state, changed):
            states[WorkerKey(worker.session, worker.worker_id)] = worker
        for key in gone:
            states.pop(WorkerKey(str(key["session"]), str(key["worker_id"])), None)
        self._listeners.tell(self.known())

    def _on_gone(self, path: Path) -> None:
        super()._on_gone(path)
        if self._states.get(path):
            self._on_workers(path, [])


def worker_state(said: dict[str, Any]) -> WorkerState:
    """A worker as an adapter says it; keys of newer versions are left out."""
    known = {key: said[key] for key in WorkerState.__dataclass_fields__ if key in said}
    stop = said.get("stop")
    known["stop"] = stop and Stop(**{k: stop[k] for k in Stop.__dataclass_fields__})
    return WorkerState(**known)
