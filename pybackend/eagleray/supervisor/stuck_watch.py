"""Takes a picture of a run that has printed nothing for long, before a time-out of its collectives ends the evidence."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from attrs import evolve

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t
from eagleray.common.paths import private_folder
from eagleray.common.retry import PollSchedule
from eagleray.observe.hangs import picture_files
from eagleray.observe.hangs.model import Picture
from eagleray.observe.hangs.verdict import Kind
from eagleray.runs.model import RunPicture, RunState

# A picture of many ranks has some megabytes.
MOST_PICTURES = 10

log = logging.getLogger(__name__)


class StuckWatch:
    """Belongs to the supervisor of a run, which calls `update` in each of its rounds; raises nothing there.

    Progress is output: the file of it changes its size.  After `quiet_s` without any, one picture is taken.  If its
    samples don't move it is saved in `folder` and becomes part of the state, and the next is only taken once output has
    continued.  If they do, the program only prints little, and gets as long again, or longer by the schedule `again`.  A
    picture that fails is a note of the run, until the next.
    """

    def __init__(
        self,
        folder: Path,
        quiet_s: float,
        output_size: Callable[[], int],
        take: Callable[[RunState], Awaitable[Picture | None]],
        picture: RunPicture | None = None,
        again: Callable[[], PollSchedule | None] = lambda: None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._quiet_s = quiet_s
        self._output_size = output_size
        self._take = take
        self._now = now
        self._size = -1
        self._quiet_since = self._output_at = now()
        self._again = again
        self._has_tried = False
        self._problem = self._note = ""
        self._taking: asyncio.Task[None] | None = None
        self._picture = picture

    def update(self, state: RunState, *, is_waiting: bool = False) -> RunState:
        """Returns the state with the last picture, and starts one that is due; none is while the program `is_waiting`."""
        size = self._output_size()
        # A worker at a breakpoint keeps all others waiting, and a run that ends prints little.
        if size != self._size or state.phase != "running" or is_waiting:
            self._size, self._quiet_since = size, self._now()
            self._output_at, self._has_tried = self._quiet_since, False
            self._problem = ""
            self._cancel()
            if self._picture is not None:
                self._picture = evolve(self._picture, is_stuck=False)
        is_due = self._now() - self._quiet_since >= self._interval_s()
        is_taken = self._picture is not None and self._picture.is_stuck
        if is_due and not is_taken and not self.is_taking:
            self._has_tried = True
            self._taking = tasks.owned(self._taken(state), "picture", tasks.only_logged)
        state = self._with_note(state, self._problem)
        return state if self._picture is None else evolve(state, picture=self._picture)

    def last_state(self, state: RunState) -> RunState:
        """The state of a run that has ended: nothing is stuck any more."""
        state = self._with_note(state, "")
        return evolve(state, picture=state.picture and evolve(state.picture, is_stuck=False))

    @property
    def is_taking(self) -> bool:
        return self._taking is not None and not self._taking.done()

    async def close(self) -> None:
        if self._taking is not None:
            await tasks.end([self._taking])

    def _interval_s(self) -> float:
        """The time from the last output, or the last picture, to the next one."""
        schedule = self._again()
        if schedule is None or not self._has_tried:
            return self._quiet_s
        return max(self._quiet_s, schedule.interval_s(self._now() - self._output_at))

    def _with_note(self, state: RunState, note: str) -> RunState:
        """The state with `note` in place of the one before, unless the run has another."""
        if state.note not in ("", self._note):
            return state
        self._note = note
        return evolve(state, note=note)

    def _cancel(self) -> None:
        if self._taking is not None:
            self._taking.cancel()

    async def _taken(self, state: RunState) -> None:
        try:
            picture = await self._take(state)
            self._problem = ""
            if picture is None or picture.verdict.kind == Kind.SLOW.value:
                return
            if not picture.classes:
                self._problem = t("No picture of the stacks: none of them could be read.")
                return
            path = await asyncio.to_thread(self._saved, picture)
            self._picture = RunPicture(
                str(path),
                picture.taken_at,
                picture.verdict.kind,
                printable(picture.verdict.sentence, 400),
                is_stuck=True,
            )
        except EaglerayError as error:
            log.info("no picture of the run: %s %s", error, error.logged)
            self._problem = t("No picture of the stacks: {reason}", reason=error.message)
        finally:
            self._quiet_since = self._now()

    def _saved(self, picture: Picture) -> Path:
        folder = private_folder(self._folder)
        moment = time.strftime("%Y%m%d-%H%M%S", time.localtime(picture.taken_at))
        path = folder / f"{moment}.json"
        picture_files.save(picture, path)
        for old in sorted(folder.glob("*.json"))[:-MOST_PICTURES]:
            old.unlink(missing_ok=True)
        return path
