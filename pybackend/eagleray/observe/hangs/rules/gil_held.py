"""Native code that keeps the GIL (`gil-held`)."""

from __future__ import annotations

from collections.abc import Iterator

from eagleray.common.l10n import counted, t
from eagleray.observe.hangs import counter_readings, wording
from eagleray.observe.hangs.activity import Doing
from eagleray.observe.hangs.rules.rule_context import Scene, about, reading
from eagleray.observe.hangs.verdict import FACTS, Kind, Reading


def gil_held(scene: Scene) -> Iterator[Reading]:
    holders = [
        each
        for each in scene.world.ranks
        if each.holds_gil and each.activity.doing is not Doing.IN_COLLECTIVE
    ]
    if holders and not scene.is_single_sample:
        asleep = all(not sample.gil_holder_active for each in holders for sample in each.samples)
        # A loop of Python at one line looks the same, until others wait for it.
        confidence = 0.9 if asleep else FACTS if scene.waiting else 0.45
        if asleep:
            text = counted(
                len(holders),
                "{Ranks} never releases the GIL{place}: native code waits there.",
                "{Ranks} never release the GIL{place}: native code waits there.",
                **about(scene, holders),
            )
        else:
            text = counted(
                len(holders),
                "{Ranks} holds the GIL in each sample{place}: native code, or a loop of one line.",
                "{Ranks} hold the GIL in each sample{place}: native code, or a loop of one line.",
                **about(scene, holders),
            )
        if native := next((each for each in holders if wording.native(each)), None):
            text = counted(
                len(holders),
                "{Ranks} holds the GIL in {function}{called}.",
                "{Ranks} hold the GIL, {first} in {function}{called}.",
                **about(scene, holders),
                first=wording.ranks([native]),
                called=t(", called{place}", place=place)
                if (place := wording.place(holders))
                else "",
                function=wording.native(native),
            )
        not_started = counter_readings.not_started(scene.world, holders)
        text = f"{text} {not_started}".strip()
        step = t("Look at what this line calls.")
        yield reading(scene, Kind.GIL_HELD, holders, confidence, text, step)
