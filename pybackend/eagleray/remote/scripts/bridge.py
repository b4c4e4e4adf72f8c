"""Connections into a node over the standard streams of one process that runs there.

The text of this module is sent to a `python3` that `srun` has started on the node; our side uses the same
classes.  A frame is a head (length, kind, stream), the bytes and the end of a line, since SLURM passes on
complete lines only.  Each stream has a window: its sender stops when the other end hasn't taken that many
bytes, so that a slow connection neither delays others nor fills memory.

It runs from Python 3.6 on, the system Python of many compute nodes, hence the quoted annotations.
"""

import asyncio
import contextlib
import json
import os
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

OPEN, OPENED, REFUSED, DATA, EOF, CLOSE, CREDIT, PING, PONG = range(1, 10)

HEAD = struct.Struct(">IBI")
# One read of asyncio fits into a frame (256 KiB, `max_size` in `asyncio/selector_events.py`).
LARGEST = 2**18
WINDOW = 4 * 2**20
MOST_STREAMS = 4096
GREETING = b"EAGLERAY-BRIDGE "
# If our side is silent for so long, the link is lost, and the workers behind it must continue.
SILENCE_S = 120.0
_POLL_INTERVAL_S = 5.0


class BadFrame(Exception):
    """The received bytes are not what the other end of a bridge sends."""


class BridgeMux:
    """Many streams over one pair of pipes; the same on both ends, on one event loop.

    The owner passes received bytes to `feed` and calls `hold` when `out` is full and when it no longer is.
    `on_frame` gets every frame that belongs to no stream.
    """

    def __init__(
        self, out: asyncio.WriteTransport, on_frame: "Callable[[int, int, bytes], None]"
    ) -> None:
        self.streams: dict[int, BridgeStream] = {}
        self.is_held = False
        self._out = out
        self._on_frame = on_frame
        self._buffer = bytearray()

    def send(self, kind: int, stream: int, payload: bytes = b"") -> None:
        self._out.write(HEAD.pack(len(payload), kind, stream) + payload + b"\n")

    def feed(self, data: bytes) -> None:
        """Handles received bytes; raises BadFrame."""
        buffer = self._buffer
        buffer += data
        at = 0
        while len(buffer) - at >= HEAD.size:
            length, kind, number = HEAD.unpack_from(buffer, at)
            if length > LARGEST or not OPEN <= kind <= PONG:
                raise BadFrame(f"a frame of kind {kind} with {length} bytes")
            end = at + HEAD.size + length
            if len(buffer) <= end:
                break
            self._take(kind, number, bytes(buffer[at + HEAD.size : end]))
            at = end + 1
        del buffer[:at]

    def hold(self, is_held: bool) -> None:
        self.is_held = is_held
        for stream in list(self.streams.values()):
            stream.update_reading()

    def close(self) -> None:
        """Ends all streams without telling the other end."""
        for stream in list(self.streams.values()):
            stream.abort()

    def _take(self, kind: int, number: int, payload: bytes) -> None:
        stream = self.streams.get(number)
        if kind not in (DATA, EOF, CLOSE, CREDIT):
            self._on_frame(kind, number, payload)
        elif stream is not None:
            stream.take(kind, payload)


class BridgeStream(asyncio.Protocol):
    """One connection: its socket is at this end, its peer beyond the bridge; `on_over` is called once."""

    def __init__(
        self,
        mux: BridgeMux,
        number: int,
        on_made: "Callable[[], None]" = lambda: None,
        on_over: "Callable[[], None]" = lambda: None,
    ) -> None:
        self._mux = mux
        self._number = number
        self._on_made = on_made
        self._on_over = on_over
        self._transport: asyncio.Transport | None = None
        self._early: list[tuple[int, bytes]] = []
        self._allowance = WINDOW
        self._taken = 0
        self._is_full = False
        self._reads = True
        self._sent_eof = False
        self._received_eof = False
        mux.streams[number] = self

    # --- from the socket ------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._on_made()
        early, self._early = self._early, []
        for kind, payload in early:
            self.take(kind, payload)
        self.update_reading()

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), LARGEST):
            self._mux.send(DATA, self._number, data[start : start + LARGEST])
        self._allowance -= len(data)
        self.update_reading()

    def eof_received(self) -> bool:
        self._sent_eof = True
        self._mux.send(EOF, self._number)
        return not self._received_eof

    def connection_lost(self, error: "Exception | None") -> None:
        self._over(is_notified=self._sent_eof and self._received_eof)

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._grant()

    # --- from the other end ---------------------------------------------------------------

    def take(self, kind: int, payload: bytes) -> None:
        transport = self._transport
        if transport is None and kind != CREDIT:
            self._early.append((kind, payload))
        elif kind == CREDIT:
            self._allowance += struct.unpack(">I", payload)[0] if len(payload) == 4 else 0
            self.update_reading()
        elif transport is not None and kind == DATA:
            self._taken += len(payload)
            transport.write(payload)
            self._grant()
            if transport.get_write_buffer_size() > 2 * WINDOW:
                # A sender that respects the window can't do that.
                self.abort()
        elif transport is not None and kind == EOF:
            self._received_eof = True
            if self._sent_eof:
                transport.close()
            else:
                with contextlib.suppress(OSError):
                    transport.write_eof()
        elif transport is not None:
            self._over(is_notified=True)
            transport.close()

    def update_reading(self) -> None:
        """Reads from the socket only while its bytes can be sent."""
        reads = self._allowance > 0 and not self._mux.is_held
        transport = self._transport
        if transport is None or reads == self._reads or self._sent_eof or transport.is_closing():
            return
        self._reads = reads
        if reads:
            transport.resume_reading()
        else:
            transport.pause_reading()

    def abort(self) -> None:
        """Ends the stream without telling the other end."""
        self._over(is_notified=True)
        if self._transport is not None:
            self._transport.abort()

    def _grant(self) -> None:
        if not self._is_full and self._taken >= WINDOW // 4:
            self._mux.send(CREDIT, self._number, struct.pack(">I", self._taken))
            self._taken = 0

    def _over(self, is_notified: bool) -> None:
        if self._mux.streams.get(self._number) is self:
            del self._mux.streams[self._number]
            if not is_notified:
                self._mux.send(CLOSE, self._number)
            self._on_over()


