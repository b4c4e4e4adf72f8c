"""The second layer: where the engines would choose different tokens, and by which margin.

B's choice after the same tokens is the likeliest token of its forced pass.  Up to the first divergence that is what B
would generate itself, so that B doesn't have to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eagleray.rollouts.comparing.model import (
    GreedyDivergence,
    GreedyLayer,
    RankedToken,
    ScoredTokens,
)

# Both engines rate the two tokens within 10 % of each other: rounding decides which of them comes first.
# llama.cpp with flash attention diverges from torch at such places, by up to 1.3e-2.
NEAR_TIE = 0.1


def greedy_layer(pairs: Iterable[tuple[int, ScoredTokens, ScoredTokens]]) -> GreedyLayer:
    """Compares greedy completions of A with B's forced pass over them, as (sequence, A, B)."""
    sequences = positions = agreed = 0
    divergences: list[GreedyDivergence] = []
    for index, a, b in pairs:
        if not b.tops:
            continue
        choices = [top[0].id if top else None for top in b.tops]
        sequences += 1
        positions += len(a.ids)
        agreed += sum(choice == id_ for choice, id_ in zip(choices, a.ids, strict=True))
        first = divergence(index, a, b)
        if first is not None:
            divergences.append(first)
    return GreedyLayer(
        sequences=sequences,
        positions=positions,
        agreement=agreed / positions if positions else 1.0,
        near_ties=sum(each.is_near_tie for each in divergences),
        divergences=tuple(divergences),
    )


def divergence(index: int, a: ScoredTokens, b: ScoredTokens) -> GreedyDivergence | None:
    """The first position at which B's likeliest token is another than A's."""
    for at, (id_, top) in enumerate(zip(a.ids, b.tops, strict=False)):
        if not top or top[0].id == id_:
            continue
        other = top[0].id
        a_margin = _margin(a, at, other)
        b_margin = top[0].logprob - b.logprobs[at]
        near = b_margin <= NEAR_TIE and (a_margin is None or a_margin <= NEAR_TIE)
        return GreedyDivergence(index, at, id_, other, a_margin, b_margin, near)
    return None


def _margin(scored: ScoredTokens, at: int, other: int) -> float | None:
    """By how much the engine prefers its token to `other`; where it doesn't list `other`, to its next one at least."""
    if at >= len(scored.tops):
        return None
    listed: Sequence[RankedToken] = scored.tops[at]
    others = [each.logprob for each in listed if each.id != scored.ids[at]]
    exact = [each.logprob for each in listed if each.id == other]
    nearest = exact or others
    return scored.logprobs[at] - max(nearest) if nearest else None
