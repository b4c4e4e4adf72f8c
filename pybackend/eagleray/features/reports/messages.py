"""The requests of the feature `reports` and their records, printed as `extension/features/reports/messages.ts`.

Times are nanoseconds since the recording began, shares lie between 0 and 1. Names come from the program that was
recorded: plain text on one line, never markup.
"""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen

from eagleray.wire.requests import LongRequest

# The tables of a report, in the order in which they are shown; one without rows is left out.
TableId = Literal["kernels", "nvtx", "gaps", "memcpy", "cuda_api", "osrt", "threads"]


@frozen
class ReportOf:
    """Asks for the summary of a `.nsys-rep`, or of the `.sqlite` that nsys made of one."""

    path: str


@frozen
class Column:
    """A column; `kind` says how its cells are shown: names, counts, nanoseconds, bytes, bytes/s, shares."""

    id: str
    title: str
    kind: Literal["text", "count", "ns", "bytes", "rate", "share"]


@frozen
class Table:
    """The first rows of a table, in the order that was asked for; a cell is None where nothing is known.

    `total` counts all rows that fit the search, shown or not; `note` says what is to be known of the table.
    """

    id: TableId
    title: str
    columns: list[Column]
    rows: list[list[str | float | None]]
    total: int
    sorted_by: str
    descending: bool
    note: str


@frozen
class TableOf:
    """Asks for a table in another order, or for the rows in which `search` occurs (in any case of letters).

    `sort` is the id of a column, "" for the usual one.
    """

    path: str
    table: TableId
    sort: str = ""
    descending: bool = True
    search: str = ""
    limit: int = 100


@frozen
class TableTextOf:
    """Asks for a table as text for other programs, in that order and searched so."""

    path: str
    table: TableId
    format: Literal["markdown", "csv"]
    sort: str = ""
    descending: bool = True
    search: str = ""


@frozen
class TableText:
    """All `rows` that are known of a table; `total` counts those that fit, known or not."""

    title: str
    text: str
    rows: int
    total: int


@frozen
class Gpu:
    """A GPU, and how much of the recording at least one kernel ran on it (`busy_ns`).

    It is looked at from `begin_ns`, where the first kernel of any GPU begins, to `end_ns`, where the last one
    ends; `curve` is the busy share in equal steps between them.  `nccl_ns` is how long a kernel of NCCL ran,
    `nccl_alone_ns` how long nothing else ran beside it.
    """

    id: int
    name: str
    kernels: int
    begin_ns: int
    end_ns: int
    busy_ns: int
    idle_ns: int
    busy_share: float
    nccl_ns: int
    nccl_alone_ns: int
    curve: list[float]


@frozen
class ReportWarning:
    """Why a report may not say what one expects, and what to do about it."""

    code: str
    message: str
    next_step: str


@frozen
class Report:
    """The summary of a report.  `database` is the file that was read; texts are "" where nothing is known.

    `started_utc` is in ISO 8601; `trace` is what nsys was asked to record, e.g. "cuda,nvtx".
    """

    path: str
    name: str
    database: str
    size: int
    host: str
    started_utc: str
    duration_ns: int
    nsys_version: str
    schema_version: str
    trace: str
    gpus: list[Gpu]
    tables: list[Table]
    warnings: list[ReportWarning] = field(factory=list)


@frozen
class ReportText:
    """The summary and the first rows of its tables, in Markdown."""

    text: str


REPORT = LongRequest("eagleray/reports/report", ReportOf, Report)
TABLE = LongRequest("eagleray/reports/table", TableOf, Table)
REPORT_TEXT = LongRequest("eagleray/reports/reportText", ReportOf, ReportText)
TABLE_TEXT = LongRequest("eagleray/reports/tableText", TableTextOf, TableText)
