"""The DAP conversation that attaches to a worker and resumes it to the line where it stops."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from eagleray.adapter.sessions import worker_rpc
from eagleray.adapter.sessions.link import Link
from eagleray.adapter.sessions.worker_rpc import WorkerInfo, WorkerRpc, read_answer
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.worker_errors import (
    attach_refused,
    not_a_debugger,
    worker_busy,
    worker_gone,
    worker_silent,
    worker_unreachable,
)
from eagleray.protocol.adapter_control import AttachParams
from eagleray.protocol.dap import Body, Message
from eagleray.protocol.route_spec import RouteSpec
from eagleray.routes.routes import Routes

log = logging.getLogger(__name__)

T = TypeVar("T")

CONNECT_S = 5.0
ANSWER_S = 15.0
# The limit where another route follows: a firewall, or a port of another program, may never answer.
SOONER_S = 3.0
# The worker resumes unprepared after this time, so that the user doesn't wait.
PREPARE_S = 5.0

# Ray's breakpoint() never stops with justMyCode (measured with Ray 2.60 and debugpy 1.8.22).
ATTACH = {"justMyCode": False, "redirectOutput": False, "subProcess": False}
# Post-mortem of a worker that can't be prepared needs the filter "uncaught"; `prepare` clears it in all others.
UNPREPARED = {"filters": ["uncaught"]}

# The output of the first event that debugpy sends to every client (1.8.22, `adapter/clients.py`).
_GREETINGS = ("ptvsd", "debugpy")

# Events that are not forwarded, since they would confuse an editor.
INTERNAL_EVENTS = (
    "initialized",
    "process",
    "capabilities",
    "debugpySockets",
    "debugpyWaitingForServer",
    "debugpyAttach",
)

INITIALIZE = {
    "adapterID": "eagleray",
    "clientID": "eagleray",
    "clientName": "Eagleray",
    "pathFormat": "path",
    "linesStartAt1": True,
    "columnsStartAt1": True,
    "supportsVariableType": True,
    "supportsVariablePaging": True,
    "supportsMemoryReferences": False,
    "supportsStartDebuggingRequest": False,
}


class _Trial:
    """One connection that may turn out not to lead to a debugger: then its end is not reported.

    Events are passed on from the beginning, since the greeting is one of them.
    """

    def __init__(
        self, on_event: Callable[[Message], None], on_close: Callable[[Link], None]
    ) -> None:
        self.on_event = on_event
        self.link: Link | None = None
        self._on_close = on_close
        self._is_debugger = False

    def confirm(self) -> None:
        self._is_debugger = True

    def on_end(self) -> None:
        if self._is_debugger and self.link is not None:
            self._on_close(self.link)


class AttachConversation:
    """One attempt.  `handle_event` must get every event of the link from its beginning."""

    def __init__(self, params: AttachParams, calls: WorkerRpc, ignored: list[list[Any]]) -> None:
        self._params = params
        self._calls = calls
        self._ignored = ignored
        self._greeted = asyncio.Event()
        self._initialized_or_refused = asyncio.Event()

    def handle_event(self, event: Message) -> None:
        """Records the events that the conversation waits for."""
        if event.get("event") == "initialized":
            self._initialized_or_refused.set()
        body = event.get("body")
        if (
            isinstance(body, dict)
            and body.get("category") == "telemetry"
            and body.get("output") in _GREETINGS
        ):
            self._greeted.set()

    async def connect(
        self,
        routes: Routes,
        on_event: Callable[[Message], None],
        on_close: Callable[[Link], None],
    ) -> Link:
        """A link to the worker's debugger through the first route on which one greets; raises the last route's error."""
        specs = self._params.routes
        order = routes.in_order(specs)
        problem = worker_gone(self._params.name)
        for spec in order:
            trial = _Trial(on_event, on_close)
            try:
                link = await self._try(routes, spec, trial, spec is order[-1])
            except EaglerayError as error:
                log.info("%s through %s: %s", self._params.name, spec.text, error.code)
                problem = error
                continue
            routes.note_reached(specs, spec)
            return link
        raise problem

    async def _try(self, routes: Routes, spec: RouteSpec, trial: _Trial, is_last: bool) -> Link:
        params = self._params
        connect_s, answer_s = (CONNECT_S, ANSWER_S) if is_last else (SOONER_S, SOONER_S)
        # Making the route may take any time.
        confirmed = not routes.is_ready(spec)
        try:
            reader, writer = await routes.open_stream(
                spec, params.host, params.port, connect_s, confirmed
            )
        except EaglerayError as error:
            raise self._route_error(spec, error) from error
        link = Link(reader, writer, trial.on_event, trial.on_end)
        trial.link = link
        if link.is_forwarded:
            self._send_requests(link)
        try:
            await self._wait_for(self._greeted, link, answer_s)
        except BaseException:
            link.close()
            raise
        if not self._greeted.is_set():
            link.close()
            if link.problem is not None:
                raise self._route_error(spec, link.problem)
            raise not_a_debugger(params.name, params.host, params.port)
        if not link.is_forwarded:
            self._send_requests(link)
        trial.confirm()
        return link

    def _route_error(self, spec: RouteSpec, error: EaglerayError) -> EaglerayError:
        if spec.kind != "direct":
            return error
        params = self._params
        return worker_unreachable(params.name, params.host, params.port, error.message)

    def _send_requests(self, link: Link) -> None:
        """Sends all requests that precede the resume; debugpy handles one after the other.

        Through a route they are sent ahead of the greeting: each wait is a round trip, and may be 40 ms more, since
        debugpy's small messages wait for an acknowledgement that a remote sshd delays as long as nothing is sent
        (debugpy 1.8.22 sets no TCP_NODELAY, `common/sockets.py`).
        """
        self._initialize = link.begin("initialize", INITIALIZE)
        self._attach = link.begin("attach", ATTACH)
        self._attach.add_done_callback(lambda _: self._initialized_or_refused.set())
        self._exceptions = link.begin("setExceptionBreakpoints", UNPREPARED)
        self._preparing = tasks.shared(
            self._calls.run(link.begin, "prepare", self._ignored), "preparing a worker"
        )
        for answer in (self._initialize, self._attach, self._exceptions, self._preparing):
            # Another program leaves them unanswered, and then nothing awaits them.
            answer.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def attach(self, link: Link) -> tuple[Body, WorkerInfo]:
        """Converses up to configurationDone; returns the capabilities and the worker's description of itself."""
        with link.for_worker(self._params.name):
            return await self._converse(link)

    async def _converse(self, link: Link) -> tuple[Body, WorkerInfo]:
        initialize, attach = await self._in_time(self._initialize), self._attach
        await self._in_time(asyncio.ensure_future(self._initialized_or_refused.wait()))
        if attach.done():
            # debugpy's own process, and another client's session with it, may end if we leave with requests open
            # (1.8.22, `Session.finalize` in `adapter/sessions.py`).
            rest: list[asyncio.Future[Any]] = [self._exceptions, self._preparing]
            await asyncio.wait(rest, timeout=PREPARE_S)
            self._refuse(attach.result())
        # The worker resumes only now: breakpoint() must have been prepared before.
        prepared = await self._prepared()
        done = link.begin("configurationDone")
        await self._in_time(self._exceptions)
        await self._in_time(done)
        self._refuse(await self._in_time(attach))
        answer = await read_answer(prepared) if prepared is not None else None
        return initialize.get("body") or {}, worker_rpc.read_worker_info(answer)

    async def _prepared(self) -> asyncio.Future[str] | None:
        with contextlib.suppress(asyncio.TimeoutError):
            return await asyncio.wait_for(self._preparing, PREPARE_S)
        return None

    async def _in_time(self, answer: asyncio.Future[T]) -> T:
        try:
            return await asyncio.wait_for(answer, ANSWER_S)
        except asyncio.TimeoutError as error:
            raise worker_silent(self._params.name, ANSWER_S) from error

    async def _wait_for(self, event: asyncio.Event, link: Link, limit_s: float) -> None:
        waiting = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(link.ended.wait())]
        done, pending = await asyncio.wait(
            waiting, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED
        )
        for task in pending:
            task.cancel()
        if not done:
            raise worker_silent(self._params.name, limit_s)

    def _refuse(self, response: Message) -> None:
        if response.get("success"):
            return
        text = str(response.get("message", ""))
        if "already being debugged" in text:
            raise worker_busy(self._params.name)
        raise attach_refused(self._params.name, text)
