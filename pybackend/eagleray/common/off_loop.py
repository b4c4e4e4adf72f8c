"""Blocking calls beside the event loop, of which some never return: a home on NFS, say."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

# So long a new result is waited for where there is an older one.
LIMIT_S = 2.0
# An answer from memory that is so old is asked for again.
FRESH_S = 2.0


async def off_loop(call: Callable[[], T]) -> T:
    """The result of `call`, from a thread of its own.

    The process doesn't wait for it when it ends, unlike for those of `asyncio.to_thread`.
    """
    return await _started(call)


class Latest(Generic[T]):
    """The result of a call that may block: a new one, or the one before while the call doesn't return.

    Never more than one thread is at it.
    """

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._known: list[T] = []
        self._running: asyncio.Future[T] | None = None

    async def get(self) -> T:
        """Raises what the call raises; waits without a limit only for the first result."""
        running = self._running
        if running is None or running.done() or running.get_loop() != asyncio.get_running_loop():
            running = self._running = _started(self._call)
            running.add_done_callback(self._keep)
        done, _ = await asyncio.wait([running], timeout=LIMIT_S if self._known else None)
        return running.result() if done else self._known[0]

    def _keep(self, running: asyncio.Future[T]) -> None:
        if not running.cancelled() and running.exception() is None:
            self._known = [running.result()]


class Remembered(Generic[T]):
    """What a call that may block has said: answered from memory, and asked for again when that is old.

    Only the first answer is waited for.
    """

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._known: list[T] = []
        self._at = 0.0
        self._running: asyncio.Future[T] | None = None

    def value(self) -> T:
        """Raises what the first call raises."""
        if not self._known:
            self.put(self._call())
        elif time.monotonic() - self._at > FRESH_S and self._may_start():
            self._running = _started(self._call)
            self._running.add_done_callback(self._keep)
        return self._known[0]

    def put(self, value: T) -> None:
        """The value as it was just read or written."""
        self._known, self._at = [value], time.monotonic()
        # One that began earlier may not have seen it.
        self._running = None

    def _may_start(self) -> bool:
        running = self._running
        is_over = running is None or running.get_loop().is_closed()
        return is_over and asyncio._get_running_loop() is not None

    def _keep(self, running: asyncio.Future[T]) -> None:
        if running is not self._running:
            return
        self._running = None
        if not running.cancelled() and running.exception() is None:
            self.put(running.result())


def _started(call: Callable[[], T]) -> asyncio.Future[T]:
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def finish(set_result: Callable[[], None]) -> None:
        if not result.done():
            set_result()

    def run() -> None:
        try:
            value = call()
        except Exception as error:
            raised = error
            done = lambda: result.set_exception(raised)  # noqa: E731
        else:
            done = lambda: result.set_result(value)  # noqa: E731
        # The loop may have ended meanwhile.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(finish, done)

    threading.Thread(target=run, daemon=True, name="off loop").start()
    return result
