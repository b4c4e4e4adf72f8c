"""The verdicts: measured figures of real engines, and each rule of the table."""

from __future__ import annotations

import pytest
from attrs import evolve
from eagleray.features.rollouts.comparing.evidence import ComparisonEvidence, OtherPrecision
from eagleray.features.rollouts.comparing.model import (
    ComparisonKind,
    GreedyLayer,
    LogprobMetrics,
    PromptDifference,
    PromptLayer,
)
from eagleray.features.rollouts.comparing.rules import LIMITS, verdict
from eagleray.features.rollouts.comparing.sampling import SamplingDefault, SamplingEvidence

CONSISTENT = ComparisonKind.CONSISTENT
KERNEL = ComparisonKind.KERNEL_MISMATCH
PRECISION = ComparisonKind.PRECISION_MISMATCH
STALE = ComparisonKind.STALE_WEIGHTS
SAMPLING = ComparisonKind.SAMPLING_MISMATCH
UNKNOWN = ComparisonKind.UNKNOWN


def figures(mean: float, maximum: float, k3: float, mult: float) -> LogprobMetrics:
    return LogprobMetrics(1427, mean, maximum, mean / 20, 0.0, k3, mult, 0.999)


# Real engines on a CPU against torch 2.13, a model of 0.5 M parameters, 24 prompts of up to 64 tokens.
VLLM = figures(1.05e-6, 5.0e-6, 0.0, 1.0)
NO_FLASH_ATTENTION = figures(1.24e-6, 5.7e-6, 0.0, 1.0)
FLASH_ATTENTION = figures(1.70e-3, 1.28e-2, 2.4e-6, 1.0017)
OTHER_BATCHES = figures(6.7e-6, 1e-3, 5.2e-10, 1.00001)
HALF_CACHE = figures(4.9e-4, 3.2e-3, 2.0e-7, 1.0005)
BFLOAT16 = figures(1.54e-2, 7.3e-2, 1.9e-4, 1.0156)
NOISE_01 = figures(4.7e-3, 2.3e-2, 1.8e-5, 1.00474)
NOISE_1 = figures(4.7e-2, 0.24, 1.7e-3, 1.049)
NOISE_5 = figures(0.24, 1.32, 4.3e-2, 1.298)


def evidence(metrics: LogprobMetrics | None, a: str = "", b: str = "float32") -> ComparisonEvidence:
    return ComparisonEvidence(
        PromptLayer(24), GreedyLayer(), metrics, SamplingEvidence(), a_dtype=a, b_dtype=b
    )


@pytest.mark.parametrize(
    ("metrics", "a", "b", "expected"),
    [
        (VLLM, "", "float32", CONSISTENT),
        (NO_FLASH_ATTENTION, "float32", "float32", CONSISTENT),
        (OTHER_BATCHES, "float32", "float32", CONSISTENT),
        (FLASH_ATTENTION, "float32", "float32", KERNEL),
        (FLASH_ATTENTION, "", "", KERNEL),
        (HALF_CACHE, "float32", "float32", KERNEL),
        (BFLOAT16, "float32", "bfloat16", PRECISION),
        (BFLOAT16, "", "", PRECISION),
        # Different kernels in the same 16 bits round as much.
        (BFLOAT16, "bfloat16", "bfloat16", KERNEL),
        (NOISE_01, "float32", "float32", STALE),
        # Without a dtype, 0.1 % of noise is between flash attention and bfloat16.
        (NOISE_01, "", "", UNKNOWN),
        (NOISE_1, "float32", "float32", STALE),
        (NOISE_1, "", "", STALE),
        (NOISE_5, "float32", "float32", STALE),
        (NOISE_5, "", "", STALE),
        (NOISE_1, "Q4_K - Medium", "float32", PRECISION),
        # Rounding weights to float16 moves logprobs as little as kernels do.
        (HALF_CACHE, "float16", "float32", PRECISION),
    ],
)
def test_measured_figures_have_their_verdict(
    metrics: LogprobMetrics, a: str, b: str, expected: ComparisonKind
) -> None:
    assert verdict(evidence(metrics, a, b)).reading.kind is expected


def test_unknown_names_the_two_best_readings() -> None:
    unclear = verdict(evidence(NOISE_01, "", ""))
    assert {each.kind for each in unclear.readings} == {PRECISION, STALE}
    assert all(each.confidence < 0.5 for each in unclear.readings)


