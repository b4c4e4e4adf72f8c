"""The verdict on all worlds that were sampled."""

from __future__ import annotations

from collections.abc import Sequence

from eagleray.observe.hangs import alternatives, unknown_texts
from eagleray.observe.hangs.evidence import HangEvidence, World
from eagleray.observe.hangs.rules.rule_context import WAITS, Scene
from eagleray.observe.hangs.rules.table import RULES
from eagleray.observe.hangs.verdict import FACTS, LEAST_CONFIDENCE, HangVerdict, Kind, Reading
from eagleray.observe.hangs.wait_graph import WaitGraph
from eagleray.remote.sampling.rank_sets import RankSet

_EXPLAINS_ALL = (Kind.DEBUGGER, Kind.STOPPED, Kind.RAY_GET_CYCLE, Kind.STARVATION)
# Verdicts that are impossible while the program makes progress.
_PROOFS = (
    Kind.DEADLOCK,
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
    2. Each world has one reading: the first that is more than facts, else its first.
    3. A reading that proves a hang by itself, such as a mismatch, comes first.  A world that makes progress comes before
       one that only waits, which may wait for it.
    """
    worlds = evidence.judged
    graph = WaitGraph(evidence)
    scenes = [Scene(world, evidence, graph) for world in worlds]
    readings = [
        alternatives.stated(reading, scene)
        for rule in RULES
        for scene in scenes
        for reading in rule(scene)
    ]
    sure = [each for each in readings if each.confidence >= LEAST_CONFIDENCE]
    if not sure:
        best = sorted(readings, key=lambda reading: -reading.confidence)[:2]
        return HangVerdict(_unknown(worlds, evidence, best), tuple(best))
    firsts = [_first(sure, name) for name in dict.fromkeys(each.world for each in sure)]
    return HangVerdict(min(firsts, key=_precedence), tuple(readings))


def _first(sure: Sequence[Reading], world: str) -> Reading:
    first, *others = [each for each in sure if each.world == world]
    if first.is_proof or first.confidence > FACTS:
        return first
    surer = (each for each in others if each.is_proof or each.confidence > FACTS)
    return next((each for each in surer if each.kind is not Kind.SLOW), first)


def _precedence(reading: Reading) -> tuple[int, float]:
    if reading.kind in _EXPLAINS_ALL:
        return 0, _EXPLAINS_ALL.index(reading.kind)
    if reading.kind in _PROOFS and reading.confidence > FACTS:
        return 1, -reading.confidence
    return (2, 0.0) if reading.kind is Kind.SLOW else (3, 0.0)


def _unknown(worlds: Sequence[World], evidence: HangEvidence, best: Sequence[Reading]) -> Reading:
    """No kind stands for a program that has ended but for some threads, or can't be read: only its sentence says so."""
    read = [each for world in worlds for each in world.ranks if each.stack]
    all_wait = all(each.activity.doing in WAITS for each in read)
    # In stacks alone, nothing points to the network.
    has_counters = any(each.record for each in read)
    is_sure = best and not (read and best[0].kind is Kind.TRANSPORT and not has_counters)
    if evidence.is_given and all_wait and is_sure:
        # A log's message is true, and doesn't prove this kind.
        text, step = best[0].sentence, best[0].next_step
        return Reading(Kind.UNKNOWN, RankSet(), 0.0, text, step)
    is_timed = any(each.has_timer for each in read)
    if read and not (evidence.is_given or evidence.worlds or is_timed) and _states_waits(best):
        return Reading(Kind.UNKNOWN, RankSet(), 0.0, best[0].sentence, best[0].next_step)
    text, step = unknown_texts.sentence_and_step(worlds, evidence)
    return Reading(Kind.UNKNOWN, RankSet(), 0.0, text, step)


def _states_waits(best: Sequence[Reading]) -> bool:
    """Whether the best reading only states who waits for whom, as of an idle server: that says more than `unknown`."""
    return bool(best) and best[0].kind is Kind.WAIT_CHAIN
