"""Records requests of aiohttp, by the tracing of its sessions, and what the readers of their responses receive."""

from __future__ import annotations

import functools
import sys
import time

from ..guard import never_raise, report_once
from .unobserved_connections import mark_recorded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from .http_recording import Exchange, HttpRecorder


class AiohttpRecording:
    """Each session gets one more trace; a session that was made before isn't recorded.

    Tracing has the bodies of responses only where they are read as a whole (aiohttp 3.14), so that their readers are wrapped.
    """

    def __init__(self, module: ModuleType, recorder: HttpRecorder) -> None:
        self._recorder = recorder
        # Until their end, which comes with the connection's at the latest.
        self._readers: dict[Any, Exchange] = {}
        self._trace = module.TraceConfig()
        self._trace.on_request_start.append(_guarded(self._begin))
        self._trace.on_request_chunk_sent.append(_guarded(self._sent))
        self._trace.on_connection_queued_start.append(_guarded(self._queued))
        self._trace.on_connection_queued_end.append(_guarded(self._assigned))
        self._trace.on_request_end.append(_guarded(self._answered))
        self._trace.on_request_exception.append(_guarded(self._failed))
        module.ClientSession.__init__ = self._session(module.ClientSession.__init__)
        reader = module.StreamReader
        reader.feed_data = self._observed(reader.feed_data, self._fed)
        reader.feed_eof = self._observed(reader.feed_eof, self._ended)
        reader.set_exception = self._observed(reader.set_exception, self._ended)

    def _session(self, original: Any) -> Any:
        @functools.wraps(original)
        def __init__(session: Any, *args: Any, **kwargs: Any) -> None:
            traces = [*(kwargs.pop("trace_configs", None) or ()), self._trace]
            original(session, *args, trace_configs=traces, **kwargs)

        return __init__

    def _observed(self, original: Any, observe: Any) -> Any:
        @functools.wraps(original)
        def call(reader: Any, *args: Any, **kwargs: Any) -> Any:
            if self._readers and reader in self._readers:
                never_raise(observe)(reader, *args[:1])
            return original(reader, *args, **kwargs)

        return call

    def _fed(self, reader: Any, part: bytes) -> None:
        self._readers[reader].receive(part)

    def _ended(self, reader: Any, error: BaseException | None = None) -> None:
        self._recorder.ended(self._readers.pop(reader), error)

    async def _begin(self, session: Any, context: Any, request: Any) -> None:
        exchange = context.exchange = self._recorder.begin(request.method, request.url)
        if exchange is None:
            return
        mark_recorded(True)
        connector = session.connector
        limits = (getattr(connector, "limit", 0), getattr(connector, "limit_per_host", 0))
        exchange.pool_limit = min((limit for limit in limits if limit), default=sys.maxsize)

    async def _sent(self, session: Any, context: Any, sent: Any) -> None:
        if context.exchange is not None:
            context.exchange.send(sent.chunk)

    async def _queued(self, session: Any, context: Any, queued: Any) -> None:
        context.queued = time.monotonic()

    async def _assigned(self, session: Any, context: Any, queued: Any) -> None:
        if context.exchange is not None:
            context.exchange.waits_for_pool = True
            context.exchange.pool_s = time.monotonic() - context.queued

    async def _answered(self, session: Any, context: Any, end: Any) -> None:
        mark_recorded(False)
        exchange, response = context.exchange, end.response
        if exchange is None:
            return
        exchange.begin_response(response.status, response.headers, session.auto_decompress)
        reader = response.content
        # An empty body has a reader without a buffer.
        for part in getattr(reader, "_buffer", ()):
            exchange.receive(part)
        if reader.is_eof():
            self._recorder.ended(exchange, None)
        else:
            self._readers[reader] = exchange

    async def _failed(self, session: Any, context: Any, failed: Any) -> None:
        mark_recorded(False)
        exchange, error = context.exchange, failed.exception
        if exchange is None:
            return
        # A session with `raise_for_status` raises the status, and leaves the body unread.
        if getattr(error, "status", 0):
            exchange.begin_response(error.status, error.headers or {})
        self._recorder.ended(exchange, error)


def _guarded(observe: Any) -> Any:
    """An error of ours would fail the request."""

    @functools.wraps(observe)
    async def call(*args: Any) -> None:
        try:
            await observe(*args)
        except Exception as error:
            report_once("aiohttp", error)

    return call
