"""Answers the editor's requests about profiled runs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from eagleray.common.blocking_calls import off_loop
from eagleray.common.l10n import t
from eagleray.common.tasks import publish_changes
from eagleray.profile.recordings import messages
from eagleray.profile.recordings.model import RunProfile
from eagleray.profile.recordings.profiling import Profiling
from eagleray.runs.model import ProfileState, WorkerProfile

if TYPE_CHECKING:
    from eagleray.runs.runs import Runs
    from eagleray.wire.requests import ReportProgress, RequestServer

WorkerState = Literal["profiled", "recording", "writing", "gathered", "missing"]

# The number of a worker in its name: "policy-3" is one of "policy".
_NUMBER = re.compile(r"[-_ ]?\d+$")


def register(server: RequestServer, profiling: Profiling, runs: Runs) -> None:
    """Answers the requests of this feature."""
    handlers = ProfilingHandlers(profiling)
    server.on_request(messages.LIST, handlers.list)
    server.on_request(messages.RECORD, handlers.record)
    server.on_request(messages.STOP, handlers.stop)
    server.on_request(messages.GATHER, handlers.gather)
    server.on_request(messages.WORKERS, handlers.workers)
    published = messages.ProfiledRuns([])
    changed = asyncio.Event()
    runs.on_change(changed.set)

    async def publish() -> None:
        nonlocal published
        now = wire_runs(await off_loop(profiling.listed))
        if now != published:
            published = now
            server.notify(messages.CHANGED, now)

    server.in_background("rows of profiled runs", lambda: publish_changes(changed, publish))


class ProfilingHandlers:
    """One method per request about profiled runs."""

    def __init__(self, profiling: Profiling) -> None:
        self._profiling = profiling

    async def list(self) -> messages.ProfiledRuns:
        return wire_runs(await off_loop(self._profiling.listed))

    async def record(self, request: messages.StartRecording) -> messages.RecordingResult:
        return messages.RecordingResult(
            await self._profiling.record(request.run, request.workers, request.seconds)
        )

    async def stop(self, request: messages.StopRecording) -> messages.RecordingResult:
        return messages.RecordingResult(await self._profiling.stop(request.run, request.workers))

    async def gather(
        self, request: messages.GatherReports, report: ReportProgress
    ) -> messages.GatheredReports:
        def on_state(state: ProfileState) -> None:
            report(progress_text(state), percentage(state))

        state = await self._profiling.gather(request.run, on_state, finish=request.finish)
        return messages.GatheredReports(state.folder, list(state.files))

    async def workers(self, request: messages.PreviewRequest) -> messages.Preview:
        return messages.Preview(await self._profiling.preview(request.cluster, request.patterns))


def progress_text(state: ProfileState) -> str:
    """The progress of a download, behind a title that names it."""
    if state.sentence:
        return state.sentence
    counts = {"done": state.gathered, "total": state.expected}
    if state.phase == "recording":
        return t("{done} of {total} reports, still recording", **counts)
    if state.phase == "writing":
        return t("{done} of {total} reports, nsys is writing", **counts)
    return t("{done} of {total} reports", **counts)


def percentage(state: ProfileState) -> int | None:
    """The downloaded share of the bytes that are known to come; None before any is known."""
    return int(100 * state.done_bytes / state.bytes) if state.bytes else None


def wire_runs(runs: Sequence[RunProfile]) -> messages.ProfiledRuns:
    return messages.ProfiledRuns([wire_run(run) for run in runs])


def wire_run(run: RunProfile) -> messages.ProfiledRun:
    state = run.state or ProfileState(str(run.output))
    return messages.ProfiledRun(
        run=run.run,
        output=state.folder,
        state=state.phase,
        sentence=state.sentence,
        expected=state.expected,
        gathered=state.gathered,
        workers=[_worker(run.run, worker) for worker in sorted(state.workers, key=_order)],
    )


def _order(worker: WorkerProfile) -> tuple[str, bool, int, str]:
    """Workers of one name together, in the order of their ranks."""
    return _NUMBER.sub("", worker.name), worker.rank is None, worker.rank or 0, worker.key


def _worker(run: str, worker: WorkerProfile) -> messages.ProfiledWorker:
    return messages.ProfiledWorker(
        run=run,
        worker_id=worker.worker_id,
        name=worker.name,
        node=worker.node,
        rank=worker.rank,
        state=_worker_state(worker),
        sentence=worker.problem or worker.said,
        reports=list(worker.reports),
    )


def _worker_state(worker: WorkerProfile) -> WorkerState:
    if worker.state == "armed" or worker.state == "ended":
        has_all = worker.reports and len(worker.reports) >= len(worker.whole)
        return "gathered" if has_all else "profiled"
    return worker.state
