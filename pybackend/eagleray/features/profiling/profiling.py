"""What a window or a terminal does with profiled runs: list, record, stop, gather, preview."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from attrs import frozen

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.off_loop import off_loop
from eagleray.common.profile_errors import nobody_records, not_gathered, not_profiled
from eagleray.features.profiling.gathers import Gathers
from eagleray.features.profiling.preview import SeenClass, preview
from eagleray.features.profiling.recorders import Recorders
from eagleray.features.profiling.run_reports import RunReports
from eagleray.features.profiling.waiting import GONE_S, HEARD_S
from eagleray.features.runs.model import Profiled
from eagleray.features.runs.remote_files import RemotePlace
from eagleray.ray.dashboard import Dashboard

LOOK_S = 0.3
# What was seen by earlier ones may be of programs that nobody has any more.
RECENT_RUNS = 10

Tell = Callable[[Profiled], None]


@frozen
class ProfiledRun:
    """A run with a profile; `there` and `far` are folders that its workers may see, `here` where its reports come to.

    `is_kept`: a keeper gathers them; `cluster` is where they are besides, "" if none is known.
    """

    run: str
    there: Path
    here: Path
    cluster: str
    is_over: bool
    is_kept: bool
    seen: Profiled | None
    far: RemotePlace | None = None


class ProfiledRuns(Protocol):
    """What knows runs; methods that aren't coroutines read files, so they are called off the event loop."""

    def listed(self) -> list[ProfiledRun]:
        """Those that are profiled, the newest first."""

    def find(self, written: str) -> ProfiledRun | None:
        """The run of that id or the beginning of one, None if it is not profiled; raises `unknown-run`."""

    async def end(self, run: str) -> None:
        """Has its keeper gather all and end the program."""

    async def gathered(self, run: str, seen: Profiled) -> None:
        """Remembers what was gathered of a run that is over."""


class Profiling:
    """Looks and asks; keeps nothing."""

    def __init__(
        self,
        runs: ProfiledRuns,
        recorders: Recorders,
        gathers: Gathers,
        dashboard: Callable[[str], Awaitable[Dashboard]],
    ) -> None:
        self._runs = runs
        self._recorders = recorders
        self._gathers = gathers
        self._dashboard = dashboard

    def listed(self) -> list[ProfiledRun]:
        return self._runs.listed()

    async def record(self, written: str, workers: Sequence[str], seconds: float = 0.0) -> int:
        """How many workers begin to record; raises `nobody-records`."""
        run = await self._live(written)
        asked = await self._recorders.record(run, workers, seconds)
        if not asked:
            raise nobody_records(run)
        return asked

    async def stop(self, written: str, workers: Sequence[str]) -> int:
        """How many workers end their recording; raises `nobody-records`."""
        run = await self._live(written)
        asked = await self._recorders.stop_recording(run, workers)
        if not asked:
            raise nobody_records(run)
        return asked

    async def gather(self, written: str, tell: Tell, *, finish: bool = False) -> Profiled:
        """What is whole is here now, or what went wrong is raised; `finish` ends the program when it is."""
        found = await self._find(written)
        if finish and not found.is_over:
            if not found.is_kept:
                # Nobody else ends the recordings of such a program before the program itself.
                await self._gathered(found, tell, finish=True)
            await self._runs.end(found.run)
            # One whose keeper died may have a new one by that.
            found = await self._find(written)
        if found.is_kept and not found.is_over:
            return await self._followed(found.run, tell, until_over=finish)
        return await self._gathered(found, tell)

    async def preview(self, cluster: str, patterns: Sequence[str]) -> list[SeenClass]:
        """The classes of a cluster and of the last runs, and which of them patterns fit; "" is no cluster."""
        actors = await (await self._dashboard(cluster)).all_actors() if cluster else []
        recent = (await off_loop(self._runs.listed))[:RECENT_RUNS]
        known = [name for one in recent if one.seen for name in one.seen.classes]
        return preview(actors, patterns, known)

    async def _followed(self, run: str, tell: Tell, *, until_over: bool) -> Profiled:
        """Its keeper gathers; we look until it has all that is whole, or what is missing does not come."""
        loop = asyncio.get_running_loop()
        before, changed = None, loop.time()
        while True:
            found = await self._find(run)
            seen = found.seen or Profiled(str(found.here))
            tell(seen)
            if seen != before:
                before, changed = seen, loop.time()
            if not (found.is_kept or found.is_over):
                # Its keeper has ended; what it has left is had by ourselves.
                return await self._gathered(found, tell)
            quiet_s = loop.time() - changed
            is_stuck = quiet_s > GONE_S
            # Who has just asked for the end of a recording is told a little later that nsys writes.
            may_end = seen.phase == "recording" and quiet_s <= HEARD_S
            is_writing = seen.phase in ("writing", "gathering") or may_end
            busy = is_writing or seen.gathered < seen.expected
            # A program whose reports cannot be gathered goes on, though its end was asked for.
            is_waited_for = until_over and seen.phase != "failed"
            if found.is_over or (not is_waited_for and (not busy or is_stuck)):
                return _good(seen)
            await asyncio.sleep(LOOK_S)

    async def _gathered(self, found: ProfiledRun, tell: Tell, *, finish: bool = False) -> Profiled:
        home: tuple[str, Dashboard] | None = None
        trouble: EaglerayError | None = None
        try:
            home = (found.cluster, await self._dashboard(found.cluster)) if found.cluster else None
        except EaglerayError as error:
            trouble = error
        reports = self._gathers.reports(
            found.run, found.there, found.here, lambda: home, found.far, found.cluster, found.seen
        )
        # Without progress the reports come all the same.
        telling = tasks.owned(_tell_of(reports, tell), "progress", tasks.only_logged)
        try:
            if finish:
                await reports.finish()
            await reports.now()
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)
            await reports.close()
        if trouble is not None and not reports.seen.files:
            # All that there is lies in a cluster that does not answer.
            raise trouble
        await self._runs.gathered(found.run, reports.seen)
        tell(reports.seen)
        return reports.seen

    async def _live(self, written: str) -> str:
        found = await self._find(written)
        if found.is_over:
            raise nobody_records(found.run)
        return found.run

    async def _find(self, written: str) -> ProfiledRun:
        found = await off_loop(partial(self._runs.find, written))
        if found is None:
            raise not_profiled(written)
        return found


async def _tell_of(reports: RunReports, tell: Tell) -> None:
    while True:
        tell(reports.seen)
        await asyncio.sleep(LOOK_S)


def _good(seen: Profiled) -> Profiled:
    if seen.phase == "failed":
        raise not_gathered(seen.sentence)
    return seen
