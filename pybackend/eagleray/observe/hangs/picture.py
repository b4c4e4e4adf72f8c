"""Makes the picture of a hang from its evidence and the verdict on it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, TypeVar, cast

from attrs import asdict, fields, has

from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.common.redact import redact_text
from eagleray.observe.hangs import ras_texts
from eagleray.observe.hangs.activity import MESSAGES, Doing
from eagleray.observe.hangs.counter_readings import parsed
from eagleray.observe.hangs.evidence import HangEvidence, SampledProcess
from eagleray.observe.hangs.model import (
    VERSION,
    AwaitRow,
    CollectiveRow,
    Coverage,
    ExceptionRow,
    ExitRow,
    FrameRow,
    GpuRow,
    InsideRow,
    NativeFrameRow,
    NativeRow,
    Picture,
    RankRow,
    RasRow,
    ReadingRow,
    SilentNode,
    StackClass,
    Unseen,
    VerdictRow,
)
from eagleray.observe.hangs.verdict import HangVerdict, Reading
from eagleray.remote.inspecting.process_answers import AwaitChain, HeldException, ProcessReading
from eagleray.remote.sampling.frames import PythonFrame, is_noise, is_users
from eagleray.remote.sampling.gpus import UNKNOWN
from eagleray.remote.sampling.merging import (
    Member,
    MergedStack,
    ThreadStack,
    TreeNode,
    merged,
    tree,
    united,
)
from eagleray.remote.sampling.native import NativeReading
from eagleray.remote.sampling.printed_exceptions import PrintedException
from eagleray.remote.sampling.processes import RANK
from eagleray.remote.sampling.pyspy_dumps import BY_SIGNAL
from eagleray.remote.sampling.rank_sets import RankSet

R = TypeVar("R")

_MOST_NAMES = 3


def picture(
    evidence: HangEvidence, verdict: HangVerdict, taken_at: float, silent: Iterable[SilentNode] = ()
) -> Picture:
    taken = Picture(
        VERSION,
        round(taken_at, 3),
        _verdict(verdict),
        _classes([each for each in evidence.processes if each.stack is not None]),
        tuple(_rank(each) for each in evidence.processes),
        Coverage(
            sum(each.stack is not None for each in evidence.processes),
            _unseen(evidence),
            tuple(silent),
            printable(evidence.workers, 100),
            tuple(each.rank for each in evidence.processes if each.last.how == BY_SIGNAL),
            tuple(
                each.rank
                for each in evidence.processes
                if any(sample.resumed for sample in each.samples)
            ),
            0
            if evidence.is_given
            else max((len(each.samples) for each in evidence.processes), default=0),
        ),
        tuple(_inside(each) for each in evidence.processes if each.reading is not None),
        native=tuple(
            _native(each, each.native) for each in evidence.processes if each.native is not None
        ),
        exits=tuple(_exits(evidence)),
        threads=tuple(_threads(evidence)),
        ras=tuple(_ras(evidence)),
    )
    return redacted(taken)


def redacted(record: R) -> R:
    """The record without secrets in any of its texts: names, arguments and messages come from processes and nodes."""
    texts: dict[str, str] = {}
    names: dict[type, list[str]] = {}

    def plain(value: Any) -> Any:
        if isinstance(value, str):
            if value not in texts:
                texts[value] = redact_text(value)
            return texts[value]
        if isinstance(value, (int, float)):
            return value
        if isinstance(value, tuple):
            return tuple([plain(each) for each in value])
        kind = type(value)
        if kind not in names:
            names[kind] = [each.name for each in fields(kind)] if has(kind) else []
        if names[kind]:
            return kind(*[plain(getattr(value, name)) for name in names[kind]])
        return value

    return cast(R, plain(record))


def tree_of(taken: Picture) -> list[TreeNode]:
    """The prefix tree of the stacks of all classes."""
    return tree(
        united(
            [MergedStack(_stack(each), {each.group: RankSet.parse(each.ranks)})]
            for each in taken.classes
        )
    )


def _stack(each: StackClass) -> ThreadStack:
    frames = tuple(PythonFrame(frame.function, frame.path, frame.line) for frame in each.frames)
    # Threads have names of their own, and the same frames.
    return ThreadStack("", frames)


def _verdict(verdict: HangVerdict) -> VerdictRow:
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


def _samples(processes: Iterable[SampledProcess]) -> Iterator[tuple[Member, ThreadStack]]:
    for each in processes:
        if each.stack is not None:
            yield Member(each.process.group, each.rank), each.stack


def _classes(readable: list[SampledProcess]) -> tuple[StackClass, ...]:
    by_member = {(each.process.group, each.rank): each for each in readable}
    by_class = [
        (by_member[group, next(iter(ranks))], group, ranks, entry.stack)
        for entry in merged(_samples(readable))
        for group, ranks in entry.members.items()
    ]
    # Ranks come before the processes around them, and large classes before small ones.
    by_class.sort(key=lambda each: (each[0].process.role != RANK, each[1], -len(each[2])))
    return tuple(
        StackClass(
            group,
            str(ranks),
            first.activity.doing.value,
            stack.thread,
            tuple(map(_frame, stack.frames)),
        )
        for first, group, ranks, stack in by_class
    )


def _threads(evidence: HangEvidence) -> Iterator[StackClass]:
    ranks: dict[tuple[str, tuple[PythonFrame, ...]], list[int]] = defaultdict(list)
    names: dict[tuple[str, tuple[PythonFrame, ...]], dict[str, None]] = defaultdict(dict)
    for each in evidence.processes:
        for stack in each.others:
            key = each.process.group, stack.frames
            ranks[key].append(each.rank)
            names[key].setdefault(printable(stack.thread, 60))
    for key in sorted(ranks, key=lambda key: (key[0], -len(set(ranks[key])))):
        group, frames = key
        listed = [name for name in names[key] if name]
        more = [f"… ({len(listed)})"] if len(listed) > _MOST_NAMES else []
        named = ", ".join([*listed[:_MOST_NAMES], *more])
        yield StackClass(group, str(RankSet.of(ranks[key])), "", named, tuple(map(_frame, frames)))


def _ras(evidence: HangEvidence) -> Iterator[RasRow]:
    has_messages = any(each.activity.call in MESSAGES for each in evidence.processes)
    for row in evidence.ras:
        yield ras_texts.with_sentences(row, has_messages=has_messages)


def _frame(frame: PythonFrame) -> FrameRow:
    return FrameRow(*frame, hidden=is_noise(frame), users=is_users(frame))


def _rank(sampled: SampledProcess) -> RankRow:
    return RankRow(
        group=sampled.process.group,
        rank=sampled.rank,
        role=sampled.process.role,
        pid=sampled.process.pid,
        node=sampled.host,
        doing=sampled.activity.doing.value,
        call=sampled.activity.call,
        moves=sampled.moves,
        cpu=round(sampled.cpu, 2),
        state=sampled.last.state,
        collectives=_collectives(sampled),
        gpus=_gpus(sampled),
    )


def _gpus(sampled: SampledProcess) -> tuple[GpuRow, ...]:
    first = {use.number: use.percent for use in sampled.samples[0].gpus}
    return tuple(
        GpuRow(use.number, first.get(use.number, UNKNOWN), use.percent, use.memory_mib)
        for use in sampled.last.gpus
    )


def _collectives(sampled: SampledProcess) -> tuple[CollectiveRow, ...]:
    return _collective_rows(sampled.record) if sampled.record else ()


@lru_cache(1024)
def _collective_rows(text: str) -> tuple[CollectiveRow, ...]:
    record = parsed(text)
    if record is None:
        return ()
    calls = {name: each.operation for (name, _), each in sorted(record.collectives.items())}
    return tuple(
        CollectiveRow(
            printable(group), progress.started, progress.ended, printable(calls.get(group, ""))
        )
        for group, progress in sorted(record.progress.items())
    )


def _inside(sampled: SampledProcess) -> InsideRow:
    reading = sampled.reading or ProcessReading("no-answer")
    return InsideRow(
        sampled.process.group,
        sampled.rank,
        reading.reason or ("cut" if reading.is_cut else ""),
        tuple(_exception(held) for held in sampled.raised),
        tuple(_await(chain, reading) for chain in reading.awaits),
    )


def _native(sampled: SampledProcess, reading: NativeReading) -> NativeRow:
    return NativeRow(
        sampled.process.group,
        sampled.rank,
        reading.reason,
        printable(reading.thread),
        tuple(
            NativeFrameRow(printable(function), printable(library))
            for function, library in reading.frames
        ),
        reading.paused_s,
        reading.resumed,
    )


def _exception(held: HeldException) -> ExceptionRow:
    raised, first = held.causes[0], held.causes[-1]
    return ExceptionRow(
        _plain(raised.text),
        _plain(first.text) if first is not raised else "",
        printable(held.variable),
        tuple(_frame(frame) for frame in first.frames),
    )


def _await(chain: AwaitChain, reading: ProcessReading) -> AwaitRow:
    waits_for = printable(chain.waits_for)
    if names := [name for each in reading.holders(chain.lock) for name in each.names]:
        tasks = printable(", ".join(names[:_MOST_NAMES]), 200)
        waits_for = t("{lock} held by {tasks}", lock=waits_for, tasks=tasks)
    return AwaitRow(
        chain.state,
        chain.tasks,
        tuple(map(printable, chain.names)),
        tuple(_frame(frame) for frame in chain.frames),
        waits_for,
    )


def _exits(evidence: HangEvidence) -> Iterator[ExitRow]:
    for each in evidence.processes:
        if each.printed:
            yield _exit(each.process.group, each.rank, None, 0, each.printed)
    gone = {
        world.name: world.expected.without(
            RankSet.of(each.rank for each in world.others(world.doing(Doing.ENDED)))
        )
        for world in evidence.worlds
    }
    for world, ending in evidence.endings:
        is_on_record = ending.exit_code is not None or ending.printed is not None
        if is_on_record and ending.rank in gone.get(world, RankSet()):
            yield _exit(world, ending.rank, ending.exit_code, ending.oom_kills, ending.printed)


def _exit(
    group: str, rank: int, code: int | None, oom_kills: int, printed: PrintedException | None
) -> ExitRow:
    place = printed.place if printed else None
    return ExitRow(
        group,
        rank,
        code,
        oom_kills,
        _plain(printed.text) if printed else "",
        place.file if place else "",
        place.line if place else 0,
    )


def _plain(text: str) -> str:
    # A secret that is cut off may no longer be recognized.
    return printable(redact_text(printable(text, 10_000)), 500)


def _unseen(evidence: HangEvidence) -> tuple[Unseen, ...]:
    unreadable = [
        Unseen(each.process.group, each.rank, each.last.reason or "unknown")
        for each in evidence.processes
        if each.stack is None and not (each.record and evidence.is_given)
    ]
    reason = "not-given" if evidence.is_given else "not-found"
    missing = [
        Unseen(world.name, rank, reason)
        for world in (() if evidence.workers else evidence.worlds)
        for rank in world.expected.without(RankSet.of(each.rank for each in world.ranks))
    ]
    return (*unreadable, *missing)
