"""Answers of NCCL's RAS as records that are read like the records of PyTorch's flight recorder, and as a note on what
they show.

A collective counts as ended once all ranks have launched it: RAS doesn't say which have really ended.  Between two
answers nothing may have been launched, since in a program that works some ranks are ahead all the time.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from .rank_sets import RankSet
from .ras import DEAD, LEFT, Absent, Communicator, Launched, RasAnswer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

_MOST_PLACES = 16
_MOST_NOTABLE = 50
# A rank of it may be in thousands of communicators, of which the larger ones say more.
_MOST_GROUPS = 200


class _Counted(NamedTuple):
    """The launches of a communicator: what all ranks have launched by operation, the `most` of any rank, and what some lack.

    `stuck`: ranks differ, and none has launched more since an earlier answer; `advances`: some have.  Both are false where
    that answer lacks the communicator.
    """

    communicator: Communicator
    shared: int
    most: int
    lacking: tuple[str, ...]
    stuck: bool
    advances: bool

    @property
    def name(self) -> str:
        return f"communicator {self.communicator.name}"

    @property
    def call(self) -> str:
        """The operation that some ranks lack; "" if they lack several."""
        return self.lacking[0] if len(self.lacking) == 1 else ""


class Launches:
    """The launches of all ranks in some answers; `earlier` tells what has advanced, None if it isn't known."""

    def __init__(
        self, answers: Iterable[RasAnswer], earlier: Iterable[RasAnswer] | None = None
    ) -> None:
        before = None if earlier is None else {each.name: _counts(each) for each in _all(earlier)}
        self.communicators = _all(answers)
        self._groups = [
            _counted(each, before) for each in self.communicators if each.ranks or each.absent
        ]
        self._by_place: dict[tuple[str, int], list[tuple[_Counted, Launched]]] = {}
        # Most ranks have launched the same.
        self._records: dict[tuple[Any, ...], str] = {}
        for group in self._groups:
            for rank in group.communicator.ranks:
                place = place_of(group.communicator, rank)
                self._by_place.setdefault(place, []).append((group, rank))

    def record(self, places: Iterable[tuple[str, int]], device: int | None = None) -> str:
        """The record of the process at one of `places`, each a host and a PID, or of one of its GPUs; "" if no answer has it."""
        launched: dict[str, tuple[_Counted, Launched]] = {}
        for place in places:
            for group, rank in self._by_place.get(place, ()):
                # A process may have several ranks: the one that is behind counts.
                own = launched.get(group.name, (group, rank))[1]
                if device in (None, rank.device) and sum(rank.counts) <= sum(own.counts):
                    launched[group.name] = group, rank
        if not launched:
            return ""
        pairs = [*launched.values()][:_MOST_GROUPS]
        key = tuple((group.name, rank.counts) for group, rank in pairs)
        if key not in self._records:
            self._records[key] = _record(pairs)
        return self._records[key]

    def note(self, places: Collection[tuple[str, int]]) -> dict[str, Any]:
        """Sums up the answers: `state` says whether ranks have launched `equal` numbers, and else whether these
        `advance`.
        """
        equal = not any(group.lacking for group in self._groups)
        stuck = any(group.stuck for group in self._groups)
        advances = any(group.advances for group in self._groups)
        rows = [_row(group, places) for group in self._groups]
        return {
            "communicators": len(self.communicators),
            "ranks": max((each.size for each in self.communicators), default=0),
            "state": "equal" if equal else "behind" if stuck else "advance" if advances else "",
            "notable": [row for row in rows if row["behind"] or row["absent"]][:_MOST_NOTABLE],
        }


def _row(group: _Counted, places: Collection[tuple[str, int]]) -> dict[str, Any]:
    """The ranks of a communicator that lack launches or don't answer; `joined` are ranks of processes at `places`."""
    ranks, absent = group.communicator.ranks, group.communicator.absent
    behind = [each for each in ranks if group.stuck and sum(each.counts) < group.most]
    silent = [each for each in absent if each.kind != LEFT]
    joined = [each for each in ranks if place_of(group.communicator, each) in places]
    named: list[Absent | Launched] = [*silent, *behind]
    return {
        "name": group.communicator.name,
        "size": group.communicator.size,
        "call": group.call,
        "joined": _ranks(joined),
        "behind": _ranks(behind),
        "absent": _ranks(silent),
        "dead": _ranks(each for each in silent if each.kind == DEAD),
        "places": list(map(_place, named[:_MOST_PLACES])),
    }


def _place(rank: Absent | Launched) -> str:
    return f"{rank.rank}: {rank.pid}@{rank.host}"


def _ranks(listed: Iterable[Absent | Launched]) -> str:
    return str(RankSet.of(each.rank for each in listed))


def _all(answers: Iterable[RasAnswer]) -> list[Communicator]:
    """The communicators, the largest first, each of them once; the text of a status doesn't name all."""
    listed = [each for answer in answers for each in answer.communicators]
    named = {each.name: each for each in listed if each.name}
    unnamed = (each for each in listed if not each.name)
    return sorted((*named.values(), *unnamed), key=lambda each: -each.size)


def place_of(communicator: Communicator, rank: Launched) -> tuple[str, int]:
    """The host and the PID of a rank; a rank without a known process has a place of its own."""
    return (rank.host, rank.pid) if rank.pid else (communicator.name, -1 - rank.rank)


def _counts(communicator: Communicator) -> tuple[tuple[int, ...], ...]:
    return tuple(each.counts for each in communicator.ranks)


def _counted(communicator: Communicator, before: Mapping[str, Any] | None) -> _Counted:
    counts = _counts(communicator)
    columns = list(zip(*counts))
    least = tuple(map(min, columns))
    names = zip(communicator.operations, columns, least)
    lacking = tuple(name for name, column, fewest in names if fewest < max(column))
    has_stopped = before is None or before.get(communicator.name) == counts
    advances = before is not None and before.get(communicator.name, counts) != counts
    most = max(map(sum, counts), default=0)
    stuck = has_stopped and bool(lacking)
    return _Counted(communicator, sum(least), most, lacking, stuck, advances)


def _record(launched: Sequence[tuple[_Counted, Launched]]) -> str:
    """The record of a rank in the JSON of a flight recorder, with all its `launches`."""
    entries, status, launches = [], {}, {}
    for group, rank in launched:
        number = sum(rank.counts)
        status[group.name] = {
            "last_enqueued_collective": number,
            "last_completed_collective": group.shared if group.stuck else number,
        }
        launches[group.name] = dict(zip(group.communicator.operations, rank.counts))
        if group.stuck and group.call and number == group.most:
            entries.append(_entry(group, number))
    return json.dumps(
        {"entries": entries, "pg_status": status, "launches": launches}, separators=(",", ":")
    )


def _entry(group: _Counted, number: int) -> dict[str, Any]:
    return {
        "process_group": [group.name, ""],
        "collective_seq_id": number,
        "profiling_name": f"nccl:{group.call}",
        "input_sizes": [],
        "input_dtypes": [],
        "state": "scheduled",
        "retired": False,
        "is_p2p": False,
    }
