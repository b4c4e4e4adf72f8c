"""Ranks that are elsewhere than the others, and don't move (`straggler`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eagleray.common.l10n import counted, t
from eagleray.observe.hangs import counter_readings, library_waits, wording
from eagleray.observe.hangs.activity import BACKWARD, Doing
from eagleray.observe.hangs.evidence import SampledProcess
from eagleray.observe.hangs.rules import single_dump, waits
from eagleray.observe.hangs.rules.event_loops import event_loop_reading
from eagleray.observe.hangs.rules.rule_context import (
    COMPUTES_CPU,
    Scene,
    about,
    inspect_step,
    minority,
    reading,
)
from eagleray.observe.hangs.verdict import FACTS, Kind, Reading
from eagleray.remote.sampling.node_sampler import RUNNABLE
from eagleray.remote.sampling.processes import OTHER
from eagleray.remote.sampling.wait_records import FILE_LOCK, INPUT


def late(scene: Scene) -> Iterator[Reading]:
    """Some ranks are elsewhere and make no progress, and the others wait for them."""
    waiting = scene.waiting
    behind = scene.elsewhere
    if waiting and not behind and scene.unread:
        text = t(
            "{Ranks_wait}. {Unread} could not be read.",
            Ranks_wait=wording.Wait_in(waiting),
            Unread=wording.Ranks_of(scene.unread),
        )
        step = counted(
            len(scene.unread),
            "Look at what this rank does on its node.",
            "Look at what these ranks do on their nodes.",
        )
        yield reading(scene, Kind.STRAGGLER, scene.unread, 0.4, text, step)
    if not waiting or not behind:
        return
    runs = [each.last.state == RUNNABLE and each.activity.call == BACKWARD for each in waiting]
    if scene.is_single_sample and all(runs):
        # Threads that compute gradients themselves, as on a CPU, wait for no other rank.
        return
    if all(each.activity.doing is Doing.IN_EVENT_LOOP for each in behind):
        text = counted(
            len(behind),
            "The event loop of {ranks} waits, and the others for it.",
            "The event loops of {ranks} wait, and the others for them.",
            **about(scene, behind),
        )
        yield event_loop_reading(scene, behind, 0.8, text)
        return
    last = [scene.graph.last_of(each) for each in behind]
    asks = all(any(wait.kind == INPUT for wait in each.last.waits) for each in last)
    confidence = 0.8 if len(behind) <= len(waiting) and not scene.unread else 0.6
    step, kind = inspect_step(behind), Kind.STRAGGLER
    if scene.is_single_sample:
        # An idle engine polls for requests in one rank, and passes them on to the others.
        is_idle = scene.evidence.is_given and all(map(library_waits.is_free, behind))
        confidence = 0.4 if is_idle else confidence
        text = counted(
            len(behind),
            "{Others_wait}, and {ranks} is elsewhere{place}. Whether it moves can't be seen in one dump.",
            "{Others_wait}, and {ranks} are elsewhere{place}. Whether they move can't be seen in one dump.",
            **about(scene, behind),
        )
    elif all(each.cpu > COMPUTES_CPU or each.never_sleeps for each in behind):
        # A loop without end and a long step look the same from outside.
        kind, confidence = Kind.SLOW, min(confidence, 0.65)
        step = t("Wait, or profile {ranks} to see what takes the time.", **about(scene, behind))
        text = counted(
            len(behind),
            "{Others_wait} for {ranks}, which computes{place}: slow, or a loop without end.",
            "{Others_wait} for {ranks}, which compute{place}: slow, or loops without end.",
            **about(scene, behind),
        )
    elif library_waits.all_sleep(behind):
        text = counted(
            len(behind),
            "{Others_wait} for {ranks}, which sleeps{place}.",
            "{Others_wait} for {ranks}, which sleep{place}.",
            **about(scene, behind),
        )
    elif asks or library_waits.all_await_answers(last):
        confidence = 0.9 if asks else confidence
        step = t("Answer it, or make the program not ask.") if asks else step
        text = counted(
            len(behind),
            "{Others_wait} for {ranks}, which waits{place}.",
            "{Others_wait} for {ranks}, which wait{place}.",
            **about(scene, behind),
        )
    else:
        text = counted(
            len(behind),
            "{Others_wait} for {ranks}, which does not move{place}.",
            "{Others_wait} for {ranks}, which do not move{place}.",
            **about(scene, behind),
        )
    if not_started := counter_readings.not_started(scene.world, behind):
        text = f"{text} {not_started}"
        confidence = confidence if kind is Kind.SLOW else 0.9
    text += _held_text(behind) + waits.follow(scene, behind) + single_dump.free_text(scene.evidence)
    paths = map(scene.graph.path, behind)
    if all(each and each.end in waiting and each.waits[-1].kind == FILE_LOCK for each in paths):
        step = t("Release the lock before the collective.")
        yield reading(scene, Kind.DEADLOCK, behind, 0.75, text, step, is_proof=True)
        return
    yield reading(scene, kind, behind, confidence, text, step)


def outliers(scene: Scene) -> Iterator[Reading]:
    """Most ranks are at the same place, no rank moves, and it isn't known for what they wait.

    A process that waits for others in `ray.get`, as the driver does, is not at fault, and processes of another kind, or what has
    started the others, are elsewhere anyway.
    """
    if scene.waiting or scene.is_single_sample:
        return
    parents = {(each.host, each.process.parent) for each in scene.world.ranks}
    by_kind: dict[str, list[SampledProcess]] = {}
    for each in scene.world.ranks:
        # A process that could not be read doesn't count as a place.
        if (
            each.activity.doing not in (Doing.IN_RAY_GET, Doing.UNREADABLE, Doing.ENDED)
            and (each.host, each.process.pid) not in parents
            and not each.has_timer
        ):
            by_kind.setdefault(each.process.group, []).append(each)
    most = max(by_kind.values(), key=len, default=[])
    different = minority(most, lambda each: each.activity)
    if not different or len(different) * 2 >= len(most):
        return
    if any(each.cpu > COMPUTES_CPU for each in most):
        # A rank that computes may move within its line.
        return
    text = counted(
        len(different),
        "{Ranks} is elsewhere than the others{place}, and no rank moves.",
        "{Ranks} are elsewhere than the others{place}, and no rank moves.",
        **about(scene, different),
    )
    text += _held_text(different) + waits.follow(scene, different)
    # Processes that aren't ranks may all have work of their own.
    works = any(each.is_busy for each in scene.world.ranks) or library_waits.all_sleep(different)
    confidence = 0.45 if works or scene.unread or most[0].process.role == OTHER else FACTS
    step = inspect_step(different)
    yield reading(scene, Kind.WAIT_CHAIN, different, confidence, text, step)


def _held_text(ranks: Sequence[SampledProcess]) -> str:
    """A sentence on the exceptions that `ranks` have swallowed."""
    raised = [each for each in ranks if each.raised]
    if not raised:
        return ""
    return " " + counted(
        len(raised),
        "{Ranks} holds {exceptions}.",
        "{Ranks} hold {exceptions}.",
        Ranks=wording.Ranks(raised),
        exceptions=wording.exceptions(raised),
    )
