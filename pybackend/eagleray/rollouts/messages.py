"""The requests of the feature `rollouts` and their records, printed as `extension/rollouts/messages.ts`."""

from __future__ import annotations

from types import NoneType
from typing import Literal

from attrs import field, frozen

from eagleray.rollouts.agents.debug_runs import DebugAgent
from eagleray.rollouts.agents.editor_waves import WaveReport, WaveRequest
from eagleray.rollouts.agents.model import AgentClass, WaveProgress
from eagleray.rollouts.batches.model import BatchSummary, WrittenBatch
from eagleray.rollouts.comparing.comparison_run import ComparisonRequest
from eagleray.rollouts.comparing.page_record import ShownComparison
from eagleray.rollouts.trajectories.model import (
    DumpStatistics,
    TrajectoryGroup,
    TrajectoryItem,
    TrajectoryPage,
    TrajectoryQuery,
)
from eagleray.wire.requests import LongRequest, Notification, Request


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
class ComparisonName:
    """A comparison by the name that it was given."""

    stored: str


@frozen
class ComparisonToSave:
    """A stored comparison, and the file into which it is saved."""

    stored: str
    path: str


@frozen
class ComparisonText:
    """A comparison in Markdown, without secrets."""

    text: str


@frozen
class BatchFile:
    """A file of torch.save, and the Python that reads it; `unpickle`: code that it names may be executed."""

    path: str
    python: str
    unpickle: bool = False


@frozen
class DescribedBatch:
    """The contents of a batch, and its problems."""

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
    """The training on a saved batch: a script for AReaL, with `config`; the `command` of the training for verl, in
    `cwd`.

    `replace`: an existing script is overwritten.
    """

    framework: Literal["areal", "verl"]
    batch: str
    script: str = ""
    config: str = ""
    command: str = ""
    cwd: str = ""
    unpickle: bool = False
    replace: bool = False


@frozen
class ReplayCommand:
    """The command that trains; `script` is "" for verl."""

    script: str
    argv: list[str] = field(factory=list)


@frozen
class ProgramText:
    """The text of a Python file, as it is in the editor."""

    text: str


@frozen
class AgentClasses:
    """The agents of a file, from top to bottom; None while its text isn't valid Python."""

    classes: tuple[AgentClass, ...] | None


@frozen
class DataFile:
    """A file with data items; a Parquet file is read by `python`, "" for the first one of the PATH."""

    path: str
    cwd: str
    python: str = ""


@frozen
class ItemRow:
    """The beginning of a data item, as JSON; `number` counts from 1."""

    number: int
    text: str


@frozen
class ItemRows:
    """The first items of a file."""

    items: tuple[ItemRow, ...]


@frozen
class GivenItem:
    """A data item that the user pasted or typed: JSON, or lines of it."""

    text: str


@frozen
class StoredItem:
    """The file in which items are stored, which only the user can read."""

    path: str


@frozen
class StartedAgent:
    """The run of an agent that is debugged."""

    run: str


@frozen
class WaveName:
    """A wave by the name that its page has given it."""

    wave: str


@frozen
class WaveChange:
    """The progress of a wave that runs."""

    wave: str
    progress: WaveProgress


PAGE = LongRequest("eagleray/rollouts/page", TrajectoryQuery, TrajectoryPage)
ITEM = Request("eagleray/rollouts/item", TrajectoryNumber, TrajectoryItem)
GROUP = LongRequest("eagleray/rollouts/group", TrajectoryNumber, TrajectoryGroup)
STATISTICS = LongRequest("eagleray/rollouts/statistics", DumpPath, DumpStatistics)
COMPARE = LongRequest("eagleray/rollouts/compare", ComparisonRequest, ShownComparison)
SAVE_COMPARISON = Request("eagleray/rollouts/saveComparison", ComparisonToSave, NoneType)
COMPARISON_MARKDOWN = Request(
    "eagleray/rollouts/comparisonMarkdown", ComparisonName, ComparisonText
)
BATCH = Request("eagleray/rollouts/batch", BatchFile, DescribedBatch)
SAVE_BATCH = Request("eagleray/rollouts/saveBatch", DumpToSave, WrittenBatch)
REPLAY = Request("eagleray/rollouts/replay", ReplayRequest, ReplayCommand)
AGENTS = Request("eagleray/rollouts/agents", ProgramText, AgentClasses)
ITEMS = Request("eagleray/rollouts/items", DataFile, ItemRows)
STORE_ITEM = Request("eagleray/rollouts/storeItem", GivenItem, StoredItem)
DEBUG_AGENT = Request("eagleray/rollouts/debugAgent", DebugAgent, StartedAgent)
WAVE = Request("eagleray/rollouts/wave", WaveRequest, WaveReport)
CANCEL_WAVE = Request("eagleray/rollouts/cancelWave", WaveName, NoneType)
WAVE_CHANGED = Notification("eagleray/rollouts/waveChanged", WaveChange)
