"""Round after round: a look at all places of a run, and everything that is whole comes here."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

from eagleray.common.errors import EaglerayError
from eagleray.common.profile_errors import gathering_failed, report_unsendable
from eagleray.features.profiling.databases import Databases
from eagleray.features.profiling.report_store import Gathering
from eagleray.features.profiling.scanner import Look, Looking, joined
from eagleray.features.profiling.sources_of_run import SourcesOfRun
from eagleray.features.runs.model import FINAL_PHASES, ProfiledWorker
from eagleray.ray.dashboard import Dashboard

log = logging.getLogger(__name__)

# The cluster of the run by its id, with its dashboard; None while none is known.
Home = Callable[[], "tuple[str, Dashboard] | None"]


class Rounds:
    """Belongs to who gathers, on its loop; holds the folder here from the first round until `close`.

    `look` is all that is known, `answered` what of it was said in the last round, `error` what stands in the way.
    """

    def __init__(
        self,
        gathering: Gathering,
        sources: SourcesOfRun,
        home: Home,
        workers: tuple[ProfiledWorker, ...] = (),
    ) -> None:
        self._gathering = gathering
        self._sources = sources
        self._home = home
        self._looking = Looking()
        self._databases = Databases(gathering.folder)
        self._one_at_a_time = asyncio.Lock()
        self._holding = contextlib.ExitStack()
        self._holds = False
        self._logged: set[str] = set()
        self.look = self.answered = Look(workers)
        self.error: EaglerayError | None = None

    async def once(self, *, at_once: bool = True) -> None:
        """Raises nothing; a failure becomes `error`, so that a failed round isn't taken for one that found nothing.

        Unless `at_once`, because a caller waits for the reports, nodes that have left are only polled now and then.
        """
        async with self._one_at_a_time:
            try:
                failures = await self._look_and_fetch(at_once)
            except EaglerayError as error:
                self._failed(error)
            except Exception as error:
                log.exception("a round of gathering failed")
                self._failed(gathering_failed(error))
            else:
                unexpected = (one for one in failures if one.code == "gathering-failed")
                self._failed(next(unexpected, None))

    @property
    def left_out(self) -> list[EaglerayError]:
        """Why some of it does not come."""
        unsendable = [report_unsendable(one.source, one.host) for one in self.look.left_out]
        return [*self._gathering.left_out, *self._databases.left_out, *unsendable]

    @property
    def done_bytes(self) -> int:
        return self._gathering.done_bytes + self._databases.done_bytes

    @property
    def is_shared_far(self) -> bool:
        return self._sources.is_shared_far

    def missing(self, look: Look) -> int:
        """How many reports and databases are worth waiting for."""
        reports = self._gathering.missing(look.reports)
        databases = self._databases.missing(look.databases, self._gathering.entries)
        return len(reports) - len(self._gathering.left_out) + len(databases)

    async def give_back(self) -> None:
        """What the nodes of a cluster have written into a folder there takes no room any more once it is here."""
        workers = self.look.workers
        is_over = bool(workers) and all(one.state in FINAL_PHASES for one in workers)
        if self.error or self.left_out or self.missing(self.look) or not is_over:
            return
        try:
            await self._sources.remove_far()
        except EaglerayError as error:
            log.info("%s", error)

    async def close(self) -> None:
        self._holding.close()
        await self._sources.close()

    def _failed(self, error: EaglerayError | None) -> None:
        """Each state is logged once: a round follows each second."""
        if error is not None and str(error) != str(self.error):
            log.warning("%s", error)
        self.error = error

    async def _look_and_fetch(self, at_once: bool) -> list[EaglerayError]:
        """Why some of it didn't come."""
        if not self._holds:
            self._holding.enter_context(self._gathering.held())
            self._holds = True
        places = await self._sources.now(self._home(), self._waited_for(), at_once=at_once)
        look = self.answered = await self._looking.look(places)
        # A node that does not answer, or has gone, has not lost its workers by that.
        self.look = joined(self.look, look)
        self._sources.ports(look.agents)
        failures = [*look.failures, *await self._gathering.fetch(look.reports, look.left_out)]
        self._log_new(failures)
        await self._databases.fetch(look.databases, self._gathering.entries)
        return failures

    def _log_new(self, failures: list[EaglerayError]) -> None:
        """Each once, until it is over: a node that is gone fails in each round."""
        now = {str(failure) for failure in failures}
        for text in sorted(now - self._logged):
            log.info("%s", text)
        self._logged = now

    def _waited_for(self) -> list[ProfiledWorker]:
        """The workers of which not everything is here."""
        here = {entry.source for entry in self._gathering.entries}
        return [
            worker
            for worker in self.look.workers
            if worker.state not in FINAL_PHASES or not here.issuperset(worker.whole)
        ]
