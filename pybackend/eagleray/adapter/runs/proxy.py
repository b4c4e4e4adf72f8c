"""Signed connections to a debug proxy, and the control connection, which is restored when it is lost."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.common.retry import Backoff
from eagleray.common.route_errors import NOT_LISTENING, link_lost
from eagleray.protocol import jsonlines
from eagleray.protocol.errors import (
    NOT_A_PROXY,
    not_a_proxy,
    proxy_of_another_version,
    proxy_refused_signature,
    proxy_silent,
)
from eagleray.protocol.jsonlines import Json
from eagleray.protocol.route_spec import RouteSpec
from eagleray.remote.injected.debug_proxy import request
from eagleray.remote.injected.ed25519 import SecretKey
from eagleray.routes.routes import Routes

log = logging.getLogger(__name__)

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

CONNECT_S = 5.0
# The limit where another route follows, since a firewall may answer nothing.
SOONER_S = 3.0
ANSWER_S = 10.0
_BACKOFF = Backoff(first_s=0.2, longest_s=10.0)
# A debug proxy that is refused for so long has ended, and its worker with it.
_REFUSED_S = 3.0
# The last events of a debug proxy: its worker has ended, or another adapter owns it now.
_LAST_EVENTS = ("ended", "replaced")


@dataclass(frozen=True)
class ProxyClient:
    """Where a debug proxy is, and the key with which requests to it are signed."""

    run: str
    secret_key: SecretKey = field(repr=False)
    host: str
    port: int
    specs: Sequence[RouteSpec]

    async def call(self, routes: Routes, want: str, **more: object) -> tuple[Streams, Json]:
        """A connection through the first route that reaches the proxy, after a signed request, with the proxy's answer.

        A listener that only poses as the debug proxy receives nothing that another debug proxy would accept.
        """
        order = routes.in_order(self.specs)
        problem: EaglerayError = not_a_proxy(self.host, self.port)
        for spec in order:
            limit_s = CONNECT_S if spec is order[-1] else SOONER_S
            try:
                streams = await routes.open_stream(spec, self.host, self.port, limit_s)
                answer = await self._request_in_time(streams, {"want": want, **more})
            except EaglerayError as error:
                log.debug("proxy %s:%d through %s: %s", self.host, self.port, spec.text, error.code)
                problem = error
                continue
            routes.note_reached(self.specs, spec)
            return streams, answer
        raise problem

    async def _request_in_time(self, streams: Streams, message: Json) -> Json:
        reader, writer = streams
        try:
            return await asyncio.wait_for(self._request(reader, writer, message), ANSWER_S)
        except asyncio.TimeoutError as error:
            writer.close()
            raise proxy_silent(self.host, self.port, ANSWER_S) from error
        except (OSError, EOFError) as error:
            writer.close()
            raise link_lost("", t("it was closed at once")) from error
        except (ValueError, asyncio.LimitOverrunError) as error:
            writer.close()
            raise not_a_proxy(self.host, self.port) from error
        except BaseException:
            writer.close()
            raise

    async def _request(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, message: Json
    ) -> Json:
        nonce = await self._read_greeting(reader)
        address = (self.host, self.port)
        writer.write(request.signed(self.secret_key, self.run, address, nonce, message))
        # A connection that is lost within the line doesn't mean that it is not a debug proxy.
        answer = jsonlines.decode(await reader.readuntil())
        if answer.get("error") == "refused":
            raise proxy_refused_signature(self.host, self.port)
        return answer

    async def _read_greeting(self, reader: asyncio.StreamReader) -> bytes:
        """The nonce of the greeting."""
        expected = request.greeting(self.run).encode()
        # All versions begin in the same way and with the same length.
        greeting = await reader.readexactly(len(expected))
        if greeting == request.greeting(self.run, 1).encode():
            raise proxy_of_another_version(self.host, self.port)
        if greeting != expected:
            raise not_a_proxy(self.host, self.port)
        nonce = await reader.readexactly(2 * request.NONCE_SIZE + 2)
        return bytes.fromhex(nonce.decode("ascii"))


class ProxyConnection:
    """Owns the control connection and the task that restores it.

    `on_hello` is called with the first message of the debug proxy on each connection, `on_message` with all others,
    `on_end` once when the debug proxy has ended or belongs to another adapter.  One that is out of reach is tried again
    without a limit.
    """

    def __init__(
        self,
        proxy: ProxyClient,
        routes: Routes,
        on_hello: Callable[[Json], None],
        on_message: Callable[[Json], None],
        on_end: Callable[[], None],
    ) -> None:
        self._proxy = proxy
        self._routes = routes
        self._on_hello = on_hello
        self._on_message = on_message
        self._on_end = on_end
        self._is_over = False
        self._writer: asyncio.StreamWriter | None = None
        self._task: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Connects for the first time; raises errors of the catalogue."""
        streams = await self._call()
        self._task = tasks.owned(self._run(streams), "debug proxy", self._failed)

    def send(self, op: str, **more: object) -> None:
        """Sends a message, which is lost while the connection is lost."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(jsonlines.encode({"op": op, **more}))

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        if self._writer is not None:
            self._writer.close()

    async def _call(self) -> Streams:
        streams, answer = await self._proxy.call(self._routes, "control")
        hello = answer.get("hello")
        self._writer = streams[1]
        self._on_hello(hello if isinstance(hello, dict) else {})
        return streams

    def _failed(self, error: BaseException) -> None:
        """The supervisor announces the worker again, which makes a new connection."""
        self.close()
        self._on_end()

    async def _run(self, streams: Streams) -> None:
        current: Streams | None = streams
        while current is not None:
            await self._read(current[0])
            current[1].close()
            if not self._is_over:
                log.info(
                    "the debug proxy %s:%d is out of reach", self._proxy.host, self._proxy.port
                )
            current = None if self._is_over else await self._reconnect()
        self._on_end()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            async for message in jsonlines.messages(reader):
                self._is_over = self._is_over or message.get("event") in _LAST_EVENTS
                self._on_message(message)
        except (OSError, ValueError, EaglerayError) as error:
            log.debug("the debug proxy %s:%d: %r", self._proxy.host, self._proxy.port, error)

    async def _reconnect(self) -> Streams | None:
        """A new connection; None when no debug proxy of the run listens there any more."""
        loop = asyncio.get_running_loop()
        lost, failures = loop.time(), 0
        while True:
            try:
                streams = await self._call()
                log.info("the debug proxy %s:%d is back", self._proxy.host, self._proxy.port)
                return streams
            except EaglerayError as error:
                is_refused = error.code in NOT_LISTENING and loop.time() - lost > _REFUSED_S
                if is_refused or error.code in NOT_A_PROXY:
                    log.info(
                        "the debug proxy %s:%d: %s", self._proxy.host, self._proxy.port, error.code
                    )
                    return None
            failures += 1
            await self._routes.recovery.turn(self._proxy.specs, _BACKOFF, failures, math.inf)
