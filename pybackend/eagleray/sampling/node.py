"""Samples of all processes of a node: dumps in parallel, some rounds apart, merged before they travel."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from . import proc
from .dumps import Dump, Thread, Tools, dump
from .frames import is_internal, merging_key
from .merging import Member, MergedStack, Stack, merged
from .processes import Described, described

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# A dump is a process of its own and takes some milliseconds of a core: more at once than cores is no faster.
AT_ONCE = 8


class ProcessSample(NamedTuple):
    """What one round saw of a process besides its stacks; `cpu_s`: seconds of CPU that it has used since its start."""

    state: str
    waits_in: str
    cpu_s: float
    reason: str
    how: str
    resumed: bool
    leading: Stack | None
    holds_gil: bool
    active: bool


@dataclass(frozen=True)
class NodeSamples:
    """The answer of a node: its processes, what each round saw of them, and the merged stacks of each round."""

    processes: tuple[Described, ...]
    rounds: tuple[tuple[ProcessSample, ...], ...]
    stacks: tuple[tuple[MergedStack, ...], ...]


def sample(
    pids: Sequence[int],
    tools: Tools,
    *,
    rounds: int = 3,
    pause_s: float = 2.0,
    host: str = "",
    on_round: Callable[[int], None] = lambda taken: None,
) -> NodeSamples:
    """Samples `pids` and all processes below them `rounds` times, `pause_s` apart."""
    processes = proc.all_processes()
    found = tuple(described(proc.descendants(list(pids), processes), processes, host))
    samples, stacks = [], []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number in range(rounds):
            if number:
                time.sleep(pause_s)
            dumps = list(pool.map(lambda process: dump(process.pid, tools), found))
            samples.append(tuple(_sample(taken) for taken in dumps))
            stacks.append(tuple(merged(_stacks(found, dumps))))
            on_round(number + 1)
    return NodeSamples(found, tuple(samples), tuple(stacks))


def leading_thread(threads: Sequence[Thread]) -> Thread | None:
    """The thread whose stack stands for its process: that of a collective, else one with user code, else the main one."""
    return max(threads, key=_weight, default=None)


def _weight(thread: Thread) -> tuple[bool, bool, bool, int]:
    in_collective = any("distributed_c10d" in frame.file for frame in thread.frames)
    user_frames = sum(not is_internal(frame.file) for frame in thread.frames)
    return in_collective, thread.is_main, thread.holds_gil, user_frames


def _stacks(processes: Sequence[Described], dumps: Sequence[Dump]) -> list[tuple[Member, Stack]]:
    return [
        (Member(process.group, process.number), stack_of(thread))
        for process, taken in zip(processes, dumps)
        if (thread := leading_thread(taken.threads)) is not None
    ]


def stack_of(thread: Thread) -> Stack:
    return Stack(thread.name, tuple(merging_key(frame) for frame in thread.frames))


def _sample(taken: Dump) -> ProcessSample:
    thread = leading_thread(taken.threads)
    now = proc.stat(taken.pid)
    return ProcessSample(
        taken.state,
        proc.waits_in(taken.pid),
        (now.cpu_ticks / 100 if now else 0.0),
        taken.reason,
        taken.how,
        taken.resumed,
        stack_of(thread) if thread else None,
        any(found.holds_gil for found in taken.threads),
        any(found.active for found in taken.threads),
    )
