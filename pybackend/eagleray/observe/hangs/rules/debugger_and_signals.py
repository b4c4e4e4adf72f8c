"""Ranks that a debugger or a signal has stopped (`debugger`, `stopped`)."""

from __future__ import annotations

from collections.abc import Iterator

from eagleray.common.l10n import counted, t
from eagleray.observe.hangs import wording
from eagleray.observe.hangs.activity import Doing
from eagleray.observe.hangs.rules.rule_context import Scene, about, reading
from eagleray.observe.hangs.verdict import Kind, Reading


def in_debugger(scene: Scene) -> Iterator[Reading]:
    stopped_ranks = scene.world.doing(Doing.IN_DEBUGGER)
    if stopped_ranks:
        of_stopped = about(scene, stopped_ranks)
        text = counted(
            len(stopped_ranks),
            "{Ranks} waits in a debugger{place}.",
            "{Ranks} wait in a debugger{place}.",
            **of_stopped,
        )
        if scene.waiting:
            text = counted(
                len(stopped_ranks),
                "{Ranks_wait} for {ranks}, which is paused by a debugger{place}.",
                "{Ranks_wait} for {ranks}, which are paused by a debugger{place}.",
                Ranks_wait=wording.Wait_in(scene.waiting),
                **of_stopped,
            )
        step = t("Continue in that debugger.")
        yield reading(scene, Kind.DEBUGGER, stopped_ranks, 0.95, text, step)


def stopped(scene: Scene) -> Iterator[Reading]:
    stopped_ranks = scene.world.doing(Doing.STOPPED)
    if stopped_ranks:
        text = counted(
            len(stopped_ranks),
            "{Ranks} was stopped by a signal.",
            "{Ranks} were stopped by a signal.",
            **about(scene, stopped_ranks),
        )
        pids = " ".join(str(each.process.pid) for each in stopped_ranks)
        step = t("Resume with: {command}", command=f"kill -CONT {pids}")
        yield reading(scene, Kind.STOPPED, stopped_ranks, 0.95, text, step)
