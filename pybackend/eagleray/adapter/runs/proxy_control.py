"""The control connection to a debug proxy, which is made again when it is lost."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable

from eagleray.adapter.runs.proxy import NOT_A_PROXY, REFUSED, ProxyClient, Streams
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.retry import Backoff
from eagleray.protocol import jsonlines
from eagleray.protocol.jsonlines import Json
from eagleray.routes.routes import Routes

log = logging.getLogger(__name__)

_BACKOFF = Backoff(first_s=0.2, longest_s=10.0)
# A debug proxy that is refused for so long has ended, and its worker with it.
_REFUSED_S = 3.0
# With these words of the debug proxy it is over: its worker has ended, or somebody else owns it now.
_LAST = ("ended", "replaced")


class ProxyConnection:
    """Owns the connection and the task that keeps it.

    `on_hello` is called with what the debug proxy says first, `on_line` with all that follows, `gone` once when the
    debug proxy has ended or is another's.  One that is out of reach is called again for as long as it takes.
    """

    def __init__(
        self,
        proxy: ProxyClient,
        routes: Routes,
        on_hello: Callable[[Json], None],
        on_line: Callable[[Json], None],
        gone: Callable[[], None],
    ) -> None:
        self._proxy = proxy
        self._routes = routes
        self._on_hello = on_hello
        self._on_line = on_line
        self._gone = gone
        self._is_over = False
        self._writer: asyncio.StreamWriter | None = None
        self._keeping: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Calls the debug proxy for the first time; raises errors of the catalogue."""
        streams = await self._call()
        self._keeping = tasks.owned(self._keep(streams), "debug proxy", self._failed)

    def say(self, op: str, **more: object) -> None:
        """What is said while the connection is lost is not heard."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(jsonlines.encode({"op": op, **more}))

    def close(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
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
        self._gone()

    async def _keep(self, streams: Streams) -> None:
        again: Streams | None = streams
        while again is not None:
            await self._read(again[0])
            again[1].close()
            if not self._is_over:
                log.info(
                    "the debug proxy %s:%d is out of reach", self._proxy.host, self._proxy.port
                )
            again = None if self._is_over else await self._again()
        self._gone()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            async for message in jsonlines.messages(reader):
                self._is_over = self._is_over or message.get("event") in _LAST
                self._on_line(message)
        except (OSError, ValueError, EaglerayError) as error:
            log.debug("the debug proxy %s:%d: %r", self._proxy.host, self._proxy.port, error)

    async def _again(self) -> Streams | None:
        """A new connection, None when there is no debug proxy of the run any more."""
        loop = asyncio.get_running_loop()
        lost, failures = loop.time(), 0
        while True:
            try:
                streams = await self._call()
                log.info("the debug proxy %s:%d is back", self._proxy.host, self._proxy.port)
                return streams
            except EaglerayError as error:
                is_refused = error.code in REFUSED and loop.time() - lost > _REFUSED_S
                if is_refused or error.code in NOT_A_PROXY:
                    log.info(
                        "the debug proxy %s:%d: %s", self._proxy.host, self._proxy.port, error.code
                    )
                    return None
            failures += 1
            await self._routes.recovery.turn(self._proxy.specs, _BACKOFF, failures, math.inf)
