"""The world that a rule looks at, and how rules speak of its ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from attrs import frozen

from eagleray.common.l10n import t
from eagleray.observe.hangs import wording
from eagleray.observe.hangs.activity import Doing
from eagleray.observe.hangs.evidence import HangEvidence, SampledProcess, World
from eagleray.observe.hangs.verdict import Kind, Reading
from eagleray.observe.hangs.wait_graph import WaitGraph
from eagleray.remote.sampling.rank_sets import RankSet

WAITS = (Doing.IN_COLLECTIVE, Doing.INITIALIZING)
# Cores: of a process that doesn't wait.
COMPUTES_CPU = 0.5


@frozen
class Scene:
    """The world that is looked at, and everything else that was each; `graph` has the waits of all processes."""

    world: World
    evidence: HangEvidence
    graph: WaitGraph

    @property
    def is_first(self) -> bool:
        """Whether this is the world for which rules speak that concern the whole cluster."""
        worlds = self.evidence.worlds
        return not worlds or self.world is worlds[0]

    @property
    def is_single_sample(self) -> bool:
        return self.evidence.is_single_sample

    @property
    def waiting(self) -> tuple[SampledProcess, ...]:
        return self.world.doing(*WAITS)

    @property
    def elsewhere(self) -> tuple[SampledProcess, ...]:
        """The ranks that don't wait, though they live; what those do that could not be read isn't known."""
        return tuple(
            each
            for each in self.world.others(self.waiting)
            if each.activity.doing not in (Doing.UNREADABLE, Doing.ENDED)
        )

    @property
    def unread(self) -> RankSet:
        """The ranks of which nothing is known: those that could not be read, and those on nodes that weren't looked at."""
        unreadable = RankSet.of(each.rank for each in self.world.doing(Doing.UNREADABLE))
        of_all = RankSet.of(each.rank for each in self.world.ranks)
        return RankSet.union([unreadable, self.world.expected.without(of_all)])

    @property
    def gone(self) -> RankSet:
        """The ranks that have ended, whether before the picture or during it."""
        ended = self.world.doing(Doing.ENDED)
        return RankSet.union([self.world.missing, RankSet.of(each.rank for each in ended)])

    @property
    def all_in_collectives(self) -> tuple[SampledProcess, ...]:
        """All ranks that were seen, if each waits in a collective; else none."""
        waiting = self.world.doing(Doing.IN_COLLECTIVE)
        return () if self.world.others(waiting) else waiting


def reading(
    scene: Scene,
    kind: Kind,
    culprits: Iterable[SampledProcess] | RankSet,
    confidence: float,
    sentence: str,
    next_step: str,
    *,
    is_proof: bool = False,
    behind: Iterable[SampledProcess] = (),
) -> Reading:
    """A reading on `culprits`, or on the processes `behind` them, for which these wait."""
    culprits = culprits if isinstance(culprits, RankSet) else tuple(culprits)
    ranks = (
        culprits if isinstance(culprits, RankSet) else RankSet.of(each.rank for each in culprits)
    )
    processes = tuple(behind) or (() if isinstance(culprits, RankSet) else culprits)
    name = scene.world.name
    return Reading(kind, ranks, confidence, sentence, next_step, name, is_proof, processes)


def about(scene: Scene, some: Sequence[SampledProcess]) -> dict[str, str]:
    """Returns what sentences say of `some` ranks and of all others that could be read."""
    others = [
        each for each in scene.world.others(some) if each.activity.doing is not Doing.UNREADABLE
    ]
    return {
        "Ranks": wording.Ranks(some),
        "ranks": wording.ranks(some),
        "place": wording.place(some),
        "calls": wording.calls(some),
        "Others_wait": wording.Wait_in(others),
        "others_wait": wording.wait_in(others),
        "others": wording.ranks(others),
        "other_calls": wording.calls(others),
    }


def minority(
    ranks: Sequence[SampledProcess], key: Callable[[SampledProcess], object]
) -> list[SampledProcess]:
    """The ranks whose `key` differs from most others'; of two halves, the one with the smallest rank is right."""
    by_key: dict[object, list[SampledProcess]] = {}
    for each in ranks:
        by_key.setdefault(key(each), []).append(each)
    # `max` keeps the order of ranks among equals.
    usual = {id(each) for each in max(by_key.values(), key=len, default=[])}
    return [each for each in ranks if id(each) not in usual]


def again_step(ranks: Sequence[SampledProcess]) -> str:
    return t("Dump {rank} again some seconds later, and add that.", rank=wording.ranks(ranks[:1]))


def inspect_step(ranks: Sequence[SampledProcess]) -> str:
    return t("Look inside {rank}, and at the end of its log.", rank=wording.ranks(ranks[:1]))
