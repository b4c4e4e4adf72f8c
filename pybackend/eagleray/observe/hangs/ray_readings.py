"""Readings from the tasks that Ray lists: a cycle of `ray.get`, and a task for which no node has room."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from eagleray.common.errors import printable
from eagleray.common.l10n import later, t, translated
from eagleray.observe.hangs import wording
from eagleray.observe.hangs.activity import Doing
from eagleray.observe.hangs.evidence import DeadActor, HangEvidence, SampledProcess, World
from eagleray.observe.hangs.task_graph import (
    Call,
    Process,
    cycle,
    waits,
    without_node,
)
from eagleray.observe.hangs.verdict import Kind, Reading
from eagleray.observe.hangs.wait_graph import task_text
from eagleray.remote.sampling.rank_sets import RankSet

# More of these make a sentence unreadable.
_MOST_DEATHS = 3
_MOST_CALLS = 4
# Cores that a process uses which does something.
_WORKING_CPU = 0.05


# Messages of Ray 2.60 about a dead actor, and their meaning; the first that fits.
_DEATHS = (
    (
        "running low on memory|OutOfMemory|memory pressure",
        later("Ray killed it for lack of memory"),
    ),
    ("killed by `ray.kill`", later("ray.kill ended it")),
    ("owner (has|is|was|process)", later("its owner has ended")),
    ("node (it was running on|has)? ?(died|failed)|NODE_DIED", later("its node is gone")),
    ("exit_actor|INTENDED", later("it ended itself")),
    (
        "SYSTEM_ERROR|unexpected",
        later("its process ended unexpectedly: a crash, or no memory left"),
    ),
)


def deaths(evidence: HangEvidence, world: World) -> str:
    """Sentences with Ray's reasons for the deaths of actors of `world`, "" without one."""
    of_world = [
        each
        for each in evidence.dead
        if each.class_name
        and (world.name.startswith(each.class_name) or each.name.startswith(world.name))
    ]
    return "".join(
        " " + t("Ray says of {name}: {why}.", name=_name_of(each), why=_why(each))
        for each in of_world[:_MOST_DEATHS]
    )


def _name_of(dead: DeadActor) -> str:
    name = printable(dead.name or dead.class_name, 100)
    return t("{name} (PID {pid})", name=name, pid=dead.pid) if dead.pid else name


def _why(dead: DeadActor) -> str:
    for pattern, meaning in _DEATHS:
        if re.search(pattern, dead.why):
            return translated(meaning)
    return printable(dead.why.partition(". ")[0], 200) or t("it is dead")


def ray_get_cycle(evidence: HangEvidence) -> Iterator[Reading]:
    """Actors that call each other in a circle: proved by the tasks, and by stacks that wait in `ray.get`."""
    calls = cycle(evidence.tasks, _in_ray_get(evidence))
    if not calls:
        return
    text = t(
        "{caller} waits for {called}: none of them can continue.",
        caller=task_text(calls[0].caller),
        called=t(", which waits for ").join(task_text(call.called) for call in calls[:_MOST_CALLS]),
    )
    step = t("Return the value instead of calling back, or set max_concurrency.")
    yield _reading(evidence, Kind.RAY_GET_CYCLE, calls, 0.95, text, step)


def starvation(evidence: HangEvidence) -> Iterator[Reading]:
    """A process waits in `ray.get` for a task that no node can take, and nothing else works that would make room."""
    calls = without_node(evidence.tasks, _in_ray_get(evidence))
    impossible = [call for call in calls if not call.called.fits]
    if not calls:
        return
    call = next(iter(impossible or calls))
    names = {
        "caller": task_text(call.caller, is_first=True),
        "called": task_text(call.called),
        "needs": call.called.needs,
    }
    if impossible:
        text = t("{caller} waits for {called}, but no node has {needs}.", **names)
        step = t("Ask for less, or add a node that has it.")
        yield _reading(evidence, Kind.STARVATION, impossible, 0.9, text, step)
        return
    # Processes that were not sampled may work, too.
    works = bool(evidence.workers) or any(map(_works, evidence.processes))
    text = t("{caller} waits for {called}, but other tasks or actors hold all {needs}.", **names)
    step = t("End a task that holds them, or start fewer tasks.")
    yield _reading(evidence, Kind.STARVATION, calls, 0.4 if works else 0.8, text, step)


def awaiting_actors(evidence: HangEvidence) -> Iterator[Reading]:
    """A process waits in `ray.get` for methods of async actors, whose tasks all wait, as they have told from inside."""
    by_process = {_id(process): process for process in evidence.processes}
    calls = [
        call
        for call in waits(evidence.tasks, _in_ray_get(evidence))
        if (actor := by_process.get(call.called.process)) is not None and wording.awaited([actor])
    ]
    if not calls:
        return
    actors = _of(evidence.processes, {call.called.process for call in calls})
    text = t(
        "{caller} waits for {called}.",
        caller=task_text(calls[0].caller, is_first=True),
        called=task_text(calls[0].called),
    )
    step = t("Look at what the tasks of the event loop await.")
    # They may wait for a process that works, such as an inference engine, or for one that was not sampled.
    is_part = bool(evidence.workers) or not evidence.is_whole
    yield Reading(
        Kind.ASYNCIO,
        RankSet.of(actor.rank for actor in actors),
        0.4 if is_part or any(each.is_busy for each in evidence.processes) else 0.6,
        f"{text} {wording.awaited(actors)}.",
        step,
        ", ".join(dict.fromkeys(actor.process.group for actor in actors)),
    )


def _works(process: SampledProcess) -> bool:
    """Whether `process` may end and make room; an idle actor of Ray works a little, too, but not in code of the user."""
    activity = process.activity
    if activity.place is None or activity.doing is Doing.IN_RAY_GET:
        return False
    return process.moves or (activity.doing is Doing.IN_CODE and process.cpu > _WORKING_CPU)


def _in_ray_get(evidence: HangEvidence) -> set[Process]:
    return {_id(process) for process in evidence.processes if process.is_in_ray_get}


def _id(process: SampledProcess) -> Process:
    return process.host, process.process.pid


def _reading(
    evidence: HangEvidence,
    kind: Kind,
    calls: Iterable[Call],
    confidence: float,
    sentence: str,
    next_step: str,
) -> Reading:
    callers = _of(evidence.processes, {call.caller.process for call in calls})
    return Reading(
        kind,
        RankSet.of(process.rank for process in callers),
        confidence,
        sentence,
        next_step,
        ", ".join(dict.fromkeys(process.process.group for process in callers)),
    )


def _of(processes: Iterable[SampledProcess], wanted: Collection[Process]) -> list[SampledProcess]:
    return [process for process in processes if _id(process) in wanted]
