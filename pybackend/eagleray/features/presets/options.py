"""What a debug run can ask for, whatever the framework: the same names in every table, in this order in the form."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """One line of the form: `text` is the question, `phrase` says what the run will do, `default`: it is proposed."""

    name: str
    text: str
    phrase: str
    default: bool = True


OPTIONS = (
    Option("steps", "Few steps", "stop after {value} steps"),
    Option("name", "New experiment name", "be named {value}"),
    Option("no_resume", "No resume from a checkpoint", "resume from no checkpoint"),
    Option("no_checkpoint", "No checkpoints", "write no checkpoints"),
    Option("no_validation", "No validation", "run no validation"),
    Option("no_trackers", "No trackers", "report to no tracking service"),
    Option("gpus", "Fewer GPUs", "use {value} GPUs", default=False),
    Option("timeouts", "Longer collective timeouts", "wait longer for collectives"),
    Option(
        "replay",
        "Saved rollouts",
        "save its rollouts in {value} or read them from there",
        default=False,
    ),
)
NAMES = frozenset(option.name for option in OPTIONS)

# Those that need no table of a framework.
HANG_DETAILS = Option(
    "hang_details", "Details about hangs", "log details about hangs", default=False
)
POST_MORTEM = Option("post_mortem", "Break on Failure", "stop workers that fail")
ANSWERS = NAMES | {HANG_DETAILS.name, POST_MORTEM.name}
