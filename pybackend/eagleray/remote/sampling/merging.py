"""Merged stacks: each distinct stack once, with the ranks that have it, and the prefix tree of all.

The method of LLNL's STAT: a node merges its own stacks, what travels is its table, and the tables of all nodes are
united.  The result doesn't depend on which node merged what, nor on any order.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

from .frames import PythonFrame
from .rank_sets import RankSet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    # Ranks by their group.
    Members = Mapping[str, RankSet]


T = TypeVar("T")


class Member(NamedTuple):
    """A process: its number in a group of processes that do the same, such as the ranks of one world."""

    group: str
    rank: int


class ThreadStack(NamedTuple):
    """The frames of one thread, outermost first."""

    thread: str
    frames: tuple[PythonFrame, ...]


@dataclass(frozen=True)
class MergedStack:
    stack: ThreadStack
    members: Members


@dataclass
class TreeNode:
    """Frames that its members share, one below the other, and what follows them.

    `members` is computed when it is read: with ranks that are scattered over many stacks it costs more than the tree,
    and a reader opens few branches.
    """

    frames: tuple[PythonFrame, ...]
    stacks: list[MergedStack]
    children: list[TreeNode]

    @cached_property
    def members(self) -> Members:
        return united_members(entry.members for entry in self.stacks)


def merged(samples: Iterable[tuple[Member, ThreadStack]]) -> list[MergedStack]:
    """Each distinct stack of `samples` once."""
    ranks: dict[ThreadStack, dict[str, list[int]]] = {}
    same = _SameStacks(ranks)
    for (group, rank), stack in samples:
        same.groups(stack)[group].append(rank)
    return _sorted(
        MergedStack(stack, {group: RankSet.of(groups[group]) for group in sorted(groups)})
        for stack, groups in ranks.items()
    )


def united(tables: Iterable[Iterable[MergedStack]]) -> list[MergedStack]:
    """Returns what `merged` gives for the samples of all `tables` together."""
    intervals: dict[ThreadStack, dict[str, list[tuple[int, int]]]] = {}
    same = _SameStacks(intervals)
    for table in tables:
        for entry in table:
            groups = same.groups(entry.stack)
            for group, ranks in entry.members.items():
                groups[group].extend(ranks.intervals)
    return _sorted(
        MergedStack(stack, {group: RankSet.joined(groups[group]) for group in sorted(groups)})
        for stack, groups in intervals.items()
    )


class _SameStacks(Generic[T]):
    """The groups of each distinct stack in `by_stack`.

    To hash a stack takes longer than all other work on it, and what was read from one answer shares its stacks: an
    object that came before is found by its identity.
    """

    def __init__(self, by_stack: dict[ThreadStack, dict[str, list[T]]]) -> None:
        self._by_stack = by_stack
        # A reference to the stack, so that no other object gets its identity.
        self._by_id: dict[int, tuple[ThreadStack, dict[str, list[T]]]] = {}

    def groups(self, stack: ThreadStack) -> dict[str, list[T]]:
        entry = self._by_id.get(id(stack))
        if entry is None:
            groups = self._by_stack.get(stack)
            if groups is None:
                groups = self._by_stack[stack] = defaultdict(list)
            entry = self._by_id[id(stack)] = stack, groups
        return entry[1]


def count(members: Members) -> int:
    return sum(len(ranks) for ranks in members.values())


def united_members(parts: Iterable[Members]) -> Members:
    groups: dict[str, list[RankSet]] = defaultdict(list)
    for members in parts:
        for group, ranks in members.items():
            groups[group].append(ranks)
    return {group: RankSet.union(sets) for group, sets in sorted(groups.items())}


def tree(stacks: Iterable[MergedStack]) -> list[TreeNode]:
    """The prefix tree of `stacks`, in their order; frames without a fork between them share a node.

    Without recursion: the tree of a recursive function is as deep as its stacks.
    """
    roots: list[TreeNode] = []
    unfinished = [(list(stacks), 0, roots)]
    while unfinished:
        below, depth, nodes = unfinished.pop()
        for alike in _forks(below, depth):
            end = _shared_end(alike, depth)
            node = TreeNode(alike[0].stack.frames[depth:end], alike, [])
            nodes.append(node)
            unfinished.append((alike, end, node.children))
    return roots


def _forks(stacks: list[MergedStack], depth: int) -> Iterable[list[MergedStack]]:
    """The stacks that reach beyond `depth`, those with the same frame together."""
    by_frame: dict[PythonFrame, list[MergedStack]] = {}
    for entry in stacks:
        frames = entry.stack.frames
        if len(frames) > depth:
            by_frame.setdefault(frames[depth], []).append(entry)
    return by_frame.values()


def _shared_end(stacks: list[MergedStack], depth: int) -> int:
    """The depth up to which all `stacks` have the same frames; they have at `depth`."""
    first = stacks[0].stack.frames
    shortest = min(len(entry.stack.frames) for entry in stacks)
    end = depth + 1
    while end < shortest and all(entry.stack.frames[end] == first[end] for entry in stacks):
        end += 1
    return end


def _sorted(entries: Iterable[MergedStack]) -> list[MergedStack]:
    """Most ranks first; the rest of the order only has to be the same for the same stacks."""
    return sorted(entries, key=lambda entry: (-count(entry.members), entry.stack))
