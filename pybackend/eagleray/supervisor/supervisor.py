"""Supervises one run: starts its program, follows it to its end and writes its state."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from attrs import evolve

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import later
from eagleray.runs.errors import log_not_written, outcome_unknown, stop_failed
from eagleray.runs.model import Phase, RunState
from eagleray.runs.output import Output
from eagleray.runs.records import RunRecord
from eagleray.runs.supervisor_process import HEARTBEAT_INTERVAL_S
from eagleray.supervisor.launchers.launcher import Launcher, ProgramEnd

if TYPE_CHECKING:
    # Few runs have the last four.
    from eagleray.supervisor.report_collection import GuardedCollector
    from eagleray.supervisor.run_watch import RunWatch
    from eagleray.supervisor.server_watch import ServerWatch
    from eagleray.supervisor.stuck_watch import StuckWatch

STATUS_INTERVAL_S = 0.5
# How often the run's folder is checked: for a request to stop from another machine, and for the size of the output.
FOLDER_CHECK_INTERVAL_S = 5.0
KEEPS_RUNNING = later(
    "The program keeps running, because its reports can't be downloaded."
    " Fix the cause, then stop the run again. Eagleray then tries again,"
    " and ends the program either way."
)

log = logging.getLogger(__name__)


class RunSupervisor:
    """Supervises one run from its start to its end; `stop` ends the program, each further call more urgently.

    With `reports`, everything recorded is downloaded before the program is ended, unless `stop` is called again.  If the
    download fails, the program keeps running, since its end may be the end of the reports too; the next `stop` ends it.
    """

    def __init__(
        self,
        record: RunRecord,
        output: Output,
        create_launcher: Callable[[], Awaitable[Launcher]],
        watch: RunWatch,
        now: Callable[[], float] = time.time,
        reports: GuardedCollector | None = None,
        stuck: StuckWatch | None = None,
        server: ServerWatch | None = None,
    ) -> None:
        self._record = record
        self._output = output
        self._create_launcher = create_launcher
        self._watch = watch
        self._now = now
        self._reports = reports
        self._stuck = stuck
        self._server = server
        if server is not None:
            server.on_news = self._update_safely
        self._is_over = False
        self._was_left_running = False
        self._logged_failure = ""
        self._is_written = True
        self._skip = asyncio.Event()
        self._state = record.state()
        self._stop_requested = asyncio.Event()
        self._hurry = asyncio.Event()
        self._heartbeat_at = now()
        self._folder_checked_at = float("-inf")

    def begin(self, state: RunState) -> None:
        """Writes the state with this process as supervisor, for which the process that started this one waits."""
        self._write(state)

    def log_has_gap(self, reason: str) -> None:
        self._write(evolve(self._state, note=log_not_written(reason)))

    def stop(self) -> None:
        """Ends the program; may be called from a signal handler."""
        if self._state.phase == "stopping" or self._is_over:
            self._skip.set()
        self._hurry.set()
        self._stop_requested.set()

    async def run(self) -> None:
        """Returns when the run is over and its last state is written."""
        try:
            self._launcher = await self._start()
        except EaglerayError as error:
            if error.output:
                self._output.write(f"{error.output}\n".encode("utf-8", "replace"))
            self._write(self._not_started(str(error)))
            return
        # The others restart when they fail; this one ends only with the program.
        ended = tasks.owned(self._ended(), "ended", tasks.only_logged)
        running = [ended, tasks.lasting(self._watch.run, "watching")]
        running.append(tasks.lasting(self._stop, "stopping"))
        if self._reports is not None:
            running.append(tasks.lasting(self._reports.run, "reports"))
        if self._server is not None:
            running.append(tasks.lasting(self._server.run, "server"))
        try:
            while not ended.done():
                self._update_safely()
                await asyncio.wait([ended], timeout=STATUS_INTERVAL_S)
            await self._gather_rest()
            if self._server is not None:
                await self._server.end_rest()
            await self._end(ended.result())
        finally:
            await tasks.end(running)
            await self._watch.close()
            if self._stuck is not None:
                await self._stuck.close()
            if self._server is not None:
                await self._server.close()
            if self._reports is not None:
                await self._reports.close()

    async def _ended(self) -> ProgramEnd:
        """How the program ended; after an unexpected error, which isn't the program's end, the wait is repeated."""
        try:
            return await tasks.restarted(self._launcher.ended, "ended", passes=(EaglerayError,))
        except EaglerayError as error:
            return ProgramEnd(None, outcome_unknown(error.message))

    def _not_started(self, why: str) -> RunState:
        """A job that was to be adopted may continue although it can't be reached."""
        if self._state.external_id:
            return evolve(self._state, phase="unwatched", note=why)
        return evolve(self._state, phase="failed", ended=self._now(), note=why)

    async def _start(self) -> Launcher:
        launcher = await self._create_launcher()
        started = await launcher.start()
        self._write(
            evolve(
                self._state,
                phase="running",
                program=started.program,
                external_id=started.external_id,
                ssh=started.ssh,
            )
        )
        return launcher

    async def _stop(self) -> None:
        while True:
            await self._stop_requested.wait()
            self._stop_requested.clear()
            try:
                await self._stop_once()
            except EaglerayError as error:
                log.info("stopping: %s %s", error, error.logged)
                self._write(evolve(self._state, phase="running", note=str(error)))
            except Exception as error:
                tasks.log_failure("stopping", error)
                note = str(stop_failed(error))
                self._write(evolve(self._state, phase="running", note=note))

    async def _stop_once(self) -> None:
        first = self._state.phase != "stopping"
        self._write(evolve(self._state, phase="stopping", note=""))
        if first and self._reports is not None and not await self._finished(self._reports):
            self._write(
                self._with_reports(evolve(self._state, phase="running", note=KEEPS_RUNNING))
            )
        else:
            await self._launcher.stop(self._hurry)

    async def _finished(self, reports: GuardedCollector) -> bool:
        """Whether the program may be ended now."""
        await self._unless_skipped(reports.finish())
        # A further request meanwhile only skipped the wait for the reports.
        self._stop_requested.clear()
        keeps_running = reports.state.phase == "failed" and not (
            self._skip.is_set() or self._was_left_running
        )
        self._was_left_running = self._was_left_running or keeps_running
        return not keeps_running

    async def _gather_rest(self) -> None:
        """The program has ended or was ended; nsys may still write."""
        self._is_over = True
        if self._reports is not None:
            rest = asyncio.create_task(
                self._unless_skipped(self._reports.collect_rest()), name="rest"
            )
            try:
                while not rest.done():
                    self._update_safely()
                    await asyncio.wait([rest], timeout=STATUS_INTERVAL_S)
            finally:
                rest.cancel()
                await asyncio.gather(rest, return_exceptions=True)

    async def _unless_skipped(self, work: Coroutine[Any, Any, None]) -> None:
        """Returns when the work is done, or when the user doesn't want to wait for it."""
        done = asyncio.ensure_future(work)
        skipped = asyncio.ensure_future(self._skip.wait())
        try:
            await asyncio.wait([done, skipped], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (done, skipped):
                task.cancel()
            await asyncio.gather(done, skipped, return_exceptions=True)

    def _update_safely(self) -> None:
        """A failure of one update must not end the supervision; each is logged once."""
        try:
            self._update()
            self._logged_failure = ""
        except Exception as error:
            if repr(error) != self._logged_failure:
                tasks.log_failure("update of the state", error)
            self._logged_failure = repr(error)

    def _update(self) -> None:
        now = self._now()
        if now - self._heartbeat_at >= HEARTBEAT_INTERVAL_S:
            self._heartbeat_at = now
            self._record.beat()
        if now - self._folder_checked_at >= FOLDER_CHECK_INTERVAL_S:
            self._folder_checked_at = now
            self._check_folder()
        state = self._with_reports(self._watch.update(self._state))
        if self._stuck is not None and not self._is_over:
            state = self._stuck.update(state, is_waiting=self._launcher.is_waiting)
        if self._server is not None:
            state = self._server.update(state)
        if self._state.workers and not state.workers:
            self._launcher.workers_ended()
        self._write(state)

    def _check_folder(self) -> None:
        if self._record.stop_request.exists():
            self._record.stop_request.unlink(missing_ok=True)
            self.stop()
        self._output.trim()

    async def _end(self, end: ProgramEnd) -> None:
        state, notes = self._with_reports(self._state), [end.note]
        try:
            await self._watch.last_poll()
            state = self._watch.update(state)
            notes.append(self._watch.end_note(end))
        except Exception as error:
            # The outcome of the program is known without it.
            tasks.log_failure("last poll", error)
        if self._stuck is not None:
            state = self._stuck.last_state(state)
        if self._server is not None:
            state = self._server.last_state(state, end.code)
        phase = _last_phase(end, was_stopped=state.phase == "stopping")
        note = " ".join(note for note in notes if note)
        self._write(
            evolve(
                state,
                phase=phase,
                ended=self._now(),
                code=end.code,
                note=note or state.note,
                workers=(),
            )
        )

    def _with_reports(self, state: RunState) -> RunState:
        return state if self._reports is None else evolve(state, profile=self._reports.state)

    def _write(self, state: RunState) -> None:
        if state == self._state and self._is_written:
            return
        self._state = state
        try:
            self._record.write_state(state)
            self._is_written = True
        except OSError as error:
            # A full disk must not end the supervision; the next update tries again.
            if self._is_written:
                log.warning("the state can't be written: %s", error)
            self._is_written = False


def _last_phase(end: ProgramEnd, *, was_stopped: bool) -> Phase:
    """A program whose exit code isn't known has neither succeeded nor failed, unless it was stopped."""
    if was_stopped or end.was_interrupted:
        return "cancelled"
    if end.code is None:
        return "unknown"
    return "exited" if end.code == 0 else "failed"
