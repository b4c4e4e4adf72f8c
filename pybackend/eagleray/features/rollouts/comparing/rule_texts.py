"""The sentence and the next step of each reading."""

from __future__ import annotations

from eagleray.common.l10n import t
from eagleray.features.rollouts.comparing.evidence import ComparisonEvidence
from eagleray.features.rollouts.comparing.model import ComparisonKind, LogprobMetrics, PromptLayer
from eagleray.features.rollouts.comparing.sampling import SamplingEvidence

# How much lower a figure must be for "only".
_LOWER_FACTOR = 2.0


def reading(kind: ComparisonKind, evidence: ComparisonEvidence) -> tuple[str, str]:
    """The sentence with its figures, and what the user can do."""
    sentence, step = _texts(kind, evidence)
    figures = metrics_sentence(evidence.metrics)
    return f"{sentence} {figures}".rstrip(), step


def metrics_sentence(metrics: LogprobMetrics | None) -> str:
    """What the trainer would see."""
    if metrics is None:
        return ""
    return t(
        "Mean |Δlogp| is {mean}, k3-KL {k3}, multiplicative error {error}.",
        mean=figure(metrics.mean_abs_dlogp),
        k3=figure(metrics.k3_kl),
        error=f"{metrics.mult_error:.5g}",
    )


def figure(value: float) -> str:
    return f"{value:.2g}"


def _texts(kind: ComparisonKind, evidence: ComparisonEvidence) -> tuple[str, str]:
    if kind is ComparisonKind.CONSISTENT:
        return t("Both engines compute the same probabilities."), ""
    if kind is ComparisonKind.KERNEL_MISMATCH:
        return (
            t("The kernels differ slightly; weights and precision agree."),
            t("Try another attention backend, or disable flash or cascade attention."),
        )
    if kind is ComparisonKind.PRECISION_MISMATCH:
        return _precision(evidence), t("Run both engines with the same dtype, or raise it.")
    if kind is ComparisonKind.STALE_WEIGHTS:
        return _weights(evidence), t("Check that the engine loads weights after each step.")
    if kind is ComparisonKind.TEMPLATE_MISMATCH:
        return _template(evidence.prompts), t("Use the same chat template and special tokens.")
    if kind is ComparisonKind.TOKENIZER_DRIFT:
        return _tokenizer(evidence), t("Serve both with the same tokenizer files.")
    if kind is ComparisonKind.SAMPLING_MISMATCH:
        return _sampling(evidence.sampling)
    return _unknown(evidence)


def _precision(evidence: ComparisonEvidence) -> str:
    other, metrics = evidence.other, evidence.metrics
    if (
        other is not None
        and metrics is not None
        # Kernels in 16 bits round at different places: then their own precision doesn't match better.
        and _LOWER_FACTOR * other.to_a.mean_abs_dlogp <= metrics.mean_abs_dlogp
    ):
        return t(
            "The precision differs: with {dtype}, mean |Δlogp| is only {mean}.",
            dtype=other.dtype,
            mean=figure(other.to_a.mean_abs_dlogp),
        )
    if evidence.has_other_dtype:
        return t("The precision differs: {a} and {b}.", a=evidence.a_dtype, b=evidence.b_dtype)
    return t("The precision differs: differences are as large as rounding.")


def _weights(evidence: ComparisonEvidence) -> str:
    if evidence.has_same_dtype:
        return t("The weights differ: rounding of {dtype} is much smaller.", dtype=evidence.a_dtype)
    if evidence.other is not None and evidence.has_float32_left:
        return t(
            "The weights differ: in {dtype}, mean |Δlogp| is still {mean}.",
            dtype=evidence.other.dtype,
            mean=figure(evidence.other.to_a.mean_abs_dlogp),
        )
    return t("The weights differ: rounding doesn't explain the differences.")


def _template(prompts: PromptLayer) -> str:
    assert prompts.first is not None
    return t(
        "The templates differ: prompt {prompt} has other ids from {position} on.",
        prompt=prompts.first.index + 1,
        position=prompts.first.position,
    )


def _tokenizer(evidence: ComparisonEvidence) -> str:
    foreign, first = evidence.foreign, evidence.prompts.first
    if foreign is not None:
        return t(
            "The vocabularies differ: {name} has {n} token ids, and {id} is none of them.",
            name=foreign.engine,
            n=foreign.vocabulary,
            id=foreign.id,
        )
    assert first is not None
    return t(
        "The tokenizers differ: the same text has other token ids (prompt {prompt}).",
        prompt=first.index + 1,
    )


def _sampling(sampling: SamplingEvidence) -> tuple[str, str]:
    neutral = t("Send temperature, top_p, top_k and min_p with every request.")
    if sampling.temperature is not None:
        return (
            t("A's logprobs are those of temperature {value}.", value=f"{sampling.temperature:g}"),
            t("Divide the trainer's logits by the same temperature."),
        )
    if sampling.overridden:
        return t("A overrides temperature 0: other tokens than the likeliest."), neutral
    if sampling.has_common_sign:
        return (
            t("A's logprobs are processed: nearly all differ in one direction."),
            t("Compare raw logprobs, or apply the same sampling parameters."),
        )
    if sampling.sources_differ:
        return (
            t("One engine gives raw, the other processed logprobs."),
            t("Set the same logprobs mode on both servers."),
        )
    first = sampling.defaults[0]
    return (
        t(
            "The servers' defaults differ: {name} is {a} and {b}.",
            name=first.name,
            a=f"{first.a:g}",
            b=f"{first.b:g}",
        ),
        neutral,
    )


def _unknown(evidence: ComparisonEvidence) -> tuple[str, str]:
    if evidence.metrics is None:
        return (
            t("No logprobs could be compared."),
            t("Check that both engines return logprobs for all tokens."),
        )
    return (
        t("The engines differ, but the cause is not clear."),
        t("Compare with `torch:DIR` in the dtype of your engine."),
    )
