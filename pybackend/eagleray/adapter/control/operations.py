"""The operations that control clients request from the adapter."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from eagleray import __version__
from eagleray.adapter.control.questions import Asker, Questions
from eagleray.adapter.runs.registry import RunRegistry
from eagleray.adapter.sessions.registry import SessionRegistry
from eagleray.protocol import adapter_control, runs
from eagleray.protocol.adapter_control import (
    AttachParams,
    AttachResult,
    CommandOutput,
    FileContent,
    Hello,
    IgnoreParams,
    LeaveRoutes,
    LocalCommand,
    Mounts,
    OpenedSocket,
    OpenSocket,
    QuestionAnswer,
    ReadFile,
    Reconnect,
    RemoteCommand,
    RouteState,
    RouteStates,
    SetMappings,
    SshCommand,
    SshSettings,
    WorkerKey,
    WorkerStates,
)
from eagleray.protocol.errors import adapter_in_use
from eagleray.protocol.jsonlines import Empty, Json, Operation
from eagleray.protocol.records import read
from eagleray.protocol.route_spec import DIRECT, RouteSpec, checked
from eagleray.protocol.runs import (
    RecordingCount,
    RunBreakpoints,
    RunKey,
    RunRecording,
    RunRegister,
    RunStates,
    RunWorkerAt,
    RunWorkerKey,
)
from eagleray.routes.relay import Relays
from eagleray.routes.routes import Routes

P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True)
class AdapterParts:
    """The parts of the adapter that serve its clients."""

    registry: SessionRegistry
    runs: RunRegistry
    routes: Routes
    relays: Relays
    questions: Questions
    set_ssh: Callable[[str, bool | None, Json], None]
    shut_down: Callable[[], None]


class Operations:
    """The operations of one client, by name.  `asker` is that client, and the holder of its routes."""

    def __init__(self, parts: AdapterParts, asker: Asker, subscribe: Callable[[], None]) -> None:
        self.table: dict[str, Callable[[Json], Awaitable[object]]] = {}
        self._parts = parts
        self._registry = parts.registry
        self._runs = parts.runs
        self._asker = asker
        self._subscribe = subscribe
        self._add_sessions()
        self._add_routes()
        self._add_runs()

    def close(self) -> None:
        """Ends what only this client needed; it has disconnected."""
        self._parts.relays.leave(self._asker)
        self._parts.routes.release(self._asker)
        self._parts.questions.remove(self._asker)

    def _add(self, operation: Operation[P, R], serve: Callable[[P], Awaitable[R]]) -> None:
        def handle(params: Json) -> Awaitable[R]:
            return serve(read(operation.params, params))

        self.table[operation.name] = handle

    # --- sessions ------------------------------------------------------------------------------

    def _add_sessions(self) -> None:
        self._add(adapter_control.HELLO, self._hello)
        self._add(adapter_control.ATTACH, self._attach)
        self._add(adapter_control.WORKERS, self._workers)
        self._add(adapter_control.CONTINUE, self._continue)
        self._add(adapter_control.RELEASE, self._release)
        self._add(adapter_control.SET_MAPPINGS, self._set_mappings)
        self._add(adapter_control.READ_FILE, self._read_file)
        self._add(adapter_control.MOUNTS, self._mounts)
        self._add(adapter_control.IGNORE, self._ignore)
        self._add(adapter_control.SUBSCRIBE, self._subscribed)
        self._add(adapter_control.SHUTDOWN, self._shutdown)

    async def _hello(self, params: Empty) -> Hello:
        return Hello(adapter_control.PROTOCOL, __version__, os.getpid())

    async def _attach(self, params: AttachParams) -> AttachResult:
        return await self._registry.attach(replace(params, routes=params.routes or [DIRECT]))

    async def _workers(self, params: Empty) -> WorkerStates:
        return WorkerStates(self._registry.states())

    async def _continue(self, key: WorkerKey) -> Empty:
        await self._registry.resume(key)
        return Empty()

    async def _release(self, key: WorkerKey) -> Empty:
        await self._registry.release(key)
        return Empty()

    async def _set_mappings(self, params: SetMappings) -> Empty:
        key = WorkerKey(params.session, params.worker_id)
        await self._registry.set_mappings(key, params.mappings)
        return Empty()

    async def _read_file(self, params: ReadFile) -> FileContent:
        key = WorkerKey(params.session, params.worker_id)
        return await self._registry.read_file(key, params.path)

    async def _mounts(self, key: WorkerKey) -> Mounts:
        return await self._registry.mounts(key)

    async def _ignore(self, params: IgnoreParams) -> Empty:
        await self._registry.ignore(params)
        return Empty()

    async def _subscribed(self, params: Empty) -> Empty:
        self._subscribe()
        return Empty()

    async def _shutdown(self, params: Empty) -> Empty:
        count = len(self._registry.states())
        if count:
            raise adapter_in_use(count)
        self._parts.shut_down()
        return Empty()

    # --- routes --------------------------------------------------------------------------------

    def _add_routes(self) -> None:
        self._add(adapter_control.OPEN_SOCKET, self._open_socket)
        self._add(adapter_control.LEAVE, self._leave)
        self._add(adapter_control.RUN_COMMAND, self._run_command)
        self._add(adapter_control.ARGV, self._argv)
        self._add(adapter_control.RECONNECT, self._reconnect)
        self._add(adapter_control.ROUTES, self._routes)
        self._add(adapter_control.ASKS, self._asks)
        self._add(adapter_control.ANSWER, self._answer)
        self._add(adapter_control.SSH_OPTIONS, self._ssh_options)

    async def _open_socket(self, params: OpenSocket) -> OpenedSocket:
        address, route = await self._parts.relays.open(
            self._asker,
            params.routes or [DIRECT],
            params.host,
            params.port,
            params.tcp_port,
            shared=params.shared,
            probe=params.probe,
        )
        self._parts.routes.hold(self._asker, route)
        return OpenedSocket(address, route)

    async def _leave(self, params: LeaveRoutes) -> Empty:
        routes = params.routes or [DIRECT]
        self._parts.relays.leave(self._asker, routes)
        for route in routes:
            self._parts.routes.release(self._asker, route)
        return Empty()

    async def _run_command(self, params: RemoteCommand) -> CommandOutput:
        route = checked(RouteSpec(ssh=params.ssh))
        self._parts.routes.hold(self._asker, route)
        ended = await self._parts.routes.run(
            route.ssh, params.argv, params.stdin.encode(), params.limit_s
        )
        texts = (text.decode("utf-8", "replace") for text in (ended.stdout, ended.stderr))
        return CommandOutput(ended.code, *texts)

    async def _argv(self, params: SshCommand) -> LocalCommand:
        carrier = self._parts.routes.hold(self._asker, checked(RouteSpec(ssh=params.ssh)))
        return LocalCommand(await carrier.argv(params.argv))

    async def _reconnect(self, params: Reconnect) -> Empty:
        self._parts.routes.reconnect(params.route)
        return Empty()

    async def _routes(self, params: Empty) -> RouteStates:
        return route_states(self._parts.routes)

    async def _asks(self, params: Empty) -> Empty:
        self._parts.questions.add(self._asker)
        return Empty()

    async def _answer(self, params: QuestionAnswer) -> Empty:
        self._parts.questions.answer(params.id, params.text)
        return Empty()

    async def _ssh_options(self, params: SshSettings) -> Empty:
        self._parts.set_ssh(params.program, params.reuse, params.environment)
        return Empty()

    # --- runs ----------------------------------------------------------------------------------

    def _add_runs(self) -> None:
        self._add(runs.RUN_REGISTER, self._register_run)
        self._add(runs.RUN_WORKER, self._add_run_worker)
        self._add(runs.RUN_BREAKPOINTS, self._set_run_breakpoints)
        self._add(runs.RUN_PAUSE, self._pause_run_worker)
        self._add(runs.RUN_RECORDING, self._set_run_recording)
        self._add(runs.RUN_END, self._end_run)
        self._add(runs.RUNS, self._run_states)

    async def _register_run(self, params: RunRegister) -> Empty:
        await self._runs.register(params)
        return Empty()

    async def _add_run_worker(self, params: RunWorkerAt) -> Empty:
        await self._runs.add_process(replace(params, routes=params.routes or [DIRECT]))
        return Empty()

    async def _set_run_breakpoints(self, params: RunBreakpoints) -> Empty:
        await self._runs.set_breakpoints(params.run, params.breakpoints)
        return Empty()

    async def _pause_run_worker(self, params: RunWorkerKey) -> Empty:
        await self._runs.pause(params)
        return Empty()

    async def _set_run_recording(self, params: RunRecording) -> RecordingCount:
        return RecordingCount(self._runs.set_recording(params))

    async def _end_run(self, params: RunKey) -> Empty:
        await self._runs.end(params.run)
        return Empty()

    async def _run_states(self, params: Empty) -> RunStates:
        return RunStates(self._runs.states())


def route_states(routes: Routes) -> RouteStates:
    now = time.monotonic()
    return RouteStates(
        [
            RouteState(
                route,
                health.state,
                health.reason,
                health.message,
                now - health.since,
                health.control,
            )
            for route, health in routes.states()
        ]
    )
