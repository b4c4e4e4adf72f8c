"""Samples the lines at which runs wait for each other: for a lock or semaphore of asyncio, or for a thread of `to_thread`."""

from __future__ import annotations

import asyncio
import time

from .await_line import awaited_frames, suspended_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .item_run import ItemRun

_SAMPLE_S = 0.05
# Sampling takes at most a five-hundredth of the time.
_COST_FACTOR = 500
_LOCKS = {kind.acquire.__code__ for kind in (asyncio.Lock, asyncio.Semaphore)}


class ContentionSamples:
    """`sample` is called in the loop, `as_json` from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due = 0.0
        self._samples = 0
        # How many runs lived, summed over the samples.
        self._runs = 0
        self._lines: dict[tuple[str, int], dict[str, Any]] = {}

    def sample(self, runs: Iterable[tuple[Any, ItemRun]]) -> None:
        began = time.monotonic()
        if began < self._due:
            return
        queue = getattr(getattr(self._loop, "_default_executor", None), "_work_queue", None)
        free = 0 if queue is None else queue.qsize()
        self._samples += 1
        for task, run in runs:
            self._runs += 1
            # One in a request may wait for a lock of its client.
            if any(exchange.seconds is None for exchange in run.record.exchanges[-8:]):
                continue
            codes = {frame.f_code for frame in awaited_frames(task)}
            if codes & _LOCKS:
                self._add(task, "lock")
            elif free and asyncio.to_thread.__code__ in codes:
                # As many as are in the queue of the pool wait for a thread; the others have one.
                free -= 1
                self._add(task, "thread")
        now = time.monotonic()
        self._due = now + max(_SAMPLE_S, _COST_FACTOR * (now - began))

    def _add(self, task: Any, kind: str) -> None:
        place = suspended_at(task)
        if place is not None:
            key = (place["file"], place["line"])
            line = self._lines.setdefault(key, {**place, "kind": kind, "waits": 0})
            line["waits"] += 1

    def as_json(self) -> dict[str, Any] | None:
        """The line at which most runs waited, and their share of all runs; None for none."""
        most = max(list(self._lines.values()), key=lambda line: int(line["waits"]), default=None)
        if most is None:
            return None
        return {**most, "share": most["waits"] / self._runs, "samples": self._samples}
