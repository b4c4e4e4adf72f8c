"""Ranks of which only NCCL's RAS tells that they are late: they don't answer it, or what they wait for isn't sampled (`straggler`)."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from eagleray.common.l10n import counted, t
from eagleray.observe.hangs import wording
from eagleray.observe.hangs.model import CommunicatorRow
from eagleray.observe.hangs.rules.rule_context import Scene, reading
from eagleray.observe.hangs.verdict import Kind, Reading
from eagleray.remote.sampling.rank_sets import RankSet


def silent_or_behind(scene: Scene) -> Iterator[Reading]:
    """In this order: ranks whose process doesn't answer; ranks with fewer launches of which the records of sampled ones don't tell."""
    communicators = list(_communicators(scene))
    for each in communicators:
        if ranks := RankSet.parse(each.absent):
            text = counted(
                len(ranks),
                "{Ranks} of communicator {name} doesn't answer NCCL{place}.",
                "{Ranks} of communicator {name} don't answer NCCL{place}.",
                Ranks=wording.Ranks_of(ranks),
                name=each.name,
                place=_place(each, ranks),
            )
            dead = RankSet.parse(each.dead)
            if dead:
                text += " " + t("For over 60 seconds: {ranks}.", ranks=wording.ranks_of(dead))
            step = t("Check whether its process runs, and whether its node can be reached.")
            yield evolve(_reading(scene, each, ranks, 0.7, text, step), is_proof=bool(dead))
            return
    for each in communicators:
        joined, behind = RankSet.parse(each.joined), RankSet.parse(each.behind)
        if ranks := behind.without(joined) if joined.without(behind) else behind:
            text = counted(
                len(ranks),
                "{Ranks} of communicator {name} has launched fewer collectives ({call}) than others{place}.",
                "{Ranks} of communicator {name} have launched fewer collectives ({call}) than others{place}.",
                Ranks=wording.Ranks_of(ranks),
                name=each.name,
                call=each.call or "?",
                place=_place(each, ranks),
            )
            step = t("Sample all ranks, to see what each of them does.")
            yield _reading(scene, each, behind, 0.75, text, step)
            return


def _communicators(scene: Scene) -> Iterator[CommunicatorRow]:
    """The communicators with such ranks, the largest first; each node has told the whole of them."""
    rows: dict[str, CommunicatorRow] = {}
    for node in scene.evidence.ras if scene.is_first else ():
        for each in node.notable:
            parts = [RankSet.parse(row.joined) for row in (each, rows.get(each.name, each))]
            rows[each.name] = evolve(each, joined=str(RankSet.union(parts)))
    yield from sorted(rows.values(), key=lambda each: (-each.size, each.name))


def _reading(
    scene: Scene, each: CommunicatorRow, ranks: RankSet, confidence: float, text: str, step: str
) -> Reading:
    """The reading; only a communicator of all ranks numbers them as the world does."""
    is_world = scene.world.expected == RankSet.of(range(len(scene.world.expected)))
    culprits = ranks if is_world and each.size == len(scene.world.expected) else RankSet()
    behind = [rank for rank in scene.world.ranks if rank.rank in culprits]
    return reading(scene, Kind.STRAGGLER, culprits, confidence, text, step, behind=behind)


def _place(each: CommunicatorRow, ranks: RankSet) -> str:
    """` (process 4711 on 10.0.0.7)` for the first rank whose process is known."""
    for place in each.places:
        rank, _, process = place.partition(": ")
        pid, _, host = process.partition("@")
        if int(rank) in ranks and pid != "0":
            return " " + t("(process {pid} on {host})", pid=pid, host=host)
    return ""
