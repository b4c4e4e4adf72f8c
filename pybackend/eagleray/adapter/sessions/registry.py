"""The attached workers of one adapter process, each with its DAP socket."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from eagleray import __version__
from eagleray.adapter.sessions.editor import Editor
from eagleray.adapter.sessions.editor_requests import EditorRequests
from eagleray.adapter.sessions.worker_session import WorkerSession
from eagleray.common import private_socket, tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.listeners import Listeners
from eagleray.common.retry import Clock
from eagleray.common.worker_errors import debugger_gone, unknown_worker, worker_taken
from eagleray.protocol import dap
from eagleray.protocol.adapter_control import (
    AttachParams,
    AttachResult,
    FileContent,
    IgnoreParams,
    Mounts,
    PathMapping,
    WorkerKey,
    WorkerState,
)
from eagleray.routes.routes import Routes

log = logging.getLogger(__name__)

# debugpy's adapter stops listening for good when a client connects while it still removes the previous one (1.8.22, see
# REST_S in `debugger`).  Nothing shows that it is done, so nothing connects to its port for this long.
PORT_REST_S = 1.0

# The time limit of one worker for IGNORE, whose answer waits for all workers.
IGNORE_S = 5.0
_EXPECTED = (EaglerayError, asyncio.TimeoutError)


class RegisteredWorker:
    """A worker with its socket, and the attempt to attach to it while there is one."""

    def __init__(self, worker: WorkerSession) -> None:
        self.worker = worker
        self.served: private_socket.Served | None = None
        self.attaching: asyncio.Task[None] | None = None


class SessionRegistry:
    """Owns all workers and their sockets, which lie in `folder`; all of it on one event loop.

    Sockets of its version that killed processes have left behind are removed.
    """

    def __init__(self, folder: Path, clock: Clock, routes: Routes) -> None:
        self._folder = folder
        self._prefix = f"w-{__version__}-"
        private_socket.remove_stale(folder, f"{self._prefix}*.sock")
        self._clock = clock
        self._routes = routes
        self._workers: dict[WorkerKey, RegisteredWorker] = {}
        self._ignored: dict[str, list[list[Any]]] = {}
        self._disconnected_at: dict[tuple[str, int], float] = {}
        # Called with each worker that is attached, changes or is gone.
        self.listeners = Listeners[[WorkerKey]]()

    def states(self) -> list[WorkerState]:
        return [entry.worker.status() for entry in self._workers.values()]

    def state(self, key: WorkerKey) -> WorkerState | None:
        """The state of a worker, None if it is not attached."""
        entry = self._workers.get(key)
        return entry.worker.status() if entry is not None else None

    async def attach(
        self, params: AttachParams, make: Callable[..., WorkerSession] = WorkerSession
    ) -> AttachResult:
        """Attaches, unless the worker is attached already; a second call waits for the first."""
        key = WorkerKey(params.session, params.worker_id)
        while (entry := self._workers.get(key)) is not None and entry.worker.is_releasing:
            await entry.worker.released.wait()
        is_first = entry is None or not entry.worker.is_taken
        if entry is not None and params.unless_taken:
            # No await between the check and the claim: only one of two windows gets the worker.
            if not is_first:
                raise worker_taken(params.name)
            entry.worker.take()
        if entry is None:
            entry = self._workers[key] = RegisteredWorker(self._new_worker(params, make))
            entry.attaching = tasks.shared(self._attach(key, entry), "attaching")
        entry.worker.rank = params.rank or entry.worker.rank
        if entry.attaching is not None:
            # A caller that is cancelled must not take the worker from another caller.
            await asyncio.shield(entry.attaching)
        if params.seen and is_first:
            entry.worker.take()
        return AttachResult(entry.worker.socket_path, entry.worker.status())

    async def resume(self, key: WorkerKey) -> None:
        """Resumes the worker; stays attached for an editor, a run, or breakpoints that are ignored."""
        worker = (await self._attached(key)).worker
        is_needed = worker.editor is not None or worker.stays_attached
        if not is_needed and not self._ignored.get(key.session):
            await worker.release()
        else:
            await worker.resume()

    async def release(self, key: WorkerKey) -> None:
        await (await self._attached(key)).worker.release()

    async def set_mappings(self, key: WorkerKey, mappings: list[PathMapping]) -> None:
        """Applies new mappings to the stack and the breakpoints of a connected editor."""
        entry = await self._attached(key)
        entry.worker.set_mappings(mappings)
        events = await EditorRequests(entry.worker).update_breakpoints()
        editor = entry.worker.editor
        if editor is not None:
            for event in events:
                editor.send_event(event)
            editor.send_event(dap.event("invalidated", {"areas": ["stacks"]}))

    async def read_file(self, key: WorkerKey, path: str) -> FileContent:
        return await (await self._attached(key)).worker.read_file(path)

    async def mounts(self, key: WorkerKey) -> Mounts:
        return (await self._attached(key)).worker.info.mounts

    async def ignore(self, params: IgnoreParams) -> None:
        """Ignores a line in all workers of the session, now and later; or stops there again."""
        ignored = self._ignored.setdefault(params.session, [])
        location = [params.path, params.line]
        if params.ignore and location not in ignored:
            ignored.append(location)
        elif not params.ignore and location in ignored:
            ignored.remove(location)
        of_session = [
            entry.worker for key, entry in self._workers.items() if key.session == params.session
        ]
        ignoring = (asyncio.wait_for(worker.ignore(), IGNORE_S) for worker in of_session)
        for result in await asyncio.gather(*ignoring, return_exceptions=True):
            # A worker deep in native code applies the rule when it returns from there.
            if isinstance(result, BaseException) and not isinstance(result, _EXPECTED):
                raise result

    def rename_cluster(self, cluster: str, workers: list[WorkerKey]) -> None:
        """Sets the cluster of these workers, which was not known when they were attached."""
        for key in workers:
            if key in self._workers:
                worker = self._workers[key].worker
                worker.params = replace(worker.params, cluster=cluster)
                self.listeners.notify(key)

    async def restore(self, folder: Path) -> None:
        """Moves the sockets of workers to `folder`: those that aren't reachable listen there from now on."""
        self._folder = folder
        for key, entry in list(self._workers.items()):
            served, path = entry.served, folder / Path(entry.worker.socket_path).name
            if served is None or (served.path == path and served.is_reachable()):
                continue
            served.stop()
            if await self._listen(key, entry, path):
                entry.worker.socket_path = str(path)
                self.listeners.notify(key)

    def is_reachable(self) -> bool:
        """Whether the sockets of all workers are still at the paths that editors use."""
        sockets = [entry.served for entry in list(self._workers.values())]
        return all(served is None or served.is_reachable() for served in sockets)

    def close(self) -> None:
        """Stops listening; the workers resume when the process ends."""
        for entry in self._workers.values():
            if entry.served is not None:
                entry.served.stop()

    def _new_worker(
        self, params: AttachParams, make: Callable[..., WorkerSession]
    ) -> WorkerSession:
        key = WorkerKey(params.session, params.worker_id)
        mark = hashlib.sha256(f"{params.session} {params.worker_id}".encode()).hexdigest()[:12]
        return make(
            params,
            str(self._folder / f"{self._prefix}{mark}.sock"),
            self._ignored.setdefault(params.session, []),
            self._routes,
            self._clock,
            lambda: self.listeners.notify(key),
            self._ended,
        )

    async def _attach(self, key: WorkerKey, entry: RegisteredWorker) -> None:
        worker = entry.worker
        try:
            await self._wait_for_port((worker.params.host, worker.params.port))
            await worker.attach()
            if not await self._listen(key, entry, Path(worker.socket_path)):
                raise debugger_gone(worker.params.name)
        except BaseException:
            if self._workers.get(key) is entry:
                del self._workers[key]
            self._disconnected_at[worker.params.host, worker.params.port] = self._clock.now()
            raise
        finally:
            entry.attaching = None
            self.listeners.notify(key)

    async def _listen(self, key: WorkerKey, entry: RegisteredWorker, path: Path) -> bool:
        """Serves editors at `path`; returns False, without a socket, if the worker has ended meanwhile."""
        served = await private_socket.serve(path, self._serve(entry))
        if self._workers.get(key) is not entry:
            served.stop()
            return False
        entry.served = served
        return True

    async def _wait_for_port(self, address: tuple[str, int]) -> None:
        rested = self._clock.now() - self._disconnected_at.pop(address, -PORT_REST_S)
        if rested < PORT_REST_S:
            await asyncio.sleep(PORT_REST_S - rested)

    def _serve(self, entry: RegisteredWorker) -> private_socket.Client:
        async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await Editor(entry.worker, reader, writer).run()

        return client

    def _ended(self, worker: WorkerSession) -> None:
        key = WorkerKey(worker.params.session, worker.params.worker_id)
        self._disconnected_at[worker.params.host, worker.params.port] = self._clock.now()
        entry = self._workers.pop(key, None)
        if entry is not None and entry.served is not None:
            entry.served.stop()
        self.listeners.notify(key)
        log.info("%s is no longer attached", worker.params.name)

    async def _attached(self, key: WorkerKey) -> RegisteredWorker:
        entry = self._workers.get(key)
        if entry is not None and entry.attaching is not None:
            await asyncio.shield(entry.attaching)
        if entry is None:
            raise unknown_worker(key.worker_id)
        return entry
