"""Shapes of logprob differences that weights and rounding don't make: sampling parameters, penalties, a shift.

Rounding and other weights move logprobs up and down.  Top-p, top-k and min-p divide what they leave by its sum, so that
nothing falls (trl#6789).  A temperature moves all likely tokens in one direction and unlikely ones in the other (trl#4159).
A penalty lowers tokens of the context, and raises the others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

from attrs import evolve, frozen

from eagleray.rollouts.comparing.metrics import LEAST_LOGPROB, bounded, pearson
from eagleray.rollouts.comparing.model import ComparedSequence


class ShapeKind(Enum):
    PLACEHOLDER = "placeholder"
    SHIFTED = "shifted"
    REPEATED = "repeated"
    TRUNCATED = "truncated"
    TEMPERATURE = "temperature"
    COMMON_SIGN = "common-sign"


@frozen
class LogprobShape:
    """A shape, and whether it is of A: of its logprobs of repeated or likely tokens, which are lower, or of placeholders.

    `top_p` is the one that would raise A's logprobs by as much.  `part`: how many sequences have the shape, of how many.
    """

    kind: ShapeKind
    is_a: bool = False
    top_p: float | None = None
    part: tuple[int, int] | None = None


# Smaller differences have a sign by chance.
_CLEAR = 1e-3
_LEAST_TOKENS = 32
# Shares of the sum of differences that have the other sign.  Other weights leave 0.3 among likely tokens.
_OTHER_SIGN = 0.02
_OTHER_SIGN_LIKELY = 0.05
_OTHER_SIGN_REPEATED = 0.15
_OPPOSITE = 0.1
# 1 % of a ratio: smaller effects don't make healthy engines different.
_LEAST_EFFECT = 0.01
_LIKELY = math.log(0.5)
_UNLIKELY = -2.0
# Sampling parameters leave unlikely tokens unlikely; a side that knows the completions by heart doesn't.
_LEAST_SURPRISE = 0.3
_UNLIKE = 0.7
_SHIFTED = 0.9
# A sequence with as many unlikely tokens tells whether it is misaligned; of thousands of simulated ones none was by chance.
_LEAST_UNLIKELY = 12
_LEAST_PART = 0.05
_MOST = 0.5
_SAME_CHOICE = 0.98
# The rest is rounding above the limit of top-p.
_NEARLY_ALL = 0.9


def shape_of(sequences: Sequence[ComparedSequence], agreement: float | None) -> LogprobShape | None:
    """The first that fits: placeholders, a shift, a penalty, one direction, a temperature.

    `agreement` is the share of A's greedy tokens that B would choose, None for sampled ones.  A chooses the tokens that it
    rates highest, so that other weights raise them as well; but these prefer other tokens, too.
    """
    if agreement is not None and agreement < _SAME_CHOICE:
        return None
    pairs = [pair for each in sequences for pair in _bounded(each.a, each.b)]
    clear = [(a, b) for a, b in pairs if abs(a - b) > _CLEAR]
    if len(clear) < _LEAST_TOKENS:
        return None
    misaligned = _misaligned_part(sequences) or _misaligned(sequences)
    if misaligned is not None:
        return misaligned
    repeated = _repeated(sequences)
    if repeated is not None:
        return repeated
    surprises = -sum(a for a, _ in pairs), -sum(b for _, b in pairs)
    deltas = [a - b for a, b in clear]
    if min(surprises) < _LEAST_SURPRISE * max(surprises) or _mean(deltas) < _LEAST_EFFECT:
        return None
    if _other_side(deltas) <= _OTHER_SIGN:
        is_lower = sum(deltas) < 0
        if agreement is not None or is_lower:
            return LogprobShape(ShapeKind.COMMON_SIGN, is_lower)
        return LogprobShape(ShapeKind.TRUNCATED, top_p=_top_p(deltas))
    return _temperature(clear)


def _misaligned_part(sequences: Sequence[ComparedSequence]) -> LogprobShape | None:
    """The most frequent misalignment of single sequences: rllm#898 pads and shifts only some of them."""
    shapes = Counter(
        shape
        for each in sequences
        if sum(min(pair) < _LIKELY for pair in _bounded(each.a, each.b)) >= _LEAST_UNLIKELY
        and (shape := _misaligned([each]))
    )
    for shape, count in shapes.most_common(1):
        if count >= _LEAST_PART * len(sequences):
            is_part = count < len(sequences)
            return evolve(shape, part=(count, len(sequences)) if is_part else None)
    return None


