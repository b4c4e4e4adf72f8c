"""The requests of the feature `reports` and their records, printed as `extension/profile/reports/messages.ts`.

Times are nanoseconds since the recording began, shares lie between 0 and 1. Names come from the program that was
recorded: plain text on one line, never markup.
"""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen

from eagleray.profile.reports.model import Column, GpuUsage, ReportOrigin, ReportWarning, TableId
from eagleray.wire.requests import LongRequest


@frozen
class ReportRequest:
    """Requests the summary of a `.nsys-rep`, or of the `.sqlite` that nsys made of one."""

    path: str


@frozen
class Table:
    """The first rows of a table, in the requested order; a cell is None where the value is unknown.

    `total` counts all rows that match the search; `note` is shown beside the title.
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
class TableRequest:
    """Requests a table in another order, or the rows that contain `search` (ignoring case).

    `sort` is the id of a column, "" for the usual one.
    """

    path: str
    table: TableId
    sort: str = ""
    descending: bool = True
    search: str = ""
    limit: int = 100


@frozen
class TableTextRequest:
    """Requests a table as text for other programs, sorted and searched."""

    path: str
    table: TableId
    format: Literal["markdown", "csv"]
    sort: str = ""
    descending: bool = True
    search: str = ""


@frozen
class TableText:
    """All `rows` of a table that were kept; `total` counts all that match the search."""

    title: str
    text: str
    rows: int
    total: int


@frozen(kw_only=True)
class Report(ReportOrigin):
    """The summary of a report.  `database` is the file that was read.

    `worker` is the name of the recorded actor, `class_name` its class, `rank` None if unknown.
    """

    path: str
    name: str
    database: str
    size: int
    worker: str
    class_name: str
    rank: int | None
    duration_ns: int
    gpus: tuple[GpuUsage, ...]
    tables: list[Table]
    warnings: list[ReportWarning] = field(factory=list)


@frozen
class ReportText:
    """The summary and the first rows of its tables, in Markdown."""

    text: str


REPORT = LongRequest("eagleray/reports/report", ReportRequest, Report)
TABLE = LongRequest("eagleray/reports/table", TableRequest, Table)
REPORT_TEXT = LongRequest("eagleray/reports/reportText", ReportRequest, ReportText)
TABLE_TEXT = LongRequest("eagleray/reports/tableText", TableTextRequest, TableText)
