"""Makes the picture of a hang from its evidence and the verdict on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import asdict

from eagleray.features.hangs.evidence import Evidence, Seen
from eagleray.features.hangs.model import (
    VERSION,
    Coverage,
    FrameRow,
    Picture,
    RankRow,
    ReadingRow,
    SilentNode,
    StackClass,
    Unseen,
    VerdictRow,
)
from eagleray.features.hangs.verdict import Reading, Verdict
from eagleray.sampling.frames import Frame, is_noise
from eagleray.sampling.merging import Member, MergedStack, Stack, TreeNode, merged, tree, united
from eagleray.sampling.processes import RANK
from eagleray.sampling.rank_sets import RankSet


def picture(
    evidence: Evidence, verdict: Verdict, taken_at: float, silent: Iterable[SilentNode] = ()
) -> Picture:
    return Picture(
        VERSION,
        round(taken_at, 3),
        _verdict(verdict),
        _classes([seen for seen in evidence.processes if seen.stack is not None]),
        tuple(_rank(seen) for seen in evidence.processes),
        Coverage(
            sum(seen.stack is not None for seen in evidence.processes),
            _unseen(evidence),
            tuple(silent),
        ),
    )


def tree_of(taken: Picture) -> list[TreeNode]:
    """The prefix tree of the stacks of all classes."""
    return tree(
        united(
            [MergedStack(_stack(each), {each.group: RankSet.parse(each.ranks)})]
            for each in taken.classes
        )
    )


def _stack(each: StackClass) -> Stack:
    frames = tuple(Frame(frame.function, frame.path, frame.line) for frame in each.frames)
    # Threads have names of their own, and the same frames.
    return Stack("", frames)


def _verdict(verdict: Verdict) -> VerdictRow:
    others = tuple(map(_reading, verdict.readings))
    return VerdictRow(**asdict(_reading(verdict.reading)), readings=others)


def _reading(reading: Reading) -> ReadingRow:
    return ReadingRow(
        reading.kind.value,
        str(reading.culprits),
        reading.confidence,
        reading.sentence,
        reading.next_step,
        reading.world,
    )


def _samples(processes: Iterable[Seen]) -> Iterator[tuple[Member, Stack]]:
    for seen in processes:
        if seen.stack is not None:
            yield Member(seen.process.group, seen.rank), seen.stack


def _classes(readable: list[Seen]) -> tuple[StackClass, ...]:
    by_member = {(seen.process.group, seen.rank): seen for seen in readable}
    found = [
        (by_member[group, next(iter(ranks))], group, ranks, entry.stack)
        for entry in merged(_samples(readable))
        for group, ranks in entry.members.items()
    ]
    # Ranks come before the processes around them, and large classes before small ones.
    found.sort(key=lambda each: (each[0].process.role != RANK, each[1], -len(each[2])))
    return tuple(
        StackClass(
            group,
            str(ranks),
            first.activity.doing.value,
            stack.thread,
            tuple(FrameRow(*frame, hidden=is_noise(frame)) for frame in stack.frames),
        )
        for first, group, ranks, stack in found
    )


def _rank(seen: Seen) -> RankRow:
    return RankRow(
        group=seen.process.group,
        rank=seen.rank,
        role=seen.process.role,
        pid=seen.process.pid,
        node=seen.host,
        doing=seen.activity.doing.value,
        call=seen.activity.call,
        moves=seen.moves,
        cpu=round(seen.cpu, 2),
        state=seen.last.state,
    )


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
