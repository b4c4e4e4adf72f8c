"""Wire types of presets, which `messages.py` of this feature names."""

from __future__ import annotations

from attrs import frozen

from eagleray.features.presets.model import Outcome


@frozen
class Change:
    """A request of a preset and its outcome, as text."""

    asked: str
    outcome: Outcome
    where: str
    why: str
    setting: str


@frozen
class PresetQuestion:
    """Free text without `choices`, a tick with "on" and "off"; `value` is what is proposed."""

    id: str
    text: str
    detail: str
    choices: list[str]
    value: str


@frozen
class PresetRow:
    """A preset: one of ours for a framework, or `own`: the person's; `text` is its JSON."""

    name: str
    title: str
    framework: str
    own: bool
    text: str


@frozen
class Composition:
    """The composed value of each key that a preset sets, as text."""

    values: dict[str, str]
