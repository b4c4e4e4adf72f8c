"""Verdicts from waits for Ray's tasks (`starvation`, `asyncio`)."""

from __future__ import annotations

from collections.abc import Iterator

from eagleray.common.l10n import t
from eagleray.observe.hangs import wording
from eagleray.observe.hangs.activity import Doing
from eagleray.observe.hangs.evidence import SampledProcess
from eagleray.observe.hangs.rules.scene import Scene
from eagleray.observe.hangs.verdict import Kind, Reading
from eagleray.observe.hangs.wait_graph import NEVER_ROOM, NO_ROOM, Path
from eagleray.remote.sampling.rank_sets import RankSet

# Cores that a process uses which does something.
_WORKING_CPU = 0.05


def starvation(scene: Scene) -> Iterator[Reading]:
    """A process waits in `ray.get` for a task that no node can take, and nothing else works that would make room."""
    paths = [
        path
        for path in _single_waits(scene)
        if path.waits[0].kind in (NO_ROOM, NEVER_ROOM) and not path.is_unsure
    ]
    impossible = [path for path in paths if path.waits[0].kind == NEVER_ROOM]
    for path in (impossible or paths)[:1]:
        # Processes that were not sampled may work, too.
        works = bool(scene.evidence.workers) or any(map(_works, scene.evidence.processes))
        step = t("End a task that holds them, or start fewer tasks.")
        confidence = 0.4 if works else 0.8
        if impossible:
            step, confidence = t("Ask for less, or add a node that has it."), 0.9
        yield _reading(Kind.STARVATION, [path.start], confidence, path.sentence, step)


def awaiting_actors(scene: Scene) -> Iterator[Reading]:
    """A process waits in `ray.get` for methods of async actors, whose tasks all wait, as they have told from inside."""
    paths = [path for path in _single_waits(scene) if path.end and wording.awaited([path.end])]
    ends = {id(path.end): path.end for path in paths if path.end}
    if not ends:
        return
    step = t("Look at what the tasks of the event loop await.")
    # They may wait for a process that works, such as an inference engine, or for one that was not sampled.
    is_part = bool(scene.evidence.workers) or not scene.evidence.is_whole
    is_busy = any(each.is_busy for each in scene.evidence.processes)
    actors, confidence = list(ends.values()), 0.4 if is_part or is_busy else 0.6
    yield _reading(Kind.ASYNCIO, actors, confidence, paths[0].sentence, step)


def _single_waits(scene: Scene) -> Iterator[Path]:
    """Each wait for a task by itself."""
    for each in scene.evidence.processes if scene.is_first else ():
        for wait in scene.graph.ray_waits(each):
            yield Path(
                each, scene.graph.name(each), (wait,), (each,), next(iter(wait.targets), None)
            )


def _works(process: SampledProcess) -> bool:
    """Whether `process` may end and make room; an idle actor of Ray works a little, too, but not in code of the user."""
    activity = process.activity
    if activity.place is None or activity.doing is Doing.IN_RAY_GET:
        return False
    return process.moves or (activity.doing is Doing.IN_CODE and process.cpu > _WORKING_CPU)


def _reading(
    kind: Kind, culprits: list[SampledProcess], confidence: float, text: str, step: str
) -> Reading:
    groups = ", ".join(dict.fromkeys(each.process.group for each in culprits))
    return Reading(kind, RankSet.of(each.rank for each in culprits), confidence, text, step, groups)
