"""Waiting for an event, but not for ever."""

from __future__ import annotations

import asyncio


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
