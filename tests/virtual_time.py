"""An event loop whose time passes without waiting, so that an hour of polling is a test of milliseconds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from eagleray.common import blocking_calls

T = TypeVar("T")

BEGAN = 1000.0


class LoopClock:
    """The clock of the running loop."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()


def run_virtually(main: Awaitable[T]) -> T:
    """Runs `main` to its end; where nothing is ready, time jumps to the next timer.

    It must not wait for threads, processes or sockets: while those work, no time passes for a real clock.  Calls that
    `off_loop` makes in a thread are made at once.
    """
    loop: Any = asyncio.SelectorEventLoop()
    now, select = BEGAN, loop._selector.select

    def skip(timeout: float | None) -> Any:
        nonlocal now
        events = select(0)
        if not events:
            assert timeout is not None, "nothing will ever happen"
            now += max(timeout, 0.0)
        return events

    loop._selector.select = skip
    loop.time = lambda: now
    in_thread, blocking_calls._in_thread = blocking_calls._in_thread, lambda run: run()
    try:
        result: T = loop.run_until_complete(main)
        return result
    finally:
        blocking_calls._in_thread = in_thread
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
