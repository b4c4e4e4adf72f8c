"""Ranks that a debugger or a signal has stopped (`debugger`, `stopped`)."""

from __future__ import annotations

from collections.abc import Iterator

from eagleray.common.l10n import counted, t
from eagleray.observe.hangs import source_lines, wording
from eagleray.observe.hangs.activity import Doing
from eagleray.observe.hangs.evidence import SampledProcess
from eagleray.observe.hangs.rules.rule_context import Scene, about, reading
from eagleray.observe.hangs.verdict import Kind, Reading

_OF_TERMINALS = {"tcsetattr", "tcflush", "tcdrain", "tcsetpgrp", "input"}


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
        yield reading(scene, Kind.DEBUGGER, stopped_ranks, 0.95, text, step, is_proof=True)


def _uses_terminal(process: SampledProcess) -> bool:
    """Whether it is in a call for which a terminal stops programs in the background (SIGTTIN and SIGTTOU, termios(3))."""
    place = process.activity.place
    if not place or not process.stack or place != process.stack.frames[-1]:
        return False
    return not _OF_TERMINALS.isdisjoint(source_lines.calls_at(place.file, place.line))


def stopped(scene: Scene) -> Iterator[Reading]:
    stopped_ranks = scene.world.doing(Doing.STOPPED)
    if stopped_ranks:
        text = counted(
            len(stopped_ranks),
            "{Ranks} was stopped by a signal{place}.",
            "{Ranks} were stopped by a signal{place}.",
            **about(scene, stopped_ranks),
        )
        pids = " ".join(str(each.process.pid) for each in stopped_ranks)
        step = t("Resume with: {command}", command=f"kill -CONT {pids}")
        if all(map(_uses_terminal, stopped_ranks)):
            step = t("It uses its terminal: start it in the foreground, or continue it with fg.")
        yield reading(scene, Kind.STOPPED, stopped_ranks, 0.95, text, step, is_proof=True)
