"""When the adapter ends by itself: a minute after it was last of use to anybody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

IDLE_S = 60.0
_LOOK_S = 1.0


async def until_unused(
    is_used: Callable[[], bool], stop: asyncio.Event, idle_s: float = IDLE_S
) -> None:
    """Returns when `stop` is set, or when nobody has used the adapter for `idle_s`."""
    idle = 0.0
    while idle < idle_s and not stop.is_set():
        look = min(_LOOK_S, idle_s)
        try:
            await asyncio.wait_for(stop.wait(), look)
        except asyncio.TimeoutError:
            idle = 0.0 if is_used() else idle + look
