"""All runs: started, listed, stopped, started again and forgotten, by a window or a terminal."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from attrs import evolve

from eagleray.clients.process_identity import lives
from eagleray.common.errors import EaglerayError
from eagleray.common.folder_changes import FolderChanges
from eagleray.common.listeners import Listeners
from eagleray.common.paths import host_name
from eagleray.common.poll_schedule import RUN_FOLDERS
from eagleray.common.run_errors import (
    needs_consent,
    runs_elsewhere,
    still_runs,
    stop_needs_consent,
)
from eagleray.common.waiting import is_set_within
from eagleray.features.runs import keeping
from eagleray.features.runs.plan import Breakpoint, RunPlan
from eagleray.features.runs.preflight import check
from eagleray.features.runs.program_python import with_python
from eagleray.features.runs.records import Listed, Record, Records
from eagleray.features.runs.seen import UNKEPT_S, outdated, seen
from eagleray.features.runs.starters.local import STEPS, send
from eagleray.features.runs.state import Process, RunState
from eagleray.features.runs.words import confirm_text

# Whether a supervisor lives is known by its process.
PROCESS_POLL_S = 1.0
# What another machine does with a run of this home is seen by a poll only.
ELSEWHERE_S = 10.0
UNTOLD_S = 1.0
# A run that begins writes several times.
COALESCE_S = 0.1
_STEP_S = 0.05


class LiveRuns(Protocol):
    """What the adapter is asked about live runs."""

    async def breakpoints(self, run: str, breakpoints: Sequence[Breakpoint]) -> None: ...

    async def pause(self, run: str, worker_id: str) -> None: ...


log = logging.getLogger(__name__)


class Runs:
    """Looks at the folders of runs and asks their keepers; keeps nothing itself.

    `access` is what the person has typed in for a cluster, which keepers are told.
    """

    def __init__(
        self,
        records: Records,
        live: LiveRuns,
        access: Callable[[str], Mapping[str, Any]] = lambda cluster: {},
    ) -> None:
        self._records = records
        self._live = live
        self._access = access
        self._listeners = Listeners[[]]()

    def find(self, written: str) -> Record:
        return self._records.find(written)

    def listed(self) -> list[Listed]:
        """All runs as they are now, the newest first."""
        return [seen(one) for one in self._records.listed()]

    async def start(self, plan: RunPlan, *, confirmed: bool) -> str:
        """The id of the new run; raises what keeps it from starting, `needs-consent`, or `keeper-not-started`."""
        question = confirm_text(plan)
        if question and not confirmed:
            raise needs_consent(question)
        await check(plan)
        state = RunState("starting", time.time(), host=host_name(), cluster=plan.cluster)
        for one in outdated(self._records.listed()):
            self._records.forget(one.record, is_over=one.state.is_over)
        for torn in self._records.torn(UNKEPT_S):
            log.warning("run %s can't be read and is removed", torn.id)
            self._records.forget(torn, is_over=False)
        record = self._records.create(plan, state)
        try:
            await keeping.start(record, self._access(plan.cluster))
        except EaglerayError as error:
            record.write_state(evolve(state, phase="failed", ended=time.time(), note=error.message))
            raise
        finally:
            self.changed()
        return record.id

    async def stop(self, written: str, *, confirmed: bool) -> None:
        """Asks a run to end; asked again it is ended harder.  One without a keeper is ended from here."""
        record = self._records.find(written)
        plan, state = record.plan(), record.state()
        if state.is_over:
            return
        if plan.kind == "sbatch" and state.far_id and not confirmed:
            raise stop_needs_consent(state.far_id)
        await self.adopt(record)
        state = record.state()
        if state.is_over:
            # It was, which was seen only now.
            self.changed()
            return
        if keeping.is_kept(record, state):
            keeping.ask_to_stop(record, state)
        elif state.host not in ("", host_name()):
            raise runs_elsewhere(record.id, state.host)
        else:
            await _stop_unkept(record)
        self.changed()

    async def adopt(self, record: Record) -> None:
        """A job elsewhere whose keeper died gets a new one, which follows it from its beginning.

        Of several who want that at once one starts it, and the others get the same.
        """
        state = record.state()
        if state.far_id and not state.is_over and not keeping.is_kept(record, state):
            await keeping.start(record, self._access(state.cluster))

    async def restart(
        self,
        written: str,
        breakpoints: Sequence[Breakpoint] | None,
        *,
        confirmed: bool,
        python: str = "",
    ) -> str:
        """Starts the same command once more, with another `python` if one is given; a live run goes on beside it."""
        plan = self._records.find(written).plan()
        if python:
            plan = with_python(plan, python)
        if breakpoints is not None and plan.profile is None:
            plan = evolve(plan, breakpoints=tuple(breakpoints))
        return await self.start(plan, confirmed=confirmed)

    def forget(self, written: str) -> None:
        """Throws a run away that is over, or that nobody keeps; raises `run-lives`."""
        record = self._records.find(written)
        now = seen(Listed(record, record.plan(), record.state())).state
        lives = not now.is_over and now.phase != "unwatched"
        if lives or not self._records.forget(record, is_over=now.is_over):
            raise still_runs(record.id)
        self.changed()

    async def set_breakpoints(self, workspace: str, breakpoints: Sequence[Breakpoint]) -> None:
        """All breakpoints of a workspace, for its runs that live."""
        for one in self.listed():
            # What is profiled does not stop anywhere.
            stops = one.plan.profile is None and not one.state.is_over
            if one.plan.workspace == workspace and stops:
                plan = evolve(one.plan, breakpoints=tuple(breakpoints))
                one.record.write_plan(plan)
                try:
                    await self._live.breakpoints(one.record.id, plan.breakpoints)
                except EaglerayError as error:
                    # Its keeper is about to say it, with the plan as it is now.
                    if error.code != "unregistered-run":
                        raise

    async def pause(self, written: str, worker_id: str) -> None:
        await self._live.pause(self._records.find(written).id, worker_id)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls `listener` whenever `listed` may answer something else."""
        self._listeners.add(listener)

    def changed(self) -> None:
        self._listeners.tell()

    async def run(self) -> None:
        """Tells of what supervisors, other windows and terminals have changed, until it is cancelled.

        The folders are read when the kernel says that something in them has changed, and rarely for what another
        machine with the same home has changed.  Whether supervisors of this machine live is asked of no file.
        """
        wake, now = asyncio.Event(), asyncio.get_running_loop().time
        changes = FolderChanges(lambda name: wake.set())
        changes.watch(self._records.folder)
        told, changed_at = None, now()
        try:
            while True:
                wake.clear()
                read = await asyncio.to_thread(self._records.listed)
                if _watch(changes, read, self._records.folder):
                    # It may have changed before it was watched.
                    continue
                shown = [seen(one) for one in read]
                if shown != told:
                    told, changed_at = shown, now()
                    self.changed()
                limit_s = _poll_s(changes, shown, self._records.folder, now() - changed_at)
                await _until_news(wake, read, shown, limit_s)
        finally:
            changes.close()


