"""The figures of logprob differences: measured values, and the laws that hold for all."""

from __future__ import annotations

import math

import pytest
from eagleray.rollouts.comparing.metrics import metrics_of
from eagleray.rollouts.comparing.model import LogprobMetrics
from hypothesis import given
from hypothesis import strategies as st

LOGPROBS = st.floats(-60.0, 0.0)
PAIRS = st.lists(st.tuples(LOGPROBS, LOGPROBS), min_size=1, max_size=50)


def figures(pairs: list[tuple[float, float]]) -> LogprobMetrics:
    metrics = metrics_of(pairs)
    assert metrics is not None
    return metrics


def test_figures_of_two_tokens() -> None:
    """By hand: differences of +0.1 and -0.3."""
    metrics = figures([(-1.0, -1.1), (-2.3, -2.0)])
    assert metrics.tokens == 2
    assert metrics.mean_abs_dlogp == pytest.approx(0.2)
    assert metrics.max_abs_dlogp == pytest.approx(0.3)
    assert metrics.k1_kl == pytest.approx(-0.1)
    assert metrics.k3_kl == pytest.approx(
        ((math.exp(-0.1) + 0.1 - 1) + (math.exp(0.3) - 0.3 - 1)) / 2
    )
    assert metrics.mult_error == pytest.approx((math.exp(0.1) + math.exp(0.3)) / 2)
    assert metrics.mean_abs_dp == pytest.approx(
        ((math.exp(-1.0) - math.exp(-1.1)) + (math.exp(-2.0) - math.exp(-2.3))) / 2
    )


def test_one_bad_token_shows_in_the_multiplicative_error() -> None:
    """The example of NeMo RL's grpo.md: -5 against -15 is a factor of 22,026."""
    metrics = figures([(-5.0, -15.0)])
    assert metrics.mult_error == pytest.approx(math.exp(10))
    assert metrics.pearson is None


def test_impossible_token_has_finite_figures() -> None:
    """vLLM writes -9999 for a token of probability 0."""
    metrics = figures([(-0.5, -9999.0), (-0.5, -0.5)])
    values = (metrics.mean_abs_dlogp, metrics.k3_kl, metrics.mult_error, metrics.k1_kl)
    assert all(math.isfinite(value) for value in values)


def test_no_token_has_no_figures() -> None:
    assert metrics_of([]) is None


@given(PAIRS)
def test_metrics_are_within_their_bounds(pairs: list[tuple[float, float]]) -> None:
    metrics = figures(pairs)
    assert metrics.k3_kl >= 0
    assert metrics.mult_error >= 1
    assert 0 <= metrics.mean_abs_dp <= 1
    assert metrics.mean_abs_dlogp <= metrics.max_abs_dlogp * (1 + 1e-12)
    assert abs(metrics.k1_kl) <= metrics.mean_abs_dlogp * (1 + 1e-12)
    assert metrics.pearson is None or -1 <= metrics.pearson <= 1
    # Jensen: the mean of exp is at least exp of the mean.
    assert metrics.mult_error >= math.exp(metrics.mean_abs_dlogp) * (1 - 1e-12)


@given(PAIRS)
def test_exchanging_the_engines_changes_only_directions(pairs: list[tuple[float, float]]) -> None:
    there, back = figures(pairs), figures([(b, a) for a, b in pairs])
    assert there.mean_abs_dlogp == back.mean_abs_dlogp
    assert there.mult_error == back.mult_error
    assert there.k1_kl == -back.k1_kl


@given(st.lists(LOGPROBS, min_size=1, max_size=50))
def test_equal_logprobs_differ_by_nothing(logprobs: list[float]) -> None:
    metrics = figures([(each, each) for each in logprobs])
    assert (metrics.mean_abs_dlogp, metrics.k3_kl, metrics.mult_error) == (0, 0, 1)


@given(PAIRS, st.randoms())
def test_order_of_tokens_changes_nothing(pairs: list[tuple[float, float]], random: object) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = figures(pairs), figures(shuffled)
    assert one.k3_kl == other.k3_kl
    assert one.mean_abs_dlogp == other.mean_abs_dlogp