def _misaligned(sequences: Sequence[ComparedSequence]) -> LogprobShape | None:
    pairs = [pair for each in sequences for pair in _bounded(each.a, each.b)]
    placeholders = _placeholders([(a, b) for a, b in pairs if abs(a - b) > _CLEAR])
    if placeholders is None and _is_shifted(sequences, pairs):
        return LogprobShape(ShapeKind.SHIFTED)
    return placeholders


def _placeholders(clear: Sequence[tuple[float, float]]) -> LogprobShape | None:
    """Whether most of the differences are at tokens without a logprob: 0 (vime#70), or vLLM's -9999.

    Truncation makes 0 of likely tokens only.
    """
    large = [(a, b) for a, b in clear if abs(a - b) > 1]
    total = sum(abs(a - b) for a, b in clear)
    for side, is_a in ((0, True), (1, False)):
        filled = (abs(pair[0] - pair[1]) for pair in large if pair[side] in (0.0, LEAST_LOGPROB))
        if large and sum(filled) >= _MOST * total:
            return LogprobShape(ShapeKind.PLACEHOLDER, is_a)
    return None


def _temperature(clear: Sequence[tuple[float, float]]) -> LogprobShape | None:
    likely = [a - b for a, b in clear if (a + b) / 2 > _LIKELY]
    unlikely = [a - b for a, b in clear if (a + b) / 2 < _UNLIKELY]
    if min(len(likely), len(unlikely)) < _LEAST_TOKENS or _mean(likely) < _LEAST_EFFECT:
        return None
    is_lower = sum(likely) < 0
    opposite = _sum(unlikely, positive=is_lower) / sum(map(abs, unlikely))
    if _other_side(likely) > _OTHER_SIGN_LIKELY:
        return None
    kind = ShapeKind.TEMPERATURE if opposite >= _OPPOSITE else ShapeKind.COMMON_SIGN
    return LogprobShape(kind, is_lower)


def _repeated(sequences: Iterable[ComparedSequence]) -> LogprobShape | None:
    """Whether tokens of the context differ in one direction, and new ones in the other."""
    deltas: dict[bool, list[float]] = {True: [], False: []}
    for each in sequences:
        context = set(each.tokens.prompt)
        for id_, (a, b) in zip(each.tokens.completion, _bounded(each.a, each.b), strict=True):
            delta = a - b
            if abs(delta) > _CLEAR:
                deltas[id_ in context].append(delta)
            context.add(id_)
    repeated, new = deltas[True], deltas[False]
    if min(len(repeated), len(new)) < _LEAST_TOKENS or _mean(repeated) < _LEAST_EFFECT:
        return None
    is_lower = sum(repeated) < 0
    if (sum(new) < 0) == is_lower:
        return None
    if max(_other_side(repeated), _other_side(new)) > _OTHER_SIGN_REPEATED:
        return None
    return LogprobShape(ShapeKind.REPEATED, is_lower)


def _is_shifted(
    sequences: Sequence[ComparedSequence], pairs: Sequence[tuple[float, float]]
) -> bool:
    """Whether one side's logprobs belong to the next token (ms-swift#8196, prime-rl#1525)."""
    if (pearson(pairs) or 0.0) > _UNLIKE:
        return False
    later = [pair for each in sequences for pair in _bounded(each.a[1:], each.b[:-1])]
    earlier = [pair for each in sequences for pair in _bounded(each.a[:-1], each.b[1:])]
    # Without padding, which is the same token in no side.
    filled = [[pair for pair in shifted if 0.0 not in pair] for shifted in (later, earlier)]
    return any((pearson(shifted) or 0.0) > _SHIFTED for shifted in filled)


def _top_p(deltas: Sequence[float]) -> float:
    """The one that raises logprobs by as much: no difference exceeds -log p."""
    ordered = sorted(deltas)
    return math.exp(-ordered[int(_NEARLY_ALL * (len(ordered) - 1))])


def _bounded(a: Iterable[float], b: Iterable[float]) -> Iterator[tuple[float, float]]:
    return zip(map(bounded, a), map(bounded, b), strict=True)


def _other_side(deltas: Sequence[float]) -> float:
    """The share of the smaller side in the sum of differences."""
    total = sum(map(abs, deltas))
    return min(_sum(deltas, positive=True), _sum(deltas, positive=False)) / total


def _sum(deltas: Iterable[float], *, positive: bool) -> float:
    return sum(abs(delta) for delta in deltas if (delta > 0) == positive)


def _mean(deltas: Sequence[float]) -> float:
    return sum(map(abs, deltas)) / len(deltas)
