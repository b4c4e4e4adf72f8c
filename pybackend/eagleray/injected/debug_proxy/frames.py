"""A stream of bytes over connections that may be lost: what the other end has not taken is said again.

Both ends use it, the debug proxy and the adapter.  A frame is a kind and a number; of DATA that many bytes follow.
"""

from __future__ import annotations

import struct

DATA, TAKEN, BEAT, END = range(1, 5)

HEAD = struct.Struct(">BQ")
LARGEST = 2**18


class BrokenStream(Exception):
    """What came is not what the other end of a debug proxy says."""


def frame(kind: int, number: int = 0) -> bytes:
    return HEAD.pack(kind, number)


class OutgoingStream:
    """What was said and has perhaps not arrived; `size` is how much of it there is."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._taken = 0

    @property
    def size(self) -> int:
        return len(self._kept)

    def add(self, data: bytes) -> bytes:
        """The frames of `data`, which is kept until it is taken."""
        self._kept += data
        return _frames(data)

    def acknowledge(self, count: int) -> None:
        """The other end has so many bytes since the beginning; raises Broken for what cannot be."""
        if not self._taken <= count <= self._taken + len(self._kept):
            raise BrokenStream(f"{count} bytes taken")
        del self._kept[: count - self._taken]
        self._taken = count

    def unacknowledged(self, count: int) -> bytes:
        """The frames of all that the other end, which has `count` bytes, does not have."""
        self.acknowledge(count)
        return _frames(bytes(self._kept))


class IncomingStream:
    """Takes frames apart; `received` counts the bytes of DATA since the beginning.

    A new connection begins with `restart`: half a frame of the one before is not continued.
    """

    def __init__(self) -> None:
        self.received = 0
        self._buffer = bytearray()

    def restart(self) -> None:
        self._buffer.clear()

    def feed(self, data: bytes) -> list[tuple[int, int, bytes]]:
        """The whole frames so far: kind, number, bytes; raises Broken."""
        self._buffer += data
        found = []
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
            found.append((kind, number, body))
        return found


def _frames(data: bytes) -> bytes:
    pieces = [data[at : at + LARGEST] for at in range(0, len(data), LARGEST)]
    return b"".join(HEAD.pack(DATA, len(piece)) + piece for piece in pieces)
