"""Data loaders that deliver nothing (`data-loader`)."""

from __future__ import annotations

from collections.abc import Iterator

from eagleray.common.l10n import counted, t
from eagleray.observe.hangs import library_waits, wording
from eagleray.observe.hangs.activity import Doing
from eagleray.observe.hangs.rules import waits
from eagleray.observe.hangs.rules.rule_context import Scene, about, reading
from eagleray.observe.hangs.verdict import Kind, Reading
from eagleray.remote.sampling.node_sampler import RUNNABLE


def loading_data(scene: Scene) -> Iterator[Reading]:
    loading = scene.world.doing(Doing.LOADING_DATA)
    if not loading:
        return
    children = [child for each in loading for child in scene.evidence.children(each)]
    # Nothing names the parents of given processes.
    given = [each for each in scene.evidence.processes if library_waits.is_worker(each)]
    given = given if scene.evidence.is_given else []
    if any(child.goes_on or child.is_busy for child in children) or any(
        each.last.state == RUNNABLE for each in given
    ):
        text = counted(
            len(loading),
            "No sign of a hang: {ranks} waits for its data loader, which still works.",
            "No sign of a hang: {ranks} wait for their data loaders, which still work.",
            **about(scene, loading),
        )
        step = t("Profile the data loader, or give it more processes.")
        yield reading(scene, Kind.SLOW, loading, 0.75, text, step)
        return
    waiting = [each for each in children if scene.graph.waits_of(each) or each.activity.place]
    text = counted(
        len(loading),
        "{Ranks} waits for its data loader.",
        "{Ranks} wait for their data loaders.",
        **about(scene, loading),
    )
    step = t("Look at what the data loader reads there.")
    text += waits.follow(scene, waiting, is_shown=False)
    if busy := [each for each in given if not library_waits.is_free(each)]:
        text += f" {library_waits.sentence_of(busy)}"
    if scene.waiting:
        text += f" {wording.Wait_in(scene.waiting)}."
    yield reading(scene, Kind.DATA_LOADER, loading, 0.85, text, step, behind=waiting)
