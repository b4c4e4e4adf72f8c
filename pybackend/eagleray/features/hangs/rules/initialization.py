"""Ranks that form a process group without the others (`initialization`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eagleray.common.l10n import counted, t
from eagleray.features.hangs import exit_texts
from eagleray.features.hangs.activity import Doing
from eagleray.features.hangs.evidence import SampledProcess
from eagleray.features.hangs.rules.scene import Scene, about, inspect_step, minority, reading
from eagleray.features.hangs.verdict import Kind, Reading
from eagleray.sampling.rank_sets import RankSet


def initializing(scene: Scene) -> Iterator[Reading]:
    started = scene.world.doing(Doing.INITIALIZING)
    elsewhere = scene.elsewhere
    missing = scene.gone
    different = minority(started, lambda each: (each.process.rendezvous, each.process.world_size))
    culprits: Sequence[SampledProcess] | RankSet = elsewhere or missing or different
    confidence = 0.85 if culprits else 0.7
    if not started:
        return
    if elsewhere:
        text = counted(
            len(elsewhere),
            "{Ranks} has not joined the process group, and is{place}.",
            "{Ranks} have not joined the process group, and are{place}.",
            **about(scene, elsewhere),
        )
        step = inspect_step(elsewhere)
    elif missing:
        text, step = exit_texts.not_joined(scene.evidence, scene.world, missing)
    elif different:
        text = counted(
            len(different),
            "{Ranks} joins another address, or another number of ranks, than the others.",
            "{Ranks} join another address, or another number of ranks, than the others.",
            **about(scene, different),
        )
        step = t("Give all ranks the same MASTER_ADDR, MASTER_PORT and WORLD_SIZE.")
    else:
        text = t("All ranks wait for each other while they form a process group.")
        step = t("Check that all ranks reach the address of rank 0.")
    yield reading(scene, Kind.INITIALIZATION, culprits, confidence, text, step)
