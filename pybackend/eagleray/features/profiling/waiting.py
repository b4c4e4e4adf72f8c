"""How long is waited for what a run has recorded: as long as something comes, and less for who is silent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from eagleray.features.profiling.collector import Rounds
from eagleray.features.profiling.scanner import Look

SOON_S = 0.25
# A report of which nothing has been heard for so long does not come any more.
QUIET_S = 120.0
# One that cannot be asked any more is waited for less.
GONE_S = 10.0
# A file system that nodes share shows one host what another has written within half a minute.
SHARED_S = 45.0
# Until a debug proxy has passed a question on, and nsys has taken it.
HEARD_S = 5.0


async def until(is_so: Callable[[Look], bool], rounds: Rounds, quiet_s: float) -> None:
    """Looks and fetches until it is so and everything is here, or nothing has changed for so long."""
    loop = asyncio.get_running_loop()
    before, changed = None, loop.time()
    while True:
        await rounds.once()
        missing = rounds.missing(rounds.look)
        if rounds.error is not None or (is_so(rounds.look) and not missing):
            return
        now = (rounds.look.workers, missing, rounds.done_bytes)
        if now != before:
            before, changed = now, loop.time()
        # Who cannot be asked makes nobody else lose what nsys still writes.
        others_are_done = is_so(rounds.answered) and not rounds.missing(rounds.answered)
        if loop.time() - changed > _patience_s(rounds, quiet_s, others_are_done):
            return
        await asyncio.sleep(SOON_S)


def _patience_s(rounds: Rounds, quiet_s: float, others_are_done: bool) -> float:
    if not rounds.look.failures:
        return quiet_s
    if rounds.is_shared_far:
        # What ran in a job has ended with it.
        return min(quiet_s, SHARED_S)
    return min(quiet_s, GONE_S) if others_are_done else quiet_s
