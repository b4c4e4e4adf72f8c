"""Places arguments for the training program: behind the command, into copies of its scripts, or nowhere.

1. The command starts Python itself, or its scripts pass their arguments on: behind the command.
2. The training line is in a variable of the environment: at its end.
3. The line is in a script: into a copy of it, and of those that start it.
4. Otherwise nowhere, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from attrs import evolve, frozen

from eagleray.common.l10n import counted, listed, t
from eagleray.runs.model import RunPlan, ScriptCopy
from eagleray.runs.presets.analysis import ProgramAnalysis, TrainingLine
from eagleray.runs.presets.ended_processes import EndedProcesses
from eagleray.runs.presets.job_submission import Edit
from eagleray.runs.scripts.launch_lines import Launch, LineWord, ScriptStart
from eagleray.runs.scripts.script import Script
from eagleray.runs.scripts.script_edits import (
    ORIGINAL,
    appended_arguments,
    copied_script,
    edited,
    with_own_place,
)
from eagleray.runs.scripts.script_tree import ScriptNode

# So many scripts are named.
_MOST_NAMED = 2


@frozen
class Placement:
    """`where` and `why` are shown.  `unreached` are training lines that the place does not reach, with the reason.

    `inner`: there are copies of inner scripts.
    """

    kind: Literal["command", "variable", "copy", "nowhere"]
    where: str
    why: str = ""
    unreached: tuple[tuple[TrainingLine, str], ...] = ()
    inner: bool = False


def place_for(
    analysis: ProgramAnalysis,
    arguments: Sequence[str],
    edits: Sequence[Edit],
    left_out: Sequence[EndedProcesses] = (),
) -> Placement:
    """The place for `arguments`, if the lines need these `edits` too and the script is to leave commands out."""
    root, launch = analysis.root, analysis.launch
    if launch is None:
        return Placement("nowhere", "", no_training_line(analysis.script))
    if root is None:
        if edits:
            return Placement("nowhere", "", t("Change it in the command itself."))
        return Placement("command", t("behind the command"))
    copies = ScriptCopies(analysis.lines, arguments, edits, left_out)
    if analysis.in_variable:
        copies.changed(root, copies=False)
        where = t("at the end of {variable}", variable=analysis.in_variable)
        return _reached(analysis, copies, "variable", where, "")
    if copies.accepts(root):
        return Placement("command", f"{t('behind the command')}; {_passing(analysis)}")
    copies.text(root)
    where = _lines_in_copy(analysis.lines, copies)
    return _reached(analysis, copies, "copy", where, _why_copied(analysis, copies, edits, left_out))


def left_out_in(
    analysis: ProgramAnalysis, ended: Sequence[EndedProcesses]
) -> tuple[EndedProcesses, ...]:
    """The commands that would end the run, in scripts of which there can be a copy."""
    if analysis.root is None or analysis.launch is None or analysis.in_variable:
        return ()
    copied = {id(node) for line in analysis.lines for node in analysis.root.path_to(line.node)}
    return tuple(each for each in ended if each.ends_run and id(each.node) in copied)


def _reached(
    analysis: ProgramAnalysis,
    copies: ScriptCopies,
    kind: Literal["variable", "copy"],
    where: str,
    why: str,
) -> Placement:
    unreached = tuple(copies.unreached)
    missed = {id(line) for line, _ in unreached}
    reached = [line for line in analysis.lines if id(line) not in missed]
    if not reached:
        return Placement("nowhere", "", unreached[0][1] if unreached else "")
    if missed and kind == "copy":
        where = _lines_in_copy(reached, copies)
    return Placement(kind, where, why, unreached, bool(copies.inner))


def _lines_in_copy(lines: Sequence[TrainingLine], copies: ScriptCopies) -> str:
    if copies.inner:
        return t("{lines}, in copies", lines=lines_text(lines))
    return t("{lines}, in a copy", lines=lines_text(lines))


def placed(
    plan: RunPlan,
    analysis: ProgramAnalysis,
    place: Placement,
    arguments: Sequence[str],
    edits: Sequence[Edit],
    left_out: Sequence[EndedProcesses] = (),
) -> RunPlan:
    """The plan with the arguments at their place."""
    if place.kind == "command":
        return evolve(plan, overrides=(*plan.overrides, *arguments))
    copies = ScriptCopies(analysis.lines, arguments, edits, left_out)
    if place.kind == "variable" and analysis.root:
        text = copies.changed(analysis.root, copies=False).replace(" \\\n    ", " ")
        return evolve(plan, env={**plan.env, analysis.in_variable: text})
    if place.kind == "copy" and analysis.root:
        text = copies.text(analysis.root)
        return evolve(
            plan, copy_of=analysis.root.name, copy_text=text, inner_copies=tuple(copies.inner)
        )
    return plan


def originals(analysis: ProgramAnalysis, plan: RunPlan) -> tuple[str, tuple[ScriptCopy, ...]]:
    """The texts of the scripts of which `plan` has copies, without their changes."""
    if analysis.root is None or not plan.copy_text:
        return "", ()
    texts = dict(_texts(analysis.root))
    inner = (ScriptCopy(copy.path, texts.get(copy.path, "")) for copy in plan.inner_copies)
    return analysis.root.script.text, tuple(inner)


def _texts(node: ScriptNode) -> Iterator[tuple[str, str]]:
    yield node.path, node.script.text
    for _, inner in node.inner:
        yield from _texts(inner)


def lines_text(lines: Sequence[TrainingLine]) -> str:
    """`lines 3 and 7 of a.sh and line 2 of b.sh`; of many scripts the numbers only."""
    by_script: dict[str, list[int]] = {}
    for line in lines:
        by_script.setdefault(line.node.name, []).append(line.launch.line)
    if len(by_script) > _MOST_NAMED:
        return t("{n} lines of {scripts} scripts", n=len(lines), scripts=len(by_script))
    return listed(
        [
            t("{lines} of {script}", lines=_numbers_text(numbers), script=name)
            for name, numbers in by_script.items()
        ]
    )


def _numbers_text(numbers: Iterable[int]) -> str:
    """ "line 3", "lines 3 and 7"."""
    ordered = sorted(numbers)
    return counted(
        len(ordered), "line {numbers}", "lines {numbers}", numbers=listed([*map(str, ordered)])
    )


def copied_text(analysis: ProgramAnalysis, place: Placement) -> str:
    """Says what runs in place of the script."""
    missed = {id(line) for line, _ in place.unreached}
    lines = [line for line in analysis.lines if id(line) not in missed]
    if all(line.node is analysis.root for line in lines):
        where = _numbers_text(line.launch.line for line in lines)
        return t("a copy of it runs, with other options in {lines}", lines=where)
    if place.inner:
        return t(
            "copies of it and its scripts run, with other options for {lines}",
            lines=lines_text(lines),
        )
    return t("a copy of it runs, with other options for {lines}", lines=lines_text(lines))


def _passing(analysis: ProgramAnalysis) -> str:
    if analysis.root and all(line.node is analysis.root for line in analysis.lines):
        numbers = [str(line.launch.line) for line in analysis.lines]
        return counted(
            len(numbers),
            "line {numbers} passes it on",
            "lines {numbers} pass it on",
            numbers=listed(numbers),
        )
    return t("{lines} get it", lines=lines_text(analysis.lines))


def _why_copied(
    analysis: ProgramAnalysis,
    copies: ScriptCopies,
    edits: Sequence[Edit],
    left_out: Sequence[EndedProcesses],
) -> str:
    nodes = {id(line.node): line.node for line in analysis.lines}.values()
    if any(node.script.crlf for node in nodes):
        return t("The script has the line ends of Windows.")
    if edits:
        return t("Options in the line have to change.")
    if left_out:
        return t("Commands that would end this run are left out.")
    if analysis.root and analysis.script and all(node is analysis.root for node in nodes):
        launches = [line.launch for line in analysis.lines]
        if analysis.script.forwards_to(launches) and copies.spoils(analysis.script, launches):
            return t("The script passes its arguments on without quotes: `$@`.")
    return t("Arguments of the script may not reach its training lines unchanged.")


def no_training_line(script: Script | None) -> str:
    if script and script.hidden:
        return t("The program is in a quoted text (line {line}).", line=script.hidden)
    return t("No line that starts a Python program was found.")


class ScriptCopies:
    """Adds `arguments` and `edits` to the `lines` of a script and of those that it starts; `left_out` do nothing.

    After `text`, `inner` holds the copies of inner scripts, and `unreached` the lines that could not be changed, with
    the reason.
    """

    def __init__(
        self,
        lines: Sequence[TrainingLine],
        arguments: Sequence[str],
        edits: Sequence[Edit],
        left_out: Sequence[EndedProcesses] = (),
    ) -> None:
        self._lines = lines
        self._arguments = arguments
        self._edits = edits
        self._left_out = left_out
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
            and not any(each.node is node for each in self._left_out)
            and not any(edit.token in _tokens(launch) for launch in lines for edit in self._edits)
            and script.forwards_to(targets)
            and not self.spoils(script, targets)
            and all(self.accepts(inner) for _, inner in starts)
        )

    def spoils(self, script: Script, targets: Sequence[Launch | ScriptStart]) -> bool:
        """Whether bash changes one of the arguments where `$@` has no quotes."""
        pattern = r"[\s*?\[]" if script.globs else r"[\s*?]"
        return script.splits_for(targets) and any(
            not argument or re.search(pattern, argument) for argument in self._arguments
        )

    def text(self, node: ScriptNode, variable: str = ORIGINAL, zero: str = "") -> str:
        """The copy of a script; the arguments are as in `with_own_place`."""
        return with_own_place(self.changed(node, variable), variable, zero)

    def changed(self, node: ScriptNode, variable: str = ORIGINAL, *, copies: bool = True) -> str:
        """The script's text with the arguments; `copies` may replace inner scripts."""
        added = appended_arguments(self._arguments)
        places = [(each.start, each.start, ": ") for each in self._left_out if each.node is node]
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
        """The token that runs the copy of an inner script."""
        number = len(self.inner) + 1
        self.inner.append(ScriptCopy(node.path, ""))
        self.inner[number - 1] = ScriptCopy(
            node.path, self.text(node, f"{ORIGINAL}_{number}", zero)
        )
        return copied_script(number, Path(node.path).name)

    def _edits_of(self, launch: Launch) -> Iterator[tuple[int, int, str]]:
        for edit in self._edits:
            if edit.token.span and edit.token in _tokens(launch):
                yield (*edit.token.span, edit.text)

    def _starts(self, node: ScriptNode) -> Iterator[tuple[ScriptStart, ScriptNode]]:
        """The inner scripts with training lines."""
        return ((start, inner) for start, inner in node.inner if self._below(inner))

    def _below(self, node: ScriptNode) -> list[TrainingLine]:
        return [line for line in self._lines if node.path_to(line.node)]


def _tokens(launch: Launch) -> tuple[LineWord, ...]:
    return (*launch.tokens, *launch.maybe)


def _not_copied(start: ScriptStart, copies: bool) -> str:
    """Why a copy can't replace an inner script."""
    if start.outside or not copies:
        where = t("It runs where a copy of the script is not available.")
        return f"{where} {t('Pass the arguments to it yourself.')}"
    if start.script.span is None:
        held = t("A variable holds the command that starts its script.")
        return f"{held} {t('Pass the arguments to it yourself.')}"
    return ""
