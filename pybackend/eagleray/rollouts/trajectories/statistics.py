"""Sums up the table of a dump: lengths, truncation, rewards by group, groups without advantage, equal completions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.common.l10n import counted, t
from eagleray.rollouts.trajectories.dump import TrajectoryDump
from eagleray.rollouts.trajectories.formats import read_line
from eagleray.rollouts.trajectories.missing import (
    missing_notes,
    missing_of,
    repeat_notes,
    reward_note,
)
from eagleray.rollouts.trajectories.model import (
    DumpFinding,
    DumpStatistics,
    GroupStatistics,
    HistogramBin,
    Spread,
)
from eagleray.rollouts.trajectories.table import (
    IN_TOKENS,
    NO_COMPLETION,
    PROBLEM,
    DumpTable,
    Endings,
)

BINS = 20
# Groups that the answer has.
MOST_GROUPS = 1000
LONGEST_NAME = 80


@frozen
class GroupSum:
    """A group by its number in the table, before it has a name."""

    group: int
    items: tuple[int, ...]
    rewards: tuple[float, ...]
    duplicates: tuple[int, ...]

    @property
    def equal_rewards(self) -> bool:
        """Whether all members have the same reward, so that GRPO's advantages are 0."""
        return (
            len(self.items) > 1
            and len(self.rewards) == len(self.items)
            and len(set(self.rewards)) == 1
        )


def sum_up(dump: TrajectoryDump, table: DumpTable) -> DumpStatistics:
    """The statistics of all rows of the table."""
    endings = table.endings()
    items = [item for item in range(table.count) if not table.repeats[item]]
    all_rewards = [table.rewards[item] for item in items]
    all_flags = [table.flags[item] for item in items]
    rewards = [reward for reward in all_rewards if not math.isnan(reward)]
    problems = sum(1 for flags in all_flags if flags & PROBLEM)
    in_tokens = any(flags & IN_TOKENS for flags in all_flags)
    # Tokens and characters aren't mixed.
    lengths = [
        float(table.lengths[item])
        for item, flags in zip(items, all_flags, strict=True)
        if (flags & IN_TOKENS if in_tokens else not flags & NO_COMPLETION)
    ]
    sums = groups_of(table)
    several = [group for group in sums if len(group.items) > 1]
    truncated = _count(table.truncated(item, endings) for item in items)
    zero = sum(group.equal_rewards for group in several)
    duplicates = sum(len(group.duplicates) for group in several)
    missing = missing_of(zip(all_flags, all_rewards, strict=True))
    return DumpStatistics(
        items=len(items),
        problems=problems,
        formats=sorted(name for name in table.formats if name),
        unit="tokens" if in_tokens else "characters",
        lengths=spread(lengths),
        rewards=spread(rewards),
        reward_bins=bins(rewards),
        length_bins=bins(lengths),
        without_reward=len(items) - len(rewards),
        truncated=truncated,
        groups=len(several) if sums else None,
        singles=len(items) - sum(len(group.items) for group in several) if sums else None,
        zero_advantage=zero if sums and rewards else None,
        duplicates=duplicates if sums and lengths else None,
        findings=[
            *(
                DumpFinding(note, "")
                for note in repeat_notes(table.count - len(items), table.variant, table.turns)
            ),
            *(DumpFinding(note, "") for note in missing_notes(missing, table.other_keys)),
            *(DumpFinding(note, "") for note in reward_note(table.reward_keys)),
            *_findings(dump, len(items), problems, truncated, len(several), zero, duplicates),
        ],
        by_group=[_shown(dump, table, group, endings) for group in several[:MOST_GROUPS]],
    )


def groups_of(table: DumpTable) -> list[GroupSum]:
    """All groups in the order of their first items."""
    return [group_sum(table, number, items) for number, items in enumerate(table.members())]


def group_sum(table: DumpTable, number: int, items: Sequence[int]) -> GroupSum:
    rewards = tuple(table.rewards[item] for item in items if not math.isnan(table.rewards[item]))
    completions: set[int] = set()
    duplicates = []
    for item in items:
        completion = table.completions[item]
        if completion in completions:
            duplicates.append(item)
        completions.add(completion)
    return GroupSum(number, tuple(items), rewards, tuple(duplicates))


