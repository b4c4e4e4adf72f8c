"""PyTorch's flight recorder: which collective each rank has started and ended last, and where ranks differ.

Reads the JSON of `_dump_fr_trace_json` (torch 2.13, version 2.10 of the format).  PyTorch's own analyser fails on dumps
of gloo, whose `pg_config` has no name for the group that the entries name.  On gloo, messages between two ranks are not
recorded, and an entry stays `scheduled`: only `retired` says that it has ended.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from attrs import field, frozen

from eagleray.common.errors import UNREADABLE_JSON

# Ends the name of a group that was logged before torch 2.5, which may be another one on each rank.
UNSURE = "?"


@frozen
class Collective:
    """A collective of one rank; `shapes` and `dtypes` describe its inputs."""

    group: str
    number: int
    operation: str
    shapes: str
    dtypes: str
    ended: bool


@frozen
class GroupProgress:
    """The numbers of the last collectives of a process group that a rank has started and has ended; 0: none."""

    started: int
    ended: int


@frozen
class RankRecord:
    """The record of a rank: its progress by process group, and its collectives by group and number.

    `launches` come from NCCL's RAS (`remote/sampling/ras_records.py`), by group and operation; a flight recorder has none.
    `is_logged`: it is what a log has of a rank (`pasted/logged_waits.py`), where further ranks may be missing.
    """

    progress: Mapping[str, GroupProgress]
    collectives: Mapping[tuple[str, int], Collective]
    launches: Mapping[str, Mapping[str, int]] = field(factory=dict)
    is_logged: bool = False


@frozen
class Mismatch:
    """Ranks whose collective of the same number differs from most others'; `differs`: operation, shape or type."""

    group: str
    number: int
    differs: str
    ranks: tuple[int, ...]
    theirs: Collective
    others: Collective


def parse(text: bytes | str) -> RankRecord | None:
    """The record in a dump; None if `text` is none.

    `groups`, which `remote/inspecting/inside.py` adds, are those that the rank has joined, also without a collective in them.
    """
    try:
        value = json.loads(text)
        entries = [_collective(entry) for entry in value["entries"] if not entry["is_p2p"]]
        status = value.get("pg_status") or {}
        groups = {str(name): _label(name, desc) for name, desc in value.get("groups") or []}
        # Counters that come alone have only numbers of groups, which are their names mostly.
        names = (
            {str(entry["process_group"][0]): _group(entry) for entry in value["entries"]}
            | groups
            | {str(entry["pg_id"]): _group(entry) for entry in value["entries"] if "pg_id" in entry}
        )
        recorded = {
            group: GroupProgress(
                max(each.number for each in entries if each.group == group),
                _last_ended(entries, group),
            )
            for group in {each.group for each in entries}
        }
        joined = groups.values()
        progress = (
            dict.fromkeys(joined, GroupProgress(0, 0))
            | recorded
            | {
                (name := names.get(number, number)): GroupProgress(
                    _number(counts["last_enqueued_collective"]),
                    max(_number(counts["last_completed_collective"]), _last_ended(entries, name)),
                )
                for number, counts in status.items()
            }
        )
        launches = {
            str(group): {str(name): _number(count) for name, count in counts.items()}
            for group, counts in value.get("launches", {}).items()
        }
    except (*UNREADABLE_JSON, KeyError, TypeError, AttributeError, IndexError):
        return None
    collectives = {(entry.group, entry.number): entry for entry in entries}
    return RankRecord(progress, collectives, launches, value.get("logged") is True)


@lru_cache(4096)
def advances(earlier: str, later: str) -> bool:
    """Whether a collective has started or ended between two dumps of a rank; "" is a dump that is missing."""
    if not earlier or not later or parse(earlier) is None or parse(later) is None:
        return False
    first, last = json.loads(earlier), json.loads(later)
    if ("launches" in first) != ("launches" in last):
        return False
    # The earlier one has no entries, and so no names of groups.
    before, after = first.get("pg_status") or {}, last.get("pg_status") or {}
    if "launches" in last:
        # An answer without a communicator may only lack it.
        return any(before[group] != after[group] for group in before.keys() & after.keys())
    return bool(before != after)


def groups(records: Mapping[int, RankRecord]) -> list[str]:
    return sorted({group for record in records.values() for group in record.progress})


def awaited(records: Mapping[int, RankRecord], group: str) -> int:
    """The number of the last collective of `group` in which a rank waits, by the oldest of each rank; 0 if none waits.

    Ranks start further collectives meanwhile, as DDP does: their number does not show the rank that is waited for.
    """
    waiting = [each for each in _progress(records, group).values() if each.started > each.ended]
    return max((each.ended for each in waiting), default=-1) + 1


