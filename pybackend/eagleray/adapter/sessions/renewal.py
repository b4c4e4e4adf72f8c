"""Replaces what has failed, one attempt at a time, and tries again until an attempt succeeds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from eagleray.common import tasks
from eagleray.common.retry import Backoff

# debugpy notices a lost client later if others connect often meanwhile.
PAUSES = Backoff(first_s=5.0, longest_s=60.0)


class LinkRenewal:
    """Owns the attempt under way and the timer of the next; `attempt` raises errors of the catalogue."""

    def __init__(self, attempt: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._attempt = attempt
        self._running: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._failures = 0
        self._is_closed = False

    async def run(self) -> None:
        """The result of an attempt, of the one under way if there is one.

        It outlives its caller, since half an attempt would leave the worker without a link.
        """
        if self._running is None:
            self._begin()
        assert self._running is not None
        await asyncio.shield(self._running)

    async def settle(self) -> None:
        """Waits for the attempt under way, if there is one, and raises what it raises."""
        if self._running is not None:
            await self.run()

    def close(self) -> None:
        self._is_closed = True
        self._stop_timer()

    def _begin(self) -> None:
        self._stop_timer()
        self._running = tasks.owned(self._attempt(), "a new link", tasks.only_logged)
        self._running.add_done_callback(self._done)

    def _done(self, attempt: asyncio.Task[None]) -> None:
        self._running = None
        if attempt.cancelled() or attempt.exception() is None:
            self._failures = 0
        elif not self._is_closed:
            self._failures += 1
            pause_s = PAUSES.wait_s(self._failures)
            self._timer = asyncio.get_running_loop().call_later(pause_s, self._begin)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
