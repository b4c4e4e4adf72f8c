"""JSON lines between processes in the cluster, over blocking sockets and over the debug proxy's loop.

`protocol/jsonlines.py` has the side that runs in asyncio; nothing of it can be imported here.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from typing import IO, Any


def encode(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


def send(sock: socket.socket, message: Any) -> None:
    """Raises OSError."""
    sock.sendall(encode(message))


def read(stream: IO[bytes], longest: int) -> Iterator[Any]:
    """Each message until the end of the stream; raises OSError, and ValueError for a line that isn't JSON or is too long."""
    while line := stream.readline(longest):
        yield json.loads(line)


def receive(sock: socket.socket, longest: int) -> Any:
    """The one message that the other end sends before it waits; None if it has closed.

    Raises OSError, and ValueError for a line that isn't JSON or is too long.
    """
    line = b""
    while not line.endswith(b"\n") and len(line) < longest:
        try:
            data = sock.recv(longest)
        # A socket pair ends so if its other end closed with data left unread.
        except ConnectionError:
            data = b""
        if not data:
            return None
        line += data
    return json.loads(line)


class MessageBuffer:
    """Collects what a socket receives and splits it into messages."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Any]:
        """The messages that are complete now.

        Raises ValueError for a line that is too long; the iterator raises it at a line that isn't JSON.
        """
        return map(json.loads, self.split(data))

    def split(self, data: bytes) -> list[bytes]:
        """The lines that are complete now; raises ValueError for one that is too long."""
        self._buffer += data
        lines = []
        while (end := self._buffer.find(b"\n")) >= 0:
            if end > self._longest:
                raise ValueError("a line is too long")
            lines.append(bytes(self._buffer[:end]))
            del self._buffer[: end + 1]
        if len(self._buffer) > self._longest:
            raise ValueError("a line is too long")
        return lines
