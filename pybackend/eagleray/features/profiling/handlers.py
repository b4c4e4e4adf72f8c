"""The editor's requests about profiled runs and reports: wire types in, wire types out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from eagleray.common.off_loop import off_loop
from eagleray.common.waiting import after_changes
from eagleray.features.profiling import messages
from eagleray.features.profiling.profiling import ProfiledRun, Profiling
from eagleray.features.reports import texts
from eagleray.features.reports.device import Gpu
from eagleray.features.reports.reports import Report, Reports
from eagleray.features.reports.tables import Table
from eagleray.features.runs.model import Profiled, ProfiledWorker

if TYPE_CHECKING:
    from eagleray.app import Parts
    from eagleray.wire.requests import Requests, TellProgress

# So many rows of each table come with the summary; the others are asked for.
FIRST_ROWS = 100

WorkerState = Literal["profiled", "recording", "writing", "gathered", "missing"]


def register(server: Requests, parts: Parts) -> None:
    """Answers all methods of this feature."""
    reports = ReportHandlers(parts.reports)
    server.answer_reporting(messages.REPORT, messages.ReportOf, reports.report)
    server.answer_reporting(messages.TABLE, messages.TableOf, reports.table)
    server.answer_reporting(messages.REPORT_TEXT, messages.ReportOf, reports.report_text)
    server.answer_reporting(messages.TABLE_TEXT, messages.TableTextOf, reports.table_text)
    handlers = RunHandlers(parts.profiling)
    server.answer_plain(messages.LIST, handlers.list)
    server.answer(messages.RECORD, messages.Record, handlers.record)
    server.answer(messages.STOP, messages.Recording, handlers.stop)
    server.answer_reporting(messages.GATHER, messages.Gather, handlers.gather)
    server.answer(messages.WORKERS, messages.WorkersOf, handlers.workers)
    told = [messages.ProfiledRuns([])]
    changed = asyncio.Event()
    parts.runs.on_change(changed.set)

    async def publish() -> None:
        listed = await off_loop(parts.profiling.listed)
        if parts.settings.trusted:
            # They are of the user's own runs: nothing else is ever listed.
            parts.ahead.told([file for one in listed if one.seen for file in one.seen.files])
        now = wire_runs(listed)
        if now != told[0]:
            told[0] = now
            server.notify(messages.CHANGED, now)

    server.in_background("rows of profiled runs", lambda: after_changes(changed, publish))


class RunHandlers:
    """One method per request about runs."""

    def __init__(self, profiling: Profiling) -> None:
        self._profiling = profiling

    async def list(self) -> messages.ProfiledRuns:
        return wire_runs(await off_loop(self._profiling.listed))

    async def record(self, asked: messages.Record) -> messages.Asked:
        return messages.Asked(await self._profiling.record(asked.run, asked.workers, asked.seconds))

    async def stop(self, asked: messages.Recording) -> messages.Asked:
        return messages.Asked(await self._profiling.stop(asked.run, asked.workers))

    async def gather(self, asked: messages.Gather, report: TellProgress) -> messages.Gathered:
        def tell(seen: Profiled) -> None:
            report(progress_text(seen), percentage(seen))

        seen = await self._profiling.gather(asked.run, tell, finish=asked.finish)
        return messages.Gathered(seen.folder, list(seen.files))

    async def workers(self, asked: messages.WorkersOf) -> messages.Preview:
        found = await self._profiling.preview(asked.cluster, asked.patterns)
        return messages.Preview(
            [messages.Seen(one.name, one.running, one.matched_by) for one in found]
        )


class ReportHandlers:
    """One method per request about reports."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports

    async def report(self, asked: messages.ReportOf, report: TellProgress) -> messages.Report:
        return wire_report(await self._reports.read(asked.path, report))

    async def table(self, asked: messages.TableOf, report: TellProgress) -> messages.Table:
        found = await self._reports.table(
            asked.path, asked.table, asked.sort, asked.descending, asked.search, report
        )
        return wire_table(found, asked.limit)

    async def report_text(
        self, asked: messages.ReportOf, report: TellProgress
    ) -> messages.ReportText:
        read = await self._reports.read(asked.path, report)
        tables = [one.first(FIRST_ROWS) for one in read.summary.tables]
        return messages.ReportText(texts.markdown(read, tables))

    async def table_text(
        self, asked: messages.TableTextOf, report: TellProgress
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


def _gpu(gpu: Gpu) -> messages.Gpu:
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


def progress_text(seen: Profiled) -> str:
    """What is done now, in words."""
    if seen.sentence:
        return seen.sentence
    words = {"writing": "nsys is writing", "recording": "Recording"}
    return (
        f"{words.get(seen.phase, 'Gathering')}: {seen.gathered} of {seen.expected} reports are here"
    )


def percentage(seen: Profiled) -> int | None:
    """How much of what is known to come is here."""
    return int(100 * seen.done_bytes / seen.bytes) if seen.bytes else None


def wire_runs(listed: Sequence[ProfiledRun]) -> messages.ProfiledRuns:
    return messages.ProfiledRuns([wire_run(one) for one in listed])


def wire_run(one: ProfiledRun) -> messages.ProfiledRun:
    seen = one.seen or Profiled(str(one.here))
    return messages.ProfiledRun(
        run=one.run,
        output=seen.folder,
        state=seen.phase,
        sentence=seen.sentence,
        expected=seen.expected,
        gathered=seen.gathered,
        workers=[_worker(one.run, worker) for worker in seen.workers],
    )


def _worker(run: str, worker: ProfiledWorker) -> messages.ProfiledWorker:
    return messages.ProfiledWorker(
        run=run,
        worker_id=worker.worker_id,
        name=worker.name,
        node=worker.node,
        state=_state(worker),
        sentence=worker.problem or worker.said,
        reports=list(worker.reports),
    )


def _state(worker: ProfiledWorker) -> WorkerState:
    if worker.state == "armed" or worker.state == "ended":
        has_all = worker.reports and len(worker.reports) >= len(worker.whole)
        return "gathered" if has_all else "profiled"
    return worker.state
