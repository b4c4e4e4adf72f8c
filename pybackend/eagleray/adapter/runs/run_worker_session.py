"""The debug session of a process behind a debug proxy: the worker itself, or a process that it started."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar, cast

from eagleray.adapter.runs.process_info import ProcessInfo
from eagleray.adapter.runs.proxy import ProxyClient
from eagleray.adapter.runs.proxy_stream import ProxyStream
from eagleray.adapter.runs.registered_run import RegisteredRun
from eagleray.adapter.sessions import worker_rpc
from eagleray.adapter.sessions.attaching import (
    ATTACH,
    INITIALIZE,
    PREPARE_S,
    UNPREPARED,
    AttachConversation,
)
from eagleray.adapter.sessions.breakpoint_rows import BreakpointRows
from eagleray.adapter.sessions.link import Link
from eagleray.adapter.sessions.registry import SessionRegistry
from eagleray.adapter.sessions.worker_rpc import WorkerInfo, WorkerRpc, read_answer
from eagleray.adapter.sessions.worker_session import WorkerSession
from eagleray.common.errors import EaglerayError
from eagleray.common.worker_errors import worker_gone, worker_silent
from eagleray.protocol import dap
from eagleray.protocol.adapter_control import AttachParams, WorkerKey, WorkerStop
from eagleray.protocol.dap import Message
from eagleray.routes.routes import Routes

log = logging.getLogger(__name__)

T = TypeVar("T")

_ANSWER_S = 60.0
# The debug proxy reports the end of the process on another connection than the debugger's, which ends at the same time.
_END_S = 2.0

# Sends a DAP request to the process; its response.
SendRequest = Callable[[str, Message], asyncio.Future[Message]]


class AttachedProcess:
    """Owned by the `RunProcess` of its debug proxy; `session` is set while the process is attached.

    `info` returns what the debug proxy has reported, `on_child` is called with the id of a process that waits for a
    debugger, `on_detached` when the process was released or has ended.  `child` is the id of a process that the worker
    started, 0 for the worker itself.
    """

    def __init__(
        self,
        run: RegisteredRun,
        proxy: ProxyClient,
        routes: Routes,
        info: Callable[[], ProcessInfo],
        on_child: Callable[[int], None],
        on_detached: Callable[[AttachedProcess], None],
        child: int = 0,
    ) -> None:
        self.child = child
        self.has_children = run.register.children
        self.session: RunWorkerSession | None = None
        self.was_released = False
        self.params = run.attach_params(proxy, info())
        if child:
            self.params = _child_params(self.params, child)
        self.on_child = on_child
        self._run = run
        self._proxy = proxy
        self._routes = routes
        self._info = info
        self._on_detached = on_detached
        self._files_with_breakpoints: set[str] = set()

    @property
    def key(self) -> WorkerKey:
        return WorkerKey(self.params.session, self.params.worker_id)

    @property
    def state(self) -> str:
        return self.session.state if self.session is not None else "gone"

    @property
    def stop(self) -> WorkerStop | None:
        """The stop location while it is stopped."""
        return self.session.status().stop if self.session is not None else None

    @property
    def has_editor(self) -> bool:
        return self.session is not None and self.session.editor is not None

    @property
    def is_opened(self) -> bool:
        """Whether a user has opened this stop."""
        return self.session is not None and self.session.is_opened

    async def attach(self, registry: SessionRegistry) -> RunWorkerSession:
        """Attaches unless it is attached, as an ordinary worker of the registry; raises errors of the catalogue."""
        await registry.attach(self.params, self._new_session)
        if self.session is None:
            raise worker_gone(self.params.name)
        return self.session

    def end(self) -> None:
        """The process has ended, or runs another program by `exec`, as its debug proxy reports."""
        if self.session is not None and self.session.state != "gone":
            self.session.end()

    # --- called by its session -------------------------------------------------------------------

    def new_stream(self) -> ProxyStream:
        """A new stream to the process's debugger."""
        hold_s = self._info().hold_s
        return ProxyStream(self._proxy, self._routes, self.params.name, hold_s, self.child)

    async def set_breakpoints(self, send: SendRequest, files: list[str] | None = None) -> None:
        """Sets the run's breakpoints in the files that the process has, or in `files` (paths of the run)."""
        sent: list[tuple[str, BreakpointRows, asyncio.Future[Message]]] = []
        for path, remote in self._info().files.items():
            if files is not None and path not in files:
                continue
            rows = BreakpointRows({"breakpoints": self._run.breakpoints.of(path)})
            has_some = self._run.breakpoints.has(path) or remote in self._files_with_breakpoints
            if has_some and not self._is_of_editor(remote):
                self._files_with_breakpoints.add(remote)
                arguments = {"source": {"path": remote}, "breakpoints": rows.sent()}
                sent.append((path, rows, send("setBreakpoints", arguments)))
        for path, rows, response in sent:
            body = (await response).get("body") or {}
            answers = body.get("breakpoints")
            merged = rows.merge_answers(answers if isinstance(answers, list) else [])
            self._run.breakpoints.answered(self.params.worker_id, path, merged)
        if sent:
            self._run.notify_changed()

    def on_breakpoint(self, row: Message) -> None:
        """Its debugger has changed a breakpoint."""
        if self._run.breakpoints.changed(self.params.worker_id, row):
            self._run.notify_changed()

    def on_output(self, text: str) -> None:
        """The message of a log point."""
        self._run.write_output(self.params.worker_id, text)

    def on_end(self) -> None:
        """The process was released or has ended."""
        self.was_released = self.session is not None and self.session.is_releasing
        self.session = None
        self._run.breakpoints.forget(self.params.worker_id)
        self._on_detached(self)

    def _is_of_editor(self, remote: str) -> bool:
        return self.session is not None and self.session.has_editor_breakpoints(remote)

    def _new_session(self, *arguments: Any) -> WorkerSession:
        self.session = RunWorkerSession(self, *arguments)
        return self.session


