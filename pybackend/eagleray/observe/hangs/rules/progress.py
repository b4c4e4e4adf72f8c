"""A program that makes progress (`slow`)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from eagleray.common.l10n import counted, t
from eagleray.observe.hangs import library_waits, wording
from eagleray.observe.hangs.activity import Doing
from eagleray.observe.hangs.evidence import SampledProcess
from eagleray.observe.hangs.rules.rule_context import COMPUTES_CPU, Scene, about, reading
from eagleray.observe.hangs.verdict import Kind, Reading


def going_on(scene: Scene) -> Iterator[Reading]:
    """Slow, not hung: a wait has ended between samples, or all that the others wait for are working."""
    moving = [each for each in scene.world.ranks if each.goes_on]
    busy = scene.elsewhere
    # One of many may be woken by something else; most are only when what they wait for has ended.
    woken = [each for each in scene.world.doing(Doing.IN_COLLECTIVE) if each.wakes]
    have_gone_on = 2 * len(woken) > len(scene.waiting) or any(
        each.goes_on for each in scene.waiting
    )
    if have_gone_on or (2 * len(moving) > len(scene.world.ranks) and not scene.waiting):
        moving = moving or woken
        # Waits that end many times between two samples don't show which rank takes the time.
        is_fast = any(each.goes_on for each in scene.waiting)
        working = [] if is_fast else [each for each in busy if each.goes_on]
        few = working if 2 * len(working) <= len(scene.world.ranks) else ()
        text = t("No sign of a hang: {ranks} moved between the samples.", **about(scene, moving))
        step = t("Profile the run to see what takes the time.")
        yield reading(scene, Kind.SLOW, few, 0.85, text, step)
    elif busy and all(each.goes_on or _waits_for_work(scene, each) for each in busy):
        text = counted(
            len(busy),
            "{Ranks} still works{place}, and the others wait: slow, or a loop without end.",
            "{Ranks} still work{place}, and the others wait: slow, or loops without end.",
            **about(scene, busy),
        )
        step = t("Wait, or profile {ranks} to see what takes the time.", **about(scene, busy))
        yield reading(scene, Kind.SLOW, busy, 0.65, text, step)
    elif not scene.waiting:
        yield from _computing_children(scene)


def _computing_children(scene: Scene) -> Iterator[Reading]:
    """A process waits for what its children compute, such as the workers of an executor, at one line for all samples.

    A child that only waits for its own threads computes in one of them.
    """
    for parent in scene.world.ranks:
        children = [
            each
            for each in scene.evidence.children(parent)
            if each.cpu > COMPUTES_CPU or each.goes_on
        ]
        wait = library_waits.wait_of(parent.stack.frames) if parent.stack else None
        is_loop = parent.activity.doing is Doing.IN_EVENT_LOOP
        if not (wait or is_loop) or parent.cpu > COMPUTES_CPU or not children:
            continue
        text = counted(
            len(children),
            "{waiting} {Children} computes{place}: slow, or a loop without end.",
            "{waiting} {Children} compute{place}: slow, or loops without end.",
            waiting=library_waits.sentence_of([parent])
            or t("The event loop of {ranks} waits.", ranks=wording.ranks([parent])),
            Children=wording.Ranks(children),
            place=wording.computing_place(children),
        )
        if len(children) == 1 and (waits := library_waits.sentence_of(children)):
            text += f" {waits}"
        ranks = wording.ranks(children)
        step = t("Wait, or profile {ranks} to see what takes the time.", ranks=ranks)
        yield reading(scene, Kind.SLOW, children, 0.65, text, step)


def _waits_for_work(scene: Scene, process: SampledProcess) -> bool:
    """Whether it waits for processes that it has started, the last of which computes.

    On a machine with too few CPUs that may use no CPU between two samples, so that it is not seen to move.
    """
    path = scene.graph.path(process)
    if path is None or path.end is None or not path.end.is_busy:
        return False
    return all(
        child.process.parent == parent.process.pid
        for parent, child in pairwise((*path.processes, path.end))
    )