@pytest.mark.parametrize(
    ("metrics", "a", "to_a", "to_b", "expected"),
    [
        # In A's precision the reference agrees with A.
        (BFLOAT16, "", NO_FLASH_ATTENTION, BFLOAT16, PRECISION),
        # A isn't nearer to either, and differs as much as rounding.
        (BFLOAT16, "", BFLOAT16, BFLOAT16, PRECISION),
        # It differs by three times as much as rounding makes of this model.
        (NOISE_1, "", NOISE_1, BFLOAT16, STALE),
        (NOISE_5, "", NOISE_5, BFLOAT16, STALE),
        # Twice as much as rounding may be either.
        (figures(3.1e-2, 0.2, 8e-4, 1.03), "", NOISE_1, BFLOAT16, UNKNOWN),
        (NOISE_01, "float32", BFLOAT16, BFLOAT16, STALE),
    ],
)
def test_reference_in_another_precision_decides(
    metrics: LogprobMetrics,
    a: str,
    to_a: LogprobMetrics,
    to_b: LogprobMetrics,
    expected: ComparisonKind,
) -> None:
    examined = evolve(evidence(metrics, a), other=OtherPrecision("bfloat16", to_a, to_b))
    assert verdict(examined).reading.kind is expected


@pytest.mark.parametrize(
    ("left", "expected"),
    [(NO_FLASH_ATTENTION, PRECISION), (FLASH_ATTENTION, PRECISION), (NOISE_01, STALE)],
)
def test_what_is_left_in_float32_are_the_weights(
    left: LogprobMetrics, expected: ComparisonKind
) -> None:
    """A bfloat16 trainer rounds by more than weights off by 0.1 % differ."""
    examined = evolve(
        evidence(BFLOAT16, "float32", "bfloat16"), other=OtherPrecision("float32", left, BFLOAT16)
    )
    best = verdict(examined).reading
    assert best.kind is expected
    assert "in float32, mean |Δlogp| is still" in best.sentence or expected is PRECISION


@pytest.mark.parametrize(
    ("plain_differ", "expected"),
    [
        (True, ComparisonKind.TOKENIZER_DRIFT),
        (False, ComparisonKind.TEMPLATE_MISMATCH),
        (None, ComparisonKind.TEMPLATE_MISMATCH),
    ],
)
def test_prompts_come_before_figures(plain_differ: bool | None, expected: ComparisonKind) -> None:
    first = PromptDifference(2, 5, (1, 2), (3, 4), 10, 11)
    differing = PromptLayer(24, 3, plain_differ, first)
    found = verdict(evolve(evidence(NOISE_5), prompts=differing)).reading
    assert found.kind is expected
    assert "prompt 3" in found.sentence


@pytest.mark.parametrize(
    ("sampling", "words"),
    [
        (SamplingEvidence(temperature=0.6), "temperature 0.6"),
        (SamplingEvidence(overridden=3), "overrides temperature 0"),
        (SamplingEvidence(has_common_sign=True), "in one direction"),
    ],
)
def test_sampling_explains_any_figures(sampling: SamplingEvidence, words: str) -> None:
    found = verdict(evolve(evidence(NOISE_5), sampling=sampling)).reading
    assert found.kind is SAMPLING
    assert words in found.sentence


@pytest.mark.parametrize(
    "sampling",
    [
        SamplingEvidence(sources_differ=True),
        SamplingEvidence(defaults=(SamplingDefault("temperature", 0.8, 0.2),)),
    ],
)
def test_other_sampling_of_the_servers_shows_once_they_agree(sampling: SamplingEvidence) -> None:
    for agreeing in (VLLM, FLASH_ATTENTION):
        found = verdict(evolve(evidence(agreeing), sampling=sampling)).reading
        assert found.kind is SAMPLING
    assert verdict(evolve(evidence(NOISE_5), sampling=sampling)).reading.kind is STALE


def test_nothing_compared_is_unknown() -> None:
    found = verdict(evidence(None))
    assert found.reading.kind is UNKNOWN
    assert found.readings == ()


def test_sentence_has_the_figures_of_the_trainer() -> None:
    sentence = verdict(evidence(NOISE_1, "float32")).reading.sentence
    assert "0.047" in sentence
    assert "0.0017" in sentence
    assert "1.049" in sentence


def test_every_limit_has_its_source() -> None:
    assert all(limit.value > 0 and limit.source for limit in LIMITS.values())
