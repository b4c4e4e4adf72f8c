"""Waits for an event or a result with a time limit, without losing a cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def is_set_within(event: asyncio.Event, limit_s: float) -> bool:
    """Whether `event` was set within that time.

    `asyncio.wait_for` may swallow a cancellation that comes while the event is being set (until Python 3.12),
    and a loop around it then never ends.
    """
    waiting = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({waiting}, timeout=limit_s)
    finally:
        waiting.cancel()
    return event.is_set()


async def result_within(future: asyncio.Future[T], limit_s: float | None) -> T:
    """Its result; raises asyncio.TimeoutError, and leaves the future as it is then.

    `asyncio.wait_for` may swallow a cancellation that comes together with the result (until Python 3.12).
    """
    done, _ = await asyncio.wait({future}, timeout=limit_s)
    if not done:
        raise asyncio.TimeoutError
    return future.result()


async def after_changes(changed: asyncio.Event, publish: Callable[[], Awaitable[None]]) -> None:
    """Awaits `publish()` after `changed` was set, until it is cancelled; changes meanwhile lead to one more call."""
    while True:
        await changed.wait()
        changed.clear()
        await publish()
