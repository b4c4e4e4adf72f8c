"""The conversation that attaches to a worker and lets it go on to the line where it stops."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

from eagleray.adapter import landing
from eagleray.adapter.dap import Message
from eagleray.adapter.landing import Calls, Prepared, answered
from eagleray.adapter.link import Link, LinkClosed
from eagleray.adapter.protocol import AttachParams
from eagleray.common.errors import (
    EaglerayError,
    attach_refused,
    not_a_debugger,
    worker_busy,
    worker_gone,
    worker_silent,
    worker_unreachable,
)
from eagleray.routes.direct import open_stream

T = TypeVar("T")

CONNECT_S = 5.0
ANSWER_S = 15.0
# The worker goes on without being prepared rather than keeping the person waiting.
PREPARE_S = 5.0

# Ray's breakpoint() never stops with justMyCode, and post-mortem needs the filter "uncaught".
ATTACH = {"justMyCode": False, "redirectOutput": False, "subProcess": False}
UNCAUGHT = "uncaught"

# The first words of debugpy to every client.
_GREETINGS = ("ptvsd", "debugpy")

# Events between debugpy and us, which would confuse an editor.
KEPT_HERE = (
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


class Attaching:
    """One attempt.  `take` must get every event of the link from its beginning."""

    def __init__(self, params: AttachParams, calls: Calls) -> None:
        self._params = params
        self._calls = calls
        self._greeted = asyncio.Event()
        self._initialized_or_refused = asyncio.Event()

    def take(self, event: Message) -> None:
        """Notes the events that the conversation waits for."""
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
        self, on_event: Callable[[Message], None], on_close: Callable[[], None]
    ) -> Link:
        """A link to the worker's debugger, which has greeted."""
        params = self._params
        try:
            reader, writer = await open_stream(params.host, params.port, CONNECT_S)
        except (OSError, TimeoutError) as error:
            raise worker_unreachable(params.name, params.host, params.port, repr(error)) from error
        link = Link(reader, writer, on_event, on_close)
        try:
            await self._first(self._greeted, link, ANSWER_S)
        except EaglerayError:
            link.close()
            raise
        if not self._greeted.is_set():
            link.close()
            raise not_a_debugger(params.name, params.host, params.port)
        return link

    async def attach(self, link: Link, ignored: list[list[Any]]) -> tuple[Message, Prepared]:
        """Says all up to configurationDone; returns the capabilities and what the worker said of itself."""
        try:
            return await self._converse(link, ignored)
        except LinkClosed as error:
            raise worker_gone(self._params.name) from error

    async def _converse(self, link: Link, ignored: list[list[Any]]) -> tuple[Message, Prepared]:
        initialize = await self._in_time(link.begin("initialize", INITIALIZE))
        attach = link.begin("attach", ATTACH)
        attach.add_done_callback(lambda _: self._initialized_or_refused.set())
        await self._in_time(asyncio.ensure_future(self._initialized_or_refused.wait()))
        if attach.done():
            self._refuse(attach.result())
        exceptions = link.begin("setExceptionBreakpoints", {"filters": [UNCAUGHT]})
        prepared = await self._prepare(link, ignored)
        done = link.begin("configurationDone")
        await self._in_time(exceptions)
        await self._in_time(done)
        self._refuse(await self._in_time(attach))
        told = await answered(prepared) if prepared is not None else None
        return initialize.get("body") or {}, landing.prepared(told)

    async def _prepare(self, link: Link, ignored: list[list[Any]]) -> asyncio.Future[str] | None:
        with contextlib.suppress(asyncio.TimeoutError):
            preparing = self._calls.run(link.begin, "prepare", ignored)
            return await asyncio.wait_for(preparing, PREPARE_S)
        return None

    async def _in_time(self, answer: asyncio.Future[T]) -> T:
        try:
            return await asyncio.wait_for(answer, ANSWER_S)
        except asyncio.TimeoutError as error:
            raise worker_silent(self._params.name, ANSWER_S) from error

    async def _first(self, event: asyncio.Event, link: Link, limit_s: float) -> None:
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
