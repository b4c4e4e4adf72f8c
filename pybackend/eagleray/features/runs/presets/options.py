"""What a debug run can ask for, whatever the framework: the same names in every table, in this order in the form."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """One line of the form.  `text` is what is asked; `default` says whether it is proposed at all."""

    name: str
    text: str
    default: bool = True


OPTIONS = (
    Option("steps", "Few steps"),
    Option("name", "A name of its own for the experiment"),
    Option("no_resume", "No resume from a checkpoint"),
    Option("no_checkpoint", "No checkpoints"),
    Option("no_validation", "No validation"),
    Option("no_trackers", "No trackers"),
    Option("gpus", "Fewer GPUs", default=False),
    Option("timeouts", "Longer time-outs of collectives"),
    Option("replay", "Rollouts saved once and read again", default=False),
)
NAMES = frozenset(option.name for option in OPTIONS)

# Those that need no table of a framework.
HANG_DETAILS = Option("hang_details", "Details about hangs", default=False)
POST_MORTEM = Option("post_mortem", "Break on Failure")
ANSWERS = NAMES | {HANG_DETAILS.name, POST_MORTEM.name}
