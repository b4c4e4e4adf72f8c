"""Observes the HTTP requests of the agent, whichever client of httpx sends them, and the clients that are made.

The classes `Client` and `AsyncClient` of httpx and httpx2 (which `openai` uses since 3.5) are wrapped in this process:
an agent may make a client of its own, which hooks of the shared client wouldn't see.  Headers are never recorded.
"""

from __future__ import annotations

import contextvars
import functools
import sys
import time
import weakref

from .after_import import AfterImport
from .blocking_calls import BlockingCalls
from .code_locations import caller_location
from .token_counts import TokenCount
from .unobserved_connections import UnobservedConnections, recorded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from types import ModuleType
    from typing import Any

MODULES = ("httpx", "httpx2")
_RECORDS = "_eagleray_records"
# Of a body; the rest is counted only.
LONGEST_BODY = 1024 * 1024
_BAD_REQUEST = 400

# The run of the current task or thread.
current_run: contextvars.ContextVar[HttpRecord | None] = contextvars.ContextVar(
    "eagleray_run", default=None
)


class Exchange:
    """A request and its response."""

    # A wave keeps thousands of them, in each of which the garbage collector would look at a dictionary.
    __slots__ = (
        *("method", "_url", "body", "started", "pool_s", "seconds", "status", "response"),
        *("response_size", "error", "tokens", "_count", "_is_encoded", "_is_undecoded"),
        *("pool_limit", "waits_for_pool", "location"),
    )

    def __init__(self, method: str, url: Any, body: bytes) -> None:
        self.method = method
        self._url = url
        self.body = body
        self.started = time.monotonic()
        # Seconds until a connection was assigned, which a late loop makes longer.
        self.pool_s = 0.0
        # The most connections of its client, None where that isn't known.
        self.pool_limit: int | None = None
        # All of them had requests.
        self.waits_for_pool = False
        # The line of the user's code, of a request that failed.
        self.location: dict[str, Any] | None = None
        self.seconds: float | None = None
        self.status = 0
        # A stream has thousands of chunks, each of which would copy bytes.
        self.response = bytearray()
        self.response_size = 0
        self.error = ""
        self.tokens = 0
        self._count: TokenCount | None = None
        self._is_encoded = False
        # Bytes came that nothing has decoded: the agent reads a compressed stream itself.
        self._is_undecoded = False

    @property
    def url(self) -> str:
        """Without its query, which may have a key."""
        return str(self._url).partition("?")[0]

    def begin_response(self, response: Any) -> None:
        self.status = response.status_code
        if self.status >= _BAD_REQUEST:
            self.location = caller_location()
        kind = str(response.headers.get("content-type", ""))
        self._count = TokenCount(kind.startswith("text/event-stream"))
        self._is_encoded = response.headers.get("content-encoding", "identity") != "identity"

    @property
    def is_encoded(self) -> bool:
        """Its stream is compressed, and counted where the client decodes it."""
        return self._is_encoded

    def receive(self, chunk: bytes) -> None:
        """Bytes as they came from the server."""
        if self._is_encoded:
            self._is_undecoded |= not self.response_size
        else:
            self.add(chunk)

    def add(self, chunk: bytes) -> None:
        self._is_undecoded = False
        room = LONGEST_BODY - len(self.response)
        if room > 0:
            self.response += chunk if len(chunk) <= room else chunk[:room]
        self.response_size += len(chunk)
        if self._count is not None:
            self._count.add(chunk)

    def end(self, error: BaseException | None) -> None:
        self.seconds = time.monotonic() - self.started
        self.error = "" if error is None else f"{type(error).__name__}: {error}"[:500]
        self.count()

    def count(self) -> int:
        """The tokens that weren't counted before."""
        before = self.tokens
        self.tokens = 0 if self._count is None else self._count.tokens()
        return self.tokens - before

    def ids(self) -> list[str]:
        """The ids in the response: of a completion, and in a stream of each of its chunks."""
        return [] if self._count is None else self._count.ids()

    def _pool_wait(self) -> float | None:
        """Only a full pool lets a request wait; None where it isn't known whether it was."""
        if self.waits_for_pool:
            return round(self.pool_s, 4)
        return None if self.pool_limit is None else 0.0

    def as_json(self) -> dict[str, Any]:
        finish = "" if self._count is None or self._is_undecoded else self._count.finish
        return {
            "method": self.method,
            "url": self.url,
            "started": self.started,
            "pool_s": self._pool_wait(),
            "pool_limit": self.pool_limit if self.waits_for_pool else None,
            "location": self.location,
            "finish_reason": finish,
            "is_empty": bool(finish) and self._count is not None and not self._count.has_content,
            "seconds": None if self.seconds is None else round(self.seconds, 4),
            "status": self.status,
            "error": self.error,
            "tokens": None if self._is_undecoded else self.tokens,
            "request": self.body[:LONGEST_BODY].decode("utf-8", "replace"),
            "response": self.response.decode("utf-8", "replace"),
            "response_size": self.response_size,
        }


