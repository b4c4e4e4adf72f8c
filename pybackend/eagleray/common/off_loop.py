"""Blocking calls in other threads than the event loop's; some never return, as on a home whose NFS server is down."""

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
    """The result of `call`, from a thread of its own.

    Unlike with `asyncio.to_thread`, the process doesn't wait for the thread when it ends, and calls that hang hold up
    no other ones: that has few threads, which resolving host names needs too.  A caller that is cancelled doesn't get
    the result; `discard` is called with it then.
    """
    running = _started(call)
    if discard is None:
        return await running
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        running.add_done_callback(partial(_discard, discard))
        raise


class Latest(Generic[T]):
    """The result of a call that may block: a new one, or the one before while the call doesn't return.

    At most one thread makes the call at a time.
    """

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._last: list[T] = []
        self._running: asyncio.Future[T] | None = None

    async def get(self) -> T:
        """Raises what the call raises; waits without a limit only for the first result."""
        running = self._running
        if running is None or running.done() or running.get_loop() != asyncio.get_running_loop():
            running = self._running = _started(self._call)
            running.add_done_callback(self._keep)
        done, _ = await asyncio.wait([running], timeout=LIMIT_S if self._last else None)
        return running.result() if done else self._last[0]

    def _keep(self, running: asyncio.Future[T]) -> None:
        if not running.cancelled() and running.exception() is None:
            self._last = [running.result()]


class Remembered(Generic[T]):
    """The last result of a call that may block, answered from memory; an old one is renewed in the background."""

    def __init__(self, call: Callable[[], T], initial: T) -> None:
        self._call = call
        self._value = initial
        self._is_read = False
        self._at = 0.0
        self._running: asyncio.Future[T] | None = None

    def value(self) -> T:
        """`initial` before the first result; without an event loop the first call is made here."""
        has_loop = asyncio._get_running_loop() is not None
        if not self._is_read and not has_loop:
            self.put(self._call())
        elif has_loop and time.monotonic() - self._at > FRESH_S:
            self._renewal()
        return self._value

    async def ready(self) -> None:
        """Waits until the first result is known; raises what the call raises."""
        if not self._is_read:
            await asyncio.shield(self._renewal())

    def put(self, value: T) -> None:
        """The value as it was just read or written."""
        self._value, self._is_read, self._at = value, True, time.monotonic()
        # A call that began earlier may not have seen it.
        self._running = None

    def _renewal(self) -> asyncio.Future[T]:
        running = self._running
        if running is None or running.get_loop() != asyncio.get_running_loop():
            running = self._running = _started(self._call)
            running.add_done_callback(self._keep)
        return running

    def _keep(self, running: asyncio.Future[T]) -> None:
        if running is not self._running:
            return
        self._running = None
        if not running.cancelled() and running.exception() is None:
            self.put(running.result())


class InOrder:
    """Makes calls that may block one after another, in the order in which they were requested.

    For files that are read, changed and written: what was requested later is written later.  A call is also made when
    its caller is cancelled.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_running = False

    async def run(self, call: Callable[[], T]) -> T:
        """The result of `call`; raises what it raises."""
        return await _started(call, self._add)

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
    # Not of a pool, whose threads the process waits for when it ends, and which calls that hang would use up.
    threading.Thread(target=run, daemon=True, name="off loop").start()


def _started(
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
