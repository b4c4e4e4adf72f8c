"""Compares two engines: prompts, greedy tokens, logprobs; then experiments where the figures leave a choice.

A generates and B is forced to the same ids.  A dump brings its sequences along.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from heapq import nlargest
from itertools import chain

from attrs import evolve, field, frozen

from eagleray.common.l10n import counted, t
from eagleray.rollouts.comparing import errors
from eagleray.rollouts.comparing.engines.dump import LogprobDump
from eagleray.rollouts.comparing.engines.engine import ComparedEngine, OnDone
from eagleray.rollouts.comparing.engines.torch_reference import TorchReference
from eagleray.rollouts.comparing.evidence import ComparisonEvidence, OtherPrecision
from eagleray.rollouts.comparing.greedy_layer import divergence, greedy_layer
from eagleray.rollouts.comparing.matching import ScoredPair, matched
from eagleray.rollouts.comparing.metrics import bounded, metrics_of
from eagleray.rollouts.comparing.model import (
    ComparedSequence,
    ComparisonKind,
    EngineComparison,
    EngineFacts,
    ForeignToken,
    GreedyLayer,
    Ids,
    LogprobSource,
    OnProgress,
    PromptLayer,
    RolloutPrompt,
    ScoredTokens,
    TokenDelta,
    TokenSequence,
    unheard,
)
from eagleray.rollouts.comparing.precision import logit_dtype
from eagleray.rollouts.comparing.prompt_layer import prompt_layer
from eagleray.rollouts.comparing.published import model_class
from eagleray.rollouts.comparing.ratios import agreeing_sequences, ratios_of, step_ratios
from eagleray.rollouts.comparing.rules import verdict
from eagleray.rollouts.comparing.sampling import (
    TEMPERATURES,
    SamplingEvidence,
    different_defaults,
    fitted_temperature,
    overridden_positions,
    sources_differ,
)
from eagleray.rollouts.comparing.shapes import shape_of

MAX_TOKENS = 64
WORST = 20
# Prompts whose texts are compared without template, where the prompts differ.
_PLAIN_PROMPTS = 16
_CERTAIN = (ComparisonKind.CONSISTENT, ComparisonKind.KERNEL_MISMATCH)

ComparedSide = ComparedEngine | LogprobDump


@frozen
class ComparedLayers:
    """The layers that both sides computed; `left_out` sequences have logprobs that can't be matched with tokens.

    Sequences with ids that a side lacks are not computed: `foreign` has their number.
    """

    prompts: PromptLayer = field(factory=PromptLayer)
    pairs: tuple[ScoredPair, ...] = ()
    left_out: int = 0
    is_greedy: bool = False
    foreign: ForeignToken | None = None
    notes: tuple[str, ...] = ()


@frozen
class ForcedSequences:
    """Sequences that an engine was forced to: what the other side computed of them, and what it did."""

    sequences: Sequence[TokenSequence]
    given: Sequence[ScoredTokens]
    scored: Sequence[ScoredTokens]
    foreign: ForeignToken | None


async def compare(
    a: ComparedSide,
    b: ComparedSide,
    prompts: Sequence[RolloutPrompt] = (),
    max_tokens: int = MAX_TOKENS,
    on_progress: OnProgress = unheard,
) -> EngineComparison:
    """Compares A (rollouts) with B (trainer); the caller closes them.  Raises errors of the catalogue."""
    if not (isinstance(a, LogprobDump) and isinstance(b, LogprobDump)):
        on_progress(t("Connecting"), 0, 1)
    a_facts, b_facts = await asyncio.gather(_facts(a), _facts(b))
    layers = await _layers(a, b, (a_facts, b_facts), prompts, max_tokens, on_progress)
    sequences = tuple(_compared(at, pair, layers) for at, pair in enumerate(layers.pairs))
    evidence = await _evidence(a, b, (a_facts, b_facts), layers, sequences, on_progress)
    worst = await _worst(a, b, layers.pairs)
    return EngineComparison(
        a=a_facts,
        b=b_facts,
        verdict=verdict(evidence),
        metrics=evidence.metrics,
        prompts=layers.prompts,
        greedy=evidence.greedy,
        sequences=sequences,
        worst=worst,
        left_out=layers.left_out + (layers.foreign.sequences if layers.foreign else 0),
        notes=tuple(dict.fromkeys(_notes(a_facts, b_facts, layers))),
        ratios=evidence.ratios,
        steps=evidence.steps,
    )


async def _facts(side: ComparedSide) -> EngineFacts:
    if isinstance(side, LogprobDump):
        return EngineFacts(name=side.name, kind="dump", model=side.model, dtype=side.dtype)
    return await side.facts()


async def _layers(
    a: ComparedSide,
    b: ComparedSide,
    facts: tuple[EngineFacts, EngineFacts],
    prompts: Sequence[RolloutPrompt],
    max_tokens: int,
    on_progress: OnProgress,
) -> ComparedLayers:
    a_facts, b_facts = facts
    if isinstance(a, LogprobDump):
        if isinstance(b, LogprobDump):
            dumps = matched(a, b)
            return ComparedLayers(dumps.prompts, dumps.pairs, notes=dumps.notes)
        forced = await _forced(b, b_facts, a.sequences, a.scored, on_progress)
        return _paired(forced, forced.given, forced.scored)
    if isinstance(b, LogprobDump):
        forced = await _forced(a, a_facts, b.sequences, b.scored, on_progress)
        return _paired(forced, forced.scored, forced.given)
    if not prompts:
        raise errors.prompts_needed()
    return await _generated(a, b, b_facts, prompts, max_tokens, on_progress)


async def _generated(
    a: ComparedEngine,
    b: ComparedEngine,
    b_facts: EngineFacts,
    prompts: Sequence[RolloutPrompt],
    max_tokens: int,
    on_progress: OnProgress,
) -> ComparedLayers:
    on_progress(t("Comparing prompts"), 0, len(prompts))
    a_ids, b_ids = await asyncio.gather(a.prompt_ids(prompts), b.prompt_ids(prompts))
    layer = await _prompt_layer(a, b, prompts, a_ids, b_ids)
    if layer.plain_differ:
        # The same ids are other texts for B.
        return ComparedLayers(layer)
    generating = partial(_progress, on_progress, t("Generating"), len(prompts))
    generated = await a.generate(a_ids, max_tokens, generating)
    sequences = [
        TokenSequence(prompt.index, ids, each.ids)
        for prompt, ids, each in zip(prompts, a_ids, generated, strict=True)
    ]
    usable = [at for at, each in enumerate(generated) if each.ids and not each.is_short]
    scored_by_a = [sequences[at] for at in usable]
    given = [generated[at] for at in usable]
    forced = await _forced(b, b_facts, scored_by_a, given, on_progress)
    paired = _paired(forced, forced.given, forced.scored)
    left_out = paired.left_out + sum(each.is_short for each in generated)
    return evolve(paired, prompts=layer, left_out=left_out, is_greedy=True)


async def _prompt_layer(
    a: ComparedEngine,
    b: ComparedEngine,
    prompts: Sequence[RolloutPrompt],
    a_ids: Sequence[Ids],
    b_ids: Sequence[Ids],
) -> PromptLayer:
    """Where prompts differ, their texts without template tell tokenizers from templates."""
    rendered = [
        (prompt.index, left, right)
        for prompt, left, right in zip(prompts, a_ids, b_ids, strict=True)
    ]
    differing = [prompt for prompt in prompts if a_ids[prompt.index] != b_ids[prompt.index]]
    texts = [text for prompt in differing[:_PLAIN_PROMPTS] for text in prompt.plain_texts]
    if not texts:
        return prompt_layer(rendered)
    plain = await asyncio.gather(a.plain_ids(texts), b.plain_ids(texts))
    return prompt_layer(rendered, list(zip(*plain, strict=True)))


async def _forced(
    engine: ComparedEngine,
    facts: EngineFacts,
    sequences: Sequence[TokenSequence],
    given: Sequence[ScoredTokens],
    on_progress: OnProgress,
) -> ForcedSequences:
    """Leaves out those with ids that the engine lacks: servers answer them with errors of many kinds."""
    lacking = [_foreign_id(each, facts.vocabulary) for each in sequences]
    usable = [at for at, id_ in enumerate(lacking) if id_ is None]
    chosen = [sequences[at] for at in usable]
    scored = await engine.score(chosen, _scoring(on_progress, chosen))
    count = len(sequences) - len(usable)
    first = next((id_ for id_ in lacking if id_ is not None), None)
    foreign = None if first is None else ForeignToken(facts.name, facts.vocabulary, first, count)
    return ForcedSequences(chosen, [given[at] for at in usable], scored, foreign)


def _foreign_id(tokens: TokenSequence, vocabulary: int) -> int | None:
    """The first id that isn't one of the engine; None, too, if it doesn't say how many it has."""
    if not vocabulary:
        return None
    ids = chain(tokens.prompt, tokens.completion)
    return next((id_ for id_ in ids if not 0 <= id_ < vocabulary), None)


def _paired(
    forced: ForcedSequences, a: Sequence[ScoredTokens], b: Sequence[ScoredTokens]
) -> ComparedLayers:
    pairs = [
        ScoredPair(tokens, left, right)
        for tokens, left, right in zip(forced.sequences, a, b, strict=True)
        if not (left.is_short or right.is_short)
    ]
    left_out = len(forced.sequences) - len(pairs)
    return ComparedLayers(pairs=tuple(pairs), left_out=left_out, foreign=forced.foreign)


async def _evidence(
    a: ComparedSide,
    b: ComparedSide,
    facts: tuple[EngineFacts, EngineFacts],
    layers: ComparedLayers,
    sequences: Sequence[ComparedSequence],
    on_progress: OnProgress,
) -> ComparisonEvidence:
    """Returns the evidence of the figures; a reference in torch answers what they leave open."""
    a_facts, b_facts = facts
    pairs = layers.pairs
    a_dtype = a_facts.dtype or logit_dtype(top for pair in pairs for top in pair.a.tops)
    b_dtype = b_facts.dtype or logit_dtype(top for pair in pairs for top in pair.b.tops)
    greedy = (
        greedy_layer((at, pair.a, pair.b) for at, pair in enumerate(pairs))
        if layers.is_greedy
        else GreedyLayer()
    )
    model = model_class(a_facts, b_facts, (a_dtype, b_dtype))
    evidence = ComparisonEvidence(
        prompts=layers.prompts,
        greedy=greedy,
        metrics=metrics_of(_logprobs(pairs)),
        sampling=SamplingEvidence(
            overridden=overridden_positions(pair.a for pair in pairs) if layers.is_greedy else 0,
            shape=shape_of(sequences, greedy.agreement if layers.is_greedy else None),
            sources_differ=sources_differ(a_facts, b_facts),
            defaults=different_defaults(a_facts, b_facts),
        ),
        a_dtype=a_dtype,
        b_dtype=b_dtype,
        foreign=layers.foreign,
        model=model,
        ratios=ratios_of(sequences),
        steps=step_ratios(sequences),
        agreeing=agreeing_sequences(sequences, model.usual_k3),
    )
    reference = next((side for side in (b, a) if isinstance(side, TorchReference)), None)
    if reference is None or evidence.metrics is None or evidence.foreign is not None:
        return evidence
    if verdict(evidence).reading.kind in _CERTAIN:
        return evidence
    return await _examined(evidence, reference, reference is a, pairs, on_progress)


async def _examined(
    evidence: ComparisonEvidence,
    reference: TorchReference,
    is_a: bool,
    pairs: Sequence[ScoredPair],
    on_progress: OnProgress,
) -> ComparisonEvidence:
    """1. Another temperature of the reference fits.  2. Its own rounding in another precision is the measure."""
    sequences = [pair.tokens for pair in pairs]
    listed = _logprobs(pairs)
    ours = [pair[0 if is_a else 1] for pair in listed]
    theirs = [pair[1 if is_a else 0] for pair in listed]
    on_done = partial(_progress, on_progress, t("Trying temperatures"), len(pairs))
    at = await reference.score_at(sequences, TEMPERATURES, on_done)
    temperature = fitted_temperature(theirs, ours, at)
    if temperature is not None:
        return evolve(evidence, sampling=evolve(evidence.sampling, temperature=temperature))
    dtype = _other_dtype(*(evidence.a_dtype, evidence.b_dtype)[:: -1 if is_a else 1])
    if not dtype:
        return evidence
    on_done = partial(_progress, on_progress, t("Computing in {dtype}", dtype=dtype), len(pairs))
    rescored = await reference.score_as(sequences, dtype, on_done)
    others = [logprob for each in rescored for logprob in each.logprobs]
    to_a, to_b = (metrics_of(zip(side, others, strict=True)) for side in (theirs, ours))
    assert to_a is not None and to_b is not None
    return evolve(evidence, other=OtherPrecision(dtype, to_a, to_b))


def _other_dtype(theirs: str, ours: str) -> str:
    """The precision in which the reference is computed once more; "" where that would answer nothing."""
    if theirs == ours:
        return "" if ours == "float32" else "float32"
    if theirs in ("float32", "bfloat16", "float16"):
        return theirs
    return "bfloat16" if ours == "float32" else "float32"


def _logprobs(pairs: Sequence[ScoredPair]) -> list[tuple[float, float]]:
    return [both for pair in pairs for both in zip(pair.a.logprobs, pair.b.logprobs, strict=True)]


def _compared(at: int, pair: ScoredPair, layers: ComparedLayers) -> ComparedSequence:
    first = divergence(at, pair.a, pair.b) if layers.is_greedy else None
    return ComparedSequence(pair.tokens, pair.a.logprobs, pair.b.logprobs, first)


async def _worst(
    a: ComparedSide, b: ComparedSide, pairs: Sequence[ScoredPair]
) -> tuple[TokenDelta, ...]:
    """The tokens with the largest differences, with the texts that one of the engines has for them."""
    sizes = (
        (abs(bounded(left) - bounded(right)), -at, -position)
        for at, pair in enumerate(pairs)
        for position, (left, right) in enumerate(zip(pair.a.logprobs, pair.b.logprobs, strict=True))
    )
    largest = [_delta(pairs, -at, -position) for _, at, position in nlargest(WORST, sizes)]
    texts: dict[int, str] = {}
    for side in (b, a):
        if not isinstance(side, LogprobDump):
            texts |= await side.texts_of(sorted({each.id for each in largest}))
    return tuple(evolve(each, text=texts.get(each.id, "")) for each in largest)


def _delta(pairs: Sequence[ScoredPair], at: int, position: int) -> TokenDelta:
    pair = pairs[at]
    id_, a, b = (
        each[position] for each in (pair.tokens.completion, pair.a.logprobs, pair.b.logprobs)
    )
    return TokenDelta(at, position, int(id_), "", a, b)


def _notes(a: EngineFacts, b: EngineFacts, layers: ComparedLayers) -> list[str]:
    """Returns further facts for the user."""
    notes = list(layers.notes)
    if layers.left_out:
        notes.append(
            counted(
                layers.left_out,
                "{n} sequence is left out: it has fewer logprobs than tokens.",
                "{n} sequences are left out: they have fewer logprobs than tokens.",
            )
        )
    if layers.foreign is not None:
        notes.append(
            counted(
                layers.foreign.sequences,
                "{n} sequence is left out: it has token ids that {name} doesn't have.",
                "{n} sequences are left out: they have token ids that {name} doesn't have.",
                name=layers.foreign.engine,
            )
        )
    elif a.vocabulary and b.vocabulary and a.vocabulary != b.vocabulary:
        notes.append(t("A has {a} token ids, B has {b}.", a=a.vocabulary, b=b.vocabulary))
    for facts in (a, b):
        temperature = facts.defaults.get("temperature", 1.0)
        if temperature != 1.0:
            notes.append(
                t(
                    "{name} samples at temperature {value} unless a request says otherwise.",
                    name=facts.name,
                    value=f"{temperature:g}",
                )
            )
        if facts.logprobs is LogprobSource.PROCESSED:
            notes.append(t("{name} gives logprobs after temperature.", name=facts.name))
    return notes


def _scoring(on_progress: OnProgress, sequences: Sequence[TokenSequence]) -> OnDone:
    return partial(_progress, on_progress, t("Computing logprobs"), len(sequences))


def _progress(on_progress: OnProgress, doing: str, total: int, done: int) -> None:
    on_progress(doing, done, total)