def _watch(changes: FolderChanges, read: Sequence[Listed], runs: Path) -> bool:
    """Watches the folders of the runs that live, and no others; whether there is a new one."""
    living = {one.record.folder for one in read if not one.state.is_over}
    for folder in changes.folders():
        if folder not in living and folder != runs:
            changes.forget(folder)
    return len([folder for folder in living if changes.watch(folder)]) > 0


def _poll_s(changes: FolderChanges, shown: Sequence[Listed], runs: Path, age_s: float) -> float:
    """When the folders are read without a sign: soon where the kernel gives none, as on macOS."""
    living = [one for one in shown if not one.state.is_over and one.state.phase != "unwatched"]
    if not {runs, *(one.record.folder for one in living)} <= set(changes.folders()):
        return UNTOLD_S
    elsewhere = any(one.state.host != host_name() for one in living)
    return min(RUN_FOLDERS.delay_s(age_s), ELSEWHERE_S if elsewhere else float("inf"))


async def _until_news(
    wake: asyncio.Event, read: Sequence[Listed], shown: Sequence[Listed], limit_s: float
) -> None:
    """Until a folder has changed, the supervisor or program of a run has ended, or the time has come for a poll."""
    here = [
        (one, before)
        for one, before in zip(read, shown, strict=True)
        if one.state.host == host_name() and one.state.keeper and not one.state.is_over
    ]
    now = asyncio.get_running_loop().time
    until = now() + limit_s
    while (left_s := until - now()) > 0:
        if await is_set_within(wake, min(left_s, PROCESS_POLL_S) if here else left_s):
            await asyncio.sleep(COALESCE_S)
            return
        if any(seen(one) != before for one, before in here):
            return


async def _stop_unkept(record: Record) -> None:
    """Ends the program from here; whoever comes second leaves it to the first, since two Ctrl-C are another word."""
    lock = record.lock()
    if lock is None:
        return
    try:
        state = record.state()
        if not state.is_over:
            await _end(state.program)
            record.write_state(evolve(state, phase="stopped", ended=time.time()))
    finally:
        os.close(lock)


async def _end(program: Process | None) -> None:
    for number, limit_s in STEPS if program else ():
        assert program is not None
        if not lives(program.pid, program.born):
            break
        send(program.pid, number)
        for _ in range(int(limit_s / _STEP_S)):
            if not lives(program.pid, program.born):
                break
            await asyncio.sleep(_STEP_S)
