"""The verdict on all worlds that were sampled."""

from __future__ import annotations

from eagleray.common.l10n import t
from eagleray.features.hangs.evidence import HangEvidence, World
from eagleray.features.hangs.rules import RULES, Scene
from eagleray.features.hangs.verdict import LEAST_CONFIDENCE, HangVerdict, Kind, Reading
from eagleray.sampling.rank_sets import RankSet


def diagnosis(evidence: HangEvidence) -> HangVerdict:
    """The first reading that is sure enough, else `unknown` with the two best.

    The rules decide before the worlds: a rank in a debugger explains the hang of every world.
    """
    worlds = evidence.worlds or (World("", evidence.processes),)
    readings = [
        reading for rule in RULES for world in worlds for reading in rule(Scene(world, evidence))
    ]
    for reading in readings:
        if reading.confidence >= LEAST_CONFIDENCE:
            return HangVerdict(reading, tuple(readings))
    best = sorted(readings, key=lambda reading: -reading.confidence)[:2]
    return HangVerdict(_unknown(), tuple(best))


def _unknown() -> Reading:
    return Reading(
        Kind.UNKNOWN,
        RankSet(),
        0.0,
        t("No known kind of hang fits what the ranks do."),
        t("Compare the stacks below: the smallest class is often the cause."),
    )
