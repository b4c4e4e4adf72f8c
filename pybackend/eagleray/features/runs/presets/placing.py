"""Where words for the training program can be put: behind the command, into a copy of its script, or nowhere.

1. The command starts Python itself, or its script passes its arguments on: behind the command.
2. The training line stands in a variable of the environment: at its end.
3. The line was found in the script: into a copy of it.
4. Otherwise nowhere, and the reason is said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from attrs import evolve

from eagleray.features.runs.plan import RunPlan
from eagleray.features.runs.presets.copying import script_copy, shell_quoted
from eagleray.features.runs.presets.facts import Facts
from eagleray.features.runs.presets.script import Script
from eagleray.features.runs.presets.submitting import Edit


@dataclass(frozen=True)
class Place:
    """`where` and `why` are said to the person."""

    kind: Literal["command", "variable", "copy", "nowhere"]
    where: str
    why: str = ""


def place_for(facts: Facts, words: Sequence[str], edits: Sequence[Edit]) -> Place:
    """The place for `words`, if the line needs these `edits` too."""
    script, launch = facts.script, facts.launch
    if facts.in_variable:
        return Place("variable", f"at the end of {facts.in_variable}")
    if launch is None:
        return Place("nowhere", "", nothing_found(script))
    if script is None:
        if edits:
            return Place(
                "nowhere", "", "It stands in the command itself, where it is yours to change."
            )
        return Place("command", "behind the command")
    here = f"line {launch.line} of {facts.script_word}"
    if script.crlf:
        return Place("copy", f"{here}, in a copy", "The script has the line ends of Windows.")
    if edits:
        return Place("copy", f"{here}, in a copy", "Options in the line have to change.")
    if not script.forwards:
        why = "The script does not pass its arguments on, or reads them itself."
        return Place("copy", f"{here}, in a copy", why)
    if _spoilt(script, words):
        why = 'The script passes its arguments on without quotes ($@ in place of "$@").'
        return Place("copy", f"{here}, in a copy", why)
    return Place("command", f"behind the command; line {launch.line} passes it on")


def placed(
    plan: RunPlan, facts: Facts, place: Place, words: Sequence[str], edits: Sequence[Edit]
) -> RunPlan:
    """The plan with the words at their place."""
    if place.kind == "command":
        return evolve(plan, overrides=(*plan.overrides, *words))
    if place.kind == "variable" and facts.launch:
        said = plan.env[facts.in_variable]
        added = "".join(f" {shell_quoted(word)}" for word in words)
        end = facts.launch.end
        return evolve(plan, env={**plan.env, facts.in_variable: said[:end] + added + said[end:]})
    if place.kind == "copy" and facts.script and facts.launch:
        text = script_copy(facts.script.text, facts.launch, words, edits)
        return evolve(plan, copy_of=facts.script_word, copy_text=text)
    return plan


def nothing_found(script: Script | None) -> str:
    if script and script.hidden:
        return f"The program stands in a quoted text (line {script.hidden})."
    return "No line that starts a Python program was found."


def _spoilt(script: Script, words: Sequence[str]) -> bool:
    """Whether bash makes something else of one of the words where `$@` has no quotes."""
    pattern = r"[\s*?\[]" if script.globs else r"[\s*?]"
    return script.splits and any(not word or re.search(pattern, word) for word in words)
