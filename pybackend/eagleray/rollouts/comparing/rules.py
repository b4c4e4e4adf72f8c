"""The verdict on two engines: a table of rules, each of which reads the evidence in its own way.

1. One side lacks ids of the other, or the prompts have different ids: the tokenizers differ, or the template does.
2. A's tokens or logprobs don't come from the model itself: sampling parameters differ, or logprobs are shifted.
3. Quantized weights explain what they are published to make, before anything else does.
4. Differences that begin at a training step, and stay, come from weights that the engine missed.
5. A reference in another precision says more than a limit; else published differences of such models are the limit.
6. Engines that agree may still sample differently for requests without parameters.

Size alone never tells weights from adapters, RoPE scaling or attention: above every limit the models differ.  The best
reading is the verdict, unless its confidence is below `LEAST_CONFIDENCE`.
"""

from __future__ import annotations

from attrs import frozen

from eagleray.rollouts.comparing import rule_texts as texts
from eagleray.rollouts.comparing.evidence import ComparisonEvidence, OtherPrecision
from eagleray.rollouts.comparing.model import (
    ComparisonKind,
    ComparisonReading,
    ComparisonVerdict,
    LogprobMetrics,
    PromptLayer,
)
from eagleray.rollouts.comparing.published import BEYOND_FACTOR
from eagleray.rollouts.comparing.sampling import SamplingEvidence
from eagleray.rollouts.comparing.shapes import ShapeKind

LEAST_CONFIDENCE = 0.5


@frozen
class Limit:
    """An upper limit of a figure, and where it comes from."""

    value: float
    source: str


# Measured: llama.cpp b10.2026 and vLLM 0.32 on a CPU against torch 2.13, a model of 0.5 M parameters, 1,427 tokens.
# Larger differences are judged by published ones of the same precision, size and routing.
LIMITS = {
    "consistent mean |dlogp|": Limit(
        1e-4, "measured: 1.2e-6 in float32; in other batches 6.7e-6, in float16 3.6e-5"
    ),
    "consistent k3": Limit(
        1e-7, "measured: 1e-12 in float32; in other batches 5.2e-10, in float16 1.2e-8"
    ),
    "kernel mean |dlogp|": Limit(3e-3, "flash attention measured: 1.7e-3; 0.1 % of noise: 4.7e-3"),
    "kernel k3": Limit(1e-5, "flash attention measured: 2.4e-6; 0.1 % of noise: 1.8e-5"),
}
# How much nearer A must be to the reference in another precision for that to be the cause.
_COLLAPSE = 5.0
# Differences against what rounding the same model makes of it: up to the first it explains them, from the second not.
_AS_ROUNDING = 1.5
_ABOVE_ROUNDING = 3.0
# Multiples of the largest usual k3-KL.
_NEARLY_USUAL, _WELL_BEYOND = 2.0, 100.0
# Other sampling parameters change rollouts more than these do.
_AGREES = (ComparisonKind.CONSISTENT, ComparisonKind.KERNEL_MISMATCH, ComparisonKind.AS_USUAL)

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
    if sampling.shape is None:
        return {}
    if sampling.shape.kind in (ShapeKind.SHIFTED, ShapeKind.PLACEHOLDER):
        return {ComparisonKind.MISALIGNED: 0.95}
    # A policy that only grew sharper has the shape of a temperature, too.
    sure = 0.7 if sampling.shape.kind is ShapeKind.TEMPERATURE else 0.85
    return {ComparisonKind.SAMPLING_MISMATCH: sure, ComparisonKind.OTHER_MODEL: 1 - sure}


def _of_numbers(evidence: ComparisonEvidence, metrics: LogprobMetrics) -> Confidences:
    if _is_below(metrics.mean_abs_dlogp, "consistent mean |dlogp|") and _is_below(
        metrics.k3_kl, "consistent k3"
    ):
        return {ComparisonKind.CONSISTENT: 0.95}
    if _is_as_small_as_kernels(metrics):
        return _as_small_as_kernels(evidence)
    if evidence.model.quantized:
        return _of_quantized(evidence)
    if evidence.missed_update is not None:
        return {ComparisonKind.STALE_WEIGHTS: 0.75, ComparisonKind.OTHER_MODEL: 0.25}
    if evidence.other is not None:
        return _by_other_precision(evidence, metrics, evidence.other)
    return _by_published(evidence)


