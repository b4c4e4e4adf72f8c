"""The figures of logprob differences that the frameworks log, from pairs of A's (rollout) and B's (trainer) logprobs.

Definitions: `mult_error` is NeMo RL's token_mult_prob_error (grpo.md), `k3_kl` verl's rollout_corr/k3_kl with
r = p_train / p_rollout (rollout_corr_helper.py), `mean_abs_dp` verl's training/rollout_probs_diff_mean, and `pearson`
its rollout_actor_probs_pearson_corr.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from eagleray.rollouts.comparing.model import LogprobMetrics

# vLLM writes -9999 for a token of probability 0 (its OpenAI server); the exponential of more would be infinite.
LEAST_LOGPROB = -100.0


def metrics_of(pairs: Iterable[tuple[float, float]]) -> LogprobMetrics | None:
    """The figures over all tokens; None without a token."""
    listed = [(bounded(a), bounded(b)) for a, b in pairs]
    if not listed:
        return None
    n = len(listed)
    deltas = [a - b for a, b in listed]
    probabilities = [(math.exp(a), math.exp(b)) for a, b in listed]
    return LogprobMetrics(
        tokens=n,
        mean_abs_dlogp=math.fsum(map(abs, deltas)) / n,
        max_abs_dlogp=max(map(abs, deltas)),
        mean_abs_dp=math.fsum(abs(p - q) for p, q in probabilities) / n,
        k1_kl=math.fsum(deltas) / n,
        k3_kl=max(0.0, math.fsum(map(k3, deltas)) / n),
        mult_error=math.fsum(math.exp(abs(delta)) for delta in deltas) / n,
        pearson=pearson(probabilities),
    )


def bounded(logprob: float) -> float:
    """A logprob whose exponential is a number."""
    return min(0.0, max(logprob, LEAST_LOGPROB))


def k3(delta: float) -> float:
    """r - log r - 1 with log r = -delta; `expm1` keeps the digits of small differences."""
    return math.expm1(-delta) + delta


def pearson(pairs: Sequence[tuple[float, float]]) -> float | None:
    """None where it isn't defined, as for a constant."""
    if not pairs:
        return None
    n = len(pairs)
    mean_p, mean_q = (math.fsum(pair[side] for pair in pairs) / n for side in (0, 1))
    covariance = math.fsum((p - mean_p) * (q - mean_q) for p, q in pairs)
    variance_p = math.fsum((p - mean_p) ** 2 for p, _ in pairs)
    variance_q = math.fsum((q - mean_q) ** 2 for _, q in pairs)
    product = math.sqrt(variance_p) * math.sqrt(variance_q)
    return max(-1.0, min(1.0, covariance / product)) if product > 0 else None
