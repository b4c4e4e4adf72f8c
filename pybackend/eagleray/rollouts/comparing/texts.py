"""A comparison as text for a terminal: the sentence, the layers, and the worst tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from eagleray.common.errors import printable
from eagleray.common.l10n import counted, later, t, translated
from eagleray.common.redact import redact_text
from eagleray.rollouts.comparing.model import (
    ComparedSequence,
    ComparisonKind,
    EngineComparison,
    GreedyDivergence,
    LogprobMetrics,
    StepRatios,
)
from eagleray.rollouts.comparing.rule_texts import (
    figure,
    quarters_sentence,
    share,
    trend_sentence,
)

KINDS = {
    ComparisonKind.CONSISTENT: later("Consistent"),
    ComparisonKind.AS_USUAL: later("As usual"),
    ComparisonKind.KERNEL_MISMATCH: later("Kernel mismatch"),
    ComparisonKind.PRECISION_MISMATCH: later("Precision mismatch"),
    ComparisonKind.STALE_WEIGHTS: later("Stale weights"),
    ComparisonKind.OTHER_MODEL: later("Other model"),
    ComparisonKind.MISALIGNED: later("Misaligned logprobs"),
    ComparisonKind.TEMPLATE_MISMATCH: later("Template mismatch"),
    ComparisonKind.TOKENIZER_DRIFT: later("Tokenizer drift"),
    ComparisonKind.SAMPLING_MISMATCH: later("Sampling mismatch"),
    ComparisonKind.UNKNOWN: later("Unknown"),
}
_SHOWN_TOKENS = 5
_MARKUP = re.compile(r"[\\`*_{}\[\]()<>#|!~&$@]")
_LONGEST_LINE = 400
_SHADES = " ░▒▓█"
# A cell of the heat map is for this many tokens.
_CELL = 4
_SHOWN_SEQUENCES = 12
_SHOWN_STEPS = 12
# The shade of a cell by its largest |dlogp|: kernels, precision, weights, and beyond.
_SHADE_LIMITS = (1e-3, 1e-2, 1e-1, 1.0)


def kind_text(kind: ComparisonKind) -> str:
    return translated(KINDS[kind])


def lines(comparison: EngineComparison) -> Iterator[str]:
    reading = comparison.verdict.reading
    yield f"{kind_text(reading.kind)} ({reading.confidence:.0%}). {reading.sentence}"
    if reading.next_step:
        yield reading.next_step
    if reading.kind is ComparisonKind.UNKNOWN:
        for other in comparison.verdict.readings:
            yield f"  {kind_text(other.kind)} ({other.confidence:.0%}): {other.sentence}"
    yield ""
    yield f"A  {_engine(comparison.a.name, comparison.a.kind, comparison.a.dtype)}"
    yield f"B  {_engine(comparison.b.name, comparison.b.kind, comparison.b.dtype)}"
    yield from _layers(comparison)
    yield from _worst(comparison)
    yield from _heat_map(comparison.sequences)
    for note in comparison.notes:
        yield printable(note)


def markdown(comparison: EngineComparison) -> str:
    """The comparison for an issue of the user's project: the sentence, and the rest as it is in a terminal."""
    sentence, *rest = lines(comparison)
    # A name must not end the block.
    shown = (printable(line, _LONGEST_LINE).replace("`", "'") for line in rest if line)
    block = ["```text", *shown, "```"]
    return redact_text("\n".join([f"**{_escaped(sentence)}**", "", *block]) + "\n")


def _escaped(text: str) -> str:
    """Names of models and servers are not Markdown."""
    return _MARKUP.sub(r"\\\g<0>", printable(text, _LONGEST_LINE))


def _engine(name: str, kind: str, dtype: str) -> str:
    return printable(", ".join(filter(None, (name, kind, dtype))))


def _layers(comparison: EngineComparison) -> Iterator[str]:
    prompts = comparison.prompts
    if prompts.compared:
        yield t(
            "Prompts: {same} of {all} have the same token ids.",
            same=prompts.compared - prompts.different,
            all=prompts.compared,
        )
    if prompts.first is not None:
        yield f"  A {list(prompts.first.a)}  B {list(prompts.first.b)}"
    greedy = comparison.greedy
    if greedy.sequences:
        yield t(
            "Greedy: {same} of {all} sequences agree; near ties: {ties}.",
            same=greedy.sequences - len(greedy.divergences),
            all=greedy.sequences,
            ties=greedy.near_ties,
        )
    if greedy.first is not None:
        yield f"  {_divergence(greedy.first)}"
    if comparison.metrics is not None:
        yield from _metrics(comparison.metrics)
    if comparison.ratios is not None:
        yield f"  {quarters_sentence(comparison.ratios)}"
    yield from _steps(comparison.steps)


def _steps(steps: Sequence[StepRatios]) -> Iterator[str]:
    if len(steps) < 2:
        return
    yield trend_sentence(steps)
    for each in steps[-_SHOWN_STEPS:]:
        yield t(
            "  step {step}: {outside} outside, largest {largest}, k3 {k3}",
            step=each.step,
            outside=share(each.outside),
            largest=figure(each.largest),
            k3=figure(each.k3_kl),
        )


def _divergence(first: GreedyDivergence) -> str:
    return t(
        "Sequence {sequence}, token {position}: {a} and {b}, margin {margin}",
        sequence=first.sequence + 1,
        position=first.position,
        a=first.a_id,
        b=first.b_id,
        margin=figure(first.b_margin),
    )


def _metrics(metrics: LogprobMetrics) -> Iterator[str]:
    yield counted(metrics.tokens, "Logprobs of {n} token:", "Logprobs of {n} tokens:")
    pearson = "-" if metrics.pearson is None else f"{metrics.pearson:.6f}"
    yield (
        f"  mean |Δlogp| {figure(metrics.mean_abs_dlogp)}, max {figure(metrics.max_abs_dlogp)}, "
        f"mean |Δp| {figure(metrics.mean_abs_dp)}, KL {figure(metrics.k1_kl)}, "
        f"k3 {figure(metrics.k3_kl)}, mult {metrics.mult_error:.5f}, pearson {pearson}"
    )


def _worst(comparison: EngineComparison) -> Iterator[str]:
    if comparison.worst and comparison.verdict.reading.kind is not ComparisonKind.CONSISTENT:
        yield t("Largest differences:")
        for each in comparison.worst[:_SHOWN_TOKENS]:
            place = t("sequence {n}, token {at}", n=each.sequence + 1, at=each.position)
            text = printable(repr(each.text), 40)
            yield f"  {place}: {text} ({each.id})  A {each.a:.4f}  B {each.b:.4f}"


def _heat_map(sequences: Sequence[ComparedSequence]) -> Iterator[str]:
    """The sequences with the largest differences, a character for some tokens each."""
    largest = sorted(
        enumerate(sequences, 1), key=lambda row: -max(map(abs, row[1].deltas), default=0.0)
    )
    shown = [(n, each) for n, each in largest[:_SHOWN_SEQUENCES] if _shades(each).strip()]
    if shown:
        yield t("|Δlogp| along the sequences ({scale}):", scale="░ 1e-3 ▒ 1e-2 ▓ 0.1 █ 1")
    for number, each in shown:
        yield f"  {number:>4} {_shades(each)}"


def _shades(sequence: ComparedSequence) -> str:
    deltas = [abs(delta) for delta in sequence.deltas]
    cells = [max(deltas[at : at + _CELL]) for at in range(0, len(deltas), _CELL)]
    return "".join(_SHADES[sum(cell >= limit for limit in _SHADE_LIMITS)] for cell in cells)