def _as_small_as_kernels(evidence: ComparisonEvidence) -> Confidences:
    if evidence.has_other_dtype:
        return {ComparisonKind.PRECISION_MISMATCH: 0.8, ComparisonKind.KERNEL_MISMATCH: 0.2}
    sure = 0.9 if evidence.has_same_dtype else 0.75
    return {ComparisonKind.KERNEL_MISMATCH: sure, ComparisonKind.OTHER_MODEL: 1 - sure}


def _of_quantized(evidence: ComparisonEvidence) -> Confidences:
    if evidence.times_usual <= BEYOND_FACTOR:
        return {ComparisonKind.PRECISION_MISMATCH: 0.85, ComparisonKind.OTHER_MODEL: 0.15}
    return {ComparisonKind.PRECISION_MISMATCH: 0.45, ComparisonKind.OTHER_MODEL: 0.45}


def _by_other_precision(
    evidence: ComparisonEvidence, metrics: LogprobMetrics, other: OtherPrecision
) -> Confidences:
    """An experiment says more than a limit: the reference was computed in another precision too.

    1. A agrees with that far better: the precision is the cause.
    2. In A's own float32 more is left than kernels explain: the models differ, whatever B's rounding adds.
    3. What rounding does to this model is the measure, whatever A's precision.
    """
    if other.to_a.mean_abs_dlogp * _COLLAPSE <= metrics.mean_abs_dlogp:
        return {ComparisonKind.PRECISION_MISMATCH: 0.95}
    if evidence.has_float32_left and not _is_as_small_as_kernels(other.to_a):
        return {ComparisonKind.OTHER_MODEL: 0.75, ComparisonKind.PRECISION_MISMATCH: 0.25}
    rounding = other.to_b.mean_abs_dlogp
    # B in 16 bits differs from its own float32 as much: A rounds at other places.
    as_rounding = (
        ComparisonKind.AS_USUAL
        if evidence.is_16_bit or evidence.b_dtype in ("bfloat16", "float16")
        else ComparisonKind.PRECISION_MISMATCH
    )
    if metrics.mean_abs_dlogp <= _AS_ROUNDING * rounding:
        return {as_rounding: 0.75, ComparisonKind.OTHER_MODEL: 0.25}
    if metrics.mean_abs_dlogp >= _ABOVE_ROUNDING * rounding:
        return {ComparisonKind.OTHER_MODEL: 0.85, as_rounding: 0.15}
    return {as_rounding: 0.45, ComparisonKind.OTHER_MODEL: 0.45}


def _by_published(evidence: ComparisonEvidence) -> Confidences:
    if evidence.times_usual > BEYOND_FACTOR and not (evidence.has_few_large or evidence.some_agree):
        # Dropout and other settings of the same weights make less.
        sure = 0.85 if evidence.times_usual > _WELL_BEYOND else 0.6
        return {ComparisonKind.OTHER_MODEL: sure, ComparisonKind.PRECISION_MISMATCH: 0.15}
    if evidence.times_usual > _NEARLY_USUAL:
        return {ComparisonKind.OTHER_MODEL: 0.3 if evidence.some_agree else 0.45}
    if evidence.times_usual > 1:
        return {ComparisonKind.OTHER_MODEL: 0.45, ComparisonKind.AS_USUAL: 0.45}
    if evidence.has_other_dtype:
        return {ComparisonKind.PRECISION_MISMATCH: 0.8, ComparisonKind.AS_USUAL: 0.2}
    assert evidence.metrics is not None
    if evidence.has_few_tokens:
        return {ComparisonKind.AS_USUAL: 0.45, ComparisonKind.OTHER_MODEL: 0.45}
    if evidence.may_be_unusual:
        return {ComparisonKind.AS_USUAL: 0.45, ComparisonKind.OTHER_MODEL: 0.45}
    # Without the size, it may be a model that usually differs by less.
    is_usual_for_all = evidence.metrics.k3_kl <= evidence.model.rows[0].usual_k3
    sure = 0.85 if is_usual_for_all or evidence.model.billions else 0.6
    return {ComparisonKind.AS_USUAL: sure, ComparisonKind.OTHER_MODEL: 1 - sure}


def _is_as_small_as_kernels(metrics: LogprobMetrics) -> bool:
    return _is_below(metrics.k3_kl, "kernel k3") and _is_below(
        metrics.mean_abs_dlogp, "kernel mean |dlogp|"
    )


def _is_below(value: float, limit: str) -> bool:
    return value < LIMITS[limit].value
