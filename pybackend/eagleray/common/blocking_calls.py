"""Runs blocking calls in threads beside the event loop; some never return, as on a home whose NFS server is down."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

T = TypeVar("T")

# How long a caller waits for a new result when there is an older one.
LIMIT_S = 2.0
# The age at which a remembered result is renewed.
FRESH_S = 2.0


async def off_loop(call: Callable[[], T], discard: Callable[[T], object] | None = None) -> T:
    """Returns the result of `call`, which runs in its own thread.

    Unlike `asyncio.to_thread`, it doesn't delay the end of the process, and calls that hang don't delay others: the
    pool of `to_thread` has at most 32 threads (CPUs + 4), which resolving host names needs too.  If the caller is cancelled, `discard`
    is called with the result.
    """
    running = _start(call)
    if discard is None:
        return await running
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        running.add_done_callback(partial(_discard, discard))
        raise


class Latest(Generic[T]):
    """The result of a call that may block: a new one, or the previous one while the call doesn't return.

    Calls don't overlap.
    """

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._last: list[T] = []
        self._running: asyncio.Future[T] | None = None

    async def get(self) -> T:
        """Returns the result, or raises the exception of the call; waits without a limit only for the first result."""
        running = self._running
        if running is None or running.done() or running.get_loop() != asyncio.get_running_loop():
            running = self._running = _start(self._call)
            running.add_done_callback(self._keep)
        done, _ = await asyncio.wait([running], timeout=LIMIT_S if self._last else None)
        return running.result() if done else self._last[0]

    def _keep(self, running: asyncio.Future[T]) -> None:
        if not running.cancelled() and running.exception() is None:
            self._last = [running.result()]


class Remembered(Generic[T]):
    """The last result of a call that may block, from memory; renews an old one in the background."""

    def __init__(self, call: Callable[[], T], initial: T) -> None:
        self._call = call
        self._value = initial
        self._is_read = False
        self._at = 0.0
        self._running: asyncio.Future[T] | None = None

    def value(self) -> T:
        """Returns the last result, `initial` before the first; without an event loop, makes the first call itself."""
        has_loop = asyncio._get_running_loop() is not None
        if not self._is_read and not has_loop:
            self.put(self._call())
        elif has_loop and time.monotonic() - self._at > FRESH_S:
            self._renewal()
        return self._value

    async def ready(self) -> None:
        """Waits for the first result; raises the exception of the call."""
        if not self._is_read:
            await asyncio.shield(self._renewal())

    def put(self, value: T) -> None:
        """Sets the value as it was just read or written."""
        self._value, self._is_read, self._at = value, True, time.monotonic()
        # A call that began earlier may return an older value.
        self._running = None

    def _renewal(self) -> asyncio.Future[T]:
        running = self._running
        if running is None or running.get_loop() != asyncio.get_running_loop():
            running = self._running = _start(self._call)
            running.add_done_callback(self._keep)
        return running

    def _keep(self, running: asyncio.Future[T]) -> None:
        if running is not self._running:
            return
        self._running = None
        if not running.cancelled() and running.exception() is None:
            self.put(running.result())


class InOrder:
    """Runs calls that may block one after another, in the order of the requests.

    For files that are read, changed and written: later requests write later.  A call also runs if its caller is
    cancelled.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_running = False

    async def run(self, call: Callable[[], T]) -> T:
        """Returns the result of `call`, or raises its exception."""
        return await _start(call, self._add)

    def _add(self, run: Callable[[], None]) -> None:
        with self._lock:
            self._waiting.append(run)
            if self._is_running:
                return
            self._is_running = True
        _in_thread(self._run_all)

    def _run_all(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._is_running = False
                    return
                run = self._waiting.popleft()
            run()


def _discard(discard: Callable[[T], object], running: asyncio.Future[T]) -> None:
    if not running.cancelled() and running.exception() is None:
        discard(running.result())


def _in_thread(run: Callable[[], None]) -> None:
    # No pool: the process would wait for its threads at the end, and calls that hang would use them up.
    threading.Thread(target=run, daemon=True, name="off loop").start()


def _start(
    call: Callable[[], T], start: Callable[[Callable[[], None]], None] | None = None
) -> asyncio.Future[T]:
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def finish(set_result: Callable[[], None]) -> None:
        if not result.done():
            set_result()

    def run() -> None:
        try:
            done = partial(result.set_result, call())
        except Exception as error:
            done = partial(result.set_exception, error)
        # The loop may have ended meanwhile.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(finish, done)

    (start or _in_thread)(run)
    return result
