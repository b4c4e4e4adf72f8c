"""Copies the scripts on the path to the training lines, with arguments added where they reach all of these lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from eagleray.features.presets.analysis import TrainingLine
from eagleray.features.presets.job_submission import Edit
from eagleray.features.runs.model import ScriptCopy
from eagleray.features.runs.scripts.launch_lines import Launch, ScriptStart
from eagleray.features.runs.scripts.script import Script
from eagleray.features.runs.scripts.script_edits import (
    ORIGINAL,
    appended_arguments,
    copied_script,
    edited,
    with_own_place,
)
from eagleray.features.runs.scripts.script_tree import ScriptNode


class ScriptCopies:
    """Adds `words` and `edits` to the `lines` of a script and of those that it starts.

    After `text`, `inner` holds the copies of inner scripts, and `unreached` the lines that could not be changed, with
    the reason.
    """

    def __init__(
        self, lines: Sequence[TrainingLine], arguments: Sequence[str], edits: Sequence[Edit]
    ) -> None:
        self._lines = lines
        self._arguments = arguments
        self._edits = edits
        self.inner: list[ScriptCopy] = []
        self.unreached: list[tuple[TrainingLine, str]] = []

    def accepts(self, node: ScriptNode) -> bool:
        """Whether arguments of this script reach all its training lines, which need nothing else."""
        lines = [line.launch for line in self._lines if line.node is node]
        starts = list(self._starts(node))
        targets: list[Launch | ScriptStart] = [*lines, *(start for start, _ in starts)]
        script = node.script
        return (
            not script.crlf
            and not any(edit.token in launch.tokens for launch in lines for edit in self._edits)
            and script.forwards_to(targets)
            and not self.spoils(script, targets)
            and all(self.accepts(inner) for _, inner in starts)
        )

    def spoils(self, script: Script, targets: Sequence[Launch | ScriptStart]) -> bool:
        """Whether bash changes one of the words where `$@` has no quotes."""
        pattern = r"[\s*?\[]" if script.globs else r"[\s*?]"
        return script.splits_for(targets) and any(
            not argument or re.search(pattern, argument) for argument in self._arguments
        )

    def text(self, node: ScriptNode, variable: str = ORIGINAL, zero: str = "") -> str:
        """The copy of a script; the arguments are those of `with_own_place`."""
        return with_own_place(self.changed(node, variable), variable, zero)

    def changed(self, node: ScriptNode, variable: str = ORIGINAL, *, copies: bool = True) -> str:
        """The script's text with the words; `copies` may replace inner scripts."""
        added = appended_arguments(self._arguments)
        places: list[tuple[int, int, str]] = []
        for line in self._lines:
            if line.node is node:
                places.append((line.launch.end, line.launch.end, added))
                places += self._edits_of(line.launch)
        for start, inner in self._starts(node):
            if self.accepts(inner) and (start.arguments or not start.sourced):
                places.append((start.end, start.end, added))
            elif reason := _not_copied(start, copies):
                self.unreached += [(line, reason) for line in self._below(inner)]
            elif start.script.span:
                places.append(
                    (*start.script.span, self._copy(inner, variable if start.sourced else ""))
                )
        return edited(node.script.text, places)

    def _copy(self, node: ScriptNode, zero: str) -> str:
        """The word that runs the copy of an inner script."""
        number = len(self.inner) + 1
        self.inner.append(ScriptCopy(node.path, ""))
        self.inner[number - 1] = ScriptCopy(
            node.path, self.text(node, f"{ORIGINAL}_{number}", zero)
        )
        return copied_script(number, Path(node.path).name)

    def _edits_of(self, launch: Launch) -> Iterator[tuple[int, int, str]]:
        for edit in self._edits:
            if edit.token.span and edit.token in launch.tokens:
                yield (*edit.token.span, edit.text)

    def _starts(self, node: ScriptNode) -> Iterator[tuple[ScriptStart, ScriptNode]]:
        """The inner scripts with training lines."""
        return ((start, inner) for start, inner in node.inner if self._below(inner))

    def _below(self, node: ScriptNode) -> list[TrainingLine]:
        return [line for line in self._lines if node.path_to(line.node)]


def _not_copied(start: ScriptStart, copies: bool) -> str:
    """Why a copy can't replace an inner script."""
    if start.outside or not copies:
        return "It runs where a copy of the script is not available. Pass the arguments to it yourself."
    if start.script.span is None:
        return "A variable holds the command that starts its script. Pass the arguments to it yourself."
    return ""
