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
            "Nothing hangs: {ranks} waits for its data loader, which still works.",
            "Nothing hangs: {ranks} wait for their data loaders, which still work.",
            **about(scene, loading),
        )
        step = t("Profile the data loader, or give it more processes.")
        yield reading(scene, Kind.SLOW, loading, 0.75, text, step)
        return
    text = counted(
        len(loading),
        "The data loader of {ranks} delivers nothing.",
        "The data loaders of {ranks} deliver nothing.",
        **about(scene, loading),
    )
    waiting = [each for each in children if scene.graph.waits_of(each) or each.activity.place]
    confidence, step = 0.85, t("Look at what the data loader reads there.")
    if waiting and library_waits.all_sleep(map(scene.graph.last_of, waiting)):
        confidence, step = 0.5, t("See why it sleeps: it may still work.")
        text = counted(
            len(loading),
            "{Ranks} waits for its data loader.",
            "{Ranks} wait for their data loaders.",
            **about(scene, loading),
        )
    text += waits.follow(scene, waiting, is_shown=False)
    if busy := [each for each in given if not library_waits.is_free(each)]:
        text += f" {library_waits.sentence_of(busy)}"
    if scene.waiting:
        text += f" {wording.Wait_in(scene.waiting)}."
    yield reading(scene, Kind.DATA_LOADER, loading, confidence, text, step)