# --- the end on the node ------------------------------------------------------------------------


class Bridge(asyncio.Protocol):
    """Opens the requested connections; `ended` is set when our side is gone."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.mux: BridgeMux | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._last_received = asyncio.get_event_loop().time()

    def data_received(self, data: bytes) -> None:
        self._last_received = asyncio.get_event_loop().time()
        assert self.mux is not None
        try:
            self.mux.feed(data)
        except BadFrame as error:
            sys.stderr.write(f"eagleray: {error}\n")
            self.ended.set()

    def eof_received(self) -> None:
        self.ended.set()

    def connection_lost(self, error: "Exception | None") -> None:
        self.ended.set()

    def pause_writing(self) -> None:
        if self.mux is not None:
            self.mux.hold(True)

    def resume_writing(self) -> None:
        if self.mux is not None:
            self.mux.hold(False)

    def is_silent(self) -> bool:
        return asyncio.get_event_loop().time() - self._last_received > SILENCE_S

    def on_frame(self, kind: int, number: int, payload: bytes) -> None:
        assert self.mux is not None
        if kind == PING:
            self.mux.send(PONG, 0, payload)
        elif kind == OPEN:
            task = asyncio.ensure_future(self._open(self.mux, number, payload))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _open(self, mux: "BridgeMux", number: int, payload: bytes) -> None:
        stream = BridgeStream(mux, number, lambda: mux.send(OPENED, number))
        try:
            if len(mux.streams) > MOST_STREAMS:
                raise OSError("too many connections")
            host, port, limit_s = json.loads(payload)
            await asyncio.wait_for(self._connect(stream, str(host), int(port)), float(limit_s))
        except Exception as error:
            if isinstance(error, asyncio.CancelledError):  # It is an Exception until Python 3.7.
                raise
            mux.streams.pop(number, None)
            mux.send(REFUSED, number, _reason(error).encode()[:1000])

    async def _connect(self, stream: BridgeStream, host: str, port: int) -> None:
        loop = asyncio.get_event_loop()
        transport, _ = await loop.create_connection(lambda: stream, host, port)
        sock: Any = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def _reason(error: Exception) -> str:
    if isinstance(error, asyncio.TimeoutError):
        return ""  # Nothing answered in time.
    number = getattr(error, "errno", 0) or 0
    return os.strerror(number) if number > 0 else str(getattr(error, "strerror", "") or error)


async def serve() -> None:
    """Serves our side over standard input and output until it has gone or is silent."""
    loop = asyncio.get_event_loop()
    bridge = Bridge()
    # Output of other code in this process must not get between the frames.
    pipes = os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb", 0)
    os.dup2(2, 1)
    out, _ = await loop.connect_write_pipe(lambda: bridge, pipes[1])
    bridge.mux = BridgeMux(out, bridge.on_frame)
    out.write(b"\n" + GREETING + sys.argv[1].encode() + b"\n")
    await loop.connect_read_pipe(lambda: bridge, pipes[0])
    while not bridge.ended.is_set() and not bridge.is_silent():
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(bridge.ended.wait(), _POLL_INTERVAL_S)


if __name__ == "__main__":
    asyncio.set_event_loop(asyncio.new_event_loop())
    asyncio.get_event_loop().run_until_complete(serve())
    # Connections that hang must not keep the process.
    os._exit(0)
