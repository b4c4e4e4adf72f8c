"""What the samples of all nodes say about each process, and about the ranks of each world."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from attrs import define, frozen

from eagleray.features.hangs.activity import Activity, Doing, activity
from eagleray.features.hangs.task_graph import TaskRow
from eagleray.sampling.frames import is_users
from eagleray.sampling.merging import MergedStack, Stack
from eagleray.sampling.node import NodeSamples, ProcessSample, Round
from eagleray.sampling.processes import ACTOR, RANK, Described
from eagleray.sampling.rank_sets import RankSet

# What waits and what works differ by far more than this: cores, bytes and wakes in a second.
_WORKING_CPU = 0.05
_WORKING_BYTES = 100_000
_WAKES_PER_S = 10


@frozen
class Seen:
    """A process in all its samples; `stacks` are those of its leading thread, None where it could not be read.

    `moves`: its stack, or what it has read or sent, differs between samples.  `cpu`: cores that it used between them.
    """

    process: Described
    host: str
    activity: Activity
    samples: tuple[ProcessSample, ...]
    stacks: tuple[Stack | None, ...]
    moves: bool
    cpu: float
    holds_gil: bool

    @property
    def rank(self) -> int:
        return self.process.number

    @property
    def last(self) -> ProcessSample:
        return self.samples[-1]

    @property
    def stack(self) -> Stack | None:
        """The newest stack that could be read."""
        return next((stack for stack in reversed(self.stacks) if stack is not None), None)


@define(slots=False)
class World:
    """The ranks of a world, such as those of a policy; `expected` are all that its ranks say it has.

    `is_whole`: all machines on which ranks may be were looked at.
    """

    name: str
    ranks: tuple[Seen, ...]
    is_whole: bool = True

    @cached_property
    def expected(self) -> RankSet:
        size = max((seen.process.world_size for seen in self.ranks), default=0)
        seen = RankSet.of(seen.rank for seen in self.ranks)
        return RankSet.union([seen, RankSet.of(range(size))])

    @cached_property
    def missing(self) -> RankSet:
        """The ranks of which no process was found where all of them should be."""
        if not self.is_whole:
            return RankSet()
        return self.expected.without(RankSet.of(seen.rank for seen in self.ranks))

    def doing(self, *kinds: Doing) -> tuple[Seen, ...]:
        return tuple(seen for seen in self.ranks if seen.activity.doing in kinds)

    def others(self, ranks: Iterable[Seen]) -> tuple[Seen, ...]:
        left_out = {id(seen) for seen in ranks}
        return tuple(seen for seen in self.ranks if id(seen) not in left_out)


@define(slots=False)
class Evidence:
    """All processes that were sampled, and the tasks that Ray has listed all the time."""

    processes: tuple[Seen, ...]
    is_whole: bool = True
    tasks: tuple[TaskRow, ...] = ()

    @cached_property
    def worlds(self) -> tuple[World, ...]:
        by_group: dict[str, list[Seen]] = defaultdict(list)
        # Actors whose rank nobody knows are a world, too, once one of them is in a collective.
        in_groups = {
            seen.process.group
            for seen in self.processes
            if seen.process.role == ACTOR
            and seen.activity.doing in (Doing.IN_COLLECTIVE, Doing.INITIALIZING)
        }
        for seen in self.processes:
            if seen.process.role == RANK or (
                seen.process.role == ACTOR and seen.process.group in in_groups
            ):
                by_group[seen.process.group].append(seen)
        return tuple(
            World(
                name,
                tuple(sorted(ranks, key=lambda seen: seen.rank)),
                self.is_whole or all(seen.process.is_world_here for seen in ranks),
            )
            for name, ranks in sorted(by_group.items())
        )

    def children(self, parent: Seen) -> tuple[Seen, ...]:
        return tuple(
            seen
            for seen in self.processes
            if seen.process.parent == parent.process.pid and seen.host == parent.host
        )


def evidence(
    nodes: Iterable[NodeSamples],
    pause_s: float,
    is_whole: bool,
    tasks: Iterable[TaskRow] = (),
) -> Evidence:
    """What `nodes` have sampled every `pause_s` seconds; `is_whole`: they are all nodes on which ranks may be."""
    seen = tuple(seen for node in nodes for seen in _seen_on(node, pause_s))
    return Evidence(seen, is_whole, tuple(tasks))


def _seen_on(node: NodeSamples, pause_s: float) -> list[Seen]:
    by_round = [_by_member(taken.leading) for taken in node.rounds]
    threads = [_threads(taken) for taken in node.rounds]
    found = []
    for index, process in enumerate(node.processes):
        member = process.group, process.number
        samples = tuple(taken.processes[index] for taken in node.rounds)
        stacks = tuple(stacks.get(member) for stacks in by_round)
        newest = next((stack for stack in reversed(stacks) if stack is not None), None)
        doing = activity(samples[-1], newest)
        cpu = _cpu(samples, pause_s)
        found.append(
            Seen(
                process,
                node.host,
                doing,
                samples,
                stacks,
                _moves(doing, samples, stacks, pause_s),
                cpu,
                _keeps_gil(member, samples, threads),
            )
        )
    return found


def _by_member(table: Iterable[MergedStack]) -> dict[tuple[str, int], Stack]:
    return {
        (group, rank): entry.stack
        for entry in table
        for group, ranks in entry.members.items()
        for rank in ranks
    }


def _threads(taken: Round) -> dict[tuple[str, int, str], Stack]:
    """The stacks of a round by group, number and name of the thread."""
    return {
        (group, rank, entry.stack.thread): entry.stack
        for entry in (*taken.others, *taken.leading)
        for group, ranks in entry.members.items()
        for rank in ranks
    }


def _cpu(samples: Sequence[ProcessSample], pause_s: float) -> float:
    if len(samples) < 2 or not pause_s:
        return 0.0
    return (samples[-1].cpu_s - samples[0].cpu_s) / (pause_s * (len(samples) - 1))


def _moves(
    doing: Activity,
    samples: Sequence[ProcessSample],
    stacks: Sequence[Stack | None],
    pause_s: float,
) -> bool:
    """Whether the process goes on.

    A loop that tries again and again stands at other lines, too; but unlike one that computes, it sleeps most of the time.
    """
    between = pause_s * (len(samples) - 1)
    if not between:
        return False
    first, last = samples[0], samples[-1]
    read = [stack for stack in stacks if stack is not None]
    is_elsewhere = any(_users_part(one) != _users_part(two) for one, two in pairwise(read))
    if doing.doing is Doing.IN_COLLECTIVE:
        # It sleeps until its partners come: a thread that is woken often takes part in many of them.
        return is_elsewhere or last.switches - first.switches > _WAKES_PER_S * between
    works = last.cpu_s - first.cpu_s > _WORKING_CPU * between
    return (is_elsewhere and works) or last.io_bytes - first.io_bytes > _WORKING_BYTES * between


def _users_part(stack: Stack) -> tuple[object, ...]:
    return tuple(frame for frame in stack.frames if is_users(frame))


def _keeps_gil(
    member: tuple[str, int],
    samples: Sequence[ProcessSample],
    threads: Sequence[Mapping[tuple[str, int, str], Stack]],
) -> bool:
    """Whether one thread has held the GIL in each sample at the same place: native code that doesn't let go of it."""
    holders = {sample.gil_holder for sample in samples}
    if len(holders) != 1 or "" in holders:
        return False
    (name,) = holders
    stacks = {by_thread.get((*member, name)) for by_thread in threads}
    return len(stacks) == 1
