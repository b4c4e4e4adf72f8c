"""The verdict on all worlds that were sampled."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from eagleray.common.l10n import counted, t
from eagleray.observe.hangs import exit_texts, library_waits, wording
from eagleray.observe.hangs.activity import Doing
from eagleray.observe.hangs.evidence import HangEvidence, World
from eagleray.observe.hangs.rules import event_loops
from eagleray.observe.hangs.rules.rule_context import WAITS, Scene
from eagleray.observe.hangs.rules.table import RULES
from eagleray.observe.hangs.verdict import LEAST_CONFIDENCE, HangVerdict, Kind, Reading
from eagleray.observe.hangs.wait_graph import WaitGraph
from eagleray.remote.sampling.frames import is_noise
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
_SINGLE_SAMPLE_LIMIT = 0.6
_GIVEN_LIMIT = 0.7


def diagnosis(evidence: HangEvidence) -> HangVerdict:
    """The reading that is believed, else `unknown` with the two best.

    1. A debugger, a signal or Ray's tasks explain the hang of every world.
    2. Of each world the first sure reading counts.  One that proves a hang by itself, such as a mismatch, comes first; a
       world that makes progress comes before one that only waits, perhaps for that one.
    """
    worlds = evidence.judged
    graph = WaitGraph(evidence)
    scenes = [Scene(world, evidence, graph) for world in worlds]
    readings = [
        _limited(reading, evidence) for rule in RULES for scene in scenes for reading in rule(scene)
    ]
    sure = [each for each in readings if each.confidence >= LEAST_CONFIDENCE]
    if not sure:
        best = sorted(readings, key=lambda reading: -reading.confidence)[:2]
        return HangVerdict(_unknown(worlds, evidence, best), tuple(best))
    firsts = [
        next(each for each in sure if each.world == name)
        for name in dict.fromkeys(each.world for each in sure)
    ]
    return HangVerdict(min(firsts, key=_precedence), tuple(readings))


def _limited(reading: Reading, evidence: HangEvidence) -> Reading:
    """The reading with at most the confidence that such evidence allows.

    Without a proof, one sample may differ from the next.  Two dumps that seem to be of one process that moves may be of two.
    """
    limit = 1.0
    if evidence.is_single_sample and reading.kind not in (*_EXPLAINS_ALL, *_PROOFS):
        limit = _SINGLE_SAMPLE_LIMIT
    elif evidence.is_given and reading.kind is Kind.SLOW:
        limit = _GIVEN_LIMIT
    return evolve(reading, confidence=min(reading.confidence, limit))


def _precedence(reading: Reading) -> tuple[int, float]:
    if reading.kind in _EXPLAINS_ALL:
        return 0, _EXPLAINS_ALL.index(reading.kind)
    if reading.kind in _PROOFS:
        return 1, -reading.confidence
    return (2, 0.0) if reading.kind is Kind.SLOW else (3, 0.0)


def _unknown(worlds: Sequence[World], evidence: HangEvidence, best: Sequence[Reading]) -> Reading:
    """No kind stands for a program that has ended but for some threads, or can't be read: only its sentence says so."""
    if evidence.is_given and best and not any(each.stack for each in evidence.processes):
        # A log's message is true, and doesn't prove this kind.
        text, step = best[0].sentence, best[0].next_step
        return Reading(Kind.UNKNOWN, RankSet(), 0.0, text, step)
    text, step = _sentence_and_step(worlds, evidence)
    return Reading(Kind.UNKNOWN, RankSet(), 0.0, text, step)


def _sentence_and_step(worlds: Sequence[World], evidence: HangEvidence) -> tuple[str, str]:
    """The sentence and the next step."""
    reasons = {each.last.reason for world in worlds for each in world.ranks}
    if reasons == {"permission"}:
        step = t("Take the picture as the user who runs them, or as root.")
        return t("None of the processes could be read."), step
    readable = [each for world in worlds for each in world.ranks if each.stack is not None]
    if not readable and evidence.ras:
        text = t("NCCL RAS shows no rank that is behind the others.")
        return text, t("That doesn't exclude a hang. Add the stacks of the ranks.")
    if not readable and any(each.record for world in worlds for each in world.ranks):
        text = t("The counters show no rank that is behind the others.")
        return text, t("Add the stacks of the ranks.")
    if not readable:
        text = t("None of the processes could be read.")
        return text, t("Below is why each of them wasn't seen.")
    finished = [exit_texts.at_end_of_program(world) for world in worlds]
    if all(finished) and finished[0]:
        return finished[0]
    crashed = [
        each
        for each in evidence.processes
        if each.stack is not None and each.activity.doing is Doing.ENDED
    ]
    if evidence.is_given and crashed:
        ranks, is_all = wording.Ranks(crashed), len(crashed) == len(evidence.processes)
        text = (
            t("{Ranks} crashed: the stack is from the crash, not from a hang.", Ranks=ranks)
            if is_all
            else t("{Ranks} crashed. Other processes may wait for that.", Ranks=ranks)
        )
        return text, t("Read the end of the log, which has the reason.")
    if of_timers := event_loops.of_timers(readable):
        return of_timers
    if evidence.is_given and all(each.activity.doing in WAITS for each in readable):
        text = counted(
            len(readable),
            "{waiting}. Whom it waits for can't be seen in these stacks.",
            "{waiting}. Whom they wait for can't be seen in these stacks.",
            waiting=wording.Wait_in(readable),
        )
        return text, t("Add dumps of the other ranks of the job.")
    frames = [frame for each in readable if each.stack for frame in each.stack.frames]
    if frames and all(map(is_noise, frames)):
        text = t(
            "No stack has code of the program: Ray's workers wait for a task, or their coroutines await something."
        )
        return text, t(
            "Stacks don't show what coroutines await. Read it from inside of a running program."
        )
    text = (
        t("No known kind of hang fits what the ranks do.")
        if evidence.worlds
        else t("No known kind of hang fits what the processes do.")
    )
    if not any(each.activity.doing in WAITS for each in readable):
        text = library_waits.sentence_of(readable) or text
    if evidence.is_single_sample and len({each.stack for each in readable}) == 1:
        return text, t("To see whether it moves, add a later dump.")
    # A driver is there without a list, too.
    if any(each.is_in_ray_get for each in readable) and not any(
        each.name for each in evidence.tasks
    ):
        return text, (
            t("Ray lists no task that is open. Take the picture again.")
            if evidence.has_tasks
            else t("Take a picture of its cluster: the dashboard knows Ray's tasks.")
        )
    place = wording.place(readable)
    if place and not evidence.worlds and len({each.stack for each in readable}) == 1:
        # A process that works or sleeps, with none to compare it with.
        if len(readable) == 1 and (pause := library_waits.pause_of(frames)):
            name = wording.Ranks(readable)
            text = t("{Process} {pauses}{place}.", Process=name, pauses=pause, place=place)
            return text, t("A pause isn't a hang: see for what it waits.")
        text = counted(
            len(readable),
            "{Processes} is{place}, which fits no known kind of hang.",
            "{Processes} are{place}, which fits no known kind of hang.",
            Processes=wording.Ranks(readable),
            place=place,
        )
        return text, t("See what this line does: it may work, sleep or wait for input.")
    return text, t("Compare the stacks below: the smallest group is often the cause.")
