"""What is said while no worker of a run fits its patterns: which classes were seen instead."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError, printable
from eagleray.features.profiling.collector import Home
from eagleray.features.profiling.preview import preview
from eagleray.features.profiling.run_reports import RunReports
from eagleray.features.runs.model import Profiled
from eagleray.ray.rows import ActorRow

# The list of all actors is asked for so seldom, and seldom indeed where others were seen.
ASK_S = 2.0
ASK_AGAIN_S = 20.0
MOST_NAMED = 5
# Ray's own actors are named so.
_OF_RAY = "_ray_internal"

log = logging.getLogger(__name__)


class Unmatched:
    """The reports of a run that lives, with a sentence of why there are none: what keeps the run takes it for them.

    The sentence stays when the cluster has ended.
    """

    def __init__(self, reports: RunReports, patterns: Sequence[str], home: Home) -> None:
        self._reports = reports
        self._patterns = patterns
        self._home = home
        self._sentence = ""

    @property
    def seen(self) -> Profiled:
        seen = self._reports.seen
        return seen if seen.workers or seen.sentence else replace(seen, sentence=self._sentence)

    async def run(self) -> None:
        looking = tasks.lasting(self._look, "unmatched")
        try:
            await self._reports.run()
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)

    async def finish(self) -> None:
        await self._reports.finish()

    async def rest(self) -> None:
        await self._reports.rest()

    async def close(self) -> None:
        await self._reports.close()

    async def _look(self) -> None:
        """Asks which classes there are until a worker is recorded; a cluster that does not answer says nothing."""
        while not self._reports.seen.workers:
            home = self._home()
            try:
                actors = await home[1].all_actors() if home else []
                self._sentence = sentence(self._patterns, actors, self._reports.seen.classes)
            except EaglerayError as error:
                log.info("%s", error)
            await asyncio.sleep(ASK_AGAIN_S if self._sentence else ASK_S)


def sentence(
    patterns: Sequence[str], actors: Sequence[ActorRow], classes: Sequence[str] = ()
) -> str:
    """ "No worker fits *policy*; seen were Learner and Rollout.", "" where one does or none was seen."""
    others = [one for one in actors if not one.name.startswith(_OF_RAY)]
    seen = preview(others, patterns, classes)
    if not (patterns and seen) or any(one.matched_by for one in seen):
        return ""
    names = [one.name for one in seen]
    more = len(names) - MOST_NAMED
    named = [*names[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
    listed = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    wanted = printable(", ".join(patterns), 200)
    return f"No worker fits {wanted}; seen were {listed}."