class RunWorkerSession(WorkerSession):
    """A session that stays attached when the worker resumes, since it stops at the run's breakpoints again and again.

    Only a release, or the end of the run, ends it.
    """

    has_run = True

    def __init__(self, process: AttachedProcess, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._process = process
        self.stays_attached = True
        self._has_ended = False
        self._is_without_debugger = False
        self._ending: asyncio.TimerHandle | None = None

    def _new_conversation(self, calls: WorkerRpc) -> AttachConversation:
        return RunAttachConversation(self.params, calls, self._ignored, self._process)

    async def on_disconnect(self) -> None:
        """The editor has left: sets the run's own breakpoints again, and resumes."""
        self.record.files.clear()
        try:
            await self.set_breakpoints(None)
        except EaglerayError as error:
            log.info("breakpoints of %s: %s", self.params.name, error.code)
        await self.resume()

    async def resume(self) -> None:
        """Resumes it; one whose next line ends it, or runs another program by `exec`, can't answer."""
        try:
            await super().resume()
        except EaglerayError:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.released.wait(), _END_S)
            if not self._has_ended:
                raise

    def end(self) -> None:
        """Its process has ended; what its debugger has sent before is handled first."""
        self._has_ended = True
        link = self.debugger.link
        if link is None or self._is_without_debugger:
            self._finish_ended()
        else:
            self._finish_when_silent(link)

    def _finish_when_silent(self, link: Link) -> None:
        """Ends the session when the link is silent for `_END_S`; one that has ended is the last event itself."""
        self._stop_ending()

        def finish() -> None:
            if not link.ended.is_set():
                self._finish_ended()

        self._ending = asyncio.get_running_loop().call_later(_END_S, finish)

    def _finish_ended(self) -> None:
        self._finish(worker_gone(self.params.name).message, exited=True)

    def _stop_ending(self) -> None:
        if self._ending is not None:
            self._ending.cancel()

    async def _handle(self, event: Message) -> None:
        await super()._handle(event)
        link = self.debugger.link
        if self._has_ended and link is not None:
            self._finish_when_silent(link)

    async def _end(self, event: Message) -> None:
        self._is_without_debugger = True
        if not self._has_ended:
            await super()._end(event)
        elif self.state != "gone":
            self._finish_ended()

    async def set_breakpoints(self, files: list[str] | None) -> None:
        """Sets the run's breakpoints in these files (paths of the run; None: in all), except where an editor has its own."""
        link = self.debugger.link
        if link is not None:
            with link.for_worker(self.params.name):
                await self._process.set_breakpoints(link.begin, files)

    def has_editor_breakpoints(self, remote: str) -> bool:
        """Whether a connected editor has breakpoints of its own in that file."""
        files = self.record.files.values()
        return self.editor is not None and any(remote in file.names for file in files)

    def _is_stopped_at(self, places: list[list[Any]]) -> bool:
        """Also where a worker that is used again runs something that the run's filter excludes."""
        stopped = self.record.stopped.get(self.record.focus, {})
        is_excluded = "eagleray_excluded" in stopped and stopped.get("reason") == "breakpoint"
        return (self.state == "stopped" and is_excluded) or super()._is_stopped_at(places)

    def _finish(self, why: str, *, exited: bool = False) -> None:
        self._stop_ending()
        super()._finish(why, exited=exited)
        self._process.on_end()

    def _forward_event(self, event: Message) -> None:
        body = event.get("body") or {}
        if event.get("event") == "breakpoint" and isinstance(body.get("breakpoint"), dict):
            self._process.on_breakpoint(body["breakpoint"])
        if text := log_point_message(event):
            self._process.on_output(text)
        super()._forward_event(event)


