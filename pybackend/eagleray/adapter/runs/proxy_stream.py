"""The stream to a worker's debugger through its debug proxy, which outlives the connections that carry it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from typing import Any

from eagleray.adapter.runs.proxy import ProxyClient, Streams
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.retry import Backoff
from eagleray.common.route_errors import NOT_LISTENING, link_lost
from eagleray.protocol.errors import NOT_A_PROXY, proxy_left
from eagleray.remote.injected.debug_proxy.frames import (
    BEAT,
    DATA,
    END,
    TAKEN,
    BrokenStream,
    IncomingStream,
    OutgoingStream,
    frame,
)
from eagleray.routes.routes import Routes

log = logging.getLogger(__name__)

BEAT_S = 5.0
SILENCE_S = 15.0
_BACKOFF = Backoff(first_s=0.1, longest_s=2.0)
# A debug proxy that is refused for so long has ended, and its worker with it.
_REFUSED_S = 5.0
# Several stack frames with large sources fit; a header line never comes near it.
_BUFFER = 2**20


class ProxyStream:
    """The writer of one debug conversation, with its reader.

    `inherited` is the state of a conversation that another adapter has begun.  `child` is the id of a process that the
    worker started, 0 for the worker itself.
    """

    def __init__(
        self, proxy: ProxyClient, routes: Routes, name: str, hold_s: float, child: int = 0
    ) -> None:
        self.reader = asyncio.StreamReader(limit=_BUFFER)
        self.inherited: dict[str, Any] | None = None
        self._proxy = proxy
        self._routes = routes
        self._name = name
        self._hold_s = hold_s
        self._child = child
        self._session = secrets.token_hex(8)
        self._out = OutgoingStream()
        self._incoming = IncomingStream()
        self._writer: asyncio.StreamWriter | None = None
        self._is_closed = False
        self._running: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connects for the first time; raises errors of the catalogue."""
        streams, answer = await self._call()
        self.inherited = answer.get("inherited")
        self._writer = streams[1]
        self._running = tasks.owned(self._run(streams), f"stream to {self._name}", self._failed)

    # --- as a writer ---------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        framed = self._out.add(data)
        if self._writer is not None:
            self._writer.write(framed)

    def close(self) -> None:
        """Detaches from the debugger; the worker resumes."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._writer is not None:
            self._writer.write(frame(END))
            self._writer.close()
        if self._running is not None:
            self._running.cancel()

    def is_closing(self) -> bool:
        return self._is_closed

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Always the default, since the connections change."""
        return default

    # --- the connections -----------------------------------------------------------------------

    async def _call(self) -> tuple[Streams, dict[str, Any]]:
        streams, answer = await self._proxy.call(
            self._routes,
            "debug",
            session=self._session,
            received=self._incoming.received,
            child=self._child,
        )
        if "error" in answer:
            streams[1].close()
            raise proxy_left(self._name, str(answer["error"]))
        return streams, answer

    def _failed(self, error: BaseException) -> None:
        """Ends waits for bytes that can't come any more."""
        self.reader.set_exception(link_lost("", repr(error)))

    async def _run(self, streams: Streams) -> None:
        """Carries bytes until the conversation ends; restores a lost connection."""
        try:
            while not await self._carry(streams):
                log.info("the stream to %s is lost", self._name)
                streams = await self._reconnect()
            self.reader.feed_eof()
        except EaglerayError as error:
            self.reader.set_exception(error)
        except BrokenStream as error:
            self.reader.set_exception(link_lost("", str(error)))

    async def _reconnect(self) -> Streams:
        loop = asyncio.get_running_loop()
        lost, failures = loop.time(), 0
        while True:
            try:
                streams, answer = await self._call()
            except EaglerayError as error:
                gone = loop.time() - lost
                limit_s = _REFUSED_S if error.code in NOT_LISTENING else self._hold_s
                if error.code in NOT_A_PROXY | {"gate-left"} or gone > limit_s:
                    raise
                failures += 1
                left_s = max(0.0, self._hold_s - gone)
                await self._routes.recovery.turn(self._proxy.specs, _BACKOFF, failures, left_s)
                continue
            received = answer.get("received")
            try:
                unacknowledged = self._out.unacknowledged(
                    received if isinstance(received, int) else -1
                )
            except BrokenStream:
                streams[1].close()
                raise
            streams[1].write(unacknowledged)
            log.info("the stream to %s is back", self._name)
            return streams

    async def _carry(self, streams: Streams) -> bool:
        """Whether the conversation has ended; False when only the connection is lost."""
        reader, self._writer = streams
        self._incoming.restart()
        writer = self._writer
        # The other end gives up a stream without a beat, so a failed beat makes a new connection at once.
        beating = tasks.owned(self._beat(writer), "beat", lambda _: writer.close())
        try:
            while data := await asyncio.wait_for(reader.read(_BUFFER), SILENCE_S):
                for kind, number, body in self._incoming.feed(data):
                    if kind == END:
                        return True
                    self._on_frame(kind, number, body)
        except (OSError, EaglerayError, asyncio.TimeoutError) as error:
            log.debug("the stream to %s: %r", self._name, error)
        finally:
            beating.cancel()
            self._writer.close()
            self._writer = None
        return False

    def _on_frame(self, kind: int, number: int, body: bytes) -> None:
        if kind == TAKEN:
            self._out.acknowledge(number)
        elif kind == DATA:
            self.reader.feed_data(body)
            if self._writer is not None:
                self._writer.write(frame(TAKEN, self._incoming.received))

    async def _beat(self, writer: asyncio.StreamWriter) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            with contextlib.suppress(OSError):
                writer.write(frame(BEAT))
