"""The cancellation of one reading of a dump, which runs in its own thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import cancelled

T = TypeVar("T")
OnProgress = Callable[[str, int], None]


def ignore_progress(text: str, percentage: int) -> None:
    pass


class DumpReading:
    """Checked by the thread that reads, cancelled from any thread."""

    def __init__(self, on_progress: OnProgress = ignore_progress) -> None:
        self._cancelled = threading.Event()
        self._on_progress = on_progress
        self._last = -1

    def cancel(self) -> None:
        self._cancelled.set()

    def check(self) -> None:
        """Raises the error of the catalogue after a cancellation."""
        if self._cancelled.is_set():
            raise cancelled()

    def progress(self, text: str, done: int, total: int) -> None:
        """Reports each percentage once."""
        percentage = min(100 * done // total, 100) if total else 100
        if percentage != self._last:
            self._last = percentage
            self._on_progress(text, percentage)


async def read_off_loop(
    read: Callable[[DumpReading], T], on_progress: OnProgress = ignore_progress
) -> T:
    """Returns the result of `read`, which runs in a thread; a cancelled caller waits until it has stopped."""
    loop = asyncio.get_running_loop()

    def progress(text: str, percentage: int) -> None:
        loop.call_soon_threadsafe(on_progress, text, percentage)

    reading = DumpReading(progress)
    running = asyncio.ensure_future(off_loop(lambda: read(reading)))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        reading.cancel()
        # Nothing reads the file any more when the caller wants to remove it.
        await asyncio.wait([running])
        running.exception()
        raise
