"""All runs of this user: starts, lists, stops, restarts and forgets them, for a window or a terminal."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from attrs import evolve

from eagleray.common.blocking_calls import InOrder, off_loop
from eagleray.common.errors import EaglerayError
from eagleray.common.folder_changes import FolderChanges
from eagleray.common.listeners import Listeners
from eagleray.common.paths import host_name
from eagleray.common.retry import RUN_FOLDERS
from eagleray.common.tasks import wait_for_event
from eagleray.protocol.runs import Breakpoint
from eagleray.runs import supervisor_process
from eagleray.runs.adapter_gateway import AdapterRunGateway, AdapterRunStatus
from eagleray.runs.errors import (
    needs_consent,
    run_not_recorded,
    runs_elsewhere,
    still_runs,
    stop_needs_consent,
)
from eagleray.runs.model import RunPlan, RunState, confirm_text, with_server
from eagleray.runs.preflight import check
from eagleray.runs.program_python import with_python
from eagleray.runs.records import RunRecord, RunRecords, StoredRun, load
from eagleray.runs.run_status import ORPHAN_RETENTION_S, outdated, with_current_state
from eagleray.runs.streams import Streams
from eagleray.runs.supervisor_process import end_orphan
from eagleray.runs.waiting_supervisor import WaitingSupervisor

# Whether a supervisor lives is known by its process.
PROCESS_POLL_INTERVAL_S = 1.0
# Only a poll notices what another machine does with a run of this home.
REMOTE_POLL_INTERVAL_S = 10.0
UNWATCHED_POLL_INTERVAL_S = 1.0
# A run that begins writes several times.
COALESCE_S = 0.1


log = logging.getLogger(__name__)


class Runs:
    """Reads the folders of runs and the adapter's events about them, and sends requests to both.

    `access` returns what the user has typed in for a cluster, which supervisors get.  Methods that aren't coroutines
    read files, so they are called off the event loop.  Only while `run` runs does it get the adapter's events.
    `waiting` is the supervisor of the first run.
    """

    def __init__(
        self,
        records: RunRecords,
        adapter: AdapterRunGateway,
        access: Callable[[str], Mapping[str, Any]] = lambda cluster: {},
        waiting: WaitingSupervisor | None = None,
    ) -> None:
        self._records = records
        self._adapter = adapter
        # Replaced as a whole, since other threads read it.
        self._reported: Mapping[str, AdapterRunStatus] = {}
        self._access = access
        self._waiting = waiting
        self._listeners = Listeners[[]]()
        self._files = InOrder()
        self._setting_breakpoints = asyncio.Lock()

    def find(self, written: str) -> RunRecord:
        return self._records.find(written)

    def load(self, written: str) -> StoredRun:
        """The run of that id as its files are; raises `unknown-run`."""
        return load(self._records.find(written))

    def listed(self) -> list[StoredRun]:
        """All runs as they are now, the newest first."""
        return self._shown(self._records.listed())

    def _shown(self, stored: Sequence[StoredRun]) -> list[StoredRun]:
        reported = self._reported
        return [with_current_state(run, reported.get(run.record.id)) for run in stored]

    async def start(
        self,
        plan: RunPlan,
        *,
        confirmed: bool,
        server_key: str = "",
        streams: Streams | None = None,
    ) -> str:
        """The id of the new run; raises what keeps it from starting, `needs-consent`, or `keeper-not-started`.

        `server_key` is the API key of an inference server, "" for none; `streams` are the program's.
        """
        question = confirm_text(plan)
        if question and not confirmed:
            raise needs_consent(question)
        await check(plan)
        state = RunState("starting", time.time(), host=host_name(), cluster=plan.cluster)
        record = await self._files.run(partial(self._recorded, plan, state, server_key))
        try:
            waiting, self._waiting = self._waiting, None
            await supervisor_process.start(record, self._access(plan.cluster), streams, waiting)
        except EaglerayError as error:
            failed = evolve(state, phase="failed", ended=time.time(), note=error.message)
            await self._files.run(partial(record.write_state, failed))
            raise
        finally:
            self.changed()
        return record.id

    def _recorded(self, plan: RunPlan, state: RunState, server_key: str) -> RunRecord:
        """The new run, in place of old ones."""
        for old in outdated(self._records.listed()):
            self._records.forget(old.record, is_over=old.state.is_over)
        for torn in self._records.damaged(ORPHAN_RETENTION_S):
            log.warning("run %s can't be read and is removed", torn.id)
            self._records.forget(torn, is_over=False)
        try:
            record = self._records.create(plan, state)
            if server_key:
                record.write_server_key(server_key)
        except OSError as error:
            reason = error.strerror or str(error)
            raise run_not_recorded(str(self._records.folder), reason) from error
        return record

    async def stop(self, written: str, *, confirmed: bool) -> None:
        """Ends a run, more urgently when called again; ends the program of an orphaned run of this machine itself."""
        run = await off_loop(partial(self.load, written))
        record, plan, state = run.record, run.plan, run.state
        if state.is_over:
            return
        if plan.kind == "sbatch" and state.external_id and not confirmed:
            raise stop_needs_consent(state.external_id)
        await self.adopt(record)
        state = await off_loop(record.state)
        if state.is_over:
            # It was, which was seen only now.
            self.changed()
            return
        if await off_loop(partial(supervisor_process.is_supervised, record, state)):
            await off_loop(partial(supervisor_process.request_stop, record, state))
        elif state.host not in ("", host_name()):
            raise runs_elsewhere(record.id, state.host)
        else:
            await end_orphan(record)
        self.changed()

    async def adopt(self, record: RunRecord) -> None:
        """Starts a new supervisor for an orphaned job, which reads its output from the beginning.

        Of several callers at once one starts it, and the others get the same one.
        """
        state = await off_loop(record.state)
        if not state.external_id or state.is_over:
            return
        if not await off_loop(partial(supervisor_process.is_supervised, record, state)):
            await supervisor_process.start(record, self._access(state.cluster))

    async def restart(
        self,
        written: str,
        breakpoints: Sequence[Breakpoint] | None,
        *,
        confirmed: bool,
        python: str = "",
        server_env: Mapping[str, str] | None = None,
        streams: Streams | None = None,
    ) -> str:
        """Starts the same command again, with another `python` if one is given; a live run continues beside it.

        `server_env` has the variables of the server that is chosen now, None to keep the run's.
        """
        run = await off_loop(partial(self.load, written))
        plan, key = run.plan, await off_loop(run.record.server_key)
        if python:
            plan = with_python(plan, python)
        if server_env is not None:
            plan = with_server(plan, server_env)
        if breakpoints is not None and _stops_at_breakpoints(plan):
            plan = evolve(plan, breakpoints=tuple(breakpoints))
        return await self.start(plan, confirmed=confirmed, server_key=key, streams=streams)

    async def forget(self, written: str) -> None:
        """Removes a run that is over, or that has no supervisor; raises `run-lives`."""
        await self._files.run(partial(self._remove, written))
        self.changed()

    def _remove(self, written: str) -> None:
        run = with_current_state(self.load(written))
        lives = not run.state.is_over and run.state.phase != "unwatched"
        if lives or not self._records.forget(run.record, is_over=run.state.is_over):
            raise still_runs(run.record.id)

    async def set_breakpoints(self, workspace: str, breakpoints: Sequence[Breakpoint]) -> None:
        """All breakpoints of a workspace, for its runs that live; of several calls the last one counts."""
        async with self._setting_breakpoints:
            for run in await off_loop(self.listed):
                stops = _stops_at_breakpoints(run.plan) and not run.state.is_over
                if run.plan.workspace == workspace and stops:
                    plan = evolve(run.plan, breakpoints=tuple(breakpoints))
                    await self._files.run(partial(run.record.write_plan, plan))
                    await self._set_live(run.record.id, plan.breakpoints)

    async def _set_live(self, run: str, breakpoints: Sequence[Breakpoint]) -> None:
        try:
            await self._adapter.breakpoints(run, breakpoints)
        except EaglerayError as error:
            # Its supervisor is about to register it, with the plan as it is now.
            if error.code != "unregistered-run":
                raise

    async def pause(self, written: str, worker_id: str) -> None:
        record = await off_loop(partial(self.find, written))
        await self._adapter.pause(record.id, worker_id)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls `listener` whenever `listed` may answer something else."""
        self._listeners.add(listener)

    def changed(self) -> None:
        self._listeners.notify()

    async def run(self) -> None:
        """Notifies listeners of what adapters, supervisors, other windows and terminals change, until it is cancelled.

        The folders are read when the kernel or an adapter reports a change, and rarely for what another machine with
        the same home has changed.  Supervisors of this machine are checked by their processes.
        """
        wake, now = asyncio.Event(), asyncio.get_running_loop().time

        def take_reported() -> None:
            if (reported := self._adapter.reported()) != self._reported:
                self._reported = reported
                wake.set()

        changes = FolderChanges(lambda name: wake.set())
        end_events = self._adapter.on_change(take_reported)
        take_reported()
        try:
            await changes.watch(self._records.folder)
            published, changed_at = None, now()
            while True:
                wake.clear()
                read = await off_loop(self._records.listed)
                if await _watch(changes, read, self._records.folder):
                    # It may have changed before it was watched.
                    continue
                shown = await off_loop(partial(self._shown, read))
                if shown != published:
                    published, changed_at = shown, now()
                    self.changed()
                limit_s = _poll_s(changes, shown, self._records.folder, now() - changed_at)
                await self._until_news(wake, read, shown, limit_s)
        finally:
            end_events()
            changes.close()
            self._reported = {}

    async def _until_news(
        self,
        wake: asyncio.Event,
        read: Sequence[StoredRun],
        shown: Sequence[StoredRun],
        limit_s: float,
    ) -> None:
        """Until a folder or a worker has changed, the supervisor or program of a run has ended, or a poll is due."""
        local = [
            (run, before)
            for run, before in zip(read, shown, strict=True)
            if run.state.host == host_name() and run.state.supervisor and not run.state.is_over
        ]
        now = asyncio.get_running_loop().time
        until = now() + limit_s
        while (left_s := until - now()) > 0:
            wait_s = min(left_s, PROCESS_POLL_INTERVAL_S) if local else left_s
            if await wait_for_event(wake, wait_s):
                await asyncio.sleep(COALESCE_S)
                return
            current = await off_loop(partial(self._shown, [run for run, _ in local]))
            if current != [before for _, before in local]:
                return


def _stops_at_breakpoints(plan: RunPlan) -> bool:
    """A profiled run doesn't stop anywhere, and an inference server has to answer the programs that do."""
    return plan.profile is None and plan.server is None


async def _watch(changes: FolderChanges, read: Sequence[StoredRun], runs: Path) -> bool:
    """Watches the folders of the runs that live, and no others; whether there is a new one."""
    living = {run.record.folder for run in read if not run.state.is_over}
    for folder in changes.folders():
        if folder not in living and folder != runs:
            changes.forget(folder)
    return len([folder for folder in living if await changes.watch(folder)]) > 0


def _poll_s(changes: FolderChanges, shown: Sequence[StoredRun], runs: Path, age_s: float) -> float:
    """When the folders are read without a sign: soon where the kernel gives none, as on macOS."""
    living = [run for run in shown if not run.state.is_over and run.state.phase != "unwatched"]
    if not {runs, *(run.record.folder for run in living)} <= set(changes.folders()):
        return UNWATCHED_POLL_INTERVAL_S
    elsewhere = any(run.state.host != host_name() for run in living)
    return min(RUN_FOLDERS.delay_s(age_s), REMOTE_POLL_INTERVAL_S if elsewhere else float("inf"))
