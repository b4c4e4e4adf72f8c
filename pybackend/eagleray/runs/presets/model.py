"""Records of debug runs: options, questions, the outcome of each request, the proposal."""

from __future__ import annotations

from typing import Literal, get_args

from attrs import frozen

from eagleray.common.l10n import later
from eagleray.runs.model import RunPlan

Outcome = Literal[
    "unknown version",
    "no framework",
    "not changed",
    "no such option",
    "set, effect not verified",
    "will apply",
    "already so",
]
# In the order in which they are shown, problems first.
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
# The outcomes of a request that changes nothing in the run.
WITHOUT_EFFECT: frozenset[Outcome] = frozenset(
    {"unknown version", "no framework", "not changed", "no such option"}
)


@frozen
class ProposedChange:
    """A request and its outcome.

    "will apply": its effect was verified in the source of this version.  "set, effect not verified": the key is set,
    its effect in this version was not verified.  "already so": nothing has to change.  "not changed": it could not be
    set, and `why` says what to do.  "no such option": the framework does not have it; only for what was requested.
    "unknown version" and "no framework" are about the whole run.  `option` is the name of the answer that requested
    it; `key`, `value` and `place` are the setting as it is shown, "" where there is none.
    """

    request: str
    outcome: Outcome
    where: str
    why: str = ""
    option: str = ""
    key: str = ""
    value: str = ""
    place: str = ""


@frozen
class PresetQuestion:
    """A line of the form: a tick with `choices`, else a text; an empty text leaves the program as it is."""

    id: str
    text: str
    detail: str
    choices: tuple[str, ...]
    value: str


@frozen
class PresetRow:
    """A preset: one of ours for a framework, or `own`: the user's; `text` is its JSON, for ours one to begin with."""

    name: str
    title: str
    framework: str
    own: bool
    text: str


@frozen(kw_only=True)
class ProposalTexts:
    """`before` and `after` are command, environment and copied script without and with the preset, without secrets."""

    title: str = ""
    before: str
    after: str
    questions: tuple[PresetQuestion, ...] = ()
    framework: str = ""
    framework_version: str = ""


@frozen(kw_only=True)
class DebugRunProposal(ProposalTexts):
    """A plan with its preset; `summary` says in sentences what the run does and what it leaves behind."""

    plan: RunPlan
    changes: tuple[ProposedChange, ...] = ()
    summary: str = ""


@frozen
class Option:
    """One line of the form: `text` is the question, `phrase` says what the run will do, `default`: it is proposed.

    Both are translated where they are shown.
    """

    name: str
    text: str
    phrase: str
    default: bool = True


OPTIONS = (
    Option("steps", later("Few steps"), later("stop after {value} steps")),
    Option("name", later("New experiment name"), later("be named {value}")),
    Option("no_resume", later("No resume from a checkpoint"), later("resume from no checkpoint")),
    Option("no_checkpoint", later("No checkpoints"), later("write no checkpoints")),
    Option("no_validation", later("No validation"), later("run no validation")),
    Option("no_trackers", later("No trackers"), later("report to no tracking service")),
    Option("gpus", later("Fewer GPUs"), later("use {value} GPUs"), default=False),
    Option("timeouts", later("Longer collective timeouts"), later("wait longer for collectives")),
    Option(
        "replay",
        later("Saved rollouts"),
        later("save its rollouts in {value} or read them from there"),
        default=False,
    ),
)
NAMES = frozenset(option.name for option in OPTIONS)

# Options that need no table of a framework.
HANG_DETAILS = Option(
    "hang_details", later("Details about hangs"), later("log details about hangs"), default=False
)
NOT_COMPILED = Option(
    "not_compiled", later("Not compiled"), later("run without torch.compile"), default=False
)
# Each is a set of variables of `variables.json`.
OF_VARIABLES = (HANG_DETAILS, NOT_COMPILED)
POST_MORTEM = Option("post_mortem", later("Break on Failure"), later("stop workers that fail"))
ANSWERS = NAMES | {*(option.name for option in OF_VARIABLES), POST_MORTEM.name}
