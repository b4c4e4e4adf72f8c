"""Verdicts from the waits between processes and threads (`deadlock`, `wait-chain`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eagleray.common.l10n import counted, t
from eagleray.observe.hangs import library_waits, thread_locks, wording
from eagleray.observe.hangs.activity import Doing
from eagleray.observe.hangs.evidence import SampledProcess
from eagleray.observe.hangs.rules.rule_context import Scene, reading
from eagleray.observe.hangs.verdict import Kind, Reading
from eagleray.observe.hangs.wait_paths import Path, doing_of
from eagleray.remote.sampling.processes import ACTOR
from eagleray.remote.sampling.rank_sets import RankSet
from eagleray.remote.sampling.wait_records import (
    ANSWER,
    CHILD,
    FILE_LOCK,
    INPUT,
    SHARED_LOCK,
    WRITE,
)

_MOST_PATHS = 2


def deadlocks(scene: Scene) -> Iterator[Reading]:
    """Threads or processes that wait for each other, or for what nothing else can do."""
    if not scene.is_first:
        return
    locks = thread_locks.lock_path(scene.evidence.processes)
    if locks and locks.is_cycle:
        step = (
            t("Take the lock once, or make it an RLock.")
            if len(locks.waits) == 1
            else t("Take the locks in the same order everywhere.")
        )
        yield reading(
            scene, Kind.DEADLOCK, locks.processes, 0.85, locks.sentence, step, is_proof=True
        )
    cycle = scene.graph.cycle
    if cycle and not cycle.is_of_ray:
        ranks = wording.ranks(cycle.processes)
        step = t("Let one of {ranks} do its part before it waits.", ranks=ranks)
        kinds = {wait.kind for wait in cycle.waits}
        if WRITE in kinds:
            step = t("Read this output in a thread, or write it to a file.")
        elif kinds == {FILE_LOCK}:
            step = t("Take the locks in the same order everywhere.")
        elif ANSWER in kinds:
            ends = (*cycle.processes[1:], cycle.processes[0])
            pairs = zip(cycle.waits[-len(ends) :], ends, strict=True)
            servers = [end for wait, end in pairs if wait.kind == ANSWER]
            step = t("Let {ranks} answer before it waits.", ranks=wording.ranks(servers[:1]))
        text, confidence = cycle.sentence, 0.9
        gone = scene.world.doing(Doing.ENDED)
        if SHARED_LOCK in kinds and gone:
            # The processes that share a barrier may be fewer than those for which it waits.
            text += " " + counted(
                len(gone), "{Gone} has ended.", "{Gone} have ended.", Gone=wording.Ranks(gone)
            )
            step = t("See whether that would have ended the wait.")
            stacks = [each.stack for each in cycle.processes if each.stack]
            if any(library_waits.is_within_message(stack.frames) for stack in stacks):
                step = t("See why it ended: it may have written half of this message.")
            confidence = 0.7
        yield reading(scene, Kind.DEADLOCK, cycle.processes, confidence, text, step, is_proof=True)


def ray_get_cycles(scene: Scene) -> Iterator[Reading]:
    """Actors that call each other in a circle."""
    cycle = scene.graph.cycle
    if scene.is_first and cycle and cycle.is_of_ray:
        step = t(
            "Return the value instead of calling back, or give {group} max_concurrency=2.",
            group=cycle.processes[0].process.group,
        )
        groups = ", ".join(dict.fromkeys(each.process.group for each in cycle.processes))
        ranks = RankSet.of(each.rank for each in cycle.processes)
        yield Reading(Kind.RAY_GET_CYCLE, ranks, 0.95, cycle.sentence, step, groups, is_proof=True)


def chains(scene: Scene) -> Iterator[Reading]:
    """Chains of waits, up to what the last process does, where no rank waits in a collective."""
    if not scene.is_first or scene.waiting or scene.is_single_sample:
        return
    paths = _paths(scene)
    if idle := [path for path in paths if scene.graph.is_idle_server(path)]:
        # No process waits for it, so it may just be idle.
        ranks = wording.ranks([idle[0].end or idle[0].start])
        step = t("Send {ranks} a request, and take the picture again.", ranks=ranks)
        if idle[0].waits[0].kind == INPUT:
            step = t("Answer it, or make the program not ask.")
        yield reading(scene, Kind.WAIT_CHAIN, (), 0.4, idle[0].sentence, step)
        paths = [path for path in paths if not scene.graph.is_idle_server(path)]
    for path in paths:
        if path.end is None and scene.graph.is_stuck(path.processes[-1]):
            step = t("See what should end this wait: nothing that runs can.")
            text = path.sentence + _held_at_fork(scene, path.processes[-1])
            yield reading(scene, Kind.DEADLOCK, path.processes[-1:], 0.8, text, step, is_proof=True)
    if locks := thread_locks.lock_path(scene.evidence.processes):
        holder, text = locks.processes[-1], locks.sentence
        further = scene.graph.path(holder)
        if further is not None and further.waits[0].stack is locks.waits[-1].stack:
            text = f"{text} {further.sentence}"
        step = t("Look at what holds the lock.")
        yield reading(scene, Kind.WAIT_CHAIN, [holder], 0.7, text, step)
    ends = {id(path.end): path for path in reversed(paths)}
    if shown := list(ends.values())[::-1][:_MOST_PATHS]:
        yield _at_the_end(scene, shown)


def _at_the_end(scene: Scene, shown: Sequence[Path]) -> Reading:
    """The reading from what the last processes of the paths do: they work, or the tasks of their event loops wait."""
    text = " ".join(path.sentence for path in shown)
    last = [path.end or path.processes[-1] for path in shown]
    if all(
        each.goes_on or each.is_busy or _starts_children(scene, path)
        for path, each in zip(shown, last, strict=True)
    ):
        step = t("Wait, or profile {ranks} to see what takes the time.", ranks=wording.ranks(last))
        if any(_starts_children(scene, path) for path in shown):
            text += " " + t("Its child processes end and others follow: no sign of a hang.")
            step = t(
                "Wait, or look at the output of {ranks}.", ranks=wording.ranks(_parents(shown))
            )
        return reading(scene, Kind.SLOW, last, 0.65, text, step)
    step = _step(shown, last)
    # The coroutines may wait for a process that works, or for one that was not sampled.
    may_end = (
        bool(scene.evidence.workers)
        or not scene.evidence.is_whole
        or any(each.is_busy for each in scene.evidence.processes)
        or any(each.has_timer for each in last)
    )
    if not may_end and any(wording.awaited([each]) for each in last):
        culprits = RankSet.of(each.rank for each in last)
        group = last[0].process.group or scene.world.name
        step = t("Look at what the tasks of the event loop await.")
        return Reading(Kind.ASYNCIO, culprits, 0.6, text, step, group, processes=tuple(last))
    actors = [each for each in scene.graph.idle_actors if each not in last]
    if actors and any(path.waits[0].kind == "" for path in shown):
        text += " " + counted(
            len(actors),
            "{Actors} has no task.",
            "{Actors} have no task.",
            Actors=wording.Ranks(actors),
        )
    return reading(scene, Kind.WAIT_CHAIN, last, _confidence(scene, shown, last), text, step)


def _parents(paths: Sequence[Path]) -> list[SampledProcess]:
    return [path.processes[-1] for path in paths]


def _starts_children(scene: Scene, path: Path) -> bool:
    """Whether the path ends with a wait for a child that has ended, or for one outside the picture, started since another one has."""
    *_, wait = path.waits
    ended = path.end is not None and path.end.activity.doing is Doing.ENDED
    children = scene.evidence.children(path.processes[-1]) if wait.outside else ()
    ended |= any(each.activity.doing is Doing.ENDED for each in children)
    return wait.kind == CHILD and ended


def _is_idle_actor(process: SampledProcess) -> bool:
    return process.process.role == ACTOR and process.activity.place is None


def _step(shown: Sequence[Path], last: Sequence[SampledProcess]) -> str:
    ending = shown[0].waits[-1]
    if _is_idle_actor(last[0]) and not last[0].reading:
        return t("Read from inside what its tasks await (--inside).")
    if any(wording.awaited([each]) for each in last):
        return t("Look at what the tasks of the event loop await.")
    if shown[0].leads_back and ending.kind == FILE_LOCK:
        return t("Take the locks in the same order everywhere.")
    if ending.kind == FILE_LOCK and not (ending.targets or ending.outside):
        return t("Delete the file if the process that has made it has ended.")
    if outside := ending.outside:
        return t("Look at {processes}.", processes=outside)
    return t("Look at {ranks}, and at the end of its log.", ranks=wording.ranks(last[:1]))


def _confidence(scene: Scene, shown: Sequence[Path], last: Sequence[SampledProcess]) -> float:
    passed = {id(each) for path in shown for each in (*path.processes, path.end)}
    working = {id(each) for each in scene.evidence.processes if each.is_busy}
    if any(each.has_timer for each in last) or any(path.is_unsure for path in shown):
        return 0.4
    if working and not working & passed:
        # Helpers of a program that works may just wait for it.
        return 0.45
    return 0.75


def lost_tasks(scene: Scene) -> Iterator[Reading]:
    """Processes that wait for the tasks of a pool, none of which is done any more."""
    if not scene.is_first or scene.waiting or scene.is_single_sample:
        return
    for each in scene.evidence.processes:
        children = scene.evidence.children(each)
        if library_waits.has_lost_task(each, children):
            text = t(
                "{Process} waits for a pool{place}, whose processes have no task: one is lost.",
                Process=wording.Ranks([each]),
                place=wording.place([each]),
            )
            step = t("Read the log. Was a process killed, or a result not unpickled?")
            yield reading(scene, Kind.DEADLOCK, [each], 0.8, text, step)


def follow(scene: Scene, ranks: Sequence[SampledProcess], *, is_shown: bool = True) -> str:
    """A sentence on what the first of `ranks` waits for, "" if that isn't known; `is_shown`: its place is named already."""
    path = scene.graph.path(ranks[0]) if ranks else None
    text = path.sentence if path else library_waits.sentence_of(ranks[:1])
    text += _held_at_fork(scene, path.processes[-1]) if path and path.end is None else ""
    if not text and ranks and not is_shown and (does := doing_of(ranks[0])):
        text = f"{wording.Ranks(ranks[:1])} {does}."
    return f" {text}" if text else ""


def _held_at_fork(scene: Scene, child: SampledProcess) -> str:
    parent = scene.graph.parent(child)
    return thread_locks.held_at_fork(child, parent) if parent else ""


def _paths(scene: Scene) -> list[Path]:
    """The paths from processes for which no other waits, the longest first; else one that leads back to its start."""
    paths = [path for start in scene.graph.starts() if (path := scene.graph.path(start))]
    if not paths:
        all_paths = map(scene.graph.path, scene.evidence.processes)
        paths = [path for path in all_paths if path and path.leads_back][:1]
    return sorted(paths, key=lambda path: -len(path.waits))
