"""The queue of a server in the course of a wave: how many requests it computes, and how many wait, as its metrics say.

vLLM (0.32) always has them at `/metrics`, SGLang (0.5) with `--enable-metrics`, which AReaL sets, and llama.cpp (b10.2026)
with `--metrics`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import re
from collections.abc import AsyncIterator

from eagleray.common.errors import EaglerayError
from eagleray.common.retry import SERVER_QUEUE, Clock
from eagleray.common.tasks import owned
from eagleray.rollouts.agents.model import AgentPlan, QueueSample, WaveTotals
from eagleray.rollouts.comparing.engines.http import (
    EngineAddress,
    EngineHttp,
    RefusedRequest,
)

METRICS = "/metrics"
# Requests that a server computes, and those that wait.
_GAUGES = (
    ("vllm:num_requests_running", "vllm:num_requests_waiting"),
    ("sglang:num_running_reqs", "sglang:num_queue_reqs"),
    ("llamacpp:requests_processing", "llamacpp:requests_deferred"),
)
_SAMPLE = re.compile(r"([a-z]+:[a-z_]+)(?:\{(.*)\})?[ \t]+(\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
# Processes that compute the same requests together may report them each.
_SHARED = frozenset({"tp_rank", "pp_rank", "moe_ep_rank", "pid"})
# vLLM's metrics have 100 kB.
_LARGEST = 4 * 2**20
_ANSWER_S = 5.0
# A busy server may answer late, and one may have no such metrics before its first request.
_MOST_FAILURES = 3

log = logging.getLogger(__name__)


class QueueWatch:
    """`update` takes the totals of the wave, while `run` reads the queue; `samples` are what it has read."""

    def __init__(self, plan: AgentPlan, clock: Clock | None = None) -> None:
        self._http = EngineHttp(EngineAddress("", plan.base_url, plan.api_key))
        self._clock = clock or Clock()
        self._is_busy = False
        self.samples: list[QueueSample] = []

    def update(self, totals: WaveTotals) -> None:
        self._is_busy = totals.in_flight > 1

    async def run(self) -> None:
        """Returns once the server turns out to have no such metrics."""
        began, failures = self._clock.now(), 0
        try:
            while failures < _MOST_FAILURES:
                await asyncio.sleep(SERVER_QUEUE.interval_s(self._clock.now() - began))
                if self._is_busy:
                    failures = 0 if await self._read() else failures + 1
        except RefusedRequest as refused:
            log.info("the server has no metrics: %s", refused.status)
        finally:
            await self._http.close()

    async def _read(self) -> bool:
        try:
            sample = queue_of(await self._http.get_text(METRICS, _ANSWER_S, _LARGEST))
        except EaglerayError as error:
            log.info("no metrics of the server: %s", error.code)
            return False
        # The wave may have ended while the server answered; of an idle engine the requests are still, or again, on their way.
        if sample is not None and self._is_busy and (sample.running or sample.waiting):
            self.samples.append(sample)
        return sample is not None


@contextlib.asynccontextmanager
async def watched_queue(plan: AgentPlan) -> AsyncIterator[QueueWatch]:
    """The watch of a wave, which ends with it; a single run has no queue."""
    watch = QueueWatch(plan)
    if plan.runs == 1:
        yield watch
        return
    task = owned(watch.run(), "queue of the server", lambda error: None)
    try:
        yield watch
    finally:
        task.cancel()
        await asyncio.wait({task})


def queue_of(metrics: str) -> QueueSample | None:
    """The queue in Prometheus' text format; None if it has none.  Several engines behind one address are added up."""
    sums: dict[str, dict[str, float]] = {}
    for line in metrics.splitlines():
        if match := _SAMPLE.match(line):
            value = _number(match[3])
            if value is not None:
                engines = sums.setdefault(match[1], {})
                engine = _engine(match[2] or "")
                engines[engine] = max(value, engines.get(engine, 0.0))
    for running, waiting in _GAUGES:
        if running in sums and waiting in sums:
            return QueueSample(_total(sums[running]), _total(sums[waiting]))
    return None


def _total(engines: dict[str, float]) -> int:
    return round(math.fsum(engines.values()))


def _engine(labels: str) -> str:
    return " ".join(
        f"{name}={value}" for name, value in _LABEL.findall(labels) if name not in _SHARED
    )


def _number(written: str) -> float | None:
    try:
        value = float(written)
    except ValueError:
        return None
    # More requests than that are a mistake.
    return value if 0 <= value < 1e9 else None
