"""The requests of the feature `presets` and their records, printed as `extension/runs/presets/messages.ts`."""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen

from eagleray.protocol.runs import Breakpoint
from eagleray.runs.model import Kind, ProfilePlan
from eagleray.runs.presets.model import Outcome, PresetQuestion
from eagleray.wire.requests import Request


@frozen
class Options:
    """The user's choices besides the program; `answers` are for `Proposal.questions`, by id.

    `server_env`: the variables of the chosen server, which `env` overrides; null for a run that gets none.
    """

    breakpoints: tuple[Breakpoint, ...] = ()
    workers: tuple[str, ...] = ()
    ranks: tuple[int, ...] | None = None
    post_mortem: bool = False
    children: bool = False
    env: dict[str, str] = field(factory=dict)
    server_env: dict[str, str] | None = None
    overrides: tuple[str, ...] = ()
    answers: dict[str, str] = field(factory=dict)
    profile: ProfilePlan | None = None
    watch_minutes: float = 0.0


@frozen
class Prepare:
    """`path`: a file or module; "": `args` is the whole command.  `kind` "": detected, or a Ray job
    with a `cluster`.  `python` "": the one on PATH.  `preset` "": the one that fits; "none": none."""

    path: str
    args: list[str]
    cwd: str
    kind: Literal["", Kind] = ""
    cluster: str = ""
    preset: str = ""
    python: str = ""
    workspace: str = ""
    options: Options = field(factory=Options)


@frozen
class RunProblem:
    """Something that the user should know before the start, with what to do about it."""

    code: str
    message: str
    next_step: str


@frozen
class Change:
    """A request of a preset and its outcome, as text."""

    request: str
    outcome: Outcome
    where: str
    why: str
    setting: str


@frozen
class PresetRow:
    """A preset: one of ours for a framework, or `own`: the user's; `text` is its JSON."""

    name: str
    title: str
    framework: str
    own: bool
    text: str


@frozen
class Proposal:
    """`plan`: the id of the plan for `runs/start`; `preset`: the one that it uses; `before`, `after`: the command without and with the preset; `confirm`: asked before the start;
    `text`: the lines that `eagleray run --dry-run` prints above the difference."""

    plan: str
    preset: str
    name: str
    title: str
    before: str
    after: str
    changes: list[Change]
    questions: tuple[PresetQuestion, ...]
    framework: str
    framework_version: str
    text: list[str]
    presets: list[PresetRow]
    problems: list[RunProblem]
    confirm: str


@frozen
class FieldProblem:
    """A problem of one field of the options page, "" for none of them; `answer.NAME` is an answer to a question.

    `blocks`: the run cannot start."""

    field: str
    code: str
    message: str
    next_step: str
    blocks: bool


@frozen
class OptionsCheck:
    """`proposal`: None if the program can't be prepared.  `nsys` is the one of this machine, "" if it isn't needed or there is none.

    `ports` are the arguments of the command and its variables that name ports, and nothing else of them.
    """

    problems: list[FieldProblem]
    proposal: Proposal | None
    nsys: str
    ports: list[str]


@frozen
class Composition:
    """The composed value of each key that a preset sets, as text."""

    values: dict[str, str]


@frozen
class PresetsOf:
    """A workspace, by the folder of its window, "" for none."""

    workspace: str


@frozen
class Presets:
    """The presets of a workspace, its own ones last."""

    presets: list[PresetRow]


@frozen
class SavePreset:
    """A preset of the user, as JSON; it replaces one of that name."""

    workspace: str
    name: str
    text: str


@frozen
class PresetRef:
    """A preset of the user by its name."""

    workspace: str
    name: str


PREPARE = Request("eagleray/presets/prepare", Prepare, Proposal)
CHECK = Request("eagleray/presets/check", Prepare, OptionsCheck)
COMPOSE = Request("eagleray/presets/compose", Prepare, Composition)
LIST_PRESETS = Request("eagleray/presets/list", PresetsOf, Presets)
SAVE_PRESET = Request("eagleray/presets/save", SavePreset, Presets)
DELETE_PRESET = Request("eagleray/presets/delete", PresetRef, Presets)