class HttpRecord:
    """What one run of the agent does over HTTP."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.clients = 0
        self.client_seconds = 0.0
        self.client_location: dict[str, Any] | None = None


class HttpRecorder:
    """The totals of this process; `install` wraps the classes of modules that are imported by then."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.max_in_flight = 0
        self.tokens = 0
        self.requests = 0
        self.blocking = BlockingCalls()
        self.unobserved = UnobservedConnections()
        # The requests that each pool of connections has.
        self._pools: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._pool_of: dict[Exchange, Any] = {}
        self._installed: set[str] = set()

    def watch_imports(self) -> None:
        """Wraps the classes of a module that is imported later as soon as it is."""
        sys.meta_path.insert(0, AfterImport(MODULES, lambda _: self.install()))

    def install(self) -> None:
        for name in MODULES:
            module = sys.modules.get(name)
            # Only a module whose import has ended has both.
            if name in self._installed or not hasattr(module, "AsyncClient"):
                continue
            assert module is not None
            self._installed.add(name)
            # A process that was forked from one that records has its wrappers.
            if not hasattr(module.AsyncClient.send, _RECORDS):
                self._wrap(module)

    def _wrap(self, module: ModuleType) -> None:
        for name in ("AsyncClient", "Client"):
            kind = getattr(module, name)
            kind.__init__ = self._constructor(kind.__init__)
        module.AsyncClient.send = self._async_send(
            module.AsyncClient.send, _recording_stream(module.AsyncByteStream, self)
        )
        setattr(module.AsyncClient.send, _RECORDS, True)
        module.Client.send = self._sync_send(
            module.Client.send, _recording_sync_stream(module.SyncByteStream, self)
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
            try:
                with recorded():
                    response = await original(client, request, *args, **kwargs)
            except BaseException as error:
                self._end(exchange, error)
                raise
            self._take(exchange, response, stream_type)
            return response

        return send

    def _sync_send(self, original: Any, stream_type: Any) -> Any:
        @functools.wraps(original)
        def send(client: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
            exchange = self._begin(client, request, _trace)
            try:
                with recorded(), self.blocking.measured():
                    response = original(client, request, *args, **kwargs)
            except BaseException as error:
                self._end(exchange, error)
                raise
            self._take(exchange, response, stream_type)
            return response

        return send

    def _begin(self, client: Any, request: Any, trace_of: Any) -> Exchange:
        # A body that is streamed has not been read.
        body = getattr(request, "_content", b"")
        exchange = Exchange(request.method, request.url, body)
        # httpcore calls it first when a connection was assigned.
        if "trace" not in request.extensions:
            request.extensions = {**request.extensions, "trace": trace_of(exchange, request)}
        run = current_run.get()
        if run is not None:
            run.exchanges.append(exchange)
        self._enter_pool(exchange, client, request.url)
        self.requests += 1
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
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
        self._pool_of[exchange] = pool
        self._pools[pool] = busy + 1

    def _take(self, exchange: Exchange, response: Any, stream_type: Any) -> None:
        exchange.begin_response(response)
        if response.is_closed:
            exchange.add(getattr(response, "_content", b""))
            self._end(exchange)
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
                self.tokens += exchange.count()

        return aiter_bytes

    def _decoded_sync_parts(self, original: Any, exchange: Exchange) -> Any:
        def iter_bytes(*args: Any, **kwargs: Any) -> Iterator[bytes]:
            try:
                for part in original(*args, **kwargs):
                    exchange.add(part)
                    yield part
            finally:
                self.tokens += exchange.count()

        return iter_bytes

    def _end(self, exchange: Exchange, error: BaseException | None = None) -> None:
        if exchange.seconds is not None:
            return
        exchange.end(error)
        pool = self._pool_of.pop(exchange, None)
        if pool is not None:
            self._pools[pool] -= 1
        self.tokens += exchange.tokens
        self.in_flight -= 1

    def ended(self, exchange: Exchange, error: BaseException | None) -> None:
        """The body of a streamed response was read, or given up."""
        self._end(exchange, error)


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
            recorder.ended(self._exchange, None)

        async def aclose(self) -> None:
            recorder.ended(self._exchange, None)
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
            recorder.ended(self._exchange, None)

        def close(self) -> None:
            recorder.ended(self._exchange, None)
            self._stream.close()

    return RecordedStream
