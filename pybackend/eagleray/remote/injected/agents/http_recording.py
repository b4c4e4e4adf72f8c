"""The record of the HTTP requests of each run, and their totals, whichever client sends them.  Headers are never recorded."""

from __future__ import annotations

import contextvars
import time

from ..guard import never_raise
from .blocking_calls import BlockingCalls
from .code_locations import caller_location
from .token_counts import TokenCount
from .unobserved_connections import UnobservedConnections

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Bytes kept of a body; the rest is only counted.
LONGEST_BODY = 1024 * 1024
_BAD_REQUEST = 400

# The run of the current task or thread.
current_run: contextvars.ContextVar[HttpRecord | None] = contextvars.ContextVar(
    "eagleray_run", default=None
)


class Exchange:
    """A request and its response; what records it never fails the request."""

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

    @never_raise
    def send(self, part: bytes) -> None:
        """A part of the request's body."""
        self.body += part[: max(0, LONGEST_BODY - len(self.body))]

    @never_raise
    def begin_response(self, status: int, headers: Any, is_decoded: bool = False) -> None:
        """`is_decoded`: its parts are received as the client has decoded them."""
        self.status = status
        if self.status >= _BAD_REQUEST:
            self.location = caller_location()
        kind = str(headers.get("content-type", ""))
        self._count = TokenCount(kind.startswith("text/event-stream"))
        encoding = headers.get("content-encoding", "identity")
        self._is_encoded = encoding != "identity" and not is_decoded

    @property
    def is_encoded(self) -> bool:
        """Its stream is compressed, and counted where the client decodes it."""
        return self._is_encoded

    @never_raise
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
    """The HTTP traffic of one run of the agent."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.clients = 0
        self.client_seconds = 0.0
        self.client_location: dict[str, Any] | None = None


class HttpRecorder:
    """The totals of this process; what records a kind of client calls `begin` and `ended`."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.max_in_flight = 0
        self.tokens = 0
        self.requests = 0
        # Requests to the server from threads of which no run is known; their answers belong to none.
        self.unattributed = 0
        # Called when the exchange ends, which a process pickles.
        self.leave_pool: dict[Exchange, Callable[[], None]] = {}
        self.blocking = BlockingCalls()
        self.unobserved = UnobservedConnections()

    @never_raise
    def begin(self, method: str, url: Any, body: bytes = b"") -> Exchange | None:
        """None for a request that no run sends, unless it is to the server."""
        exchange = Exchange(method, url, body)
        run = current_run.get()
        if run is not None:
            run.exchanges.append(exchange)
        elif self.unobserved.is_to_server(exchange.url):
            self.unattributed += 1
        else:
            return None
        self.requests += 1
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        return exchange

    @never_raise
    def ended(self, exchange: Exchange, error: BaseException | None = None) -> None:
        """Its body was read, given up or interrupted; later calls do nothing."""
        if exchange.seconds is not None:
            return
        exchange.end(error)
        leave_pool = self.leave_pool.pop(exchange, None)
        if leave_pool is not None:
            leave_pool()
        self.tokens += exchange.tokens
        self.in_flight -= 1
