"""The editor's requests about profiled runs and reports: wire types in, wire types out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from eagleray.common.off_loop import off_loop
from eagleray.common.tasks import publish_changes
from eagleray.features.profiling import messages
from eagleray.features.profiling.profiling import ProfiledRun, Profiling
from eagleray.features.runs.model import ProfiledWorker, ProfileState

if TYPE_CHECKING:
    from eagleray.features.runs.runs import Runs
    from eagleray.wire.requests import ReportProgress, RequestServer

WorkerState = Literal["profiled", "recording", "writing", "gathered", "missing"]


def register(
    server: RequestServer,
    profiling: Profiling,
    runs: Runs,
) -> None:
    """Answers the requests of this feature."""
    handlers = RunHandlers(profiling)
    server.on_request(messages.LIST, handlers.list)
    server.on_request(messages.RECORD, handlers.record)
    server.on_request(messages.STOP, handlers.stop)
    server.on_request(messages.GATHER, handlers.gather)
    server.on_request(messages.WORKERS, handlers.workers)
    told = [messages.ProfiledRuns([])]
    changed = asyncio.Event()
    runs.on_change(changed.set)

    async def publish() -> None:
        now = wire_runs(await off_loop(profiling.listed))
        if now != told[0]:
            told[0] = now
            server.notify(messages.CHANGED, now)

    server.in_background("rows of profiled runs", lambda: publish_changes(changed, publish))


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

    async def gather(self, asked: messages.Gather, report: ReportProgress) -> messages.Gathered:
        def tell(seen: ProfileState) -> None:
            report(progress_text(seen), percentage(seen))

        seen = await self._profiling.gather(asked.run, tell, finish=asked.finish)
        return messages.Gathered(seen.folder, list(seen.files))

    async def workers(self, asked: messages.WorkersOf) -> messages.Preview:
        found = await self._profiling.preview(asked.cluster, asked.patterns)
        return messages.Preview(
            [messages.Seen(one.name, one.running, one.matched_by) for one in found]
        )


def progress_text(seen: ProfileState) -> str:
    """What is done now, in words."""
    if seen.sentence:
        return seen.sentence
    words = {"writing": "nsys is writing", "recording": "Recording"}
    return (
        f"{words.get(seen.phase, 'Gathering')}: {seen.gathered} of {seen.expected} reports are here"
    )


def percentage(seen: ProfileState) -> int | None:
    """How much of what is known to come is here."""
    return int(100 * seen.done_bytes / seen.bytes) if seen.bytes else None


def wire_runs(listed: Sequence[ProfiledRun]) -> messages.ProfiledRuns:
    return messages.ProfiledRuns([wire_run(one) for one in listed])


def wire_run(one: ProfiledRun) -> messages.ProfiledRun:
    seen = one.state or ProfileState(str(one.output))
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
