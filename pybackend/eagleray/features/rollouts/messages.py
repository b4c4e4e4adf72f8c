"""The requests of the feature `rollouts` and their records, printed as `extension/features/rollouts/messages.ts`."""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen

from eagleray.features.rollouts.batches.model import BatchSummary, WrittenBatch
from eagleray.features.rollouts.comparing.named import ComparisonRequest
from eagleray.features.rollouts.comparing.shown import ShownComparison
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


@frozen
class BatchFile:
    """A file of torch.save, and the Python that reads it; `unpickle`: code that it names may be executed."""

    path: str
    python: str
    unpickle: bool = False


@frozen
class DescribedBatch:
    """What is in a batch, and what is wrong with it."""

    summary: BatchSummary
    findings: list[str]


@frozen
class DumpToSave:
    """A dump, and the file that a batch of it is written to."""

    path: str
    batch: str
    python: str


@frozen
class ReplayRequest:
    """What trains on a saved batch: a script for AReaL, with `config`; the `command` of the training for verl.

    `replace`: a script that exists is written anew.
    """

    framework: Literal["areal", "verl"]
    batch: str
    script: str = ""
    config: str = ""
    command: str = ""
    unpickle: bool = False
    replace: bool = False


@frozen
class ReplayCommand:
    """The command that trains; `script` is "" for verl."""

    script: str
    argv: list[str] = field(factory=list)


PAGE = LongRequest("eagleray/rollouts/page", TrajectoryQuery, TrajectoryPage)
ITEM = Request("eagleray/rollouts/item", TrajectoryNumber, TrajectoryItem)
GROUP = LongRequest("eagleray/rollouts/group", TrajectoryNumber, TrajectoryGroup)
STATISTICS = LongRequest("eagleray/rollouts/statistics", DumpPath, DumpStatistics)
COMPARE = LongRequest("eagleray/rollouts/compare", ComparisonRequest, ShownComparison)
BATCH = Request("eagleray/rollouts/batch", BatchFile, DescribedBatch)
SAVE_BATCH = Request("eagleray/rollouts/saveBatch", DumpToSave, WrittenBatch)
REPLAY = Request("eagleray/rollouts/replay", ReplayRequest, ReplayCommand)
