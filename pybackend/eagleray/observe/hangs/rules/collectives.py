"""Ranks that all wait in collectives, and their counters (`collective-mismatch`, `wrong-process-group`, `transport`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from eagleray.common.l10n import counted, t
from eagleray.observe.hangs import counter_readings, source_lines, wording
from eagleray.observe.hangs.activity import (
    BACKWARD,
    MESSAGES,
    WAIT,
    collective_of,
    innermost,
    is_functional,
)
from eagleray.observe.hangs.evidence import SampledProcess
from eagleray.observe.hangs.rules.rule_context import COMPUTES_CPU, Scene, about, minority, reading
from eagleray.observe.hangs.verdict import Kind, Reading
from eagleray.remote.sampling.frames import is_users
from eagleray.remote.sampling.processes import ACTOR

_UNKNOWN = "?"
# Engines name the stage of a pipeline in the titles of their processes; each has a group of its own.
_STAGE = re.compile(r"_PP\d+")


def counters(scene: Scene) -> Iterator[Reading]:
    """Evidence of the ranks' flight recorders: numbers decide where stacks leave a doubt."""
    evidence = scene.evidence
    is_snapshot = evidence.is_given and evidence.is_single_sample and not evidence.has_timeout
    yield from counter_readings.counters(scene.world, is_snapshot=is_snapshot)


def different_groups(scene: Scene) -> Iterator[Reading]:
    """All ranks wait in the same collective, but of different process groups."""
    waiting = scene.all_in_collectives
    different = minority(waiting, _group)
    if different and len({each.activity.call for each in waiting}) == 1:
        text = counted(
            len(different),
            "{Ranks} waits in {calls}, in another process group than {others} in {other_calls}.",
            "{Ranks} wait in {calls}, in another process group than {others} in {other_calls}.",
            **about(scene, different),
        )
        # One rank waits without the others of its group.  Several may be all of it, and of those that wait for them, as in the
        # default group, none is at fault.
        if len(different) == 1 and _group(different[0]):
            step = t("Use the same process groups, in the same order, on all ranks.")
            yield reading(scene, Kind.WRONG_PROCESS_GROUP, different, 0.8, text, step)
        else:
            step = t("Start the run with the flight recorder to see the groups.")
            yield reading(scene, Kind.WRONG_PROCESS_GROUP, (), 0.55, text, step)


def different_calls(scene: Scene) -> Iterator[Reading]:
    """All ranks wait in collectives, but not in the same."""
    waiting = scene.all_in_collectives
    messages = [each for each in waiting if each.activity.call in MESSAGES]
    if len(messages) == len(waiting) or (messages and scene.is_single_sample):
        # A send and its receive aren't collectives, and a stage that sends may soon come to the collective of another
        # stage.
        return
    by_call = minority(waiting, lambda each: each.activity.call)
    different = by_call or minority(waiting, lambda each: each.activity.place)
    if different:
        text = counted(
            len(different),
            "{Ranks} waits in {calls} while {others_wait}{branch}.",
            "{Ranks} wait in {calls} while {others_wait}{branch}.",
            **about(scene, different),
            branch=wording.branch(different, scene.world.others(different)),
        )
        step = t("Make all ranks call the same collectives in the same order.")
        confidence = _mismatch_confidence(waiting)
        if any(_is_alone(each, waiting) for each in waiting) and not (scene.unread or scene.gone):
            confidence = max(confidence, 0.8)
        if scene.is_single_sample:
            # A rank may be just between two of them.
            confidence = min(confidence, 0.7)
        calls = {each.activity.call for each in waiting}
        outside = (each for each in scene.evidence.processes if each.process.role == ACTOR)
        stages = {stage[0] for each in waiting if (stage := _STAGE.search(each.process.title))}
        if len(stages) > 1 or any(
            each.process.group != scene.world.name and each.activity.call in calls
            for each in outside
        ):
            # Groups of actors aren't their classes: engines take weights in a collective of the trainer.
            confidence = min(confidence, 0.45)
        yield reading(scene, Kind.COLLECTIVE_MISMATCH, different, confidence, text, step)


def same_call(scene: Scene) -> Iterator[Reading]:
    """All ranks are in the same call, so no rank is at fault."""
    waiting = scene.all_in_collectives
    if len(waiting) < 2 or len({(each.activity.call, each.activity.place) for each in waiting}) > 1:
        return
    # With its group in a variable, ranks at one line may be in different groups.
    is_unsure = waiting[0].activity.call == WAIT or bool(_group(waiting[0]))
    is_unsure |= scene.is_single_sample
    step = t("Check the network between the nodes, and the GPUs.")
    if scene.unread:
        text = t(
            "{Ranks} wait in {calls}, at the same line. {Unread} could not be read.",
            Ranks=wording.Ranks(waiting),
            calls=wording.calls(waiting),
            Unread=wording.Ranks_of(scene.unread),
        )
        yield reading(scene, Kind.TRANSPORT, (), 0.4, text, step)
        return
    text = t("All ranks wait in {calls}, at the same line.", calls=wording.calls(waiting))
    in_threads = _calls_of_other_threads(waiting)
    confidence = 0.45 if is_unsure or in_threads else 0.75
    yield reading(scene, Kind.TRANSPORT, (), confidence, text, step, behind=waiting)
    if in_threads:
        text = t(
            "All ranks wait in {calls}, and further threads of {ranks} in {others}.",
            calls=wording.calls(waiting),
            ranks=wording.ranks(waiting),
            others=", ".join(in_threads),
        )
        threads_step = t("Call the collectives of a group from one thread only.")
        yield reading(scene, Kind.COLLECTIVE_MISMATCH, (), 0.65, text, threads_step)
    if is_unsure:
        text = t(
            "The ranks wait in {calls}, perhaps in different process groups.",
            calls=wording.calls(waiting),
        )
        step = t("Start the run with the flight recorder to see the groups.")
        yield reading(scene, Kind.WRONG_PROCESS_GROUP, (), 0.45, text, step)


def _calls_of_other_threads(waiting: Sequence[SampledProcess]) -> tuple[str, ...]:
    """The collectives in which further threads wait, which may be of the same group."""
    calls = {
        call: None
        for each in waiting
        for stack in each.others
        if (call := collective_of(stack.frames, innermost(stack.frames, is_users)))
    }
    return tuple(calls)


def _mismatch_confidence(waiting: Sequence[SampledProcess]) -> float:
    """How sure it is that ranks in different calls should be in the same."""
    calls = {each.activity.call for each in waiting}
    # A rank that computes at a line such as `model(x).cpu()` is only about to wait.
    if any(each.activity.call in (WAIT, BACKWARD) and each.cpu > COMPUTES_CPU for each in waiting):
        return 0.45
    groups = {_group(each) for each in waiting}
    if len(groups) > 1:
        # Each group waits for its own members after any hang.
        return 0.45
    if len(calls) == 1:
        return 0.7
    return 0.9 if groups == {""} else 0.6


def _is_alone(process: SampledProcess, waiting: Sequence[SampledProcess]) -> bool:
    """Whether all others are in collectives of other groups, though a group of one rank doesn't wait."""
    others = [each for each in waiting if each is not process]
    return _group(process) == _UNKNOWN and all(_group(each) == "" for each in others)


def _group(process: SampledProcess) -> str:
    if process.stack and any(map(is_functional, process.stack.frames)):
        return _UNKNOWN
    place = process.activity.place
    return source_lines.group_at(place.file, place.line, process.activity.call) if place else ""
