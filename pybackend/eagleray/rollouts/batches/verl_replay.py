"""The command of a training with verl that saves its rollouts in a first run, and trains on them in later ones.

The names of these settings have changed twice from verl 0.6 to 0.9.  They come from the preset for verl, for the
version at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from eagleray.rollouts.batches.errors import not_replayed
from eagleray.rollouts.integration.verl_batch import VERL
from eagleray.runs.model import RunPlan
from eagleray.runs.presets.analysis import analyze
from eagleray.runs.presets.model import WITHOUT_EFFECT
from eagleray.runs.presets.overrides import overrides_for
from eagleray.runs.presets.propose import put


def verl_command(folder: str, command: Sequence[str], cwd: str, now: datetime) -> tuple[str, ...]:
    """`folder` is an absolute path: one for each experiment, since experiments of equal batch sizes would share it.

    Raises `not-replayed` with the reason where the command takes no such settings.
    """
    plan = RunPlan(kind="command", argv=tuple(command), cwd=cwd, name=VERL)
    analysis = analyze(plan, plan.argv[0], now)
    recognised = analysis.recognised
    if recognised is None or recognised.table.framework != VERL:
        raise not_replayed("")
    after, changes = put(plan, analysis, list(overrides_for("replay", folder, plan, analysis)))
    added = after.command[len(plan.command) :]
    if after.copy_text or not added:
        reasons = [change.why for change in changes if change.outcome in WITHOUT_EFFECT]
        raise not_replayed(" ".join(reasons))
    return (*command, *added)
