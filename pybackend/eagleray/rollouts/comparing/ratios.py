"""The importance ratios p(B) / p(A) that a trainer makes of logprobs, by position and by training step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from eagleray.rollouts.comparing.metrics import bounded, k3
from eagleray.rollouts.comparing.model import (
    ComparedSequence,
    ImportanceRatios,
    StepRatios,
)

# The usual clip of a trainer, and the cap of truncated importance sampling (verl, slime).
_LOWEST, _HIGHEST = math.log(0.8), math.log(1.25)
_CAP = math.log(2.0)
_QUARTERS = 4
# Engines that miss updates differ from one step on: by more than five times as much, and about equally from there on.
# Precision and kernels drift, and come and go in spikes (vime#64, NeMo RL#1801, arXiv 2510.26788).
_JUMP = 25.0
_LEVEL = 9.0
_STEPS_AFTER = 2
# Shorter sequences agree by chance.
_LEAST_LENGTH = 32


def ratios_of(sequences: Sequence[ComparedSequence]) -> ImportanceRatios | None:
    """None without a token."""
    quarters: list[list[float]] = [[] for _ in range(_QUARTERS)]
    for each in sequences:
        logs = _logs(each)
        for at, log in enumerate(logs):
            quarters[at * _QUARTERS // len(logs)].append(log)
    logs = [log for quarter in quarters for log in quarter]
    if not logs:
        return None
    return ImportanceRatios(
        outside=_outside(logs),
        largest=math.exp(max(logs)),
        clipped=sum(log > _CAP for log in logs) / len(logs),
        quarters=tuple(_outside(quarter) for quarter in quarters),
        half=_half(sorted(map(abs, logs), reverse=True)),
    )


def step_ratios(sequences: Iterable[ComparedSequence]) -> tuple[StepRatios, ...]:
    """The steps that sequences are of, in their order; those without a step are left out."""
    by_step: dict[int, list[float]] = {}
    for each in sequences:
        if each.tokens.step is not None and each.a:
            by_step.setdefault(each.tokens.step, []).extend(_logs(each))
    return tuple(
        StepRatios(
            step,
            len(logs),
            math.fsum(k3(-log) for log in logs) / len(logs),
            _outside(logs),
            math.exp(max(logs)),
        )
        for step, logs in sorted(by_step.items())
    )


def agreeing_sequences(sequences: Iterable[ComparedSequence], usual_k3: float) -> tuple[int, int]:
    """How many sequences of the last step differ by no more than is usual, and how many there are."""
    figures: dict[int, list[float]] = {0: []}
    for each in sequences:
        if len(each.a) >= _LEAST_LENGTH:
            mean = math.fsum(k3(-log) for log in _logs(each)) / len(each.a)
            figures.setdefault(each.tokens.step or 0, []).append(mean)
    last = figures[max(figures)]
    return sum(mean <= usual_k3 for mean in last), len(last)


def missed_update(steps: Sequence[StepRatios], usual_k3: float) -> int | None:
    """The step from which on differences are much larger than before, and stay so."""
    figures = [each.k3_kl for each in steps]
    for at in range(1, len(figures) - _STEPS_AFTER + 1):
        before, after = figures[:at], figures[at:]
        if (
            max(before) <= usual_k3 < min(after)
            and min(after) >= _JUMP * max(before)
            and max(after) <= _LEVEL * min(after)
        ):
            return steps[at].step
    return None


def _half(sizes: Sequence[float]) -> float:
    """The share of the largest that makes half of the sum."""
    half, total = math.fsum(sizes) / 2, 0.0
    for at, size in enumerate(sizes, 1):
        total += size
        if total >= half:
            return at / len(sizes)
    return 1.0


def _logs(sequence: ComparedSequence) -> list[float]:
    return [bounded(b) - bounded(a) for a, b in zip(sequence.a, sequence.b, strict=True)]


def _outside(logs: Sequence[float]) -> float:
    return sum(not _LOWEST <= log <= _HIGHEST for log in logs) / len(logs) if logs else 0.0
