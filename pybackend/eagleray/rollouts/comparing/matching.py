"""Pairs the sequences of two dumps by their token ids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator

from attrs import evolve, frozen

from eagleray.common.l10n import counted, t
from eagleray.rollouts.comparing import errors
from eagleray.rollouts.comparing.engines.dump import LogprobDump
from eagleray.rollouts.comparing.model import Ids, PromptLayer, ScoredTokens, TokenSequence
from eagleray.rollouts.comparing.prompt_layer import prompt_layer

_LEAST_LENGTH = 8
_Scored = tuple[TokenSequence, ScoredTokens]


@frozen
class ScoredPair:
    """One completion, scored by both sides."""

    tokens: TokenSequence
    a: ScoredTokens
    b: ScoredTokens


@frozen
class MatchedDumps:
    """The pairs, and notes about the sequences that differ."""

    pairs: tuple[ScoredPair, ...]
    prompts: PromptLayer
    notes: tuple[str, ...]


def matched(a: LogprobDump, b: LogprobDump) -> MatchedDumps:
    """Each sequence is in one pair at most.  Raises an error of the catalogue without any pair.

    1. Prompt and completion are the same, or a side lacks the last token, as an end that it skips (minimind#850).
    2. Without such a pair: the completions are the same, so that the prompts differ.
    """
    of_a, of_b = (list(zip(each.sequences, each.scored, strict=True)) for each in (a, b))
    notes = []
    pairs = list(_matches(of_a, of_b, _whole, _whole))
    for side, key_a, key_b in (("B", _without_last, _whole), ("A", _whole, _without_last)):
        shorter = list(_matches(of_a, of_b, key_a, key_b))
        pairs += shorter
        if shorter:
            tokens = (each[0].completion for pair in shorter for each in pair)
            last = max(tokens, key=len)[-1]
            notes.append(
                counted(
                    len(shorter),
                    "{n} completion of {side} lacks its last token ({id}).",
                    "{n} completions of {side} lack their last token ({id}).",
                    side=side,
                    id=last,
                )
            )
    layer = PromptLayer()
    if not pairs:
        alike = _matches(of_a, of_b, _completion, _completion)
        pairs = [each for each in alike if _is_certain(each[0][0], each[1][0])]
        if not pairs:
            raise errors.dumps_differ()
        layer, more = _prompts(pairs)
        notes += more
    if of_a or of_b:
        notes.append(
            t("Only A has {a} of the sequences, only B has {b}.", a=len(of_a), b=len(of_b))
        )
    return MatchedDumps(tuple(_pair(*pair) for pair in pairs), layer, tuple(notes))


def _whole(tokens: TokenSequence) -> Hashable:
    return tokens.prompt, tokens.completion


def _without_last(tokens: TokenSequence) -> Hashable:
    return tokens.prompt, tokens.completion[:-1]


def _completion(tokens: TokenSequence) -> Hashable:
    return tokens.completion


def _matches(
    of_a: list[_Scored],
    of_b: list[_Scored],
    key_a: Callable[[TokenSequence], Hashable],
    key_b: Callable[[TokenSequence], Hashable],
) -> Iterator[tuple[_Scored, _Scored]]:
    """Takes the sequences with the same key from both lists."""
    by_key: dict[Hashable, list[_Scored]] = defaultdict(list)
    for each in reversed(of_b):
        by_key[key_b(each[0])].append(each)
    remaining = []
    for each in of_a:
        alike = by_key[key_a(each[0])]
        if alike:
            yield each, alike.pop()
        else:
            remaining.append(each)
    of_a[:] = remaining
    of_b[:] = [each for alike in by_key.values() for each in alike]


def _pair(a: _Scored, b: _Scored) -> ScoredPair:
    """Both sides of the tokens that both have."""
    count = min(len(tokens.completion) for tokens, _ in (a, b))
    sides = (
        evolve(scored, ids=scored.ids[:count], logprobs=scored.logprobs[:count])
        for _, scored in (a, b)
    )
    return ScoredPair(evolve(a[0], completion=a[0].completion[:count]), *sides)


def _prompts(pairs: Iterable[tuple[_Scored, _Scored]]) -> tuple[PromptLayer, list[str]]:
    """A prompt that ends with the whole other one has more of the template, in the same tokens."""
    ids = [(a[0].prompt, b[0].prompt) for a, b in pairs]
    layer = prompt_layer([(at, *each) for at, each in enumerate(ids)])
    for side, is_longer in (
        ("A", all(_ends_with(left, right) for left, right in ids)),
        ("B", all(_ends_with(right, left) for left, right in ids)),
    ):
        if is_longer:
            more = max(abs(len(left) - len(right)) for left, right in ids)
            note = t("Prompts of {side} begin with up to {n} more tokens.", side=side, n=more)
            return evolve(layer, plain_differ=False), [note]
    return layer, []


def _is_certain(a: TokenSequence, b: TokenSequence) -> bool:
    """Whether equal completions after other prompts are of one rollout: short ones are equal by chance."""
    is_longer = _ends_with(a.prompt, b.prompt) or _ends_with(b.prompt, a.prompt)
    return is_longer or len(a.completion) >= _LEAST_LENGTH


def _ends_with(ids: Ids, end: Ids) -> bool:
    return ids[len(ids) - len(end) :] == end
