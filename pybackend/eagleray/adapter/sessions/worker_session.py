"""One worker that we are attached to: its connection, its record, and the editor that looks at it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any, Literal

from eagleray.adapter.sessions import worker_process
from eagleray.adapter.sessions.attaching import KEPT_HERE, AttachConversation
from eagleray.adapter.sessions.dap import Message
from eagleray.adapter.sessions.debugger import LINK_ENDED, Debugger
from eagleray.adapter.sessions.event_queue import EventQueue, named_files
from eagleray.adapter.sessions.exceptions import without_note
from eagleray.adapter.sessions.path_rules import PathRules
from eagleray.adapter.sessions.record import SessionRecord
from eagleray.adapter.sessions.renewal import Renewal
from eagleray.adapter.sessions.stacks import Stacks
from eagleray.adapter.sessions.stop_location import StopLocator, is_among
from eagleray.adapter.sessions.watching import ConnectedEditor
from eagleray.adapter.sessions.worker_rpc import Prepared, WorkerRpc
from eagleray.adapter.sessions.worker_states import state_of
from eagleray.common import tasks
from eagleray.common.clock import Clock
from eagleray.common.errors import EaglerayError
from eagleray.common.worker_errors import (
    client_superseded,
    debugger_gone,
    debugger_silent,
    no_worker_file,
)
from eagleray.protocol.control import (
    AttachParams,
    FileContent,
    PathMapping,
    WorkerState,
    WorkerStop,
)
from eagleray.protocol.records import read
from eagleray.routes.routes import Routes

log = logging.getLogger(__name__)


class WorkerSession:
    """Owns the debugger of one worker, and the record of its state.

    `changed` is called after every change of state, `ended` once when the worker is released or gone.
    `ignored` lists the [path, line] that are run over; it is the registry's own list.  `stays`: we stay
    attached also when nobody looks at it.  `own_mappings` come before all others that are set later.
    """

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
        self.rules = PathRules(params.mappings)
        self.own_mappings: list[PathMapping] = []
        self._events = EventQueue()
        self.debugger = Debugger(
            lambda: self.params.name, self._make_attaching, routes, self._events.put
        )
        self._renewal = Renewal(self.connect_anew)
        self._stacks = Stacks(self.debugger.request, self.record.stopped)
        self._location = StopLocator(self.debugger.request, self._stacks, self._located)
        self.editor: ConnectedEditor | None = None
        self.state: Literal["attaching", "stopped", "running", "gone"] = "attaching"
        self._ignored = ignored
        self._clock = clock
        self._changed = changed
        self._ended = ended
        self._stop: WorkerStop | None = None
        self._stops_known = asyncio.Event()
        self._resumed = asyncio.Event()
        self._alone_since = clock.now()
        self._handling: asyncio.Task[None] | None = None
        self.stays = False
        self.is_leaving = False
        self.left = asyncio.Event()
        self._releasing: asyncio.Future[None] | None = None
        self.seen = params.seen

    async def attach(self) -> None:
        """Attaches and waits for the stop; returns with state "stopped", or "running" if none came."""
        try:
            capabilities = await self.debugger.attach()
        except BaseException:
            self.is_leaving = True
            raise
        self._handling = tasks.owned(self._handle_events(), "events", tasks.only_logged)
        await self._attached(capabilities, None)

    async def connect_anew(self) -> None:
        """A new link in place of a silent debugger's; raises `debugger-silent`, and holds the worker then."""
        editor, self.editor = self.editor, None
        if editor is not None:
            editor.end(debugger_silent(self.params.name).message)
        before, stopped = self._stop, dict(self.record.stopped)
        self._stops_known.clear()
        try:
            capabilities = await self.debugger.reattach()
        except EaglerayError as error:
            if error.code == "debugger-gone":
                await self._end({})
            raise
        self.record.forget(stopped)
        await self.record.restore(self.debugger)
        await self._attached(capabilities, before)

    async def _attached(self, capabilities: Message, before: WorkerStop | None) -> None:
        self.record.capabilities = capabilities
        self._stacks.fold_by(self.prepared.roots)
        if self.prepared.waiting != 0:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._stops_known.wait(), self.params.timeout_s)
        if self.state == "gone":
            raise debugger_gone(self.params.name)
        if self.state != "running" and self._stop is before:
            self._set_running()

    def _make_attaching(self, calls: WorkerRpc) -> AttachConversation:
        return AttachConversation(self.params, calls, self._ignored)

    @property
    def prepared(self) -> Prepared:
        return self.debugger.prepared

    async def request(self, command: str, arguments: Message | None = None) -> Message:
        """The worker's whole response; raises errors of the catalogue."""
        return await self.debugger.request(command, arguments)

    async def stack(self, thread: int) -> list[Message]:
        """The folded stack of a thread, in the worker's paths."""
        return await self._stacks.of(thread)

    async def read_file(self, path: str) -> FileContent:
        """A file as the worker sees it; raises `no-worker-file`."""
        answer = await self.debugger.call("read_file", path)
        try:
            return read(FileContent, answer)
        except ValueError as error:
            raise no_worker_file(path) from error

    def status(self) -> WorkerState:
        """The state as the control protocol tells it."""
        is_held = self.state == "stopped" and self.editor is None
        held_s = max(0.0, self._clock.now() - self._alone_since) if is_held else 0.0
        return state_of(self, self._stop if self.state == "stopped" else None, held_s)

    def watched_by(self, editor: ConnectedEditor | None) -> None:
        """An editor came (the one before it is told to end) or went."""
        before, self.editor = self.editor, editor
        self.seen = self.seen or editor is not None
        if before is not None and editor is not None and before is not editor:
            before.end(client_superseded().message)
        self._alone_since = self._clock.now()
        self._changed()

    async def run_on(self) -> None:
        """Resumes all threads; raises `debugger-silent` when nothing proves that, and holds the worker then."""
        await self._renewal.settle()
        if self._stop is not None:
            await self._resume(self._stop)

    async def _resume(self, before: WorkerStop) -> None:
        if await self.debugger.resume(self.record.focus, self._resumed):
            if self._stop is before:
                self._set_running()
        else:
            await self._renewal.run()

    async def release(self) -> None:
        """Resumes the worker without us; raises `debugger-silent` as `run_on` does."""
        if self._releasing is None:
            self._releasing = tasks.shared(self._release(), "release")
        await asyncio.shield(self._releasing)

    async def _release(self) -> None:
        if self.state == "gone":
            return
        self.is_leaving = True
        try:
            await self._renewal.settle()
            if not await self.debugger.disconnect():
                await self._renewal.run()
                if not await self.debugger.disconnect():
                    raise debugger_silent(self.params.name)
        except EaglerayError:
            self.is_leaving, self._releasing = False, None
            left, self.left = self.left, asyncio.Event()
            left.set()
            raise
        self._finish("")

    async def let_go(self) -> None:
        """The user pressed Disconnect in the editor."""
        await self.release()

    async def ignore(self) -> None:
        """Takes over the registry's list of ignored lines, and runs on from one of them."""
        answer = await self.debugger.call("ignore", self._ignored)
        if self._is_at(self._ignored + ((answer or {}).get("stands") or [])):
            await self.run_on()

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
        await self.rules.check_files(named_files(event))
        if name == "stopped":
            await self._on_stopped(event)
        elif name == "continued":
            self._set_running()
            self._tell(event)
        elif name in ("terminated", "exited", LINK_ENDED):
            if not self.is_leaving:
                await self._end(event)
        elif name not in KEPT_HERE and body.get("category") != "telemetry":
            self._tell(event)

    async def _on_stopped(self, event: Message) -> None:
        event["body"] = body = without_note(event["body"])
        self._stacks.stopped(body)
        if body.get("reason") == "step":
            if not self.debugger.stepping.is_under_way:
                # Older versions of debugpy say so of Ray's breakpoint(), which steps out of itself.
                body["reason"] = "breakpoint"
            elif self._stacks.is_wrapped and await self.debugger.step_on(body.get("threadId", 0)):
                return
        self.record.stop(body)
        self._stop = await self._location.of(body, self.record.focus)
        self._resumed = asyncio.Event()
        self.seen = self.editor is not None or (self.seen and self.state != "running")
        self.state = "stopped"
        self._alone_since = self._clock.now()
        if self._is_at(self._ignored):
            await self._resume(self._stop)
            return
        self._stops_known.set()
        self._tell(event)
        self._changed()

    async def _located(self, before: WorkerStop, stop: WorkerStop) -> None:
        """It is known only now where the worker has stopped."""
        if self._stop is before:
            self._stop = stop
            self._changed()
            if self._is_at(self._ignored):
                await self._resume(stop)

    def _is_at(self, places: list[list[Any]]) -> bool:
        """Whether it stands at one of these, where no editor wants to stop."""
        stop = self._stop
        if self.state != "stopped" or stop is None or not is_among(stop, places):
            return False
        return not self.record.has_breakpoint(stop.path, stop.line)

    def _set_running(self) -> None:
        self.record.run_on()
        self._stacks.clear()
        self._stop = None
        self._resumed.set()
        self.state = "running"
        self._changed()

    def _tell(self, event: Message) -> None:
        if self.editor is not None:
            self.editor.tell(event)

    async def _end(self, event: Message) -> None:
        """Its debugger has ended, as `event` tells."""
        why = await worker_process.end_of(self.params.name, self.prepared, event)
        if self.state != "gone":
            self._finish(why.message)

    def _finish(self, why: str) -> None:
        self.state = "gone"
        self._stops_known.set()
        self._renewal.close()
        self._location.close()
        self.debugger.close()
        if self.editor is not None:
            self.editor.end(why)
        if self._handling is not None and self._handling is not asyncio.current_task():
            self._handling.cancel()
        self._ended(self)
        self.left.set()
        self._changed()
