"""One worker that we are attached to: its connection, its record, and the editor that looks at it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from typing import Any, Literal

from eagleray.adapter import exceptions
from eagleray.adapter.attaching import KEPT_HERE, Attaching
from eagleray.adapter.dap import Message
from eagleray.adapter.landing import Calls, Prepared
from eagleray.adapter.link import STEERING, Link, LinkClosed
from eagleray.adapter.path_rules import PathRules
from eagleray.adapter.protocol import AttachParams, Mapping, Stop, WorkerState
from eagleray.adapter.record import Record
from eagleray.adapter.stacks import Stacks
from eagleray.adapter.stops import is_among, stop_of
from eagleray.adapter.watching import Watching
from eagleray.adapter.worker_states import state_of
from eagleray.common import tasks
from eagleray.common.clock import Clock
from eagleray.common.errors import EaglerayError
from eagleray.common.worker_errors import no_worker_file, worker_gone
from eagleray.routes.routes import Routes

log = logging.getLogger(__name__)

# How long debugpy may take to let go or run on; a worker deep in native code answers late.
_LET_GO_S = 5.0


class Worker:
    """Owns the link to one worker.

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
        ended: Callable[[Worker], None],
    ) -> None:
        self.params = params
        self.socket_path = socket_path
        self.record = Record()
        self.rules = PathRules(params.mappings)
        self.own_mappings: list[Mapping] = []
        self._stacks = Stacks(self.request, self.record.stopped)
        self.editor: Watching | None = None
        self.state: Literal["attaching", "stopped", "running", "gone"] = "attaching"
        self._ignored = ignored
        self._routes = routes
        self._clock = clock
        self._changed = changed
        self._ended = ended
        self._link: Link | None = None
        self.prepared = Prepared()
        self._calls = Calls()
        self._stop: Stop | None = None
        self._stops_known = asyncio.Event()
        self._resumed = asyncio.Event()
        self._alone_since = clock.now()
        self._events: asyncio.Queue[Message] = asyncio.Queue()
        self._handling: asyncio.Task[None] | None = None
        self.stays = False
        self.is_leaving = False
        self.left = asyncio.Event()
        self._steps = False
        self.seen = params.seen

    # --- attaching -----------------------------------------------------------------------------

    async def attach(self) -> None:
        """Attaches and waits for the stop; returns with state "stopped", or "running" if none came."""
        attaching = self._attaching()

        def take(event: Message) -> None:
            attaching.take(event)
            self._calls.take(event)
            self._events.put_nowait(event)

        def ended(link: Link) -> None:
            self._end(link.end_of(self.params.name))

        self._link = await attaching.connect(self._routes, take, ended)
        try:
            capabilities, self.prepared = await attaching.attach(self._link)
        except BaseException:
            self.is_leaving = True
            if self._link is not None:
                self._link.close()
            raise
        self.record.capabilities = capabilities
        self._stacks.fold_by(self.prepared.roots)
        self._handling = tasks.owned(self._handle_events(), "events", tasks.only_logged)
        if self.prepared.waiting != 0:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._stops_known.wait(), self.params.timeout_s)
        if self.state == "gone":
            raise worker_gone(self.params.name)
        if self.state == "attaching":
            self._set_running()

    def _attaching(self) -> Attaching:
        return Attaching(self.params, self._calls, self._ignored)

    # --- asking --------------------------------------------------------------------------------

    async def request(self, command: str, arguments: Message | None = None) -> Message:
        """The worker's whole response; raises worker_gone."""
        link = self._link
        if link is None:
            raise worker_gone(self.params.name)
        if command in STEERING:
            self._steps = command != "continue"
        with link.for_worker(self.params.name):
            return await link.request(command, arguments)

    async def set_breakpoints(self, several: Iterable[Message]) -> list[Message]:
        """The responses to these `setBreakpoints`, all sent before anything that is asked later; raises worker_gone."""
        link = self._link
        if link is None:
            raise worker_gone(self.params.name)
        with link.for_worker(self.params.name):
            return await asyncio.gather(*(link.begin("setBreakpoints", one) for one in several))

    async def stack(self, thread: int) -> list[Message]:
        """The folded stack of a thread, in the worker's paths."""
        return await self._stacks.of(thread)

    async def read_file(self, path: str) -> dict[str, Any]:
        """A file as the worker sees it: text, truncated, sha256."""
        answer = await self._calls.call(self.request, "read_file", path)
        if answer is None or answer.get("missing"):
            raise no_worker_file(path)
        return answer

    def status(self) -> WorkerState:
        """The state as the control protocol tells it."""
        is_held = self.state == "stopped" and self.editor is None
        held_s = max(0.0, self._clock.now() - self._alone_since) if is_held else 0.0
        return state_of(self, self._stop if self.state == "stopped" else None, held_s)

    # --- steering ------------------------------------------------------------------------------

    def watched_by(self, editor: Watching | None) -> None:
        """An editor came (the one before it is told to end) or went."""
        before, self.editor = self.editor, editor
        self.seen = self.seen or editor is not None
        if before is not None and editor is not None and before is not editor:
            before.end("Another window looks at this worker now.")
        self._alone_since = self._clock.now()
        self._changed()

    async def run_on(self) -> None:
        """Lets all threads of a stopped worker run; the connection stays.

        debugpy answers only when a thread really resumed.  It may tell of two stopped threads for one pause,
        so that the second `continue` finds all of them running and is never answered.
        """
        if self._link is None:
            raise worker_gone(self.params.name)
        before = self._stop
        if before is None:
            return
        self._steps = False
        answer = self._link.begin("continue", {"threadId": self.record.focus})
        resumed = self._resumed
        answer.add_done_callback(lambda _: resumed.set())
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(resumed.wait(), _LET_GO_S)
        if answer.done() and answer.exception() is not None:
            raise worker_gone(self.params.name)
        if self._stop is before:
            self._set_running()

    async def release(self) -> None:
        """Lets the worker run on without us.

        No `continue` goes before the `disconnect`: between the two the worker could reach its next
        breakpoint(), which would pass unseen because a client is still there.
        """
        link, self._link = self._link, None
        if link is None:
            await self.left.wait()
            return
        self.is_leaving = True
        answer = link.begin("disconnect", {"restart": False, "terminateDebuggee": False})
        with contextlib.suppress(LinkClosed, asyncio.TimeoutError):
            await asyncio.wait_for(answer, _LET_GO_S)
            await asyncio.wait_for(link.ended.wait(), _LET_GO_S)
        link.close()
        self._finish("")

    async def let_go(self) -> None:
        """The editor's Disconnect was pressed."""
        await self.release()

    async def ignore(self) -> None:
        """Takes over the registry's list of ignored lines, and runs on from one of them."""
        answer = await self._calls.call(self.request, "ignore", self._ignored)
        if self._is_at(self._ignored + ((answer or {}).get("stands") or [])):
            await self.run_on()

    # --- what the worker says ------------------------------------------------------------------

    async def _handle_events(self) -> None:
        while self.state != "gone":
            event = await self._events.get()
            try:
                await self._handle(event)
            except EaglerayError as error:
                log.info("event %s of %s: %s", event.get("event"), self.params.name, error.code)
            except Exception:
                # The worker must stay in our hands whatever its debugger says.
                log.exception("event %s of %s", event.get("event"), self.params.name)

    async def _handle(self, event: Message) -> None:
        name, body = event.get("event"), event.get("body") or {}
        if name == "stopped":
            await self._on_stopped(event)
        elif name == "continued":
            self._set_running()
            self._tell(event)
        elif name in ("terminated", "exited"):
            self._end(f"{self.params.name} has ended.")
        elif name not in KEPT_HERE and body.get("category") != "telemetry":
            self._tell(event)

    async def _on_stopped(self, event: Message) -> None:
        self._stacks.stopped(event["body"])
        if event["body"].get("reason") == "step" and not self._steps:
            # Older versions of debugpy say so of Ray's breakpoint(), which steps out of itself.
            event["body"]["reason"] = "breakpoint"
        self.record.stop(event["body"])
        self._stop = await self._where(event["body"])
        self._resumed = asyncio.Event()
        self.seen = self.editor is not None or (self.seen and self.state != "running")
        self.state = "stopped"
        self._alone_since = self._clock.now()
        if self._is_at(self._ignored):
            await self.run_on()
            return
        self._stops_known.set()
        self._tell(event)
        self._changed()

    async def _where(self, body: Message) -> Stop:
        thread, fails = self.record.focus, body.get("reason") == "exception"
        frames = await self.stack(thread)
        exception = await exceptions.of_stop(self.request, body, thread) if fails else ""
        return stop_of(body, frames, thread, exception)

    def _is_at(self, places: list[list[Any]]) -> bool:
        """Whether it stands at one of these, where no editor wants to stop."""
        stop = self._stop
        if self.state != "stopped" or stop is None or not is_among(stop, places):
            return False
        return not self.record.has_breakpoint(stop.path, stop.line)

    def _set_running(self) -> None:
        self.record.run_on()
        self._stacks.run_on()
        self._stop = None
        self._resumed.set()
        self.state = "running"
        self._changed()

    def _tell(self, event: Message) -> None:
        if self.editor is not None:
            self.editor.tell(event)

    def _end(self, why: str) -> None:
        if not self.is_leaving and self.state != "gone":
            self._finish(why)

    def _finish(self, why: str) -> None:
        self.state = "gone"
        self._stops_known.set()
        if self._link is not None:
            self._link.close()
            self._link = None
        if self.editor is not None:
            self.editor.end(why)
        if self._handling is not None and self._handling is not asyncio.current_task():
            self._handling.cancel()
        self._ended(self)
        self.left.set()
        self._changed()
