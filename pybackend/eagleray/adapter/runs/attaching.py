"""Attaching to a worker of a run: through its debug proxy, and with the run's lines set before it goes on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

from eagleray.adapter.runs.proxy_stream import ProxyStream
from eagleray.adapter.sessions import dap, worker_rpc
from eagleray.adapter.sessions.attaching import (
    ATTACH,
    INITIALIZE,
    PREPARE_S,
    UNCAUGHT,
    AttachConversation,
)
from eagleray.adapter.sessions.dap import Message
from eagleray.adapter.sessions.link import Link
from eagleray.adapter.sessions.worker_rpc import WorkerInfo, WorkerRpc, read_answer
from eagleray.common.worker_errors import worker_silent
from eagleray.protocol.control import AttachParams
from eagleray.routes.routes import Routes

log = logging.getLogger(__name__)

T = TypeVar("T")

_ANSWER_S = 60.0

Ask = Callable[[str, Message], asyncio.Future[Message]]


class RunSide(Protocol):
    """What a worker's attaching needs to know of the run; the run's member implements it."""

    child: int
    children: bool

    def stream(self) -> ProxyStream:
        """A new stream to the worker's debugger."""

    async def set_lines(self, ask: Ask) -> None:
        """Sets the run's lines in all files that the worker has."""

    def child_came(self, pid: int) -> None:
        """A process of the worker waits for a client of its own."""


class RunAttachConversation(AttachConversation):
    """Follows a conversation that another adapter has begun, where the debug proxy has held one."""

    def __init__(
        self, params: AttachParams, calls: WorkerRpc, ignored: list[list[Any]], run: RunSide
    ) -> None:
        super().__init__(params, calls, ignored)
        self._run = run
        self._inherited: dict[str, Any] | None = None
        self._on_event: Callable[[Message], None] = lambda _: None

    def handle_event(self, event: Message) -> None:
        super().handle_event(event)
        # Without `children` debugpy has no reason to announce one.
        if self._run.children and event.get("event") == "debugpyAttach":
            pid = (event.get("body") or {}).get("subProcessId")
            if isinstance(pid, int):
                self._run.child_came(pid)

    async def connect(
        self,
        routes: Routes,
        on_event: Callable[[Message], None],
        on_close: Callable[[Link], None],
    ) -> Link:
        stream = self._run.stream()
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
            return await self._talk(link)

    async def _talk(self, link: Link) -> tuple[Message, WorkerInfo]:
        initialize = link.begin("initialize", INITIALIZE)
        attach = link.begin("attach", self._arguments())
        attach.add_done_callback(lambda _: self._initialized_or_refused.set())
        setting_up = asyncio.ensure_future(self._set_up(link))
        capabilities = await self._in_time(initialize)
        await self._in_time(asyncio.ensure_future(self._initialized_or_refused.wait()))
        if attach.done():
            setting_up.cancel()
            self._refuse(attach.result())
        told = await setting_up
        done = link.begin("configurationDone")
        await self._in_time(done)
        self._refuse(await self._in_time(attach))
        return capabilities.get("body") or {}, await _prepared(told)

    async def _inherit(self, link: Link, inherited: dict[str, Any]) -> tuple[Message, WorkerInfo]:
        """What another adapter has begun goes on: the worker stands, perhaps, and shall not move."""
        told = await self._set_up(link)
        prepared = await _prepared(told)
        for body in inherited.get("stopped") or []:
            self._on_event(dap.event("stopped", body))
        return inherited.get("capabilities") or {}, prepared

    async def _set_up(self, link: Link) -> asyncio.Future[str] | None:
        """Said all at once; debugpy takes one after the other."""
        exceptions = link.begin("setExceptionBreakpoints", {"filters": [UNCAUGHT]})
        told = asyncio.ensure_future(self._prepare_worker(link))
        setting = asyncio.ensure_future(self._run.set_lines(link.begin))
        try:
            await self._in_time(setting)
            await self._in_time(exceptions)
            return await told
        finally:
            told.cancel()
            setting.cancel()

    async def _prepare_worker(self, link: Link) -> asyncio.Future[str] | None:
        preparing = asyncio.ensure_future(self._calls.run(link.begin, "prepare", self._ignored))
        done, _ = await asyncio.wait([preparing], timeout=PREPARE_S)
        if not done:
            preparing.cancel()
            return None
        return preparing.result()

    async def _in_time(self, answer: asyncio.Future[T]) -> T:
        """Many workers that reach a line at once, on one node, all start their debuggers at once."""
        try:
            return await asyncio.wait_for(answer, _ANSWER_S)
        except asyncio.TimeoutError as error:
            raise worker_silent(self._params.name, _ANSWER_S) from error

    def _arguments(self) -> Message:
        arguments: Message = {**ATTACH, "subProcess": self._run.children}
        return {**arguments, "subProcessId": self._run.child} if self._run.child else arguments


async def _prepared(told: asyncio.Future[str] | None) -> WorkerInfo:
    return worker_rpc.read_worker_info(await read_answer(told) if told is not None else None)
