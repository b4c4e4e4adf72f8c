"""Trajectories of a dump: as rows of a list, in full, and summed up. Also the wire.

Texts come from models and datasets: plain text, never markup. A number that the dump doesn't have is None, a text "".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from attrs import field, frozen


@frozen
class Turn:
    """A part of a trajectory; `trained`: whether the loss counts its tokens, None if the dump doesn't tell."""

    role: str
    text: str
    trained: bool | None


@frozen
class TokenColumns:
    """A value for each token; a column that the dump doesn't have is empty.

    `mask` is 1 where the loss counts the token, `logprobs` come from the rollout, `trainer_logprobs` from the trainer,
    `versions` the weights that sampled the token.
    """

    ids: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()
    mask: tuple[int, ...] = ()
    logprobs: tuple[float | None, ...] = ()
    trainer_logprobs: tuple[float | None, ...] = ()
    versions: tuple[int, ...] = ()
    advantages: tuple[float | None, ...] = ()


@frozen(kw_only=True)
class TrajectoryFacts:
    """The figures of a trajectory, whichever framework wrote it.

    `group`: the name of its group in the file, "" if the dump has none, so that its prompt stands for it.  `problem`: why
    a line couldn't be read, or which value of it, as a sentence.
    """

    format: str = ""
    prompt: str = ""
    completion: str = ""
    group: str = ""
    sample: int | None = None
    step: int | None = None
    reward: float | None = None
    tokens: int | None = None
    prompt_tokens: int | None = None
    first_version: int | None = None
    last_version: int | None = None
    problem: str = ""


@frozen(kw_only=True)
class Trajectory(TrajectoryFacts):
    """The contents of a dump's line.

    `ended`: whether the model ended the completion, None if the dump doesn't tell.  `rewards`: the key of the reward, and
    the keys of others that differ from it.  `other_keys` have no role; None for a line that isn't an object.
    `variant`: such as "filter=strict", of which a sample may have several lines, as of turns.
    """

    ended: bool | None = None
    last_id: int | None = None
    messages: tuple[Turn, ...] = ()
    columns: TokenColumns = TokenColumns()
    fields: Mapping[str, object] = field(factory=dict)
    rewards: tuple[str, ...] = ()
    has_prompt: bool = False
    has_completion: bool = False
    other_keys: tuple[str, ...] | None = None
    variant: str = ""
    turn: int | None = None

    @property
    def completion_tokens(self) -> int | None:
        """None if the dump doesn't separate them from the prompt's tokens."""
        if self.tokens is None or self.prompt_tokens is None:
            return None
        return max(self.tokens - self.prompt_tokens, 0)

    @property
    def completion_length(self) -> int:
        """In tokens, or in characters if the dump has no numbers of tokens."""
        tokens = self.completion_tokens
        return len(self.completion) if tokens is None else tokens


@frozen(kw_only=True)
class TrajectoryRow(TrajectoryFacts):
    """A trajectory in the list: `item` counts from 1 over all files, `line` from 1 in its file.

    Prompt and completion are their beginnings.
    """

    item: int
    file: str
    line: int
    truncated: bool | None


@frozen
class NamedText:
    """Another field of the line, as JSON if it is not a text."""

    name: str
    text: str


@frozen
class TrajectoryItem:
    """A trajectory in full; `raw` is its line if it couldn't be read.  `cut`: texts or tokens were left out."""

    row: TrajectoryRow
    turns: list[Turn]
    columns: TokenColumns
    fields: list[NamedText]
    raw: str
    cut: bool


@frozen
class GroupMember:
    """A trajectory of a group; `duplicate_of` is the first item with the same completion, None for its first."""

    row: TrajectoryRow
    completion: str
    duplicate_of: int | None


@frozen
class TrajectoryGroup:
    """The trajectories of one prompt; `shared` characters begin all of their completions.

    `equal_rewards`: GRPO and its kin give every member the advantage 0.
    """

    name: str
    prompt: str
    shared: int
    equal_rewards: bool
    members: list[GroupMember]


@frozen
class UnfinishedLine:
    """The last line of a file, which has no end yet."""

    file: str
    line: int
    text: str


DumpFilter = Literal["", "problems", "truncated", "zero-advantage", "duplicates"]
DumpOrder = Literal["", "reward", "length"]


@frozen
class TrajectoryQuery:
    """Requests rows: those with `search` in a text, that pass the filter, with a reward within the bounds, in an order.

    `sort` "" is the order of the file.  `start` is 0 or the `next` of the page before.
    """

    path: str
    search: str = ""
    filter: DumpFilter = ""
    least_reward: float | None = None
    most_reward: float | None = None
    sort: DumpOrder = ""
    descending: bool = False
    start: int = 0
    limit: int = 100

    @property
    def needs_table(self) -> bool:
        """Whether all lines must be read first."""
        return bool(
            self.filter
            or self.sort
            or self.descending
            or self.least_reward is not None
            or self.most_reward is not None
        )


@frozen
class TrajectoryPage:
    """Rows of the list.  `next` continues the query, None at its end.

    `matches` counts the items of the query, None while nothing has counted them.  `items` is how many lines were read so
    far: all of them if `complete`; `size` bytes are in the files, `scanned` of them were read.  `notes` name what the rows
    don't have.
    """

    rows: list[TrajectoryRow]
    next: int | None
    matches: int | None
    items: int
    complete: bool
    scanned: int
    size: int
    files: int
    unfinished: list[UnfinishedLine]
    notes: list[str]


@frozen
class Spread:
    """How values are spread; all None without values."""

    count: int
    least: float | None = None
    mean: float | None = None
    median: float | None = None
    p90: float | None = None
    most: float | None = None


@frozen
class HistogramBin:
    """A bar of a histogram: values from `low` up to `high`."""

    low: float
    high: float
    count: int


@frozen
class GroupStatistics:
    """A group: `item` is its first; rewards are None if none is a number."""

    name: str
    item: int
    size: int
    mean: float | None
    least: float | None
    most: float | None
    equal_rewards: bool
    duplicates: int
    truncated: int | None


@frozen
class DumpFinding:
    """A sentence about the dump, and the filter that lists its items, "" for none."""

    sentence: str
    filter: str


@frozen
class DumpStatistics:
    """The totals of all lines of a dump.

    `unit`: "tokens" or "characters" of completions.  `groups` counts groups of two and more, `singles` what is in none;
    `by_group` has the first of them.  A number is None if the dump doesn't have what it is computed from.
    """

    items: int
    problems: int
    formats: list[str]
    unit: str
    lengths: Spread
    rewards: Spread
    reward_bins: list[HistogramBin]
    length_bins: list[HistogramBin]
    without_reward: int
    truncated: int | None
    groups: int | None
    singles: int | None
    zero_advantage: int | None
    duplicates: int | None
    findings: list[DumpFinding]
    by_group: list[GroupStatistics]
