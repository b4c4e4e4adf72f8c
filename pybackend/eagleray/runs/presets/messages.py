"""The requests of the feature `presets` and their records, printed as `extension/runs/presets/messages.ts`."""

from __future__ import annotations

from attrs import frozen

from eagleray.runs.model import RunRequest
from eagleray.runs.presets.model import Outcome, PresetRow, ProposalTexts
from eagleray.wire.requests import Request


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


@frozen(kw_only=True)
class Proposal(ProposalTexts):
    """`plan`: the id of the plan for `runs/start`; `preset`: the one that it uses; `confirm`: asked before the start;
    `text`: the lines that `eagleray run --dry-run` prints above the difference."""

    plan: str
    preset: str
    name: str
    changes: list[Change]
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


PREPARE = Request("eagleray/presets/prepare", RunRequest, Proposal)
CHECK = Request("eagleray/presets/check", RunRequest, OptionsCheck)
COMPOSE = Request("eagleray/presets/compose", RunRequest, Composition)
LIST_PRESETS = Request("eagleray/presets/list", PresetsOf, Presets)
SAVE_PRESET = Request("eagleray/presets/save", SavePreset, Presets)
DELETE_PRESET = Request("eagleray/presets/delete", PresetRef, Presets)
