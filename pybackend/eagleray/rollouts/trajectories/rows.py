"""Makes rows, items and groups for the list and the page of one trajectory."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from attrs import evolve, frozen

from eagleray.common.errors import printable
from eagleray.rollouts.trajectories.dump import DumpLine, TrajectoryDump
from eagleray.rollouts.trajectories.formats import clean, first_tokens, read_line
from eagleray.rollouts.trajectories.missing import missing_notes, missing_of, reward_note
from eagleray.rollouts.trajectories.model import (
    GroupMember,
    NamedText,
    TokenColumns,
    Trajectory,
    TrajectoryFacts,
    TrajectoryGroup,
    TrajectoryItem,
    TrajectoryRow,
    Turn,
)
from eagleray.rollouts.trajectories.roles import step_of_name
from eagleray.rollouts.trajectories.statistics import GroupSum
from eagleray.rollouts.trajectories.table import Endings, flags_of
from eagleray.rollouts.trajectories.turns import turns_of
from eagleray.wire.records import fields_in

BEGINNING = 200
LONGEST_FIELD = 20_000
MOST_FIELDS = 100


@frozen
class ItemLimits:
    """How much of a trajectory is sent: characters of all turns, and tokens; None for all of them."""

    characters: int | None = None
    tokens: int | None = None


PAGE_LIMITS = ItemLimits(400_000, 16_384)
# The length of each completion, in a group side by side.
COLUMN_LIMIT = 40_000


def row_of(line: DumpLine, trajectory: Trajectory, endings: Endings) -> TrajectoryRow:
    shortened = {
        "group": printable(trajectory.group, BEGINNING),
        "prompt": beginning(trajectory.prompt),
        "completion": beginning(trajectory.completion if trajectory.format else _text(line.data)),
        "problem": printable(trajectory.problem, 500),
        "step": step_of_name(line.file) if trajectory.step is None else trajectory.step,
    }
    return TrajectoryRow(
        **{**fields_in(trajectory, TrajectoryFacts), **shortened},
        item=line.item + 1,
        file=printable(line.file, 1000),
        line=line.number,
        truncated=endings.truncated(trajectory.ended, trajectory.last_id),
    )


def rows_of(
    dump: TrajectoryDump, items: Sequence[int], endings: Endings
) -> tuple[list[TrajectoryRow], list[str]]:
    """The rows, and notes about what they don't have."""
    lines = [dump.line(item) for item in items]
    trajectories = [read_line(line.data) for line in lines]
    missing = missing_of(
        (flags_of(trajectory), math.nan if trajectory.reward is None else trajectory.reward)
        for trajectory in trajectories
    )
    others = (each.other_keys for each in trajectories if each.other_keys is not None)
    pairs = zip(lines, trajectories, strict=True)
    rows = [row_of(line, trajectory, endings) for line, trajectory in pairs]
    rewards = next((each.rewards for each in trajectories if each.rewards), ())
    # The list shows no figure of groups.
    notes = missing_notes(evolve(missing, group=0), next(others, None))
    return rows, [*notes, *reward_note(rewards)]


def item_of(line: DumpLine, endings: Endings, limits: ItemLimits) -> TrajectoryItem:
    trajectory = read_line(line.data)
    turns, turns_cut = _within(turns_of(trajectory), limits.characters)
    columns, columns_cut = _columns_within(trajectory.columns, limits.tokens)
    raw = "" if trajectory.format else _text(line.data)
    raw_cut = limits.characters is not None and len(raw) > limits.characters
    return TrajectoryItem(
        row=row_of(line, trajectory, endings),
        turns=turns,
        columns=columns,
        fields=[
            NamedText(printable(clean(name), BEGINNING), _field_text(value))
            for name, value in list(trajectory.fields.items())[:MOST_FIELDS]
        ],
        raw=raw[: limits.characters] if limits.characters is not None else raw,
        cut=turns_cut or columns_cut or raw_cut,
    )


def group_of(dump: TrajectoryDump, group: GroupSum, endings: Endings) -> TrajectoryGroup:
    members: list[GroupMember] = []
    first_with: dict[str, int] = {}
    completions: list[str] = []
    first = Trajectory()
    for item in group.items:
        line = dump.line(item)
        trajectory = read_line(line.data)
        first = first if members else trajectory
        completion = trajectory.completion or str(list(trajectory.columns.ids))
        earlier = first_with.setdefault(completion, item + 1)
        completions.append(completion)
        members.append(
            GroupMember(
                row_of(line, trajectory, endings),
                completion[:COLUMN_LIMIT],
                None if earlier == item + 1 else earlier,
            )
        )
    return TrajectoryGroup(
        name=printable(first.group, BEGINNING),
        prompt=first.prompt[:COLUMN_LIMIT],
        shared=_shared(completions),
        equal_rewards=group.equal_rewards,
        members=members,
    )


def beginning(text: str) -> str:
    """The beginning of a text on one line."""
    return printable(" ".join(text[: 2 * BEGINNING].split()), BEGINNING)


def _shared(texts: Sequence[str]) -> int:
    """How many characters begin all texts: those that begin the first and the last in their order."""
    low, high = min(texts), max(texts)
    pairs = enumerate(zip(low, high, strict=False))
    return next((at for at, (left, right) in pairs if left != right), len(low))


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _within(turns: list[Turn], characters: int | None) -> tuple[list[Turn], bool]:
    if characters is None:
        return turns, False
    shown, left = [], characters
    for turn in turns:
        shown.append(evolve(turn, text=turn.text[:left]))
        left -= len(turn.text)
        if left < 0:
            return shown, True
    return shown, False


def _columns_within(columns: TokenColumns, tokens: int | None) -> tuple[TokenColumns, bool]:
    if tokens is None or max(len(columns.ids), len(columns.texts), len(columns.mask)) <= tokens:
        return columns, False
    return first_tokens(columns, tokens), True


def _field_text(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return clean(text)[:LONGEST_FIELD]
