"""The reports of a run that lives: fetched as they become whole, and all of them before the program ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from attrs import evolve

from eagleray.clients.ray_dashboard import Dashboard
from eagleray.common.errors import EaglerayError
from eagleray.common.profiled import OVER, Phase, Profiled, ProfiledWorker
from eagleray.features.profiling.databases import Databases
from eagleray.features.profiling.found import Look, Looking, each_once
from eagleray.features.profiling.gathering import Gathering
from eagleray.features.profiling.sources import Source
from eagleray.features.profiling.sources_of_run import SourcesOfRun

# A look asks every node: it takes no more than a tenth of the time.
LOOK_S = 2.0
SOON_S = 0.25
_SHARE = 10
# A report of which nothing has been heard for so long does not come any more.
QUIET_S = 120.0
# One that cannot be asked any more is waited for less.
GONE_S = 10.0
# A file system that nodes share shows one host what another has written within half a minute.
SHARED_S = 45.0
# Until a gate has passed a question on, and nsys has taken it.
HEARD_S = 5.0

log = logging.getLogger(__name__)

# The cluster of the run by its id, with its dashboard; None while none is known.
Home = Callable[[], "tuple[str, Dashboard] | None"]


class Recorders(Protocol):
    """What begins and ends recordings: the adapter."""

    async def stop_recording(self, run: str, workers: Sequence[str]) -> int: ...


class RunReports:
    """Belongs to who keeps the run, on its loop; `run` goes on until it is cancelled, `close` lets go of all.

    `seen` is what there is to be said, at any time.
    """

    def __init__(
        self,
        run: str,
        gathering: Gathering,
        sources: SourcesOfRun,
        home: Home,
        recorders: Recorders,
        quiet_s: float = QUIET_S,
        workers: tuple[ProfiledWorker, ...] = (),
    ) -> None:
        self._run = run
        self._gathering = gathering
        self._sources = sources
        self._home = home
        self._recorders = recorders
        self._quiet_s = quiet_s
        self._looking = Looking()
        self._databases = Databases(gathering.folder)
        self._one_at_a_time = asyncio.Lock()
        # All that is known, and what of it was said at the last look.
        self._look = self._answered = Look(workers)
        self._holding = contextlib.ExitStack()
        self._holds = False
        self._error: EaglerayError | None = None
        self._phase: Phase | None = None

    @property
    def seen(self) -> Profiled:
        here = self._gathering.entries
        files: dict[str, list[str]] = {}
        for entry in here:
            files.setdefault(entry.source, []).append(str(self._gathering.folder / entry.file))
        phase = self._phase or _phase(self._look.workers)
        left_out = [*self._gathering.left_out, *self._databases.left_out]
        return Profiled(
            folder=str(self._gathering.folder),
            phase="failed" if self._error else phase,
            sentence=str(self._error or next(iter(left_out), "")),
            expected=len({one.entry.key for one in self._look.reports} | {e.key for e in here}),
            gathered=len(here),
            bytes=self._gathering.all_bytes,
            done_bytes=self._gathering.done_bytes,
            files=tuple(str(self._gathering.folder / entry.file) for entry in here),
            workers=tuple(_with_files(one, files) for one in self._look.workers),
            classes=self._look.classes,
        )

    async def run(self) -> None:
        """Looks and fetches, again and again."""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            await self._once()
            await asyncio.sleep(max(LOOK_S, _SHARE * (loop.time() - began)))

    async def now(self) -> None:
        """What is whole now comes here; raises what stands in the way."""
        await self._until(lambda look: True, GONE_S)
        await self._give_back()
        self._phase = "gathered"
        if self._error is not None:
            raise self._error

    async def finish(self) -> None:
        """Ends all recordings of live workers, and returns when what they recorded is here."""
        self._phase = "writing"
        try:
            asked = await self._recorders.stop_recording(self._run, [])
        except EaglerayError as error:
            log.info("%s", error)
            asked = 0
        if asked:
            # It takes them a moment to say that they are about to write.
            await self._until(lambda look: _is_any(look, "writing"), HEARD_S)
        await self._until(lambda look: not _is_any(look, "recording", "writing"), self._quiet_s)
        self._phase = "gathered"

    async def rest(self) -> None:
        """The program has ended: nsys still writes what it has, and all of it comes."""
        self._phase = "gathering"
        await self._until(
            lambda look: all(one.state in OVER for one in look.workers), self._quiet_s
        )
        await self._give_back()
        self._phase = "gathered"

    async def close(self) -> None:
        self._holding.close()
        await self._sources.close()

    async def _until(self, is_so: Callable[[Look], bool], quiet_s: float) -> None:
        """Looks and fetches until it is so and everything is here, or nothing has changed for so long."""
        loop = asyncio.get_running_loop()
        before, changed = None, loop.time()
        while True:
            await self._once()
            missing = self._missing(self._look)
            if self._error is not None or (is_so(self._look) and not missing):
                return
            done_bytes = self._gathering.done_bytes + self._databases.done_bytes
            now = (self._look.workers, missing, done_bytes)
            if now != before:
                before, changed = now, loop.time()
            # Who cannot be asked makes nobody else lose what nsys still writes.
            others_are_done = is_so(self._answered) and not self._missing(self._answered)
            if loop.time() - changed > self._patience_s(quiet_s, others_are_done):
                return
            await asyncio.sleep(SOON_S)

    def _patience_s(self, quiet_s: float, others_are_done: bool) -> float:
        if not self._look.failures:
            return quiet_s
        if self._sources.is_shared_far:
            # What ran in a job has ended with it.
            return min(quiet_s, SHARED_S)
        return min(quiet_s, GONE_S) if others_are_done else quiet_s

    async def _give_back(self) -> None:
        """What the nodes of a cluster have written into a folder there takes no room any more once it is here."""
        workers = self._look.workers
        if (
            self._error
            or self._missing(self._look)
            or not all(one.state in OVER for one in workers)
        ):
            return
        if workers and not (self._gathering.left_out or self._databases.left_out):
            try:
                await self._sources.remove_far()
            except EaglerayError as error:
                log.info("%s", error)

    def _missing(self, look: Look) -> int:
        """How many reports and databases are worth waiting for."""
        reports = self._gathering.missing(look.reports)
        databases = self._databases.missing(look.databases, self._gathering.entries)
        return len(reports) - len(self._gathering.left_out) + len(databases)

    async def _once(self) -> None:
        async with self._one_at_a_time:
            try:
                if not self._holds:
                    self._holding.enter_context(self._gathering.held())
                    self._holds = True
                look = self._answered = await self._looking.look(await self._places())
                # A node that does not answer, or has gone, has not lost its workers by that.
                self._look = _joined(self._look, look)
                self._sources.ports(look.agents)
                for failure in [*look.failures, *await self._gathering.fetch(look.reports)]:
                    log.info("%s", failure)
                await self._databases.fetch(look.databases, self._gathering.entries)
            except EaglerayError as error:
                log.warning("%s", error)
                self._error = error
            else:
                self._error = None

    async def _places(self) -> Sequence[Source]:
        home, waited = self._home(), self._waited_for()
        if home is None:
            return [*self._sources.folders, *self._sources.left_by(waited)]
        try:
            return await self._sources.now(*home, waited)
        except EaglerayError as error:
            # The cluster has ended, or its link is lost; what is in folders can be had.
            log.info("%s", error)
            left = self._sources.left_by(waited)
            return [*self._sources.folders, *left, _Gone(error)]

    def _waited_for(self) -> list[ProfiledWorker]:
        """The workers of which not everything is here."""
        here = {entry.source for entry in self._gathering.entries}
        return [
            worker
            for worker in self._look.workers
            if worker.state not in OVER or not here.issuperset(worker.whole)
        ]


class _Gone:
    """A cluster that does not answer, in the place of its nodes."""

    name = ""

    def __init__(self, error: EaglerayError) -> None:
        self._error = error

    async def names(self) -> list[str]:
        raise self._error

    async def small(self, name: str) -> bytes:
        raise self._error

    def pieces(self, name: str, start: int) -> AsyncIterator[bytes]:
        raise self._error

    def file(self, name: str) -> Path | None:
        return None


def _is_any(look: Look, *phases: str) -> bool:
    return any(worker.state in phases for worker in look.workers)


def _phase(workers: Sequence[ProfiledWorker]) -> Phase:
    states = {worker.state for worker in workers}
    return "recording" if "recording" in states else "writing" if "writing" in states else "idle"


def _with_files(worker: ProfiledWorker, files: dict[str, list[str]]) -> ProfiledWorker:
    return replace(
        worker, reports=tuple(one for name in worker.whole for one in files.get(name, []))
    )


def _joined(before: Look, now: Look) -> Look:
    """What is seen now, with the workers and reports of before that cannot be asked."""
    keys = {worker.key for worker in now.workers}
    kept = tuple(worker for worker in before.workers if worker.key not in keys)
    there = {one.entry.key for one in now.reports}
    reports = tuple(one for one in before.reports if one.entry.key not in there)
    known = {one.of for one in now.databases}
    databases = tuple(one for one in before.databases if one.of not in known)
    return evolve(
        now,
        workers=(*now.workers, *kept),
        reports=(*now.reports, *reports),
        databases=(*now.databases, *databases),
        classes=each_once([*before.classes, *now.classes]),
    )
