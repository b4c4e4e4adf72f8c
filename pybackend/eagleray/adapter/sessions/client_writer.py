"""The writing side of a client's connection: bounded, so that a client that doesn't read costs little memory."""

from __future__ import annotations

import asyncio
import logging

log = logging.getLogger(__name__)

# More than any burst of events; the largest answers (a command's output) may pass it once.
MOST_UNREAD = 32 * 2**20


class ClientWriter:
    """Owns the stream.  A client that has left more than `MOST_UNREAD` bytes unread is disconnected.

    The client notices the lost connection, connects again, and gets the current state.
    """

    def __init__(self, writer: asyncio.StreamWriter, name: str) -> None:
        self._writer = writer
        self._name = name

    def write(self, data: bytes) -> None:
        """Nothing is written to a connection that is closed or about to be."""
        if self._writer.is_closing():
            return
        unread = self._writer.transport.get_write_buffer_size()
        if unread > MOST_UNREAD:
            log.warning("%s left %d bytes unread; its connection is closed", self._name, unread)
            self._writer.transport.abort()
        else:
            self._writer.write(data)

    async def drain(self) -> None:
        """Returns when the client has read nearly everything; raises OSError when it is gone."""
        await self._writer.drain()

    def close(self) -> None:
        self._writer.close()
