"""All workers of one adapter process, each with its DAP socket."""

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
from eagleray.adapter.sessions.path_rules import PathRules
from eagleray.adapter.sessions.sources import Sources
from eagleray.adapter.sessions.worker_session import WorkerSession
from eagleray.common import private_socket, tasks
from eagleray.common.clock import Clock
from eagleray.common.errors import EaglerayError
from eagleray.common.listeners import Listeners
from eagleray.common.worker_errors import debugger_gone, unknown_worker, worker_taken
from eagleray.protocol.control import (
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

# debugpy's adapter stops listening for ever when a client connects while it still clears away the one
# before; it has no sign of being done, so its port is left alone for this long.
PORT_REST_S = 1.0

# How long one worker may keep the others' answer to IGNORE waiting.
IGNORE_S = 5.0
_EXPECTED = (EaglerayError, asyncio.TimeoutError)


class RegisteredWorker:
    """One worker with what lives as long as it does."""

    def __init__(self, worker: WorkerSession) -> None:
        self.worker = worker
        self.sources = Sources(worker)
        self.served: private_socket.Served | None = None
        self.attaching: asyncio.Task[None] | None = None


class Registry:
    """Owns all workers and their sockets, which lie in `folder`; all of it on one event loop.

    A socket of its version that nothing listens on was left by a killed process, and is removed.
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
        # Called with the worker that changed, came or went, at once and at each change.
        self.listeners = Listeners[[WorkerKey]]()

    def states(self) -> list[WorkerState]:
        return [held.worker.status() for held in self._workers.values()]

    def state(self, key: WorkerKey) -> WorkerState | None:
        """None when there is no such worker (any more)."""
        held = self._workers.get(key)
        return held.worker.status() if held is not None else None

    async def attach(
        self, params: AttachParams, make: Callable[..., WorkerSession] = WorkerSession
    ) -> AttachResult:
        """Attaches, or finds the worker that is attached already; a second call waits for the first."""
        key = WorkerKey(params.session, params.worker_id)
        while (held := self._workers.get(key)) is not None and held.worker.is_releasing:
            await held.worker.released.wait()
        if held is not None and params.unless_taken:
            # Nothing is waited for between the question and the claim: of two windows one comes first.
            if held.worker.seen:
                raise worker_taken(params.name)
            held.worker.seen = True
        if held is None:
            held = self._workers[key] = RegisteredWorker(self._new_worker(params, make))
            held.attaching = tasks.shared(self._attach(key, held), "attaching")
        if held.attaching is not None:
            # A caller that goes away must not take the worker from another one.
            await asyncio.shield(held.attaching)
        if params.seen and not held.worker.seen:
            held.worker.seen = True
            self.listeners.notify(key)
        return AttachResult(held.worker.socket_path, held.worker.status())

    async def resume(self, key: WorkerKey) -> None:
        """Lets the worker run on; we stay for an editor, and to run over breakpoints that are ignored."""
        worker = (await self._attached(key)).worker
        is_needed = worker.editor is not None or worker.stays_attached
        if not is_needed and not self._ignored.get(key.session):
            await worker.release()
        else:
            await worker.resume()

    async def release(self, key: WorkerKey) -> None:
        await (await self._attached(key)).worker.release()

    async def set_mappings(self, key: WorkerKey, mappings: list[PathMapping]) -> None:
        """Applies new mappings to the stack and the breakpoints of an editor that is there."""
        held = await self._attached(key)
        held.worker.rules = PathRules([*held.worker.own_mappings, *mappings])
        events = await EditorRequests(held.worker, held.sources).update_breakpoints()
        editor = held.worker.editor
        if editor is not None:
            for event in events:
                editor.send_event(event)
            editor.send_event(
                {"type": "event", "event": "invalidated", "body": {"areas": ["stacks"]}}
            )

    async def read_file(self, key: WorkerKey, path: str) -> FileContent:
        return await (await self._attached(key)).worker.read_file(path)

    async def mounts(self, key: WorkerKey) -> Mounts:
        return (await self._attached(key)).worker.info.mounts

    async def ignore(self, params: IgnoreParams) -> None:
        """Runs on at that line in all workers of the session, now and later; or stops again."""
        ignored = self._ignored.setdefault(params.session, [])
        place = [params.path, params.line]
        if params.ignore and place not in ignored:
            ignored.append(place)
        elif not params.ignore and place in ignored:
            ignored.remove(place)
        ours = [held.worker for key, held in self._workers.items() if key.session == params.session]
        asked = (asyncio.wait_for(worker.ignore(), IGNORE_S) for worker in ours)
        for result in await asyncio.gather(*asked, return_exceptions=True):
            # A worker deep in native code takes the rule over when it comes out.
            if isinstance(result, BaseException) and not isinstance(result, _EXPECTED):
                raise result

    def rename_cluster(self, cluster: str, workers: list[WorkerKey]) -> None:
        """The cluster of these workers is known only now."""
        for key in workers:
            if key in self._workers:
                worker = self._workers[key].worker
                worker.params = replace(worker.params, cluster=cluster)
                self.listeners.notify(key)

    async def restore(self, folder: Path) -> None:
        """The sockets of workers lie in `folder` from now on; those that aren't reachable listen there."""
        self._folder = folder
        for key, held in list(self._workers.items()):
            served, path = held.served, folder / Path(held.worker.socket_path).name
            if served is None or (served.path == path and served.is_reachable()):
                continue
            served.stop()
            if await self._listen(key, held, path):
                held.worker.socket_path = str(path)
                self.listeners.notify(key)

    def is_reachable(self) -> bool:
        """Whether the sockets of all workers are still where editors look for them."""
        served = [held.served for held in list(self._workers.values())]
        return all(one is None or one.is_reachable() for one in served)

    def close(self) -> None:
        """Stops listening; the workers run on when the process ends."""
        for held in self._workers.values():
            if held.served is not None:
                held.served.stop()

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

    async def _attach(self, key: WorkerKey, held: RegisteredWorker) -> None:
        worker = held.worker
        try:
            await self._wait_for_rest((worker.params.host, worker.params.port))
            await worker.attach()
            if not await self._listen(key, held, Path(worker.socket_path)):
                raise debugger_gone(worker.params.name)
        except BaseException:
            if self._workers.get(key) is held:
                del self._workers[key]
            self._disconnected_at[worker.params.host, worker.params.port] = self._clock.now()
            raise
        finally:
            held.attaching = None
            self.listeners.notify(key)

    async def _listen(self, key: WorkerKey, held: RegisteredWorker, path: Path) -> bool:
        """Serves editors at `path`; False, without a socket, if the worker has ended meanwhile."""
        served = await private_socket.serve(path, self._serve(held))
        if self._workers.get(key) is not held:
            served.stop()
            return False
        held.served = served
        return True

    async def _wait_for_rest(self, address: tuple[str, int]) -> None:
        rested = self._clock.now() - self._disconnected_at.pop(address, -PORT_REST_S)
        if rested < PORT_REST_S:
            await asyncio.sleep(PORT_REST_S - rested)

    def _serve(self, held: RegisteredWorker) -> private_socket.Client:
        async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await Editor(held.worker, held.sources, reader, writer).run()

        return client

    def _ended(self, worker: WorkerSession) -> None:
        key = WorkerKey(worker.params.session, worker.params.worker_id)
        self._disconnected_at[worker.params.host, worker.params.port] = self._clock.now()
        held = self._workers.pop(key, None)
        if held is not None and held.served is not None:
            held.served.stop()
        self.listeners.notify(key)
        log.info("%s is no longer ours", worker.params.name)

    async def _attached(self, key: WorkerKey) -> RegisteredWorker:
        held = self._workers.get(key)
        if held is not None and held.attaching is not None:
            await asyncio.shield(held.attaching)
        if held is None:
            raise unknown_worker(key.worker_id)
        return held
