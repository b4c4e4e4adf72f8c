"""Pairs the sequences of two dumps by their token ids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable

from attrs import evolve, frozen

from eagleray.common.l10n import counted, t
from eagleray.rollouts.comparing import errors
from eagleray.rollouts.comparing.engines.dump import LogprobDump
from eagleray.rollouts.comparing.model import PromptLayer, ScoredTokens, TokenSequence
from eagleray.rollouts.comparing.prompt_layer import prompt_layer

# Shorter completions are equal by chance.
_LEAST_LENGTH = 8
_Row = tuple[TokenSequence, ScoredTokens]
_Key = Callable[[TokenSequence], Hashable]


@frozen
class ScoredPair:
    """One completion, scored by both sides."""

    tokens: TokenSequence
    a: ScoredTokens
    b: ScoredTokens


@frozen
class MatchedDumps:
    """The sequences of both dumps in pairs, whether their prompts are the same, and notes on sequences without a pair."""

    pairs: tuple[ScoredPair, ...]
    prompts: PromptLayer
    notes: tuple[str, ...]


def matched(a: LogprobDump, b: LogprobDump) -> MatchedDumps:
    """Puts each sequence in one pair at most; raises an error of the catalogue without any pair.

    1. Prompt and completion are the same, or a side lacks the last token, as an end that it skips (minimind#850).
    2. Without such a pair: the completions are the same, so that the prompts differ.
    """
    of_a, of_b = (list(zip(each.sequences, each.scored, strict=True)) for each in (a, b))
    prompts, notes = PromptLayer(), []
    pairs = _taken(of_a, of_b, _whole, _whole)
    for side, key_a, key_b in (("B", _without_last, _whole), ("A", _whole, _without_last)):
        shorter = _taken(of_a, of_b, key_a, key_b)
        pairs += shorter
        if shorter:
            note = counted(
                len(shorter),
                "{n} completion of {side} lacks its last token ({id}).",
                "{n} completions of {side} lack their last token ({id}).",
                side=side,
                id=max((tokens.completion for tokens, _ in shorter[0]), key=len)[-1],
            )
            notes.append(note)
    if not pairs:
        pairs = _taken(of_a, of_b, _completion, _completion)
        ids = [(tokens.prompt, other.prompt) for (tokens, _), (other, _) in pairs]
        prompts = prompt_layer([(at, *each) for at, each in enumerate(ids)])
        # More of the template before the same tokens isn't another tokenizer.
        if all(left[-len(right) :] == right or right[-len(left) :] == left for left, right in ids):
            prompts = evolve(prompts, plain_differ=False)
            notes.append(t("One side's prompts end with the other's."))
        elif max(len(tokens.completion) for (tokens, _), _ in pairs) < _LEAST_LENGTH:
            pairs = []
    if not pairs:
        raise errors.dumps_differ()
    if of_a or of_b:
        rest = t("Only A has {a} of the sequences, only B has {b}.", a=len(of_a), b=len(of_b))
        notes.append(rest)
    return MatchedDumps(tuple(_pair(*pair) for pair in pairs), prompts, tuple(notes))


def _whole(tokens: TokenSequence) -> Hashable:
    return tokens.prompt, tokens.completion


def _without_last(tokens: TokenSequence) -> Hashable:
    return tokens.prompt, tokens.completion[:-1]


def _completion(tokens: TokenSequence) -> Hashable:
    return tokens.completion


def _taken(of_a: list[_Row], of_b: list[_Row], key_a: _Key, key_b: _Key) -> list[tuple[_Row, _Row]]:
    """Takes the rows with the same key out of both lists, in their order."""
    by_key: dict[Hashable, list[_Row]] = defaultdict(list)
    for each in reversed(of_b):
        by_key[key_b(each[0])].append(each)
    rows = [(each, by_key[key_a(each[0])]) for each in of_a]
    pairs = [(each, alike.pop()) for each, alike in rows if alike]
    paired = {id(each) for pair in pairs for each in pair}
    for side in (of_a, of_b):
        side[:] = [each for each in side if id(each) not in paired]
    return pairs


def _pair(a: _Row, b: _Row) -> ScoredPair:
    """Both sides of the tokens that both have."""
    count = min(len(a[0].completion), len(b[0].completion))
    left, right = (
        evolve(each, ids=each.ids[:count], logprobs=each.logprobs[:count]) for _, each in (a, b)
    )
    return ScoredPair(evolve(a[0], completion=a[0].completion[:count]), left, right)
