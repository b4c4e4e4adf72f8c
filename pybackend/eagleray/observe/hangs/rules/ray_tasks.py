"""Verdicts from waits for Ray's tasks that no node can take (`starvation`)."""

from __future__ import annotations

from collections.abc import Iterator

from eagleray.common.l10n import t
from eagleray.observe.hangs.rules.rule_context import Scene
from eagleray.observe.hangs.verdict import Kind, Reading
from eagleray.observe.hangs.wait_paths import NEVER_ROOM, NO_ROOM, Path
from eagleray.remote.sampling.rank_sets import RankSet


def starvation(scene: Scene) -> Iterator[Reading]:
    """A process waits in `ray.get` for a task that no node can take."""
    if not scene.is_first:
        return
    paths = [
        Path(each, scene.graph.name(each), (wait,), (each,), None)
        for each in scene.evidence.processes
        for wait in scene.graph.ray_waits(each)
        if wait.kind in (NO_ROOM, NEVER_ROOM) and not wait.is_unsure
    ]
    if not paths:
        return
    path = min(paths, key=lambda path: path.waits[0].kind != NEVER_ROOM)
    wait, confidence = path.waits[0], 0.8
    step = t("Start fewer actors or tasks.")
    if wait.outside:
        step = t("End {actors}, or start fewer actors or tasks.", actors=wait.outside)
    if groups := wait.groups:
        step = t(
            "Remove {groups} (ray.util.remove_placement_group), or ask for less.", groups=groups
        )
    if wait.kind == NEVER_ROOM:
        step, confidence = t("Ask for less, or add a node that has it."), 0.9
    group, culprits = path.start.process.group, RankSet.of([path.start.rank])
    # From the process on that waits for this one, if that is sure.
    whole = map(scene.graph.path, scene.graph.starts())
    sure = [each for each in whole if each and not each.is_unsure]
    room = [each for each in sure if each.waits[-1].kind in (NO_ROOM, NEVER_ROOM)]
    longest = next((each for each in room if each.processes[-1] is path.start), path)
    text = longest.sentence
    other = scene.graph.path(path.start)
    if other and other.waits[-1].kind not in (NO_ROOM, NEVER_ROOM) and not other.is_unsure:
        # It waits for several tasks, one of which may wait for what has no room.
        text += f" {other.sentence}"
    is_proof = wait.kind == NEVER_ROOM
    yield Reading(Kind.STARVATION, culprits, confidence, text, step, group, is_proof, (path.start,))
