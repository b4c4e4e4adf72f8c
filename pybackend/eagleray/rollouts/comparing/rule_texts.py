"""The sentence and the next step of each reading."""

from __future__ import annotations

from collections.abc import Sequence

from eagleray.common.l10n import t
from eagleray.rollouts.comparing.evidence import ComparisonEvidence
from eagleray.rollouts.comparing.model import (
    ComparisonKind,
    ImportanceRatios,
    LogprobMetrics,
    PromptLayer,
    StepRatios,
)
from eagleray.rollouts.comparing.sampling import SamplingEvidence
from eagleray.rollouts.comparing.shapes import LogprobShape, ShapeKind

# How much lower a figure must be for "only".
_LOWER_FACTOR = 2.0
# How many more ratios of the last quarter of completions than of the first are outside.
_GROWTH, _LEAST_GROWTH = 2.0, 0.02
_UNEXPLAINED = (ComparisonKind.OTHER_MODEL, ComparisonKind.UNKNOWN)


def reading(kind: ComparisonKind, evidence: ComparisonEvidence) -> tuple[str, str]:
    """The sentence with its figures, and what the user can do."""
    sentence, step = _texts(kind, evidence)
    if kind in _UNEXPLAINED and not evidence.has_few_tokens:
        sentence = f"{sentence} {_remaining(evidence)}"
    parts = (sentence, ratios_sentence(evidence.ratios), metrics_sentence(evidence.metrics))
    return " ".join(filter(None, parts)), step


def ratios_sentence(ratios: ImportanceRatios | None) -> str:
    """Says what the trainer would make of the logprobs."""
    if ratios is None:
        return ""
    return t(
        "Importance ratios: {outside} outside 0.8 to 1.25, largest {largest}; a cap of 2 clips {clipped}.",
        outside=share(ratios.outside),
        largest=figure(ratios.largest),
        clipped=share(ratios.clipped),
    )


def quarters_sentence(ratios: ImportanceRatios) -> str:
    quarters = ", ".join(map(share, ratios.quarters))
    return t("By quarter of the completion, outside: {shares}.", shares=quarters)


def trend_sentence(steps: Sequence[StepRatios]) -> str:
    """How the first and the last step of a training differ; "" for fewer than two."""
    if len(steps) < 2:
        return ""
    first, last = steps[0], steps[-1]
    return t(
        "Step {first}: {before} outside 0.8 to 1.25; step {last}: {after}.",
        first=first.step,
        before=share(first.outside),
        last=last.step,
        after=share(last.outside),
    )


def share(value: float) -> str:
    """ "3 %", "0.04 %": two digits."""
    return f"{figure(100 * value)} %" if value < 0.995 else "100 %"


def metrics_sentence(metrics: LogprobMetrics | None) -> str:
    """The figures that frameworks log."""
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
    if kind is ComparisonKind.AS_USUAL:
        return _usual(evidence), ""
    if kind is ComparisonKind.STALE_WEIGHTS:
        return _weights(evidence), t("Check that the engine loads weights after each step.")
    if kind is ComparisonKind.OTHER_MODEL:
        return _models(evidence)
    if kind is ComparisonKind.MISALIGNED:
        return _misaligned(evidence.sampling.shape)
    if kind is ComparisonKind.TEMPLATE_MISMATCH:
        return _template(evidence.prompts), t("Use the same chat template and special tokens.")
    if kind is ComparisonKind.TOKENIZER_DRIFT:
        return _tokenizer(evidence), t("Serve both with the same tokenizer files.")
    if kind is ComparisonKind.SAMPLING_MISMATCH:
        return _sampling(evidence.sampling)
    return _unknown(evidence)


def _misaligned(shape: LogprobShape | None) -> tuple[str, str]:
    sentence = t("The logprobs are shifted: one side's belong to the next token.")
    step = t("Align both sides: logits at a position predict the next token.")
    if shape is not None and shape.kind is ShapeKind.PLACEHOLDER:
        side = "A" if shape.is_a else "B"
        sentence = t("Tokens have no logprob in {side}, but a placeholder.", side=side)
        step = t("Mask these tokens in the trainer, or request their logprobs.")
    if shape is not None and shape.part is not None:
        count, total = shape.part
        part = t("At least {count} of {total} sequences are affected.", count=count, total=total)
        sentence = f"{sentence} {part}"
    return sentence, step


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
    if evidence.model.quantized:
        quantized = t("The weights are quantized: {type}.", type=evidence.model.quantized)
        return f"{quantized} {_published(evidence)}"
    if evidence.has_other_dtype:
        return t("The precision differs: {a} and {b}.", a=evidence.a_dtype, b=evidence.b_dtype)
    return t("The precision differs: differences are as large as rounding.")


def _usual(evidence: ComparisonEvidence) -> str:
    other = evidence.other
    if other is not None:
        return t(
            "As usual for {dtype}: this model's own rounding is {mean}.",
            dtype=evidence.b_dtype,
            mean=figure(other.to_b.mean_abs_dlogp),
        )
    usual = t("Differences are as usual for {dtype}.", dtype=evidence.model.precision)
    return f"{usual} {_published(evidence)}"


