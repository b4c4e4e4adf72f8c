"""The verdict on all worlds that were sampled."""

from __future__ import annotations

from collections.abc import Sequence

from eagleray.common.l10n import t
from eagleray.features.hangs import exit_texts
from eagleray.features.hangs.evidence import HangEvidence, World
from eagleray.features.hangs.rules.scene import Scene
from eagleray.features.hangs.rules.table import RULES
from eagleray.features.hangs.verdict import LEAST_CONFIDENCE, HangVerdict, Kind, Reading
from eagleray.sampling.rank_sets import RankSet

_EXPLAINS_ALL = (Kind.DEBUGGER, Kind.STOPPED, Kind.RAY_GET_CYCLE, Kind.STARVATION)
# What is impossible while the program makes progress.
_PROOFS = (
    Kind.CLEANUP_DEADLOCK,
    Kind.EXCEPTION_IN_FLIGHT,
    Kind.COLLECTIVE_MISMATCH,
    Kind.WRONG_PROCESS_GROUP,
    Kind.PIPELINE_MISMATCH,
    Kind.RANK_DEAD,
)


def diagnosis(evidence: HangEvidence) -> HangVerdict:
    """The reading that is believed, else `unknown` with the two best.

    1. A debugger, a signal or Ray's tasks explain the hang of every world.
    2. Of each world the first sure reading counts.  One that proves a hang by itself, such as a mismatch, comes first; a
       world that makes progress comes before one that only waits, perhaps for that one.
    """
    worlds = evidence.judged
    scenes = [Scene(world, evidence) for world in worlds]
    readings = [reading for rule in RULES for scene in scenes for reading in rule(scene)]
    sure = [each for each in readings if each.confidence >= LEAST_CONFIDENCE]
    if not sure:
        best = sorted(readings, key=lambda reading: -reading.confidence)[:2]
        return HangVerdict(_unknown(worlds), tuple(best))
    firsts = [
        next(each for each in sure if each.world == name)
        for name in dict.fromkeys(each.world for each in sure)
    ]
    return HangVerdict(min(firsts, key=_precedence), tuple(readings))


def _precedence(reading: Reading) -> tuple[int, float]:
    if reading.kind in _EXPLAINS_ALL:
        return 0, _EXPLAINS_ALL.index(reading.kind)
    if reading.kind in _PROOFS:
        return 1, -reading.confidence
    return (2, 0.0) if reading.kind is Kind.SLOW else (3, 0.0)


def _unknown(worlds: Sequence[World]) -> Reading:
    """No kind stands for a program that has ended but for some threads, or can't be read: only its sentence says so."""
    reasons = {each.last.reason for world in worlds for each in world.ranks}
    if reasons == {"permission"}:
        text = t("None of the processes could be read.")
        step = t("Take the picture as the user who runs them, or as root.")
        return Reading(Kind.UNKNOWN, RankSet(), 0.0, text, step)
    finished = [exit_texts.at_end_of_program(world) for world in worlds]
    text, step = (all(finished) and finished[0]) or (
        t("No known kind of hang fits what the ranks do."),
        t("Compare the stacks below: the smallest class is often the cause."),
    )
    return Reading(Kind.UNKNOWN, RankSet(), 0.0, text, step)
