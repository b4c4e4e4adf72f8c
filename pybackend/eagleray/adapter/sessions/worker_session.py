"""One attached worker: its debugger, the record of its state, and the editor that debugs it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any, Literal, Protocol

from eagleray.adapter.sessions import worker_process
from eagleray.adapter.sessions.attaching import INTERNAL_EVENTS, AttachConversation
from eagleray.adapter.sessions.backpressure import EventQueue
from eagleray.adapter.sessions.debugger import LINK_ENDED, Debugger, LinkRenewal
from eagleray.adapter.sessions.pydevd_patches import CALL_LINE
from eagleray.adapter.sessions.record import SessionRecord
from eagleray.adapter.sessions.sources import PathRules, Sources, paths_in
from eagleray.adapter.sessions.stacks import Stacks
from eagleray.adapter.sessions.stops import StopLocator, is_among, without_note
from eagleray.adapter.sessions.worker_rpc import WorkerInfo, WorkerRpc
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.retry import Clock
from eagleray.common.worker_errors import (
    client_superseded,
    debugger_gone,
    debugger_silent,
    no_worker_file,
    worker_gone,
)
from eagleray.protocol.adapter_control import (
    AttachParams,
    FileContent,
    PathMapping,
    WorkerState,
    WorkerStop,
)
from eagleray.protocol.dap import Arguments, Body, Frame, Message
from eagleray.protocol.records import read
from eagleray.routes.routes import Routes

# An editor connects within this time after its user has attached, also on a busy machine.
OPENING_S = 5.0

log = logging.getLogger(__name__)


class ConnectedEditor(Protocol):
    """An editor that debugs the worker."""

    def send_event(self, event: Message) -> None: ...
    def end(self, why: str, *, exited: bool = False) -> None: ...


class WorkerSession:
    """Owns the debugger of one worker, and the record of its state.

    `changed` is called after every change of state, `ended` once when the worker is released or gone.
    `ignored` lists the [path, line] that don't stop it; it is the registry's own list.  `stays_attached`: the
    connection is needed also while no editor is connected.
    """

    # Whether the worker belongs to a run of the editor, which announces its end.
    has_run = False

    def __init__(
        self,
        params: AttachParams,
        socket_path: str,
        ignored: list[list[Any]],
        routes: Routes,
        clock: Clock,
        changed: Callable[[], None],
        ended: Callable[[WorkerSession], None],
    ) -> None:
        self.params = params
        self.socket_path = socket_path
        self.record = SessionRecord()
        self.sources = Sources(PathRules(params.mappings))
        self._own_mappings: list[PathMapping] = []
        self._events = EventQueue()
        self.debugger = Debugger(
            lambda: self.params.name, self._new_conversation, routes, self._events.put
        )
        self._renewal = LinkRenewal(self.reconnect)
        self._stacks = Stacks(self.debugger.request, self.record.stopped)
        self._locator = StopLocator(self.debugger.request, self._stacks, self._on_late_location)
        self.editor: ConnectedEditor | None = None
        self.state: Literal["attaching", "stopped", "running", "gone"] = "attaching"
        self._ignored = ignored
        self._clock = clock
        self._changed = changed
        self._ended = ended
        self._stop: WorkerStop | None = None
        self._stop_count = 0
        self._first_stop = asyncio.Event()
        self._resumed = asyncio.Event()
        self._held_since = clock.now()
        self._handling: asyncio.Task[None] | None = None
        self.stays_attached = False
        self.is_releasing = False
        self.released = asyncio.Event()
        self._releasing: asyncio.Future[None] | None = None
        self.is_taken = params.seen
        self._is_opening = params.seen
        self._opening: asyncio.TimerHandle | None = None
        self.rank = params.rank

    async def attach(self) -> None:
        """Attaches and waits for the stop; returns with state "stopped", or "running" if none came."""
        try:
            capabilities = await self.debugger.attach()
        except BaseException:
            self.is_releasing = True
            raise
        self._handling = tasks.owned(self._handle_events(), "events", tasks.only_logged)
        await self._attached(capabilities, None)

    async def reconnect(self) -> None:
        """Replaces the link to a silent debugger; raises `debugger-silent`, and holds the worker then."""
        editor, self.editor = self.editor, None
        if editor is not None:
            editor.end(debugger_silent(self.params.name).message)
        before, stopped = self._stop, dict(self.record.stopped)
        self._first_stop.clear()
        try:
            capabilities = await self.debugger.reattach()
        except EaglerayError as error:
            if error.code == "debugger-gone":
                await self._end({})
            raise
        self.record.remove_stops(stopped)
        await self.record.restore(self.debugger)
        await self._attached(capabilities, before)

    async def _attached(self, capabilities: Body, before: WorkerStop | None) -> None:
        self.record.capabilities = capabilities
        self._stacks.set_roots(self.info.roots)
        if self.info.waiting != 0:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._first_stop.wait(), self.params.timeout_s)
        if self.state == "gone":
            raise debugger_gone(self.params.name)
        if self.state != "running" and self._stop is before:
            self._set_running()

    def _new_conversation(self, calls: WorkerRpc) -> AttachConversation:
        return AttachConversation(self.params, calls, self._ignored)

    @property
    def info(self) -> WorkerInfo:
        return self.debugger.info

    async def request(self, command: str, arguments: Arguments | None = None) -> Message:
        """The worker's whole response; raises errors of the catalogue."""
        return await self.debugger.request(command, arguments)

    async def stack(self, thread: int) -> list[Frame]:
        """The folded stack of a thread, in the worker's paths."""
        return await self._stacks.frames(thread)

    def folded_traceback(self, text: str) -> str:
        """A traceback without Ray's frames."""
        return self._stacks.folded_traceback(text)

    @property
    def display_name(self) -> str:
        """ "policy-0 (rank 0)", as in the editor's views."""
        rank = self.rank or self.info.rank
        return f"{self.params.name} (rank {rank})" if rank else self.params.name

    async def read_file(self, path: str) -> FileContent:
        """A file as the worker sees it; raises `no-worker-file`."""
        answer = await self.debugger.call("read_file", path)
        try:
            return read(FileContent, answer)
        except ValueError as error:
            raise no_worker_file(path) from error

    def status(self) -> WorkerState:
        """The state for the control protocol."""
        is_held = self.state == "stopped" and self.editor is None
        held_s = max(0.0, self._clock.now() - self._held_since) if is_held else 0.0
        return WorkerState(
            session=self.params.session,
            worker_id=self.params.worker_id,
            cluster=self.params.cluster,
            name=self.params.name,
            pid=self.info.pid,
            state=self.state,
            editor=self.editor is not None,
            held_s=held_s,
            rank=self.rank or self.info.rank,
            stop=self._stop if self.state == "stopped" else None,
            socket=self.socket_path,
            seen=self.is_opened,
            kind=self.params.kind,
            class_name=self.params.class_name,
        )

    @property
    def is_opened(self) -> bool:
        """Whether a user has opened this stop: not yet while the editor is about to connect."""
        return self.is_taken and not self._is_opening

    def take(self) -> None:
        """A user has attached, whose editor connects in a moment."""
        self.is_taken = True
        if self.editor is None:
            self._end_opening()
            self._is_opening = True
            self._opening = asyncio.get_running_loop().call_later(OPENING_S, self._on_unopened)
        self._changed()

    def _on_unopened(self) -> None:
        self._end_opening()
        self._changed()

    def _end_opening(self) -> None:
        self._is_opening = False
        if self._opening is not None:
            self._opening.cancel()

    def set_mappings(self, mappings: list[PathMapping]) -> None:
        """Replaces the user's mappings, which come after the worker's own."""
        self.sources.rules = PathRules([*self._own_mappings, *mappings])

    def set_own_mappings(self, own: list[PathMapping]) -> None:
        """Sets the mappings that come before the user's."""
        if own != self._own_mappings:
            users = [m for m in self.sources.rules.mappings if m not in self._own_mappings]
            self._own_mappings = own
            self.set_mappings(users)

    def set_editor(self, editor: ConnectedEditor | None) -> None:
        """Sets the editor that has connected, which ends the session of the one before; None when it has left."""
        before, self.editor = self.editor, editor
        self.is_taken = self.is_taken or editor is not None
        self._end_opening()
        if before is not None and editor is not None and before is not editor:
            before.end(client_superseded().message)
        self._held_since = self._clock.now()
        self._changed()

    async def resume(self) -> None:
        """Resumes all threads; raises `debugger-silent`, and holds the worker, when nothing proves that they resumed."""
        await self._renewal.settle()
        if self._stop is not None:
            await self._resume_from(self._stop)

    async def _resume_from(self, before: WorkerStop) -> None:
        if await self.debugger.resume(self.record.focus, self._resumed):
            if self._stop is before:
                self._set_running()
        else:
            await self._renewal.run()

    async def release(self) -> None:
        """Disconnects, which resumes the worker; raises `debugger-silent` as `resume` does."""
        if self._releasing is None:
            self._releasing = tasks.shared(self._release(), "release")
        await asyncio.shield(self._releasing)

    async def _release(self) -> None:
        if self.state == "gone":
            return
        self.is_releasing = True
        try:
            await self._renewal.settle()
            if not await self.debugger.disconnect():
                await self._renewal.run()
                if not await self.debugger.disconnect():
                    raise debugger_silent(self.params.name)
        except EaglerayError:
            self.is_releasing, self._releasing = False, None
            waited_for, self.released = self.released, asyncio.Event()
            waited_for.set()
            raise
        self._finish("")

    async def on_disconnect(self) -> None:
        """The user pressed Disconnect in the editor."""
        await self.release()

    async def ignore(self) -> None:
        """Sends the registry's list of ignored lines to the worker, and resumes it if it is stopped at one of them."""
        answer = await self.debugger.call("ignore", self._ignored)
        if self._is_stopped_at(self._ignored + ((answer or {}).get("stops") or [])):
            await self.resume()

    async def _handle_events(self) -> None:
        while self.state != "gone":
            event = await self._events.get()
            try:
                await self._handle(event)
            except EaglerayError as error:
                log.info("event %s of %s: %s", event.get("event"), self.params.name, error.code)
            except Exception:
                log.exception("event %s of %s", event.get("event"), self.params.name)

    async def _handle(self, event: Message) -> None:
        name, body = event.get("event"), event.get("body") or {}
        await self.sources.rules.check_files(paths_in(event))
        if name == "stopped":
            await self._on_stopped(event)
        elif name == "continued":
            self._set_running()
            self._forward_event(event)
        elif name in ("terminated", "exited", LINK_ENDED):
            if not self.is_releasing:
                await self._end(event)
        elif name not in INTERNAL_EVENTS and body.get("category") != "telemetry":
            self._forward_event(event)

    async def _on_stopped(self, event: Message) -> None:
        event["body"] = body = without_note(event["body"])
        self._stop_count += 1
        # The number of a debug proxy is the same for the next adapter.
        number = body.pop("eagleray_stop", None)
        number = number if isinstance(number, int) else self._stop_count
        call_line = body.pop(CALL_LINE, 0)
        self._stacks.on_stop(body)
        if body.get("reason") == "step":
            if not self.debugger.stepping.is_active:
                # Older versions of debugpy (1.8.0) call Ray's breakpoint() a step, since it steps out of itself.
                body["reason"] = "breakpoint"
            elif self._stacks.is_wrapped and await self.debugger.step_out_of_ray(
                body.get("threadId", 0)
            ):
                return
        self.record.add_stop(body)
        self._stop = await self._locator.locate(body, self.record.focus, number, call_line)
        self._resumed = asyncio.Event()
        self.is_taken = self.editor is not None or (self.is_taken and self.state != "running")
        self.state = "stopped"
        self._held_since = self._clock.now()
        if self._is_stopped_at(self._ignored):
            await self._resume_from(self._stop)
            return
        self._first_stop.set()
        self._forward_event(event)
        self._changed()

    async def _on_late_location(self, before: WorkerStop, stop: WorkerStop) -> None:
        """The location of a stop has arrived after the time limit."""
        if self._stop is before:
            self._stop = stop
            self._changed()
            if self._is_stopped_at(self._ignored):
                await self._resume_from(stop)

    def _is_stopped_at(self, locations: list[list[Any]]) -> bool:
        """Whether it is stopped at one of these, where no editor has set a breakpoint."""
        stop = self._stop
        if self.state != "stopped" or stop is None or not is_among(stop, locations):
            return False
        return not self.record.has_breakpoint(stop.path, stop.line)

    def _set_running(self) -> None:
        self.record.clear_stops()
        self._stacks.clear()
        self._stop = None
        self._resumed.set()
        self.state = "running"
        self._changed()

    def _forward_event(self, event: Message) -> None:
        if self.editor is not None:
            self.editor.send_event(event)

    async def _end(self, event: Message) -> None:
        """Its debugger has ended, as `event` reports."""
        error = await worker_process.end_of(self.params.name, self.info, event)
        if self.state != "gone":
            is_exit = error.code == worker_gone("").code
            self._finish(error.message, exited=is_exit and self.has_run)

    def _finish(self, why: str, *, exited: bool = False) -> None:
        self.state = "gone"
        self._end_opening()
        self._first_stop.set()
        self._renewal.close()
        self._locator.close()
        self.debugger.close()
        if self.editor is not None:
            self.editor.end(why, exited=exited)
        if self._handling is not None and self._handling is not asyncio.current_task():
            self._handling.cancel()
        self._ended(self)
        self.released.set()
        self._changed()
