"""The reports of a run that lives: fetched as they become whole, and all of them before the program ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from eagleray.common.errors import EaglerayError
from eagleray.features.profiling import waiting
from eagleray.features.profiling.collector import Home, Rounds
from eagleray.features.profiling.recorders import Recorders
from eagleray.features.profiling.report_store import Gathering
from eagleray.features.profiling.scanner import Look
from eagleray.features.profiling.sources_of_run import SourcesOfRun
from eagleray.features.profiling.waiting import until
from eagleray.features.runs.model import FINAL_PHASES, Profiled, ProfiledWorker, ProfilePhase

# A look asks every node, or a login node by a command over ssh: it takes no more than a tenth of the time, and waits
# for a tenth of the time in which nothing has changed.
LOOK_S = 2.0
LONGEST_S = 30.0
_SHARE = 10

log = logging.getLogger(__name__)


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
        quiet_s: float = waiting.QUIET_S,
        workers: tuple[ProfiledWorker, ...] = (),
    ) -> None:
        self._run = run
        self._gathering = gathering
        self._rounds = Rounds(gathering, sources, home, workers)
        self._recorders = recorders
        self._quiet_s = quiet_s
        self._phase: ProfilePhase | None = None

    @property
    def seen(self) -> Profiled:
        here = self._gathering.entries
        files: dict[str, list[str]] = {}
        for entry in here:
            files.setdefault(entry.source, []).append(str(self._gathering.folder / entry.file))
        look, error = self._rounds.look, self._rounds.error
        return Profiled(
            folder=str(self._gathering.folder),
            phase="failed" if error else self._phase or _phase(look.workers),
            sentence=str(error or next(iter(self._rounds.left_out), "")),
            expected=len({one.entry.key for one in look.reports} | {e.key for e in here}),
            gathered=len(here),
            bytes=self._gathering.all_bytes,
            done_bytes=self._gathering.done_bytes,
            files=tuple(str(self._gathering.folder / entry.file) for entry in here),
            workers=tuple(_with_files(one, files) for one in look.workers),
            classes=look.classes,
        )

    async def run(self) -> None:
        """Looks and fetches, again and again."""
        loop = asyncio.get_running_loop()
        before, changed_at = self.seen, loop.time()
        while True:
            began = loop.time()
            await self._rounds.once(at_once=False)
            if (now := self.seen) != before:
                before, changed_at = now, loop.time()
            rest_s = min((loop.time() - changed_at) / _SHARE, LONGEST_S)
            await asyncio.sleep(max(LOOK_S, rest_s, _SHARE * (loop.time() - began)))

    async def now(self) -> None:
        """What is whole now comes here; raises what stands in the way."""
        await until(lambda look: True, self._rounds, waiting.GONE_S)
        await self._rounds.give_back()
        self._phase = "gathered"
        if self._rounds.error is not None:
            raise self._rounds.error

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
            await until(lambda look: _is_any(look, "writing"), self._rounds, waiting.HEARD_S)
        await until(
            lambda look: not _is_any(look, "recording", "writing"), self._rounds, self._quiet_s
        )
        self._phase = "gathered"

    async def rest(self) -> None:
        """The program has ended: nsys still writes what it has, and all of it comes."""
        self._phase = "gathering"
        await until(
            lambda look: all(one.state in FINAL_PHASES for one in look.workers),
            self._rounds,
            self._quiet_s,
        )
        await self._rounds.give_back()
        self._phase = "gathered"

    async def close(self) -> None:
        await self._rounds.close()


def _is_any(look: Look, *phases: str) -> bool:
    return any(worker.state in phases for worker in look.workers)


def _phase(workers: Sequence[ProfiledWorker]) -> ProfilePhase:
    states = {worker.state for worker in workers}
    return "recording" if "recording" in states else "writing" if "writing" in states else "idle"


def _with_files(worker: ProfiledWorker, files: dict[str, list[str]]) -> ProfiledWorker:
    return replace(
        worker, reports=tuple(one for name in worker.whole for one in files.get(name, []))
    )
