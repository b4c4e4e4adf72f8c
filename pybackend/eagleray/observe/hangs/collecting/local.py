"""Takes a picture of processes of this machine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

from eagleray.common.blocking_calls import off_loop
from eagleray.common.l10n import counted
from eagleray.observe.hangs import errors
from eagleray.observe.hangs.collecting.completed_picture import FurtherAnswers, answered, completed
from eagleray.observe.hangs.collecting.drivers_here import (
    clusters_of,
    elsewhere,
    graph_between,
    named_of,
    states_of,
)
from eagleray.observe.hangs.collecting.ray_jobs import dead_in
from eagleray.observe.hangs.collecting.sampling_plan import DEFAULT_PLAN, OnProgress, SamplingPlan
from eagleray.observe.hangs.evidence import evidence
from eagleray.observe.hangs.inside_questions import Question
from eagleray.observe.hangs.model import Picture
from eagleray.remote.inspecting.flight_record_socket import served_records
from eagleray.remote.inspecting.process_answers import raw_readings, reading_of
from eagleray.remote.sampling import proc
from eagleray.remote.sampling.job_processes import is_eaglerays
from eagleray.remote.sampling.native import native_of, raw_natives
from eagleray.remote.sampling.node_sampler import NodeSamples, sample
from eagleray.remote.sampling.processes import Named
from eagleray.remote.sampling.pyspy_dumps import Tools
from eagleray.remote.sampling.rank_sets import RankSet
from eagleray.tools.pyspy import find_program

# How often a picture is taken again with those for which its processes wait, and with how many of them at once.
_MOST_TIMES = 3
_MOST_AWAITED = 8
# Takes the number of rounds that are done.
OnRound = Callable[[int], None]
# Pauses for some seconds.
Wait = Callable[[float], None]


class Cancelled(Exception):
    """Ends the thread that samples; its task was cancelled."""


async def take(pids: Sequence[int], plan: SamplingPlan = DEFAULT_PLAN) -> Picture:
    """The picture of `pids`, of the ranks of their worlds and of what they have started; of a driver or worker of Ray
    also the other processes of its job on this machine.

    Raises EaglerayError if none of them runs.
    """
    clusters = await off_loop(partial(clusters_of, pids))
    before = await states_of(clusters)
    named = {pid: name for state in before for pid, name in named_of(state).items()}
    sample = partial(_sample_now, pids, named, plan.rounds, plan.pause_s)
    node = await sampled_in_thread(partial(sample, ()), plan.on_progress, plan.rounds)
    if not node.processes:
        raise errors.no_processes(pids)
    awaited: list[int] = []
    for _ in range(_MOST_TIMES):
        if not (further := _awaited_by(node)):
            break
        awaited += further
        plan.say(
            counted(
                len(further),
                "Others wait for process {pids}: sampling it, too",
                "Others wait for processes {pids}: sampling them, too",
                pids=RankSet.of(further),
            )
        )
        node = await sampled_in_thread(partial(sample, awaited), plan.on_progress, plan.rounds)
    after = await states_of(clusters) if before else []
    pairs = list(zip(before, after, strict=False)) if len(before) == len(after) else []
    sampled = evidence(
        [node],
        plan.pause_s,
        is_whole=False,
        tasks=[task for pair in pairs for task in graph_between(*pair)] if pairs else None,
        dead=[
            actor
            for state in after
            for actor in dead_in(state.actors, {row.job_id for row in state.actors})
        ],
    )
    nodes = [node for state in after for node in elsewhere(state)]
    return completed(await answered(sampled, ask, plan), nodes)


async def ask(question: Question) -> FurtherAnswers:
    """Returns the answers of processes of this machine."""
    pids, holding, native = question.pids
    answers = await asyncio.to_thread(raw_readings, pids, holding) if question.places else []
    tools = Tools(py_spy=find_program())
    frames = await asyncio.to_thread(raw_natives, native, tools)
    return FurtherAnswers(
        dict(zip(question.places, map(reading_of, answers), strict=True)),
        dict(zip(question.native, map(native_of, frames), strict=True)),
    )


def _awaited_by(node: NodeSamples) -> list[int]:
    """The processes of the same users for which others wait, and which were not sampled; none of ours, such as a run's supervisor."""
    sampled = {each.pid for each in node.processes}
    waits = [wait for last in node.rounds[-1].processes for wait in last.waits]
    # A process that has left its parent isn't sampled with that.
    pids = {
        pid
        for wait in waits
        for pid in set(wait.pids) - sampled
        if sampled.isdisjoint(wait.pids) or _has_left(pid)
    }
    users = {_user(pid) for pid in sampled}
    further = [
        pid for pid in sorted(pids) if _user(pid) in users - {None} and not is_eaglerays(pid)
    ]
    # A lock or a server that more processes share than these says little of each.
    return further if len(further) <= _MOST_AWAITED else []


def _has_left(pid: int) -> bool:
    status = proc.stat(pid)
    return status is not None and status.parent == 1


def _user(pid: int) -> int | None:
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None


def _sample_now(
    pids: Sequence[int],
    named: Mapping[int, Named],
    rounds: int,
    pause_s: float,
    awaited: Collection[int],
    on_round: OnRound,
    wait: Wait,
) -> NodeSamples:
    """Blocks while it samples; without any process it doesn't wait for the next round."""
    if not any(proc.stat(pid) for pid in pids):
        raise errors.no_processes(pids)
    tools = Tools(find_program(), served_records)
    return sample(
        pids,
        tools,
        rounds=rounds,
        pause_s=pause_s,
        on_round=on_round,
        wait=wait,
        named=named,
        awaited=awaited,
    )


async def sampled_in_thread(
    sample: Callable[[OnRound, Wait], NodeSamples], on_progress: OnProgress, rounds: int
) -> NodeSamples:
    """Returns the result of `sample`, which runs in a thread; a cancellation ends it after its round, or its pause."""
    is_cancelled = threading.Event()
    loop = asyncio.get_running_loop()

    def wait(seconds: float) -> None:
        if is_cancelled.wait(seconds):
            raise Cancelled

    def on_round(done: int) -> None:
        wait(0)
        loop.call_soon_threadsafe(on_progress, done, rounds)

    try:
        return await asyncio.to_thread(sample, on_round, wait)
    finally:
        is_cancelled.set()
