"""Makes a training with verl one batch of real rollouts and one step, in an experiment of its own, without checkpoints.

verl has no controller that only generates, unlike AReaL: its trainer's loop starts rollouts, and its one step is
part of the test.  The settings and the place where they go come from the preset for verl.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from attrs import evolve

from eagleray.common.l10n import t
from eagleray.rollouts.integration.errors import no_verl, not_limited
from eagleray.runs.model import RunPlan
from eagleray.runs.presets.analysis import ProgramAnalysis, analyze
from eagleray.runs.presets.model import POST_MORTEM, WITHOUT_EFFECT, DebugRunProposal
from eagleray.runs.presets.overrides import Override, hydra_override
from eagleray.runs.presets.proposal_text import effective
from eagleray.runs.presets.propose import propose, put
from eagleray.runs.presets.questions import OFF, ON
from eagleray.runs.presets.user_presets import Preset

VERL = "verl"
# Without one of them the test would train on, or touch what the real training has stored.
_NEEDED = ("steps", "name", "no_resume", "no_checkpoint")
_ON = (*_NEEDED[2:], "no_validation", "no_trackers")
# Nothing pauses it for long.
_OFF = ("timeouts", POST_MORTEM.name)


def limited_training(
    plan: RunPlan, now: datetime, experiment: str, items: int = 0, more: Sequence[str] = ()
) -> DebugRunProposal:
    """The training of `plan`, with `items` prompts (0: its own batch) and the user's own overrides `more`.

    Raises `no-verl`, and `not-one-batch` with the reason if one of the needed settings can't be set.
    """
    analysis = analyze(plan, plan.argv[0], now)
    recognised = analysis.recognised
    if recognised is None or recognised.table.framework != VERL:
        raise no_verl()
    answers = {
        "steps": "1",
        "name": experiment,
        **dict.fromkeys(_ON, ON),
        **dict.fromkeys(_OFF, OFF),
    }
    made = propose(evolve(plan, preset=VERL), analysis, answers, Preset(VERL))
    overrides = [
        Override(t("Real rollouts"), arguments=real_rollouts(analysis)),
        Override(t("Small batch"), arguments=small_batch(items)),
        Override(t("Your own arguments"), arguments=tuple(more)),
    ]
    after, changes = put(made.plan, analysis, [each for each in overrides if each.arguments])
    made = evolve(made, plan=after, after=effective(after), changes=(*made.changes, *changes))
    _check(made)
    return made


def real_rollouts(analysis: ProgramAnalysis) -> tuple[str, ...]:
    """Turns off what reads rollouts of an earlier run, in the versions that have it."""
    recognised = analysis.recognised
    if recognised is None or not recognised.in_range:
        return ()
    version = recognised.table.nearest(recognised.version.text)
    offer = recognised.table.offer("replay", version)
    return tuple(
        hydra_override(entry.key, "false")
        for entry in (offer.entries if offer else ())
        if entry.value == "true" and entry.check(version)
    )


def small_batch(items: int) -> tuple[str, ...]:
    """A batch of `items` prompts, which is one batch of the update, too."""
    if not items:
        return ()
    keys = ("data.train_batch_size", "actor_rollout_ref.actor.ppo_mini_batch_size")
    return tuple(hydra_override(key, str(items)) for key in keys)


def _check(made: DebugRunProposal) -> None:
    for option in _NEEDED:
        changes = [change for change in made.changes if change.option == option]
        refused = [change for change in changes if change.outcome in WITHOUT_EFFECT]
        if refused or not changes:
            reasons = [change.why or change.outcome for change in refused]
            raise not_limited(" ".join(reasons) or option)