def behind(records: Mapping[int, RankRecord], group: str) -> set[int]:
    """The ranks that have not started the collective of `group` in which others wait."""
    number = awaited(records, group)
    return {rank for rank, each in _progress(records, group).items() if each.started < number}


def is_shared(records: Mapping[int, RankRecord], group: str) -> bool:
    """Whether all ranks of `group` wait in one collective."""
    number = awaited(records, group)
    members = _progress(records, group).values()
    return all(each.ended < number <= each.started for each in members)


def _progress(records: Mapping[int, RankRecord], group: str) -> dict[int, GroupProgress]:
    return {
        rank: record.progress[group] for rank, record in records.items() if group in record.progress
    }


def is_stuck(records: Mapping[int, RankRecord], group: str) -> bool:
    """Whether a rank has started a collective of `group` that has not ended."""
    return any(
        progress.started > progress.ended
        for record in records.values()
        if (progress := record.progress.get(group)) is not None
    )


def mismatch(records: Mapping[int, RankRecord], group: str) -> Mismatch | None:
    """The first collective of `group` in which ranks differ.  Of two halves, the one with the smallest rank is right."""
    numbers = sorted(
        {
            number
            for record in records.values()
            for name, number in record.collectives
            if name == group
        }
    )
    for number in numbers:
        taking_part = {
            rank: record.collectives[group, number]
            for rank, record in sorted(records.items())
            if (group, number) in record.collectives
        }
        for differs in ("operation", "shapes", "dtypes"):
            differing = _differing(group, number, differs, taking_part)
            if differing is not None:
                return differing
    return None


def launched_differently(records: Mapping[int, RankRecord], group: str) -> list[int]:
    """The ranks that lack launches of one operation and are ahead in another, compared with most ranks of `group`."""
    counts = {
        rank: tuple(sorted(record.launches[group].items()))
        for rank, record in sorted(records.items())
        if group in record.launches
    }
    usual = dict(Counter(counts.values()).most_common(1)[0][0]) if counts else {}
    signs = {
        rank: {count > usual.get(name, 0) for name, count in own if count != usual.get(name, 0)}
        for rank, own in counts.items()
    }
    return [rank for rank, sign in signs.items() if len(sign) == 2]


def _differing(
    group: str, number: int, differs: str, by_rank: Mapping[int, Collective]
) -> Mismatch | None:
    # Reports in a log have no shapes.
    values = {
        rank: value
        for rank, collective in by_rank.items()
        if (value := getattr(collective, differs))
    }
    if differs == "shapes" and any(_shapes_may_differ(each) for each in by_rank.values()):
        return None
    counts = Counter(values.values())
    if len(counts) < 2:
        return None
    # `most_common` keeps the order of ranks among equals.
    usual = counts.most_common(1)[0][0]
    ranks = tuple(rank for rank, value in values.items() if value != usual)
    others = next(by_rank[rank] for rank, value in values.items() if value == usual)
    return Mismatch(group, number, differs, ranks, by_rank[ranks[0]], others)


def _last_ended(entries: Iterable[Collective], group: str) -> int:
    """The slower of gloo's two threads may write its smaller number last (torch 2.13, `ProcessGroupGloo::runLoop`)."""
    return max((each.number for each in entries if each.group == group and each.ended), default=0)


def _shapes_may_differ(collective: Collective) -> bool:
    """Collectives whose ranks give inputs of different shapes: only the root of a scatter has inputs, and so on."""
    return any(
        word in collective.operation
        for word in ("scatter", "alltoall", "all_to_all", "gather", "broadcast")
    )


def _collective(entry: Mapping[str, Any]) -> Collective:
    return Collective(
        group=_group(entry),
        number=int(entry["collective_seq_id"]),
        operation=str(entry["profiling_name"]).rpartition(":")[2],
        shapes=_listed(entry["input_sizes"]),
        dtypes=_listed(entry["input_dtypes"]),
        ended=bool(entry["retired"]) or entry["state"] == "completed",
    )


def _group(entry: Mapping[str, Any]) -> str:
    return _label(*entry["process_group"])


def _label(name: Any, description: Any) -> str:
    """The description of a group, which users choose, else its name.  PyTorch (2.13) calls those without one `undefined`."""
    return str(name if description in ("", "undefined", None) else description)


def _listed(values: Iterable[Any]) -> str:
    return " ".join(str(value) for value in values)


def _number(text: Any) -> int:
    return max(0, int(text))
