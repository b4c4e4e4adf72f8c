"""Keeping of one run: a process of its own starts the program, looks after it and writes down what becomes of it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from attrs import evolve

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.features.runs.errors import far_lost, stop_failed
from eagleray.features.runs.model import Phase, RunState
from eagleray.features.runs.output import Output
from eagleray.features.runs.records import Record, read_keeper
from eagleray.features.runs.supervisor_process import BEAT_S
from eagleray.supervisor.launchers.launcher import Ending, Starter
from eagleray.supervisor.report_collection import GuardedReports, Reports

LOOK_S = 0.5
# How often the home is checked: for a request to stop from another machine, and for the size of the output.
HOME_S = 5.0
KEEPS_RUNNING = (
    "The program keeps running, because its reports can't be gathered. Fix the cause, then stop the run again:"
    " Eagleray tries to gather the reports once more, and then ends the program in any case."
)

log = logging.getLogger(__name__)


class Watches(Protocol):
    """What finds the processes of the run: `Watching`."""

    async def run(self) -> None: ...

    async def last_look(self) -> None: ...

    def update(self, state: RunState) -> RunState: ...

    def note(self, ending: Ending) -> str: ...

    async def close(self) -> None: ...


class Keeper:
    """Keeps one run from its start to its end; asked to stop by `stop`, more urgently by each further call.

    With `reports` what was recorded is here before the program is ended, unless it is asked a second time.  Where
    that fails the program keeps running, since its end may be that of the reports too; asked again it ends in any case.
    Where another keeper has taken the run over, it gives way and writes nothing any more.
    """

    def __init__(
        self,
        record: Record,
        output: Output,
        make: Callable[[], Awaitable[Starter]],
        watching: Watches,
        now: Callable[[], float] = time.time,
        reports: Reports | None = None,
    ) -> None:
        self._record = record
        self._output = output
        self._make = make
        self._watching = watching
        self._now = now
        self._reports = None if reports is None else GuardedReports(reports)
        self._is_over = False
        self._went_on = False
        self._is_lost = False
        self._look_failed = ""
        self._skip = asyncio.Event()
        self._state = record.state()
        self._stop_asked = asyncio.Event()
        self._hurry = asyncio.Event()
        self._beaten = now()
        self._home_at = float("-inf")

    def begin(self, state: RunState) -> None:
        """Writes down who keeps the run, by which whoever started us knows that we are there."""
        self._write(state)

    def stop(self) -> None:
        """The program is to end; may be called from a handler of signals."""
        if self._state.phase == "stopping" or self._is_over:
            self._skip.set()
        self._hurry.set()
        self._stop_asked.set()

    async def run(self) -> None:
        """Returns when the run is over and that is written down."""
        try:
            self._starter = await self._start()
        except EaglerayError as error:
            self._write(self._not_started(str(error)))
            return
        # The others restart when they fail; this one ends only with the program.
        ended = tasks.owned(self._ended(), "ended", tasks.only_logged)
        running = [ended, tasks.lasting(self._watching.run, "watching")]
        running.append(tasks.lasting(self._stop, "stopping"))
        if self._reports is not None:
            running.append(tasks.lasting(self._reports.run, "reports"))
        try:
            while not ended.done() and not self._is_lost:
                self._look_safely()
                await asyncio.wait([ended], timeout=LOOK_S)
            if self._is_lost:
                return
            await self._gather_rest()
            await self._end(ended.result())
        finally:
            await tasks.end(running)
            await self._watching.close()
            if self._reports is not None:
                await self._reports.close()

    async def _ended(self) -> Ending:
        """How the program ended; after an unexpected error, which isn't the program's end, the wait is repeated."""
        try:
            return await tasks.restarted(self._starter.ended, "ended", passes=(EaglerayError,))
        except EaglerayError as error:
            return Ending(None, far_lost(error.message))

    def _not_started(self, why: str) -> RunState:
        """A job that was to be taken over may go on, though it is not reached."""
        if self._state.far_id:
            return evolve(self._state, phase="unwatched", note=why)
        return evolve(self._state, phase="failed", ended=self._now(), note=why)

    async def _start(self) -> Starter:
        starter = await self._make()
        started = await starter.start()
        self._write(
            evolve(
                self._state,
                phase="running",
                program=started.program,
                far_id=started.far_id,
                ssh=started.ssh,
            )
        )
        return starter

    async def _stop(self) -> None:
        while True:
            await self._stop_asked.wait()
            self._stop_asked.clear()
            try:
                await self._stop_once()
            except EaglerayError as error:
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
            await self._starter.stop(self._hurry)

    async def _finished(self, reports: GuardedReports) -> bool:
        """Whether the program may be ended now."""
        await self._unless_skipped(reports.finish())
        # Who asked again meanwhile had no time for that, and said no more by it.
        self._stop_asked.clear()
        goes_on = reports.seen.phase == "failed" and not (self._skip.is_set() or self._went_on)
        self._went_on = self._went_on or goes_on
        return not goes_on

    async def _gather_rest(self) -> None:
        """The program has ended by itself or was ended; nsys may still write."""
        self._is_over = True
        if self._reports is not None:
            rest = asyncio.create_task(self._unless_skipped(self._reports.rest()), name="rest")
            try:
                while not rest.done():
                    self._look_safely()
                    await asyncio.wait([rest], timeout=LOOK_S)
            finally:
                rest.cancel()
                await asyncio.gather(rest, return_exceptions=True)

    async def _unless_skipped(self, doing: Coroutine[Any, Any, None]) -> None:
        """Until it is done, or the user doesn't want to wait for it."""
        done = asyncio.ensure_future(doing)
        skipped = asyncio.ensure_future(self._skip.wait())
        try:
            await asyncio.wait([done, skipped], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (done, skipped):
                task.cancel()
            await asyncio.gather(done, skipped, return_exceptions=True)

    def _look_safely(self) -> None:
        """A failure of one poll must not end the supervision; each is logged once."""
        try:
            self._look()
            self._look_failed = ""
        except Exception as error:
            if repr(error) != self._look_failed:
                tasks.log_failure("look", error)
            self._look_failed = repr(error)

    def _look(self) -> None:
        now = self._now()
        if now - self._beaten >= BEAT_S:
            self._beaten = now
            if not self._is_anothers():
                self._record.beat()
        if now - self._home_at >= HOME_S:
            self._home_at = now
            self._look_at_home()
        state = self._with_reports(self._watching.update(self._state))
        if self._state.workers and not state.workers:
            self._starter.workers_ended()
        if state.phase in ("running", "stopped_at"):
            stands = any(worker.state == "stopped" for worker in state.workers)
            state = evolve(state, phase="stopped_at" if stands else "running")
        self._write(state)

    def _look_at_home(self) -> None:
        if self._record.stop_asked.exists():
            self._record.stop_asked.unlink(missing_ok=True)
            self.stop()
        self._output.trim()

    async def _end(self, ending: Ending) -> None:
        state, notes = self._with_reports(self._state), [ending.note]
        try:
            await self._watching.last_look()
            state = self._watching.update(state)
            notes.append(self._watching.note(ending))
        except Exception as error:
            # The outcome of the program is known without it.
            tasks.log_failure("last look", error)
        if state.phase == "stopping":
            phase: Phase = "stopped"
        else:
            phase = "ended" if ending.code == 0 else "failed"
        note = " ".join(note for note in notes if note)
        self._write(
            evolve(
                state,
                phase=phase,
                ended=self._now(),
                code=ending.code,
                note=note or state.note,
                workers=(),
            )
        )

    def _with_reports(self, state: RunState) -> RunState:
        return state if self._reports is None else evolve(state, profile=self._reports.seen)

    def _write(self, state: RunState) -> None:
        if state == self._state or self._is_anothers():
            return
        self._state = state
        try:
            self._record.write_state(state)
        except OSError as error:
            # A full disk must not end the keeping.
            log.warning("the state cannot be written: %s", error)

    def _is_anothers(self) -> bool:
        """Whether another keeper has taken the run over, of a machine that heard nothing of us for long.

        It was asleep or cut off from the home that both share, or that has no locks.
        """
        if self._state.keeper is not None and not self._is_lost:
            written = read_keeper(self._record)
            self._is_lost = written is not None and written != self._state.keeper
            if self._is_lost:
                log.warning("the run is kept by another process now, %s", written)
        return self._is_lost