def _published(evidence: ComparisonEvidence) -> str:
    """A published figure of such models, with its source."""
    assert evidence.metrics is not None
    row = evidence.model.nearest(evidence.metrics.k3_kl)
    return t(
        "Published for {model}: k3-KL {k3} ({source}).",
        model=row.model,
        k3=figure(row.k3),
        source=row.source,
    )


def _times_published(evidence: ComparisonEvidence) -> str:
    times = t(
        "k3-KL is {n} times the highest published of {dtype}.",
        n=figure(evidence.times_published),
        dtype=evidence.model.precision,
    )
    return f"{times} {_published(evidence)}"


def _weights(evidence: ComparisonEvidence) -> str:
    if evidence.missed_update is None:
        return t("The engine's weights may be older.")
    return t(
        "The engine's weights differ from step {step} on: before, differences are as usual.",
        step=evidence.missed_update,
    )


def _models(evidence: ComparisonEvidence) -> tuple[str, str]:
    step = t("Compare checksums of the weights, then the settings of both models.")
    if _grows_along(evidence.ratios):
        step = t("Differences grow along the completion: compare RoPE scaling first.")
    if evidence.other is not None and evidence.has_float32_left:
        return (
            t(
                "The models differ: in {dtype}, mean |Δlogp| is still {mean}.",
                dtype=evidence.other.dtype,
                mean=figure(evidence.other.to_a.mean_abs_dlogp),
            ),
            step,
        )
    if evidence.times_usual > 1:
        return f"{t('More than rounding differs.')} {_times_published(evidence)}", step
    return t("The models differ: rounding doesn't explain the differences."), step


def _remaining(evidence: ComparisonEvidence) -> str:
    """Says what the evidence excludes, and what remains."""
    excluded = [t("sampling parameters")]
    if not evidence.some_agree:
        excluded.append(t("shifted logprobs"))
    if evidence.prompts.compared:
        excluded += [t("tokenizer"), t("template")]
    remaining = [t("weights"), t("adapters"), t("RoPE scaling"), t("attention")]
    if not (evidence.a_dtype and evidence.b_dtype):
        remaining.append(t("quantized weights"))
    if evidence.model.is_moe is not False:
        remaining.append(t("expert routing"))
    remaining.append(t("dropout"))
    return t(
        "Excluded: {excluded}. Remaining: {remaining}.",
        excluded=", ".join(excluded),
        remaining=", ".join(remaining),
    )


def _grows_along(ratios: ImportanceRatios | None) -> bool:
    if ratios is None:
        return False
    first, *_, last = ratios.quarters
    return last >= _GROWTH * first + _LEAST_GROWTH


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
    if sampling.shape is not None:
        return _shape(sampling.shape)
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


def _shape(shape: LogprobShape) -> tuple[str, str]:
    side, other = ("A", "B") if shape.is_a else ("B", "A")
    same = t("Compare raw logprobs, or apply the same sampling parameters.")
    if shape.kind is ShapeKind.TEMPERATURE:
        return (
            t("{side}'s logprobs are those of a higher temperature.", side=side),
            t("Compute both sides' logprobs at the temperature of the rollouts."),
        )
    if shape.kind is ShapeKind.REPEATED:
        return t("{side}'s logprobs are lower for repeated tokens: a penalty.", side=side), same
    if shape.kind is ShapeKind.TRUNCATED and shape.top_p is not None:
        truncated = t("A's logprobs are those after top_p, top_k or min_p.")
        as_much = t("A top_p of {value} raises them by as much.", value=f"{shape.top_p:.2f}")
        return f"{truncated} {as_much}", same
    return (
        t("{side}'s logprobs are processed: nearly all differ in one direction.", side=other),
        same,
    )


def _unknown(evidence: ComparisonEvidence) -> tuple[str, str]:
    if evidence.metrics is None:
        return (
            t("No logprobs could be compared."),
            t("Check that both engines return logprobs for all tokens."),
        )
    if evidence.has_few_tokens and evidence.times_usual <= 1:
        few = t("{n} tokens are too few for a verdict.", n=evidence.metrics.tokens)
        return few, t("Compare more sequences.")
    if evidence.has_few_large and evidence.ratios is not None:
        few = t(
            "{share} of the tokens make half of the differences.", share=share(evidence.ratios.half)
        )
        return few, t("Look at the tokens with the largest differences first.")
    if not (evidence.a_dtype and evidence.b_dtype) and evidence.model.billions is None:
        step = t("Name dtype and model of a dump: `FILE?dtype=bfloat16&model=NAME`.")
    elif _grows_along(evidence.ratios):
        step = t("Differences grow along the completion: compare RoPE scaling first.")
    else:
        step = t("Compare with `torch:DIR` in the dtype of your engine.")
    if evidence.some_agree:
        count, total = evidence.agreeing
        agree = t("{count} of {total} sequences agree as usual.", count=count, total=total)
        step = t("Compare the others: their engine, step, length and padding.")
        return agree, step
    if evidence.may_be_unusual and evidence.times_usual <= 1:
        text = t("Only small models, or experts, usually differ so much.")
        return f"{text} {_published(evidence)}", step
    return f"{t('The cause is not clear.')} {_times_published(evidence)}", step
