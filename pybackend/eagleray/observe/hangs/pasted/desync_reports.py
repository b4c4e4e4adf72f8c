"""PyTorch's reports of ranks that are out of step, which it logs after a time-out with `TORCH_NCCL_DESYNC_DEBUG=1` (`TraceUtils.h`, 1.12 to 2.13).

A report numbers the ranks as its process group does.  Its collectives are those that have started on the GPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import define, field, frozen

from eagleray.remote.sampling.rank_sets import RankSet

HEAD = "Timeout at collective: "
_MARKERS = ("lagging ranks", " ranks:", "] started ", "] finished ")
_RANKS = r"\[(?P<ranks>\d{1,9}(?:, \d{1,9}){0,99999})\]"
_HEAD = re.compile(
    r"- \[(?P<rank>\d{1,9})\] Timeout at collective: (?P<operation>\w{1,60}), #\d{1,18}"
)
_NEVER = re.compile(rf"ranks {_RANKS} are the lagging ranks")
_NUMBER = re.compile(r"#(?P<number>\d{1,18}) (?:started|finished) ranks:")
_STATE = re.compile(rf"{_RANKS} (?P<how>started|finished) (?P<operation>\w{{1,60}})\s*$")


@frozen
class RankState:
    """The newest collective that a rank has started, by its number in the group."""

    number: int
    operation: str
    has_ended: bool


@define
class DesyncReport:
    """A report of the rank `rank` of a group: the `states` of all ranks, or else ranks that `never` joined a collective."""

    rank: int
    states: dict[int, RankState] = field(factory=dict)
    never: RankSet = field(factory=RankSet)
    _number: int = 0

    @classmethod
    def opened(cls, line: str) -> DesyncReport | None:
        """The report whose first line this is."""
        head = _HEAD.search(line)
        return cls(int(head["rank"])) if head else None

    def read(self, line: str) -> None:
        if not any(marker in line for marker in _MARKERS):
            return
        if never := _NEVER.search(line):
            self.never = RankSet.of(_numbers(never["ranks"]))
        elif number := _NUMBER.search(line):
            self._number = int(number["number"])
        elif self._number and (state := _STATE.search(line)):
            read = RankState(self._number, state["operation"], state["how"] == "finished")
            self.states.update(dict.fromkeys(_numbers(state["ranks"]), read))


def _numbers(ranks: str) -> Iterator[int]:
    return map(int, ranks.split(", "))
