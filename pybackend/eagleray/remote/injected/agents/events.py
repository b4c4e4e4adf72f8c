"""Writes events as JSON lines into a pipe of their own, from a thread, so that the agent's loop never waits for a reader."""

from __future__ import annotations

import contextlib
import os
import queue
import threading

from ..jsonlines import encode
from .runner_threads import own_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Several lines are one write: a thread that wakes up for each would take the interpreter from the loop.
_PAUSE_S = 0.05
_CLOSED = object()


class EventWriter:
    """Owns the descriptor; `close` writes what is left and ends the thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._closing = threading.Event()
        self.thread = own_thread(self._write, "eagleray-events")
        self.thread.start()

    def put(self, event: dict[str, Any]) -> None:
        self._queue.put(event)

    def close(self) -> None:
        self._closing.set()
        self._queue.put(_CLOSED)
        self.thread.join()
        os.close(self._descriptor)

    def _write(self) -> None:
        # Once the reader has gone, the run continues without events.
        with contextlib.suppress(OSError):
            while True:
                events = [self._queue.get()]
                self._closing.wait(_PAUSE_S)
                while not self._queue.empty():
                    events.append(self._queue.get())
                self._write_all(b"".join(encode(e) for e in events if e is not _CLOSED))
                if events[-1] is _CLOSED:
                    return

    def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
