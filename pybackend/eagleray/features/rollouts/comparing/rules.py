"""The verdict on two engines: a table of rules, each of which reads the evidence in its own way.

1. One side lacks ids of the other, or the prompts have different ids: the tokenizers differ, or the template does.
2. A's tokens or logprobs are not those of the model itself: sampling parameters differ.
3. The size of the logprob differences says whether kernels, the precision or the weights differ.
4. Engines that agree may still sample differently for requests without parameters.

The best reading is the verdict, unless its confidence is below `LEAST_CONFIDENCE`.
"""

from __future__ import annotations

from attrs import frozen

from eagleray.features.rollouts.comparing import rule_texts as texts
from eagleray.features.rollouts.comparing.evidence import ComparisonEvidence, OtherPrecision
from eagleray.features.rollouts.comparing.model import (
    ComparisonKind,
    ComparisonReading,
    ComparisonVerdict,
    LogprobMetrics,
    PromptLayer,
)
from eagleray.features.rollouts.comparing.sampling import SamplingEvidence

LEAST_CONFIDENCE = 0.5


@frozen
class Limit:
    """An upper limit of a figure, and where it comes from."""

    value: float
    source: str


# Measured: llama.cpp b10.2026 and vLLM 0.32 on a CPU against torch 2.13, a model of 0.5 M parameters, 1,427 tokens.
LIMITS = {
    "consistent mean |dlogp|": Limit(
        1e-4, "float32 engines measured: 1.2e-6; flash attention in other batches: 6.7e-6"
    ),
    "consistent k3": Limit(
        1e-8, "float32 engines measured: 1e-12; flash attention in other batches: 5.2e-10"
    ),
    "kernel mean |dlogp|": Limit(3e-3, "flash attention measured: 1.7e-3; 0.1 % of noise: 4.7e-3"),
    "kernel k3": Limit(1e-5, "flash attention measured: 2.4e-6; 0.1 % of noise: 1.8e-5"),
    "precision k3": Limit(1e-3, "bfloat16 measured: 1.9e-4; 1 % of noise: 1.7e-3; NeMo RL alarms"),
    "precision mult_error": Limit(
        1.03, "bfloat16 measured: 1.016; 1 % of noise: 1.049; NeMo RL alarms at 1.05"
    ),
    "unclear k3": Limit(5e-5, "0.1 % of noise measured: 1.8e-5, which bfloat16 may reach too"),
    "other weights mult_error": Limit(1.05, "NeMo RL investigates token_mult_prob_error above it"),
}
# How much nearer A must be to the reference in another precision for that to be the cause.
_COLLAPSE = 5.0
# Differences against what rounding the same model makes of it: up to the first it explains them, from the second not.
_AS_ROUNDING = 1.5
_ABOVE_ROUNDING = 3.0
# Other sampling parameters change rollouts more than these do.
_AGREES = (ComparisonKind.CONSISTENT, ComparisonKind.KERNEL_MISMATCH)

# The confidence of each kind.
Confidences = dict[ComparisonKind, float]


def verdict(evidence: ComparisonEvidence) -> ComparisonVerdict:
    confidences = _confidences(evidence)
    ordered = sorted(confidences, key=lambda kind: -confidences[kind])
    readings = tuple(
        ComparisonReading(kind, confidences[kind], *texts.reading(kind, evidence))
        for kind in ordered
    )
    if readings and readings[0].confidence >= LEAST_CONFIDENCE:
        return ComparisonVerdict(readings[0], readings)
    unknown = ComparisonKind.UNKNOWN
    confidence = 1 - readings[0].confidence if readings else 1.0
    return ComparisonVerdict(
        ComparisonReading(unknown, confidence, *texts.reading(unknown, evidence)), readings[:2]
    )


def _confidences(evidence: ComparisonEvidence) -> Confidences:
    if evidence.foreign is not None:
        return {ComparisonKind.TOKENIZER_DRIFT: 0.95}
    if evidence.prompts.different:
        return _of_prompts(evidence.prompts)
    if evidence.metrics is None:
        return {}
    sampled = _of_sampling(evidence.sampling)
    if sampled:
        return sampled
    numeric = _of_numbers(evidence, evidence.metrics)
    best = max(numeric, key=lambda kind: numeric[kind])
    if best in _AGREES and (evidence.sampling.defaults or evidence.sampling.sources_differ):
        return {ComparisonKind.SAMPLING_MISMATCH: 0.9, best: 0.1}
    return numeric


def _of_prompts(prompts: PromptLayer) -> Confidences:
    if prompts.plain_differ is None:
        return {ComparisonKind.TEMPLATE_MISMATCH: 0.6, ComparisonKind.TOKENIZER_DRIFT: 0.4}
    if prompts.plain_differ:
        return {ComparisonKind.TOKENIZER_DRIFT: 0.95}
    return {ComparisonKind.TEMPLATE_MISMATCH: 0.9}


def _of_sampling(sampling: SamplingEvidence) -> Confidences:
    if sampling.temperature is not None:
        return {ComparisonKind.SAMPLING_MISMATCH: 0.95}
    if sampling.overridden:
        return {ComparisonKind.SAMPLING_MISMATCH: 0.9}
    if sampling.has_common_sign:
        return {ComparisonKind.SAMPLING_MISMATCH: 0.8, ComparisonKind.STALE_WEIGHTS: 0.2}
    return {}


