"""The requests of the feature `rollouts` and their records, printed as `extension/features/rollouts/messages.ts`."""

from __future__ import annotations

from attrs import frozen

from eagleray.features.rollouts.trajectories.model import (
    DumpStatistics,
    TrajectoryGroup,
    TrajectoryItem,
    TrajectoryPage,
    TrajectoryQuery,
)
from eagleray.wire.requests import LongRequest, Request


@frozen
class DumpPath:
    """A dump of trajectories: a file of JSON lines, or a folder of them."""

    path: str


@frozen
class TrajectoryNumber:
    """A trajectory of a dump; `item` counts from 1."""

    path: str
    item: int


PAGE = LongRequest("eagleray/rollouts/page", TrajectoryQuery, TrajectoryPage)
ITEM = Request("eagleray/rollouts/item", TrajectoryNumber, TrajectoryItem)
GROUP = LongRequest("eagleray/rollouts/group", TrajectoryNumber, TrajectoryGroup)
STATISTICS = LongRequest("eagleray/rollouts/statistics", DumpPath, DumpStatistics)