def log_point_message(event: Message) -> str:
    """The text of a log point, "" for debugpy's own output, such as that a worker was ended while it was stopped."""
    body = event.get("body") or {}
    is_log_point = event.get("event") == "output" and body.get("category") == "stdout"
    return str(body.get("output", "")) if is_log_point else ""


class RunAttachConversation(AttachConversation):
    """Attaches through the debug proxy, with the run's breakpoints set before the process resumes.

    Where the debug proxy holds a conversation that another adapter has begun, this one continues it.
    """

    def __init__(
        self,
        params: AttachParams,
        calls: WorkerRpc,
        ignored: list[list[Any]],
        process: AttachedProcess,
    ) -> None:
        super().__init__(params, calls, ignored)
        self._process = process
        self._inherited: dict[str, Any] | None = None
        self._on_event: Callable[[Message], None] = lambda _: None

    def handle_event(self, event: Message) -> None:
        super().handle_event(event)
        # Without `has_children` debugpy has no reason to announce one.
        if self._process.has_children and event.get("event") == "debugpyAttach":
            pid = (event.get("body") or {}).get("subProcessId")
            if isinstance(pid, int):
                self._process.on_child(pid)

    async def connect(
        self,
        routes: Routes,
        on_event: Callable[[Message], None],
        on_close: Callable[[Link], None],
    ) -> Link:
        stream = self._process.new_stream()
        await stream.open()
        self._inherited = stream.inherited
        self._on_event = on_event
        # The stream has what a link needs of a writer, and no transport of its own.
        writer = cast(asyncio.StreamWriter, stream)
        link = Link(stream.reader, writer, on_event, lambda: on_close(link))
        return link

    async def attach(self, link: Link) -> tuple[Message, WorkerInfo]:
        with link.for_worker(self._params.name):
            if self._inherited is not None:
                return await self._inherit(link, self._inherited)
            return await self._attach_new(link)

    async def _attach_new(self, link: Link) -> tuple[Message, WorkerInfo]:
        initialize = link.begin("initialize", INITIALIZE)
        attach = link.begin("attach", self._arguments())
        attach.add_done_callback(lambda _: self._initialized_or_refused.set())
        setting_up = asyncio.ensure_future(self._set_up(link))
        capabilities = await self._in_time(initialize)
        await self._in_time(asyncio.ensure_future(self._initialized_or_refused.wait()))
        if attach.done():
            setting_up.cancel()
            self._refuse(attach.result())
        answer = await setting_up
        done = link.begin("configurationDone")
        await self._in_time(done)
        self._refuse(await self._in_time(attach))
        return capabilities.get("body") or {}, await _worker_info(answer)

    async def _inherit(self, link: Link, inherited: dict[str, Any]) -> tuple[Message, WorkerInfo]:
        """Continues another adapter's conversation; a worker that is stopped must stay so."""
        info = await _worker_info(await self._set_up(link))
        for body in inherited.get("stopped") or []:
            self._on_event(dap.event("stopped", body))
        return inherited.get("capabilities") or {}, info

    async def _set_up(self, link: Link) -> asyncio.Future[str] | None:
        """Sends everything at once; debugpy handles one request after the other."""
        exceptions = link.begin("setExceptionBreakpoints", UNPREPARED)
        preparing = asyncio.ensure_future(self._prepare_worker(link))
        setting = asyncio.ensure_future(self._process.set_breakpoints(link.begin))
        try:
            await self._in_time(setting)
            await self._in_time(exceptions)
            return await preparing
        finally:
            preparing.cancel()
            setting.cancel()

    async def _prepare_worker(self, link: Link) -> asyncio.Future[str] | None:
        preparing = asyncio.ensure_future(self._calls.run(link.begin, "prepare", self._ignored))
        done, _ = await asyncio.wait([preparing], timeout=PREPARE_S)
        if not done:
            preparing.cancel()
            return None
        return preparing.result()

    async def _in_time(self, response: asyncio.Future[T]) -> T:
        """Waits long, since many workers of a node may reach a breakpoint, and start their debuggers, at once."""
        try:
            return await asyncio.wait_for(response, _ANSWER_S)
        except asyncio.TimeoutError as error:
            raise worker_silent(self._params.name, _ANSWER_S) from error

    def _arguments(self) -> Message:
        child = self._process.child
        arguments: Message = {**ATTACH, "subProcess": self._process.has_children}
        return {**arguments, "subProcessId": child} if child else arguments


async def _worker_info(answer: asyncio.Future[str] | None) -> WorkerInfo:
    return worker_rpc.read_worker_info(await read_answer(answer) if answer is not None else None)


def _child_params(params: AttachParams, child: int) -> AttachParams:
    return replace(
        params, worker_id=f"{params.worker_id}-{child}", name=f"{params.name} · process {child}"
    )