def _of_numbers(evidence: ComparisonEvidence, metrics: LogprobMetrics) -> Confidences:
    if _is_below(metrics.mean_abs_dlogp, "consistent mean |dlogp|") and _is_below(
        metrics.k3_kl, "consistent k3"
    ):
        return {ComparisonKind.CONSISTENT: 0.95}
    if _is_as_small_as_kernels(metrics):
        return _as_small_as_kernels(evidence)
    if evidence.other is not None:
        return _by_other_precision(evidence, metrics, evidence.other)
    if _is_below(metrics.k3_kl, "precision k3") and _is_below(
        metrics.mult_error, "precision mult_error"
    ):
        return _as_large_as_rounding(evidence, metrics)
    return _larger_than_rounding(evidence, metrics)


def _as_small_as_kernels(evidence: ComparisonEvidence) -> Confidences:
    if evidence.has_other_dtype:
        return {ComparisonKind.PRECISION_MISMATCH: 0.8, ComparisonKind.KERNEL_MISMATCH: 0.2}
    sure = 0.9 if evidence.has_same_dtype else 0.75
    return {ComparisonKind.KERNEL_MISMATCH: sure, ComparisonKind.STALE_WEIGHTS: 1 - sure}


def _by_other_precision(
    evidence: ComparisonEvidence, metrics: LogprobMetrics, other: OtherPrecision
) -> Confidences:
    """An experiment says more than a limit: the reference was computed in another precision too.

    1. A agrees with that far better: the precision is the cause.
    2. Both precisions are equally far from A, and A's is known to be that of B: the weights are.
    3. In A's own float32 more is left than kernels explain: the weights are, whatever B's rounding adds.
    4. A's precision isn't known: what rounding does to this model is the measure.
    """
    if other.to_a.mean_abs_dlogp * _COLLAPSE <= metrics.mean_abs_dlogp:
        return {ComparisonKind.PRECISION_MISMATCH: 0.95}
    if evidence.has_same_dtype:
        return {ComparisonKind.STALE_WEIGHTS: 0.85, ComparisonKind.KERNEL_MISMATCH: 0.15}
    if evidence.has_float32_left and not _is_as_small_as_kernels(other.to_a):
        return {ComparisonKind.STALE_WEIGHTS: 0.75, ComparisonKind.PRECISION_MISMATCH: 0.25}
    rounding = other.to_b.mean_abs_dlogp
    if metrics.mean_abs_dlogp <= _AS_ROUNDING * rounding:
        return {ComparisonKind.PRECISION_MISMATCH: 0.75, ComparisonKind.STALE_WEIGHTS: 0.25}
    if metrics.mean_abs_dlogp >= _ABOVE_ROUNDING * rounding:
        return {ComparisonKind.STALE_WEIGHTS: 0.85, ComparisonKind.PRECISION_MISMATCH: 0.15}
    return {ComparisonKind.PRECISION_MISMATCH: 0.45, ComparisonKind.STALE_WEIGHTS: 0.45}


def _as_large_as_rounding(evidence: ComparisonEvidence, metrics: LogprobMetrics) -> Confidences:
    if evidence.has_other_dtype:
        return {ComparisonKind.PRECISION_MISMATCH: 0.8, ComparisonKind.STALE_WEIGHTS: 0.2}
    if evidence.has_same_dtype and evidence.a_dtype == "float32":
        return {ComparisonKind.STALE_WEIGHTS: 0.7, ComparisonKind.KERNEL_MISMATCH: 0.3}
    if evidence.has_same_dtype:
        # Kernels in 16 bits round at different places, by as much as a change of precision.
        return {ComparisonKind.KERNEL_MISMATCH: 0.6, ComparisonKind.STALE_WEIGHTS: 0.4}
    if _is_below(metrics.k3_kl, "unclear k3"):
        return {ComparisonKind.PRECISION_MISMATCH: 0.45, ComparisonKind.STALE_WEIGHTS: 0.45}
    return {ComparisonKind.PRECISION_MISMATCH: 0.6, ComparisonKind.STALE_WEIGHTS: 0.4}


def _larger_than_rounding(evidence: ComparisonEvidence, metrics: LogprobMetrics) -> Confidences:
    if evidence.quantized:
        return {ComparisonKind.PRECISION_MISMATCH: 0.7, ComparisonKind.STALE_WEIGHTS: 0.3}
    if not _is_below(metrics.mult_error, "other weights mult_error"):
        return {ComparisonKind.STALE_WEIGHTS: 0.9, ComparisonKind.PRECISION_MISMATCH: 0.1}
    sure = 0.85 if evidence.has_same_dtype else 0.65
    return {ComparisonKind.STALE_WEIGHTS: sure, ComparisonKind.PRECISION_MISMATCH: 1 - sure}


def _is_as_small_as_kernels(metrics: LogprobMetrics) -> bool:
    return _is_below(metrics.k3_kl, "kernel k3") and _is_below(
        metrics.mean_abs_dlogp, "kernel mean |dlogp|"
    )


def _is_below(value: float, limit: str) -> bool:
    return value < LIMITS[limit].value
