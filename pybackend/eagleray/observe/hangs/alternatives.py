"""Alternatives to a hang that show the same evidence, and the reading that they leave: only its facts.

A rule marks a reading as a proof where nothing else shows the same: a cycle of waits, the end of a process, numbers of
collectives.  All others rest on processes that don't move, as healthy ones may do for minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from attrs import evolve

from eagleray.common.l10n import t
from eagleray.observe.hangs import library_waits, wording
from eagleray.observe.hangs.activity import BACKWARD, WAIT, Doing
from eagleray.observe.hangs.evidence import SampledProcess
from eagleray.observe.hangs.rules.rule_context import COMPUTES_CPU, WAITS, Scene, again_step
from eagleray.observe.hangs.verdict import FACTS, Kind, Reading
from eagleray.observe.hangs.wait_paths import NO_ROOM, Wait
from eagleray.remote.sampling.frames import is_users
from eagleray.remote.sampling.processes import ACTOR
from eagleray.remote.sampling.wait_records import ANSWER, CLIENT, CONNECT, CONNECTED, FILE_LOCK

_OF_SERVERS = (ANSWER, CONNECT, CLIENT)
# Kinds that state a cause, which facts alone don't.
_CAUSES = (Kind.STRAGGLER, Kind.CLEANUP_DEADLOCK, Kind.DEADLOCK, Kind.TRANSPORT)


class Alternative(Enum):
    """The reasons for which a process may stay at its line without a hang, the surest first."""

    WORKS = "works"
    SLEEPS = "sleeps"
    ANSWERED_LATE = "answered late"
    UNREAD_TASKS = "tasks that weren't read"
    NOT_SAMPLED = "not sampled"
    SINGLE_SAMPLE = "a single sample"


def stated(reading: Reading, scene: Scene) -> Reading:
    """The reading as it may be stated: unchanged if it is proved or without alternatives, else as facts."""
    if reading.is_proof:
        return reading
    listed = set(_of(reading, scene))
    if not listed:
        return reading
    kind = Kind.WAIT_CHAIN if reading.kind in _CAUSES else reading.kind
    step = _step(reading, listed)
    confidence = min(reading.confidence, FACTS)
    return evolve(reading, kind=kind, confidence=confidence, next_step=step or reading.next_step)


def _of(reading: Reading, scene: Scene) -> Iterator[Alternative]:
    if scene.is_single_sample and not scene.evidence.has_timeout:
        yield Alternative.SINGLE_SAMPLE
    if reading.kind in _CAUSES and reading.culprits and not reading.processes:
        yield Alternative.NOT_SAMPLED
    if reading.kind is not Kind.SLOW:
        for each in reading.processes:
            yield from of_process(each, scene)


def of_process(process: SampledProcess, scene: Scene) -> Iterator[Alternative]:
    """The alternatives of a process that others wait for, and of the last one that it waits for itself."""
    if process.activity.doing in WAITS:
        # A long step on a GPU waits there, too.
        if process.activity.call in (WAIT, BACKWARD) and process.cpu > COMPUTES_CPU:
            yield Alternative.WORKS
        return
    last = scene.graph.last_of(process)
    for each in {id(process): process, id(last): last}.values():
        yield from _of_itself(each)
    path = scene.graph.path(process)
    if path is None:
        return
    wait = path.waits[-1]
    if wait.kind == NO_ROOM:
        if _may_make_room(scene):
            yield Alternative.ANSWERED_LATE
    elif path.is_unsure or wait.outside or wait.kind in _OF_SERVERS or _is_left_lock(wait):
        yield Alternative.ANSWERED_LATE


def _of_itself(process: SampledProcess) -> Iterator[Alternative]:
    if process.goes_on or (process.is_busy and not process.holds_gil):
        yield Alternative.WORKS
    # A library that polls for what it waits for sleeps, too.
    wait = library_waits.wait_of(process.stack.frames) if process.stack else None
    sleeps = process.has_timer or library_waits.all_sleep([process])
    if (sleeps and wait is None) or _thread_sleeps(process):
        yield Alternative.SLEEPS
    if library_waits.all_await_answers([process]) or process.activity.doing is Doing.IN_KERNEL:
        yield Alternative.ANSWERED_LATE
    if any(each.kind == CONNECTED for each in process.last.waits):
        yield Alternative.ANSWERED_LATE
    if process.process.role == ACTOR and process.activity.place is None and not process.reading:
        yield Alternative.UNREAD_TASKS


def _may_make_room(scene: Scene) -> bool:
    """Whether a task may end: one that runs code of the user outside of `ray.get`, or was not sampled."""
    return bool(scene.evidence.workers) or any(
        each.activity.place is not None and not each.is_in_ray_get
        for each in scene.evidence.processes
    )


def _is_left_lock(wait: Wait) -> bool:
    """Whether no process of this machine has a lock file, which one of another machine may have."""
    return wait.kind == FILE_LOCK and not wait.targets


def _thread_sleeps(process: SampledProcess) -> bool:
    """Whether another thread, for which the leading one may wait, sleeps or waits for an answer."""
    is_own = process.stack is not None and library_waits.is_own_wait(process.stack.frames)
    return is_own and any(
        any(map(is_users, stack.frames)) and not library_waits.is_own_wait(stack.frames)
        for stack in process.others
    )


def _step(reading: Reading, listed: set[Alternative]) -> str:
    processes = reading.processes
    if Alternative.SINGLE_SAMPLE in listed:
        is_step = bool(processes) and reading.kind is not Kind.WAIT_CHAIN
        return again_step(processes) if is_step else ""
    if Alternative.WORKS in listed:
        ranks = wording.ranks(processes)
        return t("Wait, or profile {ranks} to see what takes the time.", ranks=ranks)
    return t("See why it sleeps: it may still work.") if Alternative.SLEEPS in listed else ""
