"""Profiled runs, for a window or a terminal: list, record, stop recording, gather reports, preview classes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from attrs import evolve

from eagleray.common import tasks
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError
from eagleray.common.redact import redact_text
from eagleray.profile.recordings.class_matches import match_classes
from eagleray.profile.recordings.collector import (
    REACTION_LIMIT_S,
    UNREACHABLE_LIMIT_S,
    ReportCollector,
    ReportCollectorFactory,
)
from eagleray.profile.recordings.errors import (
    nobody_records,
    not_gathered,
    not_profiled,
    run_is_over,
    without_nsys,
)
from eagleray.profile.recordings.model import ClassMatch, RunProfile
from eagleray.profile.recordings.store import output_folder
from eagleray.ray.dashboard import Dashboard
from eagleray.runs import supervisor_process
from eagleray.runs.adapter_gateway import AdapterRunGateway
from eagleray.runs.model import ProfileState
from eagleray.runs.records import StoredRun
from eagleray.runs.remote_files import remote_reports_folder
from eagleray.runs.run_status import with_current_state
from eagleray.runs.runs import Runs

POLL_INTERVAL_S = 0.3
# Classes of older runs may be of programs that no longer exist.
RECENT_RUNS = 10

# Called with the state of the profile while its reports are gathered.
OnState = Callable[[ProfileState], None]


class RunProfiles:
    """The profiled ones among all runs; methods that aren't coroutines read files, so call them off the event loop."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def listed(self) -> list[RunProfile]:
        """The profiled runs, the newest first."""
        return [run for listed in self._runs.listed() if (run := _profiled(listed))]

    def find(self, prefix: str) -> RunProfile | None:
        """The run whose id begins so, None if it is not profiled; raises `unknown-run`."""
        return _profiled(with_current_state(self._runs.load(prefix)))

    async def end(self, run: str) -> None:
        """Has the supervisor collect everything and end the program; the user has confirmed that, also for a SLURM job."""
        await self._runs.stop(run, confirmed=True)

    async def save(self, run: str, state: ProfileState) -> None:
        """Stores what was collected of a run that is over."""
        await off_loop(partial(self._write, run, state))
        self._runs.changed()

    def _write(self, run: str, state: ProfileState) -> None:
        stored = self._runs.load(run)
        stored.record.write_state(evolve(stored.state, profile=state))


def _profiled(listed: StoredRun) -> RunProfile | None:
    plan, state = listed.plan, listed.state
    if plan.profile is None:
        return None
    return RunProfile(
        run=listed.record.id,
        reports_folder=listed.record.reports,
        output=output_folder(listed.record.id, plan.profile.output, plan.cwd),
        # Until the Ray in its job is found, a script has only the host on which it is submitted.
        cluster="" if plan.kind == "sbatch" and state.cluster == plan.cluster else state.cluster,
        is_over=state.is_over,
        is_supervised=not state.is_over and supervisor_process.is_supervised(listed.record, state),
        state=state.profile,
        remote=remote_reports_folder(listed.record.id, plan),
        name=redact_text(plan.name),
    )


