"""All runs that are registered with the adapter, and their processes."""

from __future__ import annotations

import asyncio
import logging

from eagleray.adapter.runs.proxy import ProxyClient
from eagleray.adapter.runs.registered_run import RegisteredRun
from eagleray.adapter.runs.run_process import RunProcess
from eagleray.adapter.sessions.registry import SessionRegistry
from eagleray.common import tasks
from eagleray.common.listeners import Listeners
from eagleray.protocol.errors import unknown_run_worker, unregistered_run
from eagleray.protocol.runs import (
    AdapterRunState,
    Breakpoint,
    RunRecording,
    RunRegister,
    RunWorkerAt,
    RunWorkerKey,
)
from eagleray.routes.routes import Routes

log = logging.getLogger(__name__)

Address = tuple[str, int]


class LiveRun:
    """A run with its processes, and the connection attempts to more of them, by the addresses of their debug proxies."""

    def __init__(self, run: RegisteredRun) -> None:
        self.run = run
        self.processes: dict[Address, RunProcess] = {}
        self.connecting: dict[Address, asyncio.Task[None]] = {}

    def state(self) -> AdapterRunState:
        workers = [state for process in self.processes.values() for state in process.states()]
        register = self.run.register
        return AdapterRunState(
            register.run, workers, self.run.breakpoints.states(), register.cluster
        )


class RunRegistry:
    """Owns all runs, on one event loop.  `listeners` are called after changes, several at once together."""

    def __init__(self, registry: SessionRegistry, routes: Routes) -> None:
        self._registry = registry
        self._routes = routes
        self._runs: dict[str, LiveRun] = {}
        self._is_notifying = False
        self.listeners = Listeners[[]]()
        self.output_listeners = Listeners[[str, str, str]]()
        registry.listeners.add(lambda _: self._notify_soon())

    def states(self) -> list[AdapterRunState]:
        return [live.state() for live in self._runs.values()]

    async def register(self, register: RunRegister) -> None:
        """Adds a run, or replaces the values of one that is registered."""
        live = self._runs.get(register.run)
        if live is None:
            run = RegisteredRun(register, self._notify_soon, self.output_listeners.notify)
            self._runs[register.run] = LiveRun(run)
        else:
            live.run.register = register
            keys = [key for process in live.processes.values() for key in process.session_keys()]
            self._registry.rename_cluster(register.cluster, keys)
            await self.set_breakpoints(register.run, register.breakpoints)
        self._notify_soon()

    async def add_process(self, at: RunWorkerAt) -> None:
        """Connects to a debug proxy of the run unless it is connected; raises errors of the catalogue."""
        live = self._live(at.run)
        address = (at.host, at.port)
        if address in live.processes:
            return
        if address not in live.connecting:
            task = tasks.shared(self._connect(live, at), "connection to a debug proxy")
            live.connecting[address] = task
            task.add_done_callback(lambda _: live.connecting.pop(address, None))
        # A client that goes away must not take the process from the run.
        await asyncio.shield(live.connecting[address])

    async def set_breakpoints(self, run_id: str, files: list[Breakpoint]) -> None:
        """Replaces all breakpoints of the run; those that changed are set in every process that has the file."""
        live = self._live(run_id)
        changed = live.run.breakpoints.replace(files)
        if changed:
            setting = (
                process.set_changed_breakpoints(changed) for process in live.processes.values()
            )
            for result in await asyncio.gather(*setting, return_exceptions=True):
                if isinstance(result, BaseException):
                    log.info("breakpoints of run %s: %r", run_id, result)
        self._notify_soon()

    async def pause(self, key: RunWorkerKey) -> None:
        for process in self._live(key.run).processes.values():
            if any(state.worker_id == key.worker_id for state in process.states()):
                await process.pause(key.worker_id)
                return
        raise unknown_run_worker(key.worker_id)

    def set_recording(self, request: RunRecording) -> int:
        """The number of workers that were asked to begin or to end a recording; they report the result themselves."""
        profiled = [
            process
            for process in self._live(request.run).processes.values()
            if process.is_profiled and (not request.workers or process.worker_id in request.workers)
        ]
        for process in profiled:
            process.set_recording(request.op, request.seconds)
        return len(profiled)

    async def end(self, run_id: str) -> None:
        """Resumes the run's processes and forgets the run."""
        live = self._runs.pop(run_id, None)
        if live is not None:
            for connecting in live.connecting.values():
                connecting.cancel()
            await asyncio.gather(*(process.end() for process in live.processes.values()))
            self._notify_soon()

    def close(self) -> None:
        """Ends the connections; the debug proxies keep what is held."""
        for live in self._runs.values():
            for process in live.processes.values():
                process.close()

    async def _connect(self, live: LiveRun, at: RunWorkerAt) -> None:
        proxy = ProxyClient(at.run, live.run.secret_key, at.host, at.port, tuple(at.routes))
        process = RunProcess(
            live.run, proxy, self._registry, self._routes, lambda ended: self._remove(live, ended)
        )
        await process.connect()
        live.processes[at.host, at.port] = process
        self._notify_soon()

    def _remove(self, live: LiveRun, process: RunProcess) -> None:
        address = (process.proxy.host, process.proxy.port)
        if live.processes.get(address) is process:
            del live.processes[address]
            self._notify_soon()

    def _live(self, run_id: str) -> LiveRun:
        if run_id not in self._runs:
            raise unregistered_run(run_id)
        return self._runs[run_id]

    def _notify_soon(self) -> None:
        if not self._is_notifying and self._runs:
            self._is_notifying = True
            asyncio.get_running_loop().call_soon(self._notify)

    def _notify(self) -> None:
        self._is_notifying = False
        self.listeners.notify()
