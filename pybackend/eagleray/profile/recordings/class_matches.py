"""Matches classes of workers with the patterns of a profile: for the preview, and for runs in which none matches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t
from eagleray.profile.recordings.collector import FindCluster, ReportCollector
from eagleray.profile.recordings.model import ClassMatch
from eagleray.ray.rows import ActorRow
from eagleray.remote.injected.worker_patterns import first_match, matchable_names, split_patterns
from eagleray.runs.model import ProfileState

# How often the list of all actors is requested: rarely, and more rarely once other classes are known.
POLL_INTERVAL_S = 2.0
LATER_POLL_INTERVAL_S = 20.0
MOST_NAMED = 5
# The prefix of Ray's own actors.
_RAY_INTERNAL = "_ray_internal"

log = logging.getLogger(__name__)


def match_classes(
    actors: Iterable[ActorRow], patterns: Sequence[str], earlier: Sequence[str] = ()
) -> list[ClassMatch]:
    """Each class once, matching ones first, named by what matches: its class, its class with the module, or its name.

    Ray reports no modules; `earlier` are classes of earlier runs, as `module:Class`.  An actor whose class is known
    from exactly one module is taken for that.
    """
    wanted = split_patterns(patterns)
    modules: dict[str, list[str]] = {}
    for qualified in dict.fromkeys(earlier):
        module, _, class_name = qualified.partition(":")
        modules.setdefault(class_name, []).append(module)
    counts: dict[tuple[str, str], int] = {}
    for actor in actors:
        candidates = modules.get(actor.class_name, [])
        module = candidates[0] if len(candidates) == 1 else ""
        key = _match(wanted, module, actor.class_name, actor.name)
        counts[key] = counts.get(key, 0) + (actor.state != "DEAD")
    for class_name, candidates in modules.items():
        for module in candidates:
            counts.setdefault(_match(wanted, module, class_name), 0)
    matches = [ClassMatch(printable(name, 200), n, by) for (name, by), n in counts.items() if name]
    return sorted(matches, key=lambda match: (not match.matched_by, -match.running, match.name))


def _match(
    patterns: Sequence[str], module: str, class_name: str, actor: str = ""
) -> tuple[str, str]:
    """The name to show, and the pattern by which a run would select it or ""."""
    pattern, name = first_match(patterns, matchable_names(module, class_name, actor))
    if not pattern or name in matchable_names("", class_name):
        return class_name, pattern
    return (actor if name == actor else f"{module}.{class_name}"), pattern


class MatchingCollector:
    """A report collector whose state names the classes that exist while no worker matches the patterns.

    The sentence stays after the cluster has ended.
    """

    def __init__(
        self, collector: ReportCollector, patterns: Sequence[str], find_cluster: FindCluster
    ) -> None:
        self._collector = collector
        self._patterns = patterns
        self._find_cluster = find_cluster
        self._sentence = ""

    @property
    def state(self) -> ProfileState:
        state = self._collector.state
        if state.workers or state.sentence:
            return state
        return replace(state, sentence=self._sentence)

    async def run(self) -> None:
        polling = tasks.lasting(self._poll_classes, "unmatched")
        try:
            await self._collector.run()
        finally:
            polling.cancel()
            await asyncio.gather(polling, return_exceptions=True)

    async def finish(self) -> None:
        await self._collector.finish()

    async def collect_rest(self) -> None:
        await self._collector.collect_rest()

    async def close(self) -> None:
        await self._collector.close()

    async def _poll_classes(self) -> None:
        """Polls the classes of the cluster until a worker is recorded; ignores a cluster that does not answer."""
        while not self._collector.state.workers:
            cluster = self._find_cluster()
            try:
                actors = await cluster[1].all_actors() if cluster else []
                classes = self._collector.state.classes
                self._sentence = no_match_sentence(self._patterns, actors, classes)
            except EaglerayError as error:
                log.info("%s", error)
            await asyncio.sleep(LATER_POLL_INTERVAL_S if self._sentence else POLL_INTERVAL_S)


def no_match_sentence(
    patterns: Sequence[str], actors: Sequence[ActorRow], classes: Sequence[str] = ()
) -> str:
    """ "No worker matches *policy*. Known classes: Learner, Rollout.", "" if one matches or no class is known."""
    others = [actor for actor in actors if not actor.name.startswith(_RAY_INTERNAL)]
    matches = match_classes(others, patterns, classes)
    if not (patterns and matches) or any(match.matched_by for match in matches):
        return ""
    names = [match.name for match in matches]
    more = len(names) - MOST_NAMED
    named = [*names[:MOST_NAMED], *([t("{n} more", n=more)] if more > 0 else [])]
    return t(
        "No worker matches {patterns}. Known classes: {classes}.",
        patterns=printable(", ".join(patterns), 200),
        classes=", ".join(named),
    )
