"""The picture of a hang: the verdict, the classes of equal stacks, every rank, and what could not be seen."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from eagleray.features.hangs.evidence import Evidence, Seen
from eagleray.features.hangs.verdict import Verdict
from eagleray.sampling.frames import Frame
from eagleray.sampling.merging import Member, Stack, TreeNode, merged, tree
from eagleray.sampling.processes import RANK
from eagleray.sampling.rank_sets import RankSet


@frozen
class StackClass:
    """Processes with the same stack; `group` is their world, or what they have in common."""

    group: str
    ranks: RankSet
    is_ranks: bool
    doing: str
    thread: str
    frames: tuple[Frame, ...]


@frozen
class Unseen:
    """A rank that could not be read, and why: `ended`, `not-found`, `permission`, `timeout`, `no-tool` or `not-python`."""

    group: str
    rank: int
    reason: str


@frozen
class SilentNode:
    """A node that gave no answer: `timeout`, or `failed` with what Ray said of it as `detail`."""

    host: str
    reason: str
    detail: str = ""


@frozen
class Picture:
    """What was seen at one time.  `seen` counts the processes whose stacks were read."""

    verdict: Verdict
    classes: tuple[StackClass, ...]
    processes: tuple[Seen, ...]
    seen: int
    unseen: tuple[Unseen, ...]
    taken_at: float
    silent: tuple[SilentNode, ...] = ()

    def tree(self) -> list[TreeNode]:
        """The prefix tree of the leading stacks of all processes."""
        return tree(merged(_samples(self.processes)))


def picture(
    evidence: Evidence,
    verdict: Verdict,
    taken_at: float,
    silent: Iterable[SilentNode] = (),
) -> Picture:
    readable = [seen for seen in evidence.processes if seen.stack is not None]
    return Picture(
        verdict,
        _classes(readable),
        evidence.processes,
        len(readable),
        _unseen(evidence),
        taken_at,
        tuple(silent),
    )


def _samples(processes: Iterable[Seen]) -> Iterable[tuple[Member, Stack]]:
    for seen in processes:
        if seen.stack is not None:
            yield Member(seen.process.group, seen.rank), seen.stack


def _classes(readable: list[Seen]) -> tuple[StackClass, ...]:
    by_member = {(seen.process.group, seen.rank): seen for seen in readable}
    found = []
    for entry in merged(_samples(readable)):
        for group, ranks in entry.members.items():
            first = by_member[group, next(iter(ranks))]
            found.append(
                StackClass(
                    group,
                    ranks,
                    first.process.role == RANK,
                    first.activity.doing.value,
                    entry.stack.thread,
                    entry.stack.frames,
                )
            )
    # Ranks come before the processes around them, and large classes before small ones.
    return tuple(sorted(found, key=lambda each: (not each.is_ranks, each.group, -len(each.ranks))))


def _unseen(evidence: Evidence) -> tuple[Unseen, ...]:
    unreadable = [
        Unseen(seen.process.group, seen.rank, seen.last.reason or "unknown")
        for seen in evidence.processes
        if seen.stack is None
    ]
    missing = [
        Unseen(world.name, rank, "not-found")
        for world in evidence.worlds
        for rank in world.expected
        if rank not in RankSet.of(seen.rank for seen in world.ranks)
    ]
    return (*unreadable, *missing)
