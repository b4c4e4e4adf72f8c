"""Reads processes of this machine from inside, several at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from eagleray.features.hangs.evidence import HangEvidence
from eagleray.features.hangs.inside import chosen, place_of, with_readings
from eagleray.features.hangs.verdict import HangVerdict
from eagleray.inspecting.readings import ProcessReading, raw_reading, reading_of

# A process answers in milliseconds; one that can't takes some seconds of waiting, not of work.
AT_ONCE = 16


async def read_inside(evidence: HangEvidence, verdict: HangVerdict) -> HangEvidence:
    """The evidence with the readings of the processes that matter for the verdict."""
    processes = chosen(evidence, verdict)
    readings = await asyncio.to_thread(_read, [each.process.pid for each in processes])
    return with_readings(evidence, dict(zip(map(place_of, processes), readings, strict=True)))


def _read(pids: Sequence[int]) -> list[ProcessReading]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda pid: reading_of(raw_reading(pid)), pids))
