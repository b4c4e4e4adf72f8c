"""Answers the editor's requests about reports."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from eagleray.common.off_loop import off_loop
from eagleray.features.reports import messages, texts
from eagleray.features.reports.model import GpuUsage, Report, Table
from eagleray.features.reports.reports import Reports

if TYPE_CHECKING:
    from eagleray.wire.requests import ReportProgress, RequestServer

# So many rows of each table come with the summary; the others are requested.
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

    async def report(self, asked: messages.ReportOf, report: ReportProgress) -> messages.Report:
        return wire_report(await self._reports.read(asked.path, report))

    async def table(self, asked: messages.TableOf, report: ReportProgress) -> messages.Table:
        found = await self._reports.table(
            asked.path, asked.table, asked.sort, asked.descending, asked.search, report
        )
        return wire_table(found, asked.limit)

    async def report_text(
        self, asked: messages.ReportOf, report: ReportProgress
    ) -> messages.ReportText:
        read = await self._reports.read(asked.path, report)
        tables = [one.first(FIRST_ROWS) for one in read.summary.tables]
        return messages.ReportText(texts.markdown(read, tables))

    async def table_text(
        self, asked: messages.TableTextOf, report: ReportProgress
    ) -> messages.TableText:
        found = await self._reports.table(
            asked.path, asked.table, asked.sort, asked.descending, asked.search, report
        )
        text = await off_loop(partial(texts.table_text, found, asked.format))
        return messages.TableText(found.shape.title, text, len(found.rows), found.total)


def wire_report(one: Report) -> messages.Report:
    about = one.summary.about
    return messages.Report(
        path=str(one.path),
        name=one.path.name,
        database=str(one.database),
        size=one.size,
        host=about.host,
        started_utc=about.started_utc,
        duration_ns=about.duration,
        nsys_version=about.nsys_version,
        schema_version=about.schema_version,
        trace=about.trace,
        gpus=[_gpu(gpu) for gpu in one.summary.gpus],
        tables=[wire_table(table, FIRST_ROWS) for table in one.summary.tables],
        warnings=[
            messages.ReportWarning(warning.code, warning.message, warning.next_step)
            for warning in one.summary.warnings
        ],
    )


def wire_table(table: Table, limit: int) -> messages.Table:
    shape = table.shape
    return messages.Table(
        id=table.name,
        title=shape.title,
        columns=[messages.Column(one.id, one.title, one.kind) for one in shape.columns],
        rows=[list(row) for row in table.first(limit).rows],
        total=table.total,
        sorted_by=table.sorted_by,
        descending=table.descending,
        note=table.note,
    )


def _gpu(gpu: GpuUsage) -> messages.Gpu:
    return messages.Gpu(
        id=gpu.id,
        name=gpu.name,
        kernels=gpu.kernels,
        begin_ns=gpu.begin,
        end_ns=gpu.end,
        busy_ns=gpu.busy,
        idle_ns=gpu.idle,
        busy_share=gpu.busy_share,
        nccl_ns=gpu.nccl,
        nccl_alone_ns=gpu.nccl_alone,
        curve=list(gpu.curve),
    )
