"""Figures of a wave: latencies, rewards, waits for a connection."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from attrs import frozen

from eagleray.rollouts.agents.model import (
    AgentRequest,
    AgentRun,
    Observed,
    Percentiles,
    RewardBin,
    WaveTotals,
)

BINS = 10


@frozen
class WaveStatistics:
    """`latency` is for runs which ended by themselves, `request` for answered requests, in milliseconds."""

    runs: int
    done: int
    failed: int
    timeouts: int
    cancelled: int
    latency: Percentiles
    request: Percentiles
    pool_wait: Percentiles
    tokens_per_second: float
    clients: int
    rewards: tuple[RewardBin, ...]
    mean_reward: float | None


def wave_statistics(observed: Observed) -> WaveStatistics:
    runs = observed.runs
    rewards = [run.reward for run in runs if run.reward is not None]
    ended = [run.seconds for run in runs if run.outcome in ("done", "rejected", "failed")]
    answered = answered_requests(runs)
    done = sum(run.outcome == "done" for run in runs)
    failed = sum(run.outcome in ("rejected", "failed", "timeout") for run in runs)
    if observed.ending:
        # The agent ended the program, which took the other runs with it.
        failed = observed.plan.runs - done - sum(run.outcome == "cancelled" for run in runs)
    return WaveStatistics(
        runs=observed.plan.runs,
        done=done,
        failed=failed,
        timeouts=sum(run.outcome == "timeout" for run in runs),
        cancelled=observed.plan.runs - done - failed,
        latency=percentiles(ended),
        request=percentiles([request.seconds or 0.0 for request in answered]),
        pool_wait=percentiles([request.pool_s or 0.0 for run in runs for request in run.requests]),
        tokens_per_second=tokens_per_second(observed.totals),
        clients=sum(run.clients for run in runs),
        rewards=histogram(rewards),
        mean_reward=math.fsum(rewards) / len(rewards) if rewards else None,
    )


def answered_requests(runs: Iterable[AgentRun]) -> list[AgentRequest]:
    return [
        request
        for run in runs
        for request in run.requests
        if request.status and request.seconds is not None
    ]


def tokens_per_second(totals: WaveTotals) -> float:
    return round(totals.tokens / totals.seconds, 1) if totals.seconds else 0.0


def percentiles(seconds: Sequence[float]) -> Percentiles:
    """In milliseconds, by the nearest rank."""
    if not seconds:
        return Percentiles()
    ordered = sorted(seconds)
    return Percentiles(
        p50=_milliseconds(at_share(ordered, 0.5)),
        p99=_milliseconds(at_share(ordered, 0.99)),
        max=_milliseconds(ordered[-1]),
    )


def at_share(ordered: Sequence[float], share: float) -> float:
    """The value that this share of the ordered values doesn't exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def histogram(rewards: Sequence[float]) -> tuple[RewardBin, ...]:
    """One bin for each value if they are few, else `BINS` of the same width."""
    if not rewards:
        return ()
    values = sorted(set(rewards))
    if len(values) <= BINS:
        return tuple(RewardBin(value, value, rewards.count(value)) for value in values)
    low, high = values[0], values[-1]
    # Divided first: the difference of two huge values may be infinite.
    width = high / BINS - low / BINS
    counts = [0] * BINS
    for reward in rewards:
        place = (reward / width - low / width) if width else 0.0
        counts[min(BINS - 1, max(0, int(place)))] += 1
    # Rounding may take the last edge beyond the largest number.
    edges = [min(low + number * width, high) for number in range(BINS)] + [high]
    return tuple(
        RewardBin(edges[number], edges[number + 1], count) for number, count in enumerate(counts)
    )


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 1)
