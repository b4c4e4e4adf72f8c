"""The contents of a saved batch."""

from __future__ import annotations

from attrs import field, frozen


@frozen
class RowSums:
    """The sums of a mask's rows: `empty` rows have none."""

    total: float
    least: float
    most: float
    empty: int


@frozen
class BatchTensor:
    """A tensor by its path in the batch; its spread is of finite values, None without any."""

    name: str
    shape: list[int]
    dtype: str
    bytes: int
    nan: int
    infinite: int
    least: float | None
    most: float | None
    mean: float | None
    std: float | None
    row_sums: RowSums | None


@frozen
class MaskedValues:
    """The spread of a tensor's values of tokens that the loss counts."""

    name: str
    count: int
    least: float | None
    most: float | None
    mean: float | None
    std: float | None


@frozen
class BatchValue:
    """A value that is not a tensor: its path, its type and the beginning of its text."""

    name: str
    type: str
    text: str


@frozen
class BatchSummary:
    """A batch as `torch.load` gives it.

    `loaded` is "weights_only" or "unpickled", `names` are those that the file may have executed then; `left_out` counts
    parts that are not listed.
    """

    torch: str
    loaded: str
    kind: str
    names: list[str] = field(factory=list)
    tensors: list[BatchTensor] = field(factory=list)
    values: list[BatchValue] = field(factory=list)
    masked: list[MaskedValues] = field(factory=list)
    left_out: int = 0


@frozen
class WrittenBatch:
    """A batch that was made of a dump: `skipped` trajectories have no token ids or no reward."""

    path: str
    rows: int
    skipped: int
    tensors: dict[str, list[int]]
