"""A bounded queue of the events of one worker, whose output is unbounded."""

from __future__ import annotations

import asyncio

from eagleray.adapter.sessions import dap
from eagleray.adapter.sessions.dap import Message

# Output beyond it is left out; other events are few and must not be lost.
MOST_WAITING = 5000


class EventQueue:
    """Filled by the link, emptied by the worker."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[Message] = asyncio.Queue()
        self._left_out = 0

    def put(self, event: Message) -> None:
        is_output = event.get("event") == "output"
        if is_output and self._waiting.qsize() >= MOST_WAITING:
            self._left_out += 1
            return
        if self._left_out:
            text = f"Eagleray left out {self._left_out} messages of the worker's output.\n"
            self._waiting.put_nowait(dap.event("output", {"category": "console", "output": text}))
            self._left_out = 0
        self._waiting.put_nowait(event)

    async def get(self) -> Message:
        return await self._waiting.get()


def named_files(event: Message) -> list[str]:
    """The worker's files that an event names."""
    body = event.get("body")
    body = body if isinstance(body, dict) else {}
    holders = (body, body.get("breakpoint"))
    sources = [holder.get("source") for holder in holders if isinstance(holder, dict)]
    paths = [source.get("path") for source in sources if isinstance(source, dict)]
    return [path for path in paths if isinstance(path, str)]
