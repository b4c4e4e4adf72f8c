"""Made-up distributions of tokens, and what sampling parameters, rounding and other weights make of them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

from eagleray.rollouts.comparing.model import ComparedSequence, TokenSequence

VOCABULARY = 60
LENGTH = 40
Row = list[float]
Change = Callable[[Row, Sequence[int], random.Random], Row]


def logprobs(logits: Sequence[float]) -> Row:
    top = max(logits)
    total = top + math.log(math.fsum(math.exp(each - top) for each in logits))
    return [each - total for each in logits]


def unchanged(row: Row, context: Sequence[int], chance: random.Random) -> Row:
    return row


def rounded(size: float) -> Change:
    """Rounding of logits, or other weights: each token moves independently of the others."""
    return lambda row, context, chance: logprobs([each + chance.gauss(0, size) for each in row])


def at_temperature(value: float) -> Change:
    return lambda row, context, chance: logprobs([each / value for each in row])


def truncated(top_p: float = 1.0, top_k: int = VOCABULARY, min_p: float = 0.0) -> Change:
    def change(row: Row, context: Sequence[int], chance: random.Random) -> Row:
        ordered = sorted(range(len(row)), key=lambda id_: -row[id_])[:top_k]
        mass, remaining = 0.0, set()
        for id_ in ordered:
            if mass >= top_p or math.exp(row[id_]) < min_p * math.exp(row[ordered[0]]):
                break
            remaining.add(id_)
            mass += math.exp(row[id_])
        return logprobs([each if id_ in remaining else -99.0 for id_, each in enumerate(row)])

    return change


def penalized(value: float) -> Change:
    """A repetition penalty, on logits of which some are positive."""

    def change(row: Row, context: Sequence[int], chance: random.Random) -> Row:
        logits = [each + 6 for each in row]
        for id_ in set(context):
            logits[id_] = logits[id_] / value if logits[id_] > 0 else logits[id_] * value
        return logprobs(logits)

    return change


def sampled(
    a: Change, b: Change, *, greedy: bool = False, noise: float = 0.02
) -> list[ComparedSequence]:
    """Completions that A samples from its own logprobs; both round by `noise`."""
    chance = random.Random(7)
    rounding = rounded(noise)
    sequences = []
    for index in range(30):
        context = [chance.randrange(VOCABULARY) for _ in range(12)]
        prompt = tuple(context)
        pairs: list[tuple[float, float]] = []
        for _ in range(LENGTH):
            spread = chance.choice((1.0, 2.0, 4.0))
            row = logprobs([chance.gauss(0, spread) for _ in range(VOCABULARY)])
            of_a = a(rounding(row, context, chance), context, chance)
            of_b = b(rounding(row, context, chance), context, chance)
            id_ = (
                max(range(VOCABULARY), key=of_a.__getitem__)
                if greedy
                else chance.choices(range(VOCABULARY), [math.exp(each) for each in of_a])[0]
            )
            context.append(id_)
            pairs.append((of_a[id_], of_b[id_]))
        tokens = TokenSequence(index, prompt, tuple(context[len(prompt) :]))
        of_a_all, of_b_all = zip(*pairs, strict=True)
        sequences.append(ComparedSequence(tokens, of_a_all, of_b_all, None))
    return sequences
