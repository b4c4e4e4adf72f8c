"""Ranks that have ended (`rank-dead`)."""

from __future__ import annotations

from collections.abc import Iterator

from eagleray.common.l10n import counted, t
from eagleray.observe.hangs import exit_texts, ray_readings, wording
from eagleray.observe.hangs.rules.rule_context import Scene, reading
from eagleray.observe.hangs.verdict import FACTS, Kind, Reading
from eagleray.remote.sampling.processes import OTHER


def dead(scene: Scene) -> Iterator[Reading]:
    gone = scene.gone
    if all(each.process.role == OTHER for each in scene.world.ranks):
        # Other processes of a program end at any time; the picture lists them as not seen.
        return
    if not gone or len(gone) >= len(scene.world.expected):
        return
    step = t("Read the end of the log of {ranks}.", ranks=wording.ranks_of(gone))
    ranks = wording.Ranks_of(gone)
    if scene.waiting:
        text = counted(
            len(gone),
            "{Ranks} has ended, and the others wait.",
            "{Ranks} have ended, and the others wait.",
            Ranks=ranks,
        )
    else:
        text = counted(len(gone), "{Ranks} has ended.", "{Ranks} have ended.", Ranks=ranks)
    if of_ray := ray_readings.deaths(scene.evidence, scene.world):
        text += of_ray
    elif exit_texts.have_finished(scene.evidence, scene.world, gone):
        text, step = exit_texts.finished(gone, scene.waiting)
    else:
        text += exit_texts.endings(scene.evidence, scene.world, gone)
    # Without ranks that wait for it, its end may be as it should be.
    confidence = 0.9 if scene.waiting else FACTS
    yield reading(scene, Kind.RANK_DEAD, gone, confidence, text, step, is_proof=True)
