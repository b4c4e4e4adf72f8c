"""Records requests of httpx, whichever client sends them, and the clients that are made.

The classes `Client` and `AsyncClient` of httpx and httpx2 (which `openai` uses since 3.5) are wrapped in this process:
an agent may make a client of its own, which hooks of the shared client wouldn't see.
"""

from __future__ import annotations

import functools
import time
import weakref

from .code_locations import caller_location
from .http_recording import Exchange, HttpRecorder, current_run
from .unobserved_connections import recorded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from types import ModuleType
    from typing import Any


class HttpxRecording:
    """Wraps the clients and the streams of their responses."""

    def __init__(self, module: ModuleType, recorder: HttpRecorder) -> None:
        self._recorder = recorder
        # The requests that each pool of connections has.
        self._pools: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        for name in ("AsyncClient", "Client"):
            kind = getattr(module, name)
            kind.__init__ = self._constructor(kind.__init__)
        module.AsyncClient.send = self._async_send(
            module.AsyncClient.send, _recording_stream(module.AsyncByteStream, recorder)
        )
        module.Client.send = self._sync_send(
            module.Client.send, _recording_sync_stream(module.SyncByteStream, recorder)
        )

    def _constructor(self, original: Any) -> Any:
        @functools.wraps(original)
        def __init__(client: Any, *args: Any, **kwargs: Any) -> None:
            started = time.monotonic()
            original(client, *args, **kwargs)
            run = current_run.get()
            if run is not None:
                run.clients += 1
                run.client_seconds += time.monotonic() - started
                run.client_location = run.client_location or caller_location()

        return __init__

    def _async_send(self, original: Any, stream_type: Any) -> Any:
        @functools.wraps(original)
        async def send(client: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
            exchange = self._begin(client, request, _async_trace)
            if exchange is None:
                return await original(client, request, *args, **kwargs)
            try:
                with recorded():
                    response = await original(client, request, *args, **kwargs)
            except BaseException as error:
                self._recorder.ended(exchange, error)
                raise
            self._take(exchange, response, stream_type)
            return response

        return send

    def _sync_send(self, original: Any, stream_type: Any) -> Any:
        @functools.wraps(original)
        def send(client: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
            exchange = self._begin(client, request, _trace)
            if exchange is None:
                return original(client, request, *args, **kwargs)
            try:
                with recorded(), self._recorder.blocking.measured():
                    response = original(client, request, *args, **kwargs)
            except BaseException as error:
                self._recorder.ended(exchange, error)
                raise
            self._take(exchange, response, stream_type)
            return response

        return send

    def _begin(self, client: Any, request: Any, trace_of: Any) -> Exchange | None:
        # A body that is streamed has not been read.
        body = getattr(request, "_content", b"")
        exchange = self._recorder.begin(request.method, request.url, body)
        if exchange is None:
            return None
        # httpcore calls it first when a connection was assigned.
        if "trace" not in request.extensions:
            request.extensions = {**request.extensions, "trace": trace_of(exchange, request)}
        self._enter_pool(exchange, client, request.url)
        return exchange

    def _enter_pool(self, exchange: Exchange, client: Any, url: Any) -> None:
        """Transports other than httpx's own have no such pool."""
        try:
            pool = client._transport_for_url(url)._pool
            exchange.pool_limit = int(pool._max_connections)
            busy = self._pools.get(pool, 0)
        except (AttributeError, TypeError, ValueError):
            return
        exchange.waits_for_pool = busy >= exchange.pool_limit
        self._pools[pool] = busy + 1
        self._recorder.leave_pool[exchange] = lambda: self._leave(pool)

    def _leave(self, pool: Any) -> None:
        self._pools[pool] -= 1

    def _take(self, exchange: Exchange, response: Any, stream_type: Any) -> None:
        exchange.begin_response(response.status_code, response.headers)
        if response.is_closed:
            exchange.add(getattr(response, "_content", b""))
            self._recorder.ended(exchange)
            return
        response.stream = stream_type(response.stream, exchange)
        if exchange.is_encoded:
            response.aiter_bytes = self._decoded_parts(response.aiter_bytes, exchange)
            response.iter_bytes = self._decoded_sync_parts(response.iter_bytes, exchange)

    def _decoded_parts(self, original: Any, exchange: Exchange) -> Any:
        """`aiter_bytes`, by which all but `aiter_raw` reads a body: it decodes what the server has compressed."""

        async def aiter_bytes(*args: Any, **kwargs: Any) -> AsyncIterator[bytes]:
            try:
                async for part in original(*args, **kwargs):
                    exchange.add(part)
                    yield part
            finally:
                # The raw stream has ended before the last part is decoded.
                self._recorder.tokens += exchange.count()

        return aiter_bytes

    def _decoded_sync_parts(self, original: Any, exchange: Exchange) -> Any:
        def iter_bytes(*args: Any, **kwargs: Any) -> Iterator[bytes]:
            try:
                for part in original(*args, **kwargs):
                    exchange.add(part)
                    yield part
            finally:
                self._recorder.tokens += exchange.count()

        return iter_bytes


def _async_trace(exchange: Exchange, request: Any) -> Any:
    async def trace(name: str, info: Any) -> None:
        _assigned(exchange, request)

    return trace


def _trace(exchange: Exchange, request: Any) -> Any:
    def trace(name: str, info: Any) -> None:
        _assigned(exchange, request)

    return trace


def _assigned(exchange: Exchange, request: Any) -> None:
    if not exchange.pool_s:
        exchange.pool_s = time.monotonic() - exchange.started
    # Its other events would only cost time.
    request.extensions.pop("trace", None)


def _recording_stream(base: Any, recorder: HttpRecorder) -> Any:
    class RecordedAsyncStream(base):  # type: ignore[misc]
        def __init__(self, stream: Any, exchange: Exchange) -> None:
            self._stream = stream
            self._exchange = exchange

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in self._stream:
                self._exchange.receive(chunk)
                yield chunk
            recorder.ended(self._exchange)

        async def aclose(self) -> None:
            recorder.ended(self._exchange)
            await self._stream.aclose()

    return RecordedAsyncStream


def _recording_sync_stream(base: Any, recorder: HttpRecorder) -> Any:
    class RecordedStream(base):  # type: ignore[misc]
        def __init__(self, stream: Any, exchange: Exchange) -> None:
            self._stream = stream
            self._exchange = exchange

        def __iter__(self) -> Iterator[bytes]:
            for chunk in recorder.blocking.parts(self._stream):
                self._exchange.receive(chunk)
                yield chunk
            recorder.ended(self._exchange)

        def close(self) -> None:
            recorder.ended(self._exchange)
            self._stream.close()

    return RecordedStream
