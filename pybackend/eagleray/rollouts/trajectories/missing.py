"""Notes about what a dump doesn't have: a prompt, a response, a reward, a group."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.rollouts.trajectories.table import (
    NO_COMPLETION,
    NO_GROUP,
    NO_PROMPT,
    UNREAD,
)

_LONGEST_KEY = 40
_MOST_KEYS = 20


@frozen
class MissingRoles:
    """How many of `items` trajectories lack each of what figures are computed from; `unread` aren't objects."""

    items: int
    unread: int
    prompt: int
    response: int
    reward: int
    group: int


def missing_of(rows: Iterable[tuple[int, float]]) -> MissingRoles:
    """Counts flags and rewards of lines; what an unreadable one has is unknown."""
    every = list(rows)
    rows = [row for row in every if not row[0] & UNREAD]
    return MissingRoles(
        len(every),
        len(every) - len(rows),
        prompt=sum(flags & NO_PROMPT > 0 for flags, _ in rows),
        response=sum(flags & NO_COMPLETION > 0 for flags, _ in rows),
        reward=sum(math.isnan(reward) for _, reward in rows),
        group=sum(flags & NO_GROUP > 0 for flags, _ in rows),
    )


def reward_note(keys: Sequence[str]) -> list[str]:
    """A sentence where several keys have different rewards: the first is read, the others might be meant."""
    if not keys:
        return []
    shown = [printable(key, _LONGEST_KEY) for key in keys[:_MOST_KEYS]]
    return [
        t(
            "The reward is {key}, which differs from {others}.",
            key=shown[0],
            others=", ".join(shown[1:]),
        )
    ]


def repeat_notes(repeats: int, variant: str, turns: int) -> list[str]:
    """Sentences where samples have several rows."""
    notes = []
    if repeats:
        notes.append(
            t(
                "{count} rows repeat a sample for another {key}: counted once.",
                count=repeats,
                key=printable(variant, _LONGEST_KEY),
            )
        )
    if turns:
        notes.append(t("{count} rows are further turns of a sample, each counted.", count=turns))
    return notes


def missing_notes(missing: MissingRoles, other_keys: Sequence[str] | None) -> list[str]:
    """The sentences, with the other keys of the first trajectory; none for a dump without an object (None)."""
    read = missing.items - missing.unread
    if not read or other_keys is None:
        return []
    counts = (
        (t("prompt"), missing.prompt),
        (t("response"), missing.response),
        (t("reward"), missing.reward),
        (t("group"), missing.group),
    )
    notes = []
    by_prompt = missing.group == read > missing.prompt
    absent = [role for role, count in counts if count == read]
    if by_prompt:
        absent.pop()
    if absent:
        roles = ", ".join(absent)
        listed = ", ".join(printable(key, _LONGEST_KEY) for key in other_keys[:_MOST_KEYS])
        notes.append(
            t("No {roles} found; the other keys are {keys}.", roles=roles, keys=listed)
            if listed
            else t("No {roles} found, and no other key.", roles=roles)
        )
    partly = [
        t("{role} ({count} of {items})", role=role, count=count, items=missing.items)
        for role, count in counts
        if 0 < count < read
    ]
    if partly:
        notes.append(t("Some trajectories have no {roles}.", roles=", ".join(partly)))
    if by_prompt:
        notes.append(t("No group found: equal prompts of a step or file are one."))
    return notes
