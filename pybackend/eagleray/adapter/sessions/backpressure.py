"""Bounds on what waits in memory: the events of a worker, and bytes that a client has not read."""

from __future__ import annotations

import asyncio
import logging

from eagleray.protocol import dap
from eagleray.protocol.dap import Message

log = logging.getLogger(__name__)

# A worker's output is unbounded: beyond this it is left out. Other events are few and must not be lost.
MOST_WAITING = 5000
# More than any burst of events; the largest answers (a command's output) may pass it once.
MOST_UNREAD = 32 * 2**20


class EventQueue:
    """The events of one worker: the link puts them, the session gets them."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[Message] = asyncio.Queue()
        self._dropped = 0

    def put(self, event: Message) -> None:
        is_output = event.get("event") == "output"
        if is_output and self._waiting.qsize() >= MOST_WAITING:
            self._dropped += 1
            return
        if self._dropped:
            text = f"Eagleray left out {self._dropped} messages of the worker's output.\n"
            self._waiting.put_nowait(dap.event("output", {"category": "console", "output": text}))
            self._dropped = 0
        self._waiting.put_nowait(event)

    async def get(self) -> Message:
        return await self._waiting.get()


class ClientWriter:
    """Owns the stream to a client.  A client that leaves more than `MOST_UNREAD` bytes unread is disconnected.

    The client notices the lost connection, connects again, and gets the current state.
    """

    def __init__(self, writer: asyncio.StreamWriter, name: str) -> None:
        self._writer = writer
        self._name = name

    def write(self, data: bytes) -> None:
        """Writes `data`, unless the connection is closed or about to be."""
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