def spread(values: Sequence[float]) -> Spread:
    if not values:
        return Spread(0)
    ordered = sorted(values)
    count = len(ordered)
    return Spread(
        count,
        ordered[0],
        _mean(ordered),
        ordered[(count - 1) // 2],
        ordered[max(math.ceil(0.9 * count) - 1, 0)],
        ordered[-1],
    )


def _mean(values: Sequence[float]) -> float:
    """Halves are added, divided first, since the sum of huge numbers may be infinite; rounding may leave their range."""
    half = math.fsum(value / len(values) / 2 for value in values)
    return min(max(2 * half, min(values)), max(values))


def bins(values: Sequence[float]) -> list[HistogramBin]:
    """A histogram; few different values have a bar each."""
    different = sorted(set(values))
    if len(different) <= BINS:
        counts = dict.fromkeys(different, 0)
        for value in values:
            counts[value] += 1
        return [HistogramBin(value, value, count) for value, count in counts.items()]
    low, high = different[0], different[-1]
    # Halves, since the difference of two huge numbers may be infinite.
    width = high / BINS - low / BINS
    inner = (2 * (low / 2 + width / 2 * at) for at in range(1, BINS))
    # Halves lose a bit of the smallest numbers, and doubling the largest may overflow.
    edges = [low, *(min(high, max(low, edge)) for edge in inner), high]
    numbers = [0] * BINS
    for value in values:
        at = int((value / 2 - low / 2) / (width / 2)) if width / 2 > 0 else 0
        numbers[min(max(at, 0), BINS - 1)] += 1
    return [HistogramBin(edges[at], edges[at + 1], number) for at, number in enumerate(numbers)]


def _count(values: Iterable[bool | None]) -> int | None:
    """How many are true; None if the dump has none of them."""
    present = [value for value in values if value is not None]
    return sum(present) if present else None


def _shown(
    dump: TrajectoryDump, table: DumpTable, group: GroupSum, endings: Endings
) -> GroupStatistics:
    first = read_line(dump.line(group.items[0]).data)
    return GroupStatistics(
        name=printable(first.group or first.prompt.strip(), LONGEST_NAME),
        item=group.items[0] + 1,
        size=len(group.items),
        mean=_mean(group.rewards) if group.rewards else None,
        least=min(group.rewards, default=None),
        most=max(group.rewards, default=None),
        equal_rewards=group.equal_rewards,
        duplicates=len(group.duplicates),
        truncated=_count(table.truncated(item, endings) for item in group.items),
    )


def _findings(
    dump: TrajectoryDump,
    items: int,
    problems: int,
    truncated: int | None,
    groups: int,
    zero: int,
    duplicates: int,
) -> list[DumpFinding]:
    """Returns the findings that are worth a sentence, the worst first."""
    unfinished = (
        (True, t("Line {line} of {file} isn't complete.", line=line.line, file=line.file), "")
        for line in dump.unfinished()
    )
    possible = (
        (
            problems,
            t("{count} of {items} lines have a problem.", count=problems, items=items),
            "problems",
        ),
        *unfinished,
        (
            zero,
            t(
                "{count} of {groups} groups have equal rewards: no advantage.",
                count=zero,
                groups=groups,
            ),
            "zero-advantage",
        ),
        (
            truncated,
            t("{count} of {items} completions were cut.", count=truncated or 0, items=items),
            "truncated",
        ),
        (
            duplicates,
            counted(
                duplicates,
                "{n} completion repeats another of its group.",
                "{n} completions repeat another of their group.",
            ),
            "duplicates",
        ),
        (
            dump.marked_files,
            counted(
                dump.marked_files,
                "{n} file begins with a byte order mark.",
                "{n} files begin with a byte order mark.",
            ),
            "",
        ),
    )
    return [DumpFinding(sentence, filter_) for count, sentence, filter_ in possible if count]
