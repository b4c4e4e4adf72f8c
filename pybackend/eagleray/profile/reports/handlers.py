"""Answers the editor's requests about reports."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from attrs import evolve

from eagleray.common.blocking_calls import off_loop
from eagleray.common.l10n import translated
from eagleray.profile.reports import messages, texts
from eagleray.profile.reports.model import LoadedReport, ReportOrigin, ReportTable
from eagleray.profile.reports.reports import Reports
from eagleray.wire.records import fields_in

if TYPE_CHECKING:
    from eagleray.wire.requests import ReportProgress, RequestServer

# The rows of each table that the summary contains; the others are requested.
FIRST_ROWS = 100


def register(server: RequestServer, reports: Reports) -> None:
    """Answers the requests of this feature."""
    handlers = ReportHandlers(reports)
    server.on_request(messages.REPORT, handlers.report)
    server.on_request(messages.TABLE, handlers.table)
    server.on_request(messages.REPORT_TEXT, handlers.report_text)
    server.on_request(messages.TABLE_TEXT, handlers.table_text)


class ReportHandlers:
    """One method per request about reports."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports

    async def report(
        self, request: messages.ReportRequest, report: ReportProgress
    ) -> messages.Report:
        return wire_report(await self._reports.read(request.path, report))

    async def table(self, request: messages.TableRequest, report: ReportProgress) -> messages.Table:
        table = await self._reports.table(
            request.path, request.table, request.sort, request.descending, request.search, report
        )
        return wire_table(table, request.limit)

    async def report_text(
        self, request: messages.ReportRequest, report: ReportProgress
    ) -> messages.ReportText:
        loaded = await self._reports.read(request.path, report)
        tables = [table.first(FIRST_ROWS) for table in loaded.summary.tables]
        return messages.ReportText(texts.markdown(loaded, tables))

    async def table_text(
        self, request: messages.TableTextRequest, report: ReportProgress
    ) -> messages.TableText:
        table = await self._reports.table(
            request.path, request.table, request.sort, request.descending, request.search, report
        )
        text = await off_loop(partial(texts.table_text, table, request.format))
        return messages.TableText(translated(table.shape.title), text, len(table.rows), table.total)


def wire_report(report: LoadedReport) -> messages.Report:
    about = report.summary.about
    return messages.Report(
        **{**fields_in(about, ReportOrigin), "host": about.host or report.worker.host},
        path=str(report.path),
        name=report.path.name,
        database=str(report.database),
        size=report.size,
        worker=report.worker.name,
        class_name=report.worker.class_name,
        rank=report.worker.rank,
        duration_ns=about.duration,
        gpus=report.summary.gpus,
        tables=[wire_table(table, FIRST_ROWS) for table in report.summary.tables],
        warnings=list(report.summary.warnings),
    )


def wire_table(table: ReportTable, limit: int) -> messages.Table:
    shape = table.shape
    return messages.Table(
        id=table.name,
        title=translated(shape.title),
        columns=[evolve(column, title=translated(column.title)) for column in shape.columns],
        rows=[list(row) for row in table.first(limit).rows],
        total=table.total,
        sorted_by=table.sorted_by,
        descending=table.descending,
        note=f"{table.note} {table.hint}".strip(),
    )