class Profiling:
    """Answers requests about profiled runs; keeps no state."""

    def __init__(
        self,
        runs: RunProfiles,
        gateway: AdapterRunGateway,
        collectors: ReportCollectorFactory,
        dashboard: Callable[[str], Awaitable[Dashboard]],
    ) -> None:
        self._runs = runs
        self._gateway = gateway
        self._collectors = collectors
        self._dashboard = dashboard

    def listed(self) -> list[RunProfile]:
        return self._runs.listed()

    async def record(self, prefix: str, workers: Sequence[str], seconds: float = 0.0) -> int:
        """Returns how many workers begin to record; raises `nobody-records`."""
        profile = await self._find_live(prefix)
        count = await self._gateway.record(profile.run, workers, seconds)
        if not count:
            raise _why_nothing_records(profile, workers)
        return count

    async def stop(self, prefix: str, workers: Sequence[str]) -> int:
        """Returns how many workers end their recording; raises `nobody-records`."""
        profile = await self._find_live(prefix)
        count = await self._gateway.stop_recording(profile.run, workers)
        if not count:
            raise _why_nothing_records(profile, workers)
        return count

    async def gather(self, prefix: str, on_state: OnState, *, finish: bool = False) -> ProfileState:
        """Downloads all complete reports, or raises what went wrong; `finish` then ends the program."""
        profile = await self._find(prefix)
        if finish and not profile.is_over:
            if not profile.is_supervised:
                # Without a supervisor, no other process ends the recordings before the program.
                await self._collect(profile, on_state, finish=True)
            await self._runs.end(profile.run)
            # A run whose supervisor died may have a new one by now.
            profile = await self._find(prefix)
        if profile.is_supervised and not profile.is_over:
            return await self._follow(profile.run, on_state, until_over=finish)
        return await self._collect(profile, on_state)

    async def preview(self, cluster: str, patterns: Sequence[str]) -> list[ClassMatch]:
        """The classes of a cluster ("" for none) and of recent runs, matched with patterns."""
        actors = await (await self._dashboard(cluster)).all_actors() if cluster else []
        recent = (await off_loop(self._runs.listed))[:RECENT_RUNS]
        earlier = [name for run in recent if run.state for name in run.state.classes]
        return match_classes(actors, patterns, earlier)

    async def _follow(self, run: str, on_state: OnState, *, until_over: bool) -> ProfileState:
        """Waits until the supervisor has collected all complete reports, or missing ones do not come."""
        loop = asyncio.get_running_loop()
        before, changed_at = None, loop.time()
        while True:
            profile = await self._find(run)
            state = profile.state or ProfileState(str(profile.output))
            on_state(state)
            if state != before:
                before, changed_at = state, loop.time()
            if not (profile.is_supervised or profile.is_over):
                # Its supervisor has ended; this process collects the rest.
                return await self._collect(profile, on_state)
            quiet_s = loop.time() - changed_at
            is_stuck = quiet_s > UNREACHABLE_LIMIT_S
            # nsys reports that it writes a moment after the recording was asked to end.
            may_end = state.phase == "recording" and quiet_s <= REACTION_LIMIT_S
            is_writing = state.phase in ("writing", "gathering") or may_end
            is_busy = is_writing or state.gathered < state.expected
            # A program whose reports cannot be gathered keeps running, though its end was requested.
            is_awaited = until_over and state.phase != "failed"
            if profile.is_over or (not is_awaited and (not is_busy or is_stuck)):
                if state.phase == "failed":
                    raise not_gathered(state.sentence)
                return state
            await asyncio.sleep(POLL_INTERVAL_S)

    async def _collect(
        self, profile: RunProfile, on_state: OnState, *, finish: bool = False
    ) -> ProfileState:
        cluster: tuple[str, Dashboard] | None = None
        failure: EaglerayError | None = None
        try:
            if profile.cluster:
                cluster = (profile.cluster, await self._dashboard(profile.cluster))
        except EaglerayError as error:
            failure = error
        collector = self._collectors.create(
            profile.run,
            profile.reports_folder,
            profile.output,
            lambda: cluster,
            profile.remote,
            profile.cluster,
            profile.state,
        )
        # A failure of the progress display must not stop the reports.
        progress = tasks.owned(_report_progress(collector, on_state), "progress", tasks.only_logged)
        try:
            if finish:
                await collector.finish()
            await collector.collect()
        finally:
            progress.cancel()
            await asyncio.gather(progress, return_exceptions=True)
            await collector.close()
        if failure is not None and not collector.state.files:
            # All reports are in a cluster that does not answer.
            raise failure
        await self._runs.save(profile.run, collector.state)
        on_state(collector.state)
        return collector.state

    async def _find_live(self, prefix: str) -> RunProfile:
        profile = await self._find(prefix)
        if profile.is_over:
            raise run_is_over(profile.name or profile.run)
        return profile

    async def _find(self, prefix: str) -> RunProfile:
        profile = await off_loop(partial(self._runs.find, prefix))
        if profile is None:
            raise not_profiled(prefix)
        return profile


def _why_nothing_records(profile: RunProfile, ids: Sequence[str]) -> EaglerayError:
    """Workers without nsys are a reason only if no other worker could record."""
    name = profile.name or profile.run
    every = profile.state.workers if profile.state else ()
    workers = [worker for worker in every if not ids or worker.worker_id in ids]
    if workers and all(worker.state == "missing" for worker in workers):
        return without_nsys(name, workers)
    return nobody_records(name)


async def _report_progress(collector: ReportCollector, on_state: OnState) -> None:
    while True:
        on_state(collector.state)
        await asyncio.sleep(POLL_INTERVAL_S)
