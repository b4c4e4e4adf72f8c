"""What a debug run would do: the changed plan, what became of each thing that was asked for, and the form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from eagleray.features.runs.plan import RunPlan

Outcome = Literal["will apply", "not sure", "could not find", "already so"]


@dataclass(frozen=True)
class Change:
    """What was asked for and what became of it.  "not sure": it is set, but the table was read from other versions."""

    asked: str
    outcome: Outcome
    where: str
    why: str = ""


@dataclass(frozen=True)
class Question:
    """A line of the form: a tick with `choices`, else a text; an empty text leaves the program as it is."""

    id: str
    text: str
    detail: str
    choices: tuple[str, ...]
    value: str


@dataclass(frozen=True)
class Proposal:
    """`before` and `after` are command, environment and copied script without and with the preset, without secrets."""

    plan: RunPlan
    title: str
    before: str
    after: str
    changes: tuple[Change, ...]
    questions: tuple[Question, ...]
    framework: str
    framework_version: str
