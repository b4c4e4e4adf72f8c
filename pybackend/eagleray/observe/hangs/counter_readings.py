"""Readings of the counters of ranks, of their flight recorders or of NCCL's RAS: which collective each has started and ended last decides whose fault it is.

Only collectives that have not ended count: ranks may give different shapes to one that has worked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from eagleray.common.errors import printable
from eagleray.common.l10n import counted, t
from eagleray.observe.hangs import flight_recorder, wording
from eagleray.observe.hangs.activity import Doing
from eagleray.observe.hangs.evidence import SampledProcess, World
from eagleray.observe.hangs.flight_recorder import UNSURE, Mismatch, RankRecord
from eagleray.observe.hangs.verdict import Kind, Reading
from eagleray.remote.sampling.rank_sets import RankSet

Records = Mapping[int, RankRecord]

_NOTHING = RankRecord({}, {})
# Below what a verdict needs.
_UNSURE = 0.45
# Two groups seldom both wait in a collective of such a number.
_RARE = 1000
parsed = lru_cache(1024)(flight_recorder.parse)


def record_of(process: SampledProcess) -> RankRecord | None:
    """Returns the record of a rank's flight recorder; None if it is off, or wasn't read."""
    return parsed(process.record) if process.record else None


def counters(world: World, *, is_snapshot: bool = False) -> Iterator[Reading]:
    """The first of these that fits a group whose collectives don't end.

    1. Ranks are in different collectives of the same number, or have launched different ones: a mismatch.
    2. A rank is late in this group while it waits in another, where a partner of it is late: the wrong group.
    3. Ranks have not started the collective in which others wait, and wait, too, as in a later call on a GPU, or have no stack: the
       stragglers.  Of one that doesn't wait its stack says more, and the number is added to that, unless no stack shows a
       wait, as in a compiled program.
    4. All ranks wait in the same collective, and all were read: it is the transport.  RAS can't tell that, and a log only if
       it has all ranks, and a dump of a rank that runs looks the same (`is_snapshot`).
    """
    records = _records(world)
    if len(records) < 2:
        return
    stuck = [
        group
        for group in flight_recorder.groups(records)
        if flight_recorder.is_stuck(records, group)
    ]
    for group in stuck:
        differing = flight_recorder.mismatch(records, group)
        if differing is not None and _has_not_ended(records, differing):
            yield _mismatch(world, records, differing)
            return
        if ranks := flight_recorder.launched_differently(records, group):
            yield _different_launches(world, records, group, ranks)
            return
    if len(stuck) > 1 and (wrong := _in_other_group(records, stuck)):
        yield _wrong_group(world, records, wrong)
        return
    for group in stuck:
        late = flight_recorder.behind(records, group)
        if late and not group.endswith(UNSURE):
            slow = [each for each in world.ranks if each.rank in late]
            waits = (Doing.IN_COLLECTIVE, Doing.UNREADABLE)
            is_hidden = not world.doing(Doing.IN_COLLECTIVE) and not any(
                each.goes_on for each in slow
            )
            if is_hidden or all(each.activity.doing in waits for each in slow):
                yield _straggler(world, records, group, slow)
            return
    is_recorded = not any(record.launches for record in records.values())
    is_whole = len(records) == len(world.expected) or _are_logged(records)
    if (
        is_recorded
        and is_whole
        and len(stuck) == 1
        and flight_recorder.is_shared(records, stuck[0])
    ):
        yield _transport(world, records, stuck[0], is_snapshot=is_snapshot)


def pending(record: RankRecord) -> list[str]:
    """The groups of which a rank has started a collective that has not ended."""
    return sorted(
        group for group, progress in record.progress.items() if progress.started > progress.ended
    )


def _has_not_ended(records: Records, differing: Mismatch) -> bool:
    return any(
        (group := record.progress.get(differing.group)) is not None
        and group.ended < differing.number
        for record in records.values()
    )


def _in_other_group(records: Records, stuck: list[str]) -> list[int]:
    """The ranks whose pending collective is in another group than most ranks', though they are members of the group of
    most.

    Of these, one that itself waits only for others of them is held up by those; the same then holds among them.
    """
    by_group = {
        group: [rank for rank, record in records.items() if group in pending(record)]
        for group in stuck
    }
    usual = max(stuck, key=lambda group: len(by_group[group]))
    late = flight_recorder.behind(records, usual)
    others = {rank for rank in late if pending(records[rank]) and rank not in by_group[usual]}
    wrong = [rank for rank in sorted(others) if not _awaited(records, rank) <= others]
    left = [group for group in stuck if group != usual]
    if wrong or len(left) < 2:
        return wrong
    return _in_other_group({rank: records[rank] for rank in others}, left)


def _awaited(records: Records, rank: int) -> set[int]:
    """The ranks that have not started what `rank` waits in."""
    progress = records[rank].progress
    return {
        other
        for group in pending(records[rank])
        for other, record in records.items()
        if group in record.progress and record.progress[group].started < progress[group].started
    }


def _mismatch(world: World, records: Records, differing: Mismatch) -> Reading:
    some = [each for each in world.ranks if each.rank in differing.ranks]
    others = [
        each for each in world.ranks if each.rank in records and each.rank not in differing.ranks
    ]
    theirs, usual = differing.theirs, differing.others
    values = {
        "Ranks": wording.Ranks(some),
        "others": wording.ranks(others),
        "number": differing.number,
        "group": _name(differing.group) if differing.group != UNSURE else t("a process group"),
        "branch": wording.branch(some, others),
    }
    if differing.differs == "operation":
        text = counted(
            len(some),
            "{Ranks} calls {theirs} as collective {number} of {group}, {others} {usual}{branch}.",
            "{Ranks} call {theirs} as collective {number} of {group}, {others} {usual}{branch}.",
            theirs=_call(some, theirs.operation),
            usual=_call(others, usual.operation),
            **values,
        )
    else:
        is_shape = differing.differs == "shapes"
        text = counted(
            len(some),
            "{Ranks} gives {theirs} to collective {number} of {group} ({call}), {others} {usual}.",
            "{Ranks} give {theirs} to collective {number} of {group} ({call}), {others} {usual}.",
            theirs=_name(theirs.shapes if is_shape else theirs.dtypes),
            usual=_name(usual.shapes if is_shape else usual.dtypes),
            call=_name(usual.operation),
            **values,
        )
    step = t("Make all ranks call the same collectives in the same order.")
    ranks = RankSet.of(differing.ranks)
    confidence = min(0.95, _limit(records, differing.group))
    if differing.group == UNSURE and differing.number >= _RARE and differing.differs == "operation":
        confidence = 0.6
    return Reading(
        Kind.COLLECTIVE_MISMATCH, ranks, confidence, text, step, world.name, is_proof=True
    )


def _different_launches(
    world: World, records: Records, group: str, differing: Sequence[int]
) -> Reading:
    some = [each for each in world.ranks if each.rank in differing]
    others = [
        each
        for each in world.ranks
        if each.rank not in differing and group in records.get(each.rank, _NOTHING).launches
    ]
    text = counted(
        len(some),
        "{Ranks} has launched {theirs} in {group}, {others} {usual}.",
        "{Ranks} have launched {theirs} in {group}, {others} {usual}.",
        Ranks=wording.Ranks(some),
        theirs=_launches(records[some[0].rank], group),
        group=_name(group),
        others=wording.ranks(others),
        usual=_launches(records[others[0].rank], group) if others else "",
    )
    step = t("Make all ranks call the same collectives in the same order.")
    ranks = RankSet.of(differing)
    return Reading(Kind.COLLECTIVE_MISMATCH, ranks, 0.85, text, step, world.name, is_proof=True)


def _launches(record: RankRecord, group: str) -> str:
    return ", ".join(
        f"{_name(name)} {count}" for name, count in record.launches[group].items() if count
    )


def _call(processes: Sequence[SampledProcess], operation: str) -> str:
    """The operation, with its line in the program if the stacks have it."""
    calls = wording.calls(processes)
    return calls if calls.startswith(f"{operation} (") else _name(operation)


def _wrong_group(world: World, records: Records, wrong: Sequence[int]) -> Reading:
    some = [each for each in world.ranks if each.rank in wrong]
    others = [each for each in world.ranks if each.rank in records and each.rank not in wrong]
    text = counted(
        len(some),
        "{Ranks} waits in {calls} of group {theirs}, {others} in {other_calls} of {usual}.",
        "{Ranks} wait in {calls} of group {theirs}, {others} in {other_calls} of {usual}.",
        Ranks=wording.Ranks(some),
        calls=wording.calls(some),
        theirs=_groups(records, some),
        others=wording.ranks(others),
        other_calls=wording.calls(others),
        usual=_groups(records, others),
    )
    step = t("Use the same process groups, in the same order, on all ranks.")
    return Reading(
        Kind.WRONG_PROCESS_GROUP, RankSet.of(wrong), 0.9, text, step, world.name, is_proof=True
    )


def _groups(records: Records, ranks: Iterable[SampledProcess]) -> str:
    """The groups in which `ranks` wait."""
    return ", ".join(
        sorted({_name(group) for each in ranks for group in pending(records[each.rank])})
    )


def not_started(world: World, late: Sequence[SampledProcess]) -> str:
    """`Rank 2 has not started collective 4 (all_reduce) of default_pg.` if counters say so of all of `late`, else ""."""
    records = _records(world)
    for group in flight_recorder.groups(records):
        behind = flight_recorder.behind(records, group)
        if flight_recorder.is_stuck(records, group) and all(each.rank in behind for each in late):
            return _not_started(records, group, late)
    return ""


def _not_started(records: Records, group: str, late: Sequence[SampledProcess]) -> str:
    number = flight_recorder.awaited(records, group)
    return counted(
        len(late),
        "{Ranks} has not started collective {number} ({call}) of {group}.",
        "{Ranks} have not started collective {number} ({call}) of {group}.",
        Ranks=wording.Ranks(late),
        number=number,
        call=_operation(records, group, number),
        group=_name(group),
    )


def _straggler(
    world: World, records: Records, group: str, late: Sequence[SampledProcess]
) -> Reading:
    ranks = RankSet.of(each.rank for each in late)
    is_logged = _are_logged(records)
    ahead = [
        each
        for each in world.ranks
        if each.rank not in ranks and group in records.get(each.rank, _NOTHING).progress
    ]
    if is_logged and len(late) > len(ahead):
        return _ahead(world, records, group, ahead)
    text = _not_started(records, group, late)
    if all(each.activity.doing is Doing.IN_COLLECTIVE for each in late):
        calls = wording.calls(late)
        text += " " + counted(
            len(late), "It waits in {calls}.", "They wait in {calls}.", calls=calls
        )
    step = (
        t("Look at the end of the log of {ranks}.", ranks=wording.ranks(late))
        if is_logged
        else t("Look inside {rank}, and at the end of its log.", rank=wording.ranks(late[:1]))
    )
    return Reading(Kind.STRAGGLER, ranks, 0.9, text, step, world.name, processes=tuple(late))


def _ahead(world: World, records: Records, group: str, ahead: Sequence[SampledProcess]) -> Reading:
    """The fewer ranks that alone have started a collective, in which they may have called one too many."""
    number = flight_recorder.awaited(records, group)
    text = t(
        "Only {ranks} started collective {number} ({call}) of {group}.",
        ranks=wording.ranks(ahead),
        number=number,
        call=_operation(records, group, number),
        group=_name(group),
    )
    step = t("Check whether all ranks should call it. See what holds up the others.")
    return Reading(Kind.STRAGGLER, RankSet(), 0.5, text, step, world.name)


def _are_logged(records: Records) -> bool:
    return any(record.is_logged for record in records.values())


def _limit(records: Records, group: str) -> float:
    """The confidence that counters of `group` allow.

    PyTorch counts a collective only once NCCL's call has returned (2.8), so that one in a log may be in that call.
    """
    if group.endswith(UNSURE):
        return _UNSURE
    return 0.9 if _are_logged(records) else 1.0


def _transport(world: World, records: Records, group: str, *, is_snapshot: bool) -> Reading:
    number = flight_recorder.awaited(records, group)
    text = t(
        "All ranks have started collective {number} ({call}) of {group}, which doesn't end.",
        number=number,
        call=_operation(records, group, number),
        group=_name(group),
    )
    if _are_logged(records):
        # The last ranks of a world may be missing.
        text = t(
            "All ranks in the log wait in collective {number} ({call}) of {group}.",
            number=number,
            call=_operation(records, group, number),
            group=_name(group),
        )
        step = t("Check whether the log has all ranks. Then check network and GPUs.")
        if silent := world.expected.without(RankSet.of(records)):
            text += " " + t("It has no counters of {ranks}.", ranks=wording.ranks_of(silent))
            step = t("Look at the end of the log of {ranks}.", ranks=wording.ranks_of(silent))
        return Reading(Kind.TRANSPORT, RankSet(), _UNSURE, text, step, world.name)
    if is_snapshot:
        text = t(
            "All ranks are in collective {number} ({call}) of {group} in this dump.",
            number=number,
            call=_operation(records, group, number),
            group=_name(group),
        )
        step = t("Add a log with a time-out, or stacks of two times.")
        return Reading(Kind.TRANSPORT, RankSet(), _UNSURE, text, step, world.name)
    step = t("Check the network between the nodes, and the GPUs.")
    return Reading(Kind.TRANSPORT, RankSet(), 0.9, text, step, world.name)


def _records(world: World) -> Records:
    return {each.rank: record for each in world.ranks if (record := record_of(each))}


def _operation(records: Records, group: str, number: int) -> str:
    return next(
        (
            _name(record.collectives[group, number].operation)
            for record in records.values()
            if (group, number) in record.collectives
        ),
        "?",
    )


def _name(text: str) -> str:
    return printable(text, 60)
