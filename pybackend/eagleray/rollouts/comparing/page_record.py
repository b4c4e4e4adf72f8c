"""A comparison as its page in the editor gets it: bounded, whatever the number of sequences and tokens."""

from __future__ import annotations

from attrs import evolve, frozen

from eagleray.rollouts.comparing.metrics import bounded
from eagleray.rollouts.comparing.model import (
    ComparedFigures,
    ComparedSequence,
    EngineComparison,
    EngineFacts,
    GreedyDivergence,
    GreedyLayer,
    PromptDifference,
)
from eagleray.rollouts.comparing.texts import kind_text
from eagleray.wire.records import fields_in

# Sequences of the heat map, and cells of each.
MOST_SEQUENCES = 300
MOST_CELLS = 128
MOST_STEPS = 200
_DIGITS = 7


@frozen
class ShownReading:
    """A reading of the figures by its title; `confidence` is between 0 and 1."""

    title: str
    confidence: float
    sentence: str


@frozen
class ShownEngine:
    """A side of the comparison; what it doesn't say is ""."""

    name: str
    kind: str
    model: str
    dtype: str


@frozen
class ShownPromptDifference:
    """Where the ids of a prompt differ first; `prompt` counts from 1."""

    prompt: int
    position: int
    a: list[int]
    b: list[int]


@frozen
class ShownGreedy:
    """The greedy tokens of both engines; `agreement` is the share of tokens, `first.sequence` counts from 1."""

    sequences: int
    diverged: int
    near_ties: int
    agreement: float
    first: GreedyDivergence | None


@frozen
class DeltaRow:
    """A row of the heat map; `sequence` counts from 1.

    Each of `cells` is the largest difference (A's logprob minus B's) of `cell_tokens` tokens, at the position that `at`
    has.  `divergence` is the position of the first other greedy token.
    """

    sequence: int
    tokens: int
    mean_abs_dlogp: float
    max_abs_dlogp: float
    cell_tokens: int
    cells: list[float]
    at: list[int]
    divergence: int | None


@frozen
class WorstToken:
    """A token with one of the largest differences; `sequence` counts from 1, `position` from 0."""

    sequence: int
    position: int
    id: int
    text: str
    a: float
    b: float
    delta: float


@frozen(kw_only=True)
class ShownComparison(ComparedFigures):
    """Two engines compared: A are the rollouts, B is the trainer.

    `readings` are all of the verdict, the likeliest first.  `rows` are the sequences with the largest differences, of
    `sequences` in all.  `steps` are the last ones of a training.  `stored` is the name by which it can be saved, "" if it isn't stored.
    """

    verdict: str
    title: str
    confidence: float
    sentence: str
    next_step: str
    readings: list[ShownReading]
    a: ShownEngine
    b: ShownEngine
    prompts: int
    prompts_different: int
    prompt_difference: ShownPromptDifference | None
    greedy: ShownGreedy
    sequences: int
    rows: list[DeltaRow]
    worst: list[WorstToken]
    stored: str


def shown(comparison: EngineComparison, stored: str) -> ShownComparison:
    reading = comparison.verdict.reading
    rows = [_row(at, each) for at, each in enumerate(comparison.sequences, 1)]
    rows.sort(key=lambda row: (-row.max_abs_dlogp, row.sequence))
    return ShownComparison(
        **{**fields_in(comparison, ComparedFigures), "steps": comparison.steps[-MOST_STEPS:]},
        verdict=reading.kind.value,
        title=kind_text(reading.kind),
        confidence=reading.confidence,
        sentence=reading.sentence,
        next_step=reading.next_step,
        readings=[
            ShownReading(kind_text(each.kind), each.confidence, each.sentence)
            for each in comparison.verdict.readings
        ],
        a=_engine(comparison.a),
        b=_engine(comparison.b),
        prompts=comparison.prompts.compared,
        prompts_different=comparison.prompts.different,
        prompt_difference=_prompt_difference(comparison.prompts.first),
        greedy=_greedy(comparison.greedy),
        sequences=len(rows),
        rows=rows[:MOST_SEQUENCES],
        worst=[
            WorstToken(
                each.sequence + 1,
                each.position,
                each.id,
                each.text,
                bounded(each.a),
                bounded(each.b),
                bounded(each.a) - bounded(each.b),
            )
            for each in comparison.worst
        ],
        stored=stored,
    )


def _engine(facts: EngineFacts) -> ShownEngine:
    return ShownEngine(facts.name, facts.kind, facts.model, facts.dtype)


def _prompt_difference(first: PromptDifference | None) -> ShownPromptDifference | None:
    if first is None:
        return None
    return ShownPromptDifference(first.index + 1, first.position, list(first.a), list(first.b))


def _greedy(layer: GreedyLayer) -> ShownGreedy:
    return ShownGreedy(
        layer.sequences,
        len(layer.divergences),
        layer.near_ties,
        layer.agreement,
        layer.first and evolve(layer.first, sequence=layer.first.sequence + 1),
    )


def _row(number: int, sequence: ComparedSequence) -> DeltaRow:
    deltas = [bounded(a) - bounded(b) for a, b in zip(sequence.a, sequence.b, strict=True)]
    width = max(1, -(-len(deltas) // MOST_CELLS))
    sizes = [abs(delta) for delta in deltas]
    at = [
        max(range(start, min(start + width, len(deltas))), key=sizes.__getitem__)
        for start in range(0, len(deltas), width)
    ]
    return DeltaRow(
        sequence=number,
        tokens=len(deltas),
        mean_abs_dlogp=sum(sizes) / len(sizes) if sizes else 0.0,
        max_abs_dlogp=max(sizes, default=0.0),
        cell_tokens=width,
        cells=[round(deltas[each], _DIGITS) for each in at],
        at=at,
        divergence=sequence.divergence.position if sequence.divergence else None,
    )
