"""Changes between two pictures: the verdict, and which ranks are elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

from eagleray.observe.hangs.model import Picture, StackClass
from eagleray.remote.sampling.rank_sets import RankSet


@frozen
class Move:
    """Ranks of `group` that were in `before` in the first picture and are in `after` in the second; None: not seen."""

    group: str
    ranks: RankSet
    before: StackClass | None
    after: StackClass | None


def moves(first: Picture, second: Picture) -> list[Move]:
    """The ranks whose stacks differ between the pictures, those that moved alike together."""
    before, after = _by_member(first), _by_member(second)
    moved: dict[tuple[str, StackClass | None, StackClass | None], list[int]] = {}
    for group, rank in sorted({*before, *after}):
        was, now = before.get((group, rank)), after.get((group, rank))
        if (was and was.frames) != (now and now.frames):
            moved.setdefault((group, was, now), []).append(rank)
    return [Move(group, RankSet.of(ranks), was, now) for (group, was, now), ranks in moved.items()]


def _by_member(taken: Picture) -> Mapping[tuple[str, int], StackClass]:
    return {(each.group, rank): each for each in taken.classes for rank in _ranks(each)}


def _ranks(each: StackClass) -> Iterator[int]:
    yield from RankSet.parse(each.ranks)
