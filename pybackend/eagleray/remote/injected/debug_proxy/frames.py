"""A stream of bytes over connections that may be lost: bytes that the other end hasn't acknowledged are sent again.

The debug proxy and the adapter both use it.  A frame is a kind and a number; after DATA, that many bytes follow.
"""

from __future__ import annotations

import struct

DATA, TAKEN, BEAT, END = range(1, 5)

HEAD = struct.Struct(">BQ")
LARGEST = 2**18


class BrokenStream(Exception):
    """The received bytes are not what the other end of a debug proxy sends."""


def frame(kind: int, number: int = 0) -> bytes:
    return HEAD.pack(kind, number)


class OutgoingStream:
    """The sent bytes that may not have arrived; `size` is their number."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._acknowledged = 0

    @property
    def size(self) -> int:
        return len(self._pending)

    def add(self, data: bytes) -> bytes:
        """Returns the frames of `data`, which is stored until it is acknowledged."""
        self._pending += data
        return _frames(data)

    def acknowledge(self, count: int) -> None:
        """The other end has `count` bytes since the beginning; raises BrokenStream if that is impossible."""
        if not self._acknowledged <= count <= self._acknowledged + len(self._pending):
            raise BrokenStream(f"{count} bytes acknowledged")
        del self._pending[: count - self._acknowledged]
        self._acknowledged = count

    def unacknowledged(self, count: int) -> bytes:
        """The frames of all bytes that the other end, which has `count` bytes, doesn't have."""
        self.acknowledge(count)
        return _frames(bytes(self._pending))


class IncomingStream:
    """Splits a stream into frames; `received` counts the bytes of DATA since the beginning.

    A new connection begins with `restart`: half a frame of the previous connection isn't continued.
    """

    def __init__(self) -> None:
        self.received = 0
        self._buffer = bytearray()

    def restart(self) -> None:
        self._buffer.clear()

    def feed(self, data: bytes) -> list[tuple[int, int, bytes]]:
        """The frames that are complete now: kind, number, bytes; raises BrokenStream."""
        self._buffer += data
        frames = []
        while len(self._buffer) >= HEAD.size:
            kind, number = HEAD.unpack_from(self._buffer)
            if kind not in (DATA, TAKEN, BEAT, END) or (kind == DATA and number > LARGEST):
                raise BrokenStream(f"a frame of kind {kind}")
            length = number if kind == DATA else 0
            if len(self._buffer) < HEAD.size + length:
                break
            body = bytes(self._buffer[HEAD.size : HEAD.size + length])
            del self._buffer[: HEAD.size + length]
            self.received += length
            frames.append((kind, number, body))
        return frames


def _frames(data: bytes) -> bytes:
    pieces = [data[at : at + LARGEST] for at in range(0, len(data), LARGEST)]
    return b"".join(HEAD.pack(DATA, len(piece)) + piece for piece in pieces)
