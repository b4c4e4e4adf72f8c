"""All runs that the adapter knows: their keys, their lines, their workers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from eagleray.adapter.runs.breakpoint_table import BreakpointTable
from eagleray.adapter.runs.process_info import ProcessInfo, mappings
from eagleray.adapter.runs.proxy import ProxyClient
from eagleray.adapter.runs.run_process import RunProcess
from eagleray.adapter.sessions.registry import Registry
from eagleray.common import tasks
from eagleray.common.listeners import Listeners
from eagleray.injected.ed25519 import SecretKey
from eagleray.protocol.control import AttachParams
from eagleray.protocol.errors import unknown_run_worker, unregistered_run
from eagleray.protocol.runs import (
    AdapterRunState,
    FileLines,
    RunRecording,
    RunRegister,
    RunWorkerAt,
    RunWorkerKey,
)
from eagleray.routes.routes import Routes

log = logging.getLogger(__name__)

OutputListener = Callable[[str, str, str], None]


class RegisteredRun:
    """One run; its members tell it what has changed."""

    def __init__(
        self, register: RunRegister, changed: Callable[[], None], said: OutputListener
    ) -> None:
        self.register = register
        self.secret_key = SecretKey(bytes.fromhex(register.secret))
        self.lines = BreakpointTable(register.breakpoints)
        self.members: dict[tuple[str, int], RunProcess] = {}
        self.calling: dict[tuple[str, int], asyncio.Task[None]] = {}
        self.changed = changed
        self._said = said

    @property
    def children(self) -> bool:
        return self.register.children

    def params(self, proxy: ProxyClient, who: ProcessInfo) -> AttachParams:
        """How a worker of the run is attached to: nobody has asked for it yet."""
        return AttachParams(
            session=who.session or self.register.session,
            worker_id=who.worker_id,
            cluster=self.register.cluster,
            name=who.name,
            host=proxy.host,
            port=proxy.port,
            mappings=[*self.register.mappings, *mappings(who.files)],
            routes=list(proxy.specs),
            seen=False,
        )

    def said(self, worker_id: str, text: str) -> None:
        self._said(self.register.run, worker_id, text)

    def state(self) -> AdapterRunState:
        workers = [state for member in self.members.values() for state in member.states()]
        return AdapterRunState(
            self.register.run, workers, self.lines.states(), self.register.cluster
        )


class RunRegistry:
    """Owns all runs, on one event loop.  `listeners` are called after changes, several at once together."""

    def __init__(self, registry: Registry, routes: Routes) -> None:
        self._registry = registry
        self._routes = routes
        self._runs: dict[str, RegisteredRun] = {}
        self._is_telling = False
        self.listeners = Listeners[[]]()
        self.output_listeners = Listeners[[str, str, str]]()
        registry.listeners.add(lambda _: self._changed())

    def states(self) -> list[AdapterRunState]:
        return [run.state() for run in self._runs.values()]

    async def register(self, register: RunRegister) -> None:
        """A run, or what is new of one that is known."""
        run = self._runs.get(register.run)
        if run is None:
            self._runs[register.run] = RegisteredRun(register, self._changed, self._said)
        else:
            run.register = register
            keys = [key for member in run.members.values() for key in member.attached()]
            self._registry.rename_cluster(register.cluster, keys)
            await self.breakpoints(register.run, register.breakpoints)
        self._changed()

    async def worker(self, at: RunWorkerAt) -> None:
        """A debug proxy of the run: it is called unless it is known; raises errors of the catalogue."""
        run = self._run(at.run)
        place = (at.host, at.port)
        if place in run.members:
            return
        if place not in run.calling:
            run.calling[place] = tasks.shared(self._call(run, at), "call of a debug proxy")
            run.calling[place].add_done_callback(lambda _: run.calling.pop(place, None))
        # A client that goes away must not take the worker from the run.
        await asyncio.shield(run.calling[place])

    async def breakpoints(self, run_id: str, files: list[FileLines]) -> None:
        """All lines of the run: those that changed are set in every worker that has the file."""
        run = self._run(run_id)
        changed = run.lines.replace(files)
        if changed:
            asked = (member.lines_changed(changed) for member in list(run.members.values()))
            for result in await asyncio.gather(*asked, return_exceptions=True):
                if isinstance(result, BaseException):
                    log.info("lines of run %s: %r", run_id, result)
        self._changed()

    async def pause(self, key: RunWorkerKey) -> None:
        for member in self._run(key.run).members.values():
            if any(state.worker_id == key.worker_id for state in member.states()):
                await member.pause(key.worker_id)
                return
        raise unknown_run_worker(key.worker_id)

    def recording(self, asked: RunRecording) -> int:
        """How many workers were asked to begin or to end a recording; what comes of it they say themselves."""
        meant = [
            member
            for member in self._run(asked.run).members.values()
            if member.is_profiled and (not asked.workers or member.worker_id in asked.workers)
        ]
        for member in meant:
            member.recording(asked.op, asked.seconds)
        return len(meant)

    async def end(self, run_id: str) -> None:
        """Lets the run's workers run on and forgets it."""
        run = self._runs.pop(run_id, None)
        if run is not None:
            for calling in run.calling.values():
                calling.cancel()
            await asyncio.gather(*(member.end() for member in run.members.values()))
            self._changed()

    def close(self) -> None:
        """Ends the connections; what is held stays with the debug proxies."""
        for run in self._runs.values():
            for member in run.members.values():
                member.close()

    async def _call(self, run: RegisteredRun, at: RunWorkerAt) -> None:
        proxy = ProxyClient(at.run, run.secret_key, at.host, at.port, tuple(at.routes))
        member = RunProcess(
            run, proxy, self._registry, self._routes, lambda one: self._gone(run, one)
        )
        await member.connect()
        run.members[at.host, at.port] = member
        self._changed()

    def _gone(self, run: RegisteredRun, member: RunProcess) -> None:
        place = (member.proxy.host, member.proxy.port)
        if run.members.get(place) is member:
            del run.members[place]
            self._changed()

    def _run(self, run_id: str) -> RegisteredRun:
        if run_id not in self._runs:
            raise unregistered_run(run_id)
        return self._runs[run_id]

    def _said(self, run: str, worker_id: str, text: str) -> None:
        self.output_listeners.notify(run, worker_id, text)

    def _changed(self) -> None:
        if not self._is_telling and self._runs:
            self._is_telling = True
            asyncio.get_running_loop().call_soon(self._tell)

    def _tell(self) -> None:
        self._is_telling = False
        self.listeners.notify()
