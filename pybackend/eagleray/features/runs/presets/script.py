"""What a run script says: its training line, the variables that it sets, and whether it passes its words on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from eagleray.features.runs.presets.bash_words import Command, Word, commands_of
from eagleray.features.runs.presets.expanding import Text, array_words, expanded
from eagleray.features.runs.presets.launch import Launch, Said, launch_of

_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<more>\+?)=(?P<value>.*)", re.DOTALL)
_WHOLE_VARIABLE = re.compile(r"\"?\$\{?(?P<name>[A-Za-z_]\w*)(?P<array>\[[@*]\])?\}?\"?")
_SETTING = frozenset({"export", "declare", "local", "readonly", "typeset"})
_ALL_ARGUMENTS = {"$@": False, "${@}": False, '"$@"': True, '"${@}"': True}
# What a script does with its arguments besides passing them on.
_READS_ARGUMENTS = re.compile(r"\$(?:[1-9]|\{[1-9]|#|\{#\}|\{@:)|\b(?:shift|getopts)\b")
_QUOTED_PYTHON = re.compile(r"\bpython[\d.]*\s+(?:-m\s+)?[\w./]+")
_GLOB_OPTIONS = re.compile(r"\bshopt\s+-s\b[^\n;]*\b(?:nullglob|failglob)\b")


@dataclass(frozen=True)
class Assignment:
    """A variable that the script sets to `value`, written as `raw`; `keeps`: that depends on what it was before."""

    name: str
    value: Text
    raw: str
    line: int
    exported: bool
    keeps: bool = False


@dataclass(frozen=True)
class Script:
    """A run script, read and not run.

    `text` has Unix line ends, whatever the file has (`crlf`).  `launch` is the training line, None if none was
    found; `others` are the lines of further Python programs, `hidden` is that of one in a quoted text.
    `forwards`: the line passes the script's arguments on, `splits`: without quotes, so that bash splits them once
    more, `globs`: a pattern that matches no file does not stay as it is.
    """

    text: str
    crlf: bool
    launch: Launch | None
    others: tuple[int, ...]
    assignments: tuple[Assignment, ...]
    forwards: bool
    splits: bool
    globs: bool
    hidden: int

    def assigned(self, name: str) -> Assignment | None:
        """The last one of this name that stands before the training line."""
        bound = self.launch.line if self.launch else 0
        found = [one for one in self.assignments if one.name == name]
        return next((one for one in reversed(found) if not bound or one.line <= bound), None)

    def uses(self, name: str) -> bool:
        """Whether the script reads the variable `name`."""
        return re.search(rf"\$\{{?{re.escape(name)}\b", self.text) is not None


def read_script(
    raw: str, arguments: Sequence[str] = (), prefers: Callable[[Launch], bool] = lambda _: True
) -> Script:
    """Reads `raw`, given `arguments`.  Of several Python lines it takes the last one that `prefers` says yes to."""
    text = raw.replace("\r\n", "\n")
    commands = commands_of(text)
    assignments = _assignments(text, commands, arguments)
    found = [
        launch for command in commands if (launch := _launch(text, command, assignments, arguments))
    ]
    chosen = next((one for one in reversed(found) if prefers(one)), found[-1] if found else None)
    passed = None if chosen is None else _passed_on(text, chosen)
    readable = _READS_ARGUMENTS.search(_unquoted(text, commands)) is None
    return Script(
        text=text,
        crlf=text != raw,
        launch=chosen,
        others=tuple(one.line for one in found if one is not chosen),
        assignments=assignments,
        forwards=passed is not None and readable and chosen is not None and not chosen.inside,
        splits=passed is False,
        globs=_GLOB_OPTIONS.search(text) is not None,
        hidden=0 if chosen else _hidden(text, commands),
    )


def _passed_on(text: str, launch: Launch) -> bool | None:
    """Whether the line quotes `$@`; None where it does not have it."""
    for word in launch.words:
        raw = text[slice(*word.span)] if word.span else word.text
        if raw in _ALL_ARGUMENTS:
            return _ALL_ARGUMENTS[raw]
    return None


def _launch(
    text: str, command: Command, assignments: Sequence[Assignment], arguments: Sequence[str]
) -> Launch | None:
    line = text.count("\n", 0, command.words[0].start) + 1
    before = [one for one in assignments if one.line <= line]
    values = _values(before, arguments)
    words = [one for word in command.words for one in _said(text, word, values, before)]
    # Assignments in front of a command are no words of it.
    while words and _ASSIGNMENT.fullmatch(words[0].text):
        words.pop(0)
    found = launch_of(words)
    return found and replace(found, line=line, end=command.end, inside=command.function)


def _said(
    text: str, word: Word, values: Mapping[str, Text], before: Sequence[Assignment]
) -> list[Said]:
    """What a word gives: itself, or the words of the variable or array that it consists of."""
    line = text.count("\n", 0, word.start) + 1
    whole = _WHOLE_VARIABLE.fullmatch(word.raw)
    held = whole and next((o for o in reversed(before) if o.name == whole["name"]), None)
    if whole and held and held.raw.startswith("(") and whole["array"]:
        return [_of_raw(one.raw, held.line, values) for one in array_words(held.raw)]
    if held and not word.raw.startswith('"') and " " in held.raw and held.raw.startswith('"'):
        inner = commands_of(held.raw[1:-1])
        return [_of_raw(one.raw, held.line, values) for c in inner[:1] for one in c.words]
    return [replace(_of_raw(word.raw, line, values), span=(word.start, word.end))]


def _of_raw(raw: str, line: int, values: Mapping[str, Text]) -> Said:
    said = expanded(raw, values)
    return Said(said.text, said.known, line)


def _values(before: Sequence[Assignment], arguments: Sequence[str]) -> dict[str, Text]:
    values = {str(i): Text(argument) for i, argument in enumerate(arguments[:9], 1)}
    for one in before:
        # Which of several branches is taken is not known.
        earlier = values.get(one.name)
        sure = earlier is None or earlier == one.value
        values[one.name] = one.value if sure else Text(f"${{{one.name}}}", known=False)
    return values


def _assignments(
    text: str, commands: Sequence[Command], arguments: Sequence[str]
) -> tuple[Assignment, ...]:
    found: list[Assignment] = []
    for command in commands:
        exported = command.words[0].raw == "export"
        setting = command.words[0].raw in _SETTING
        for word in command.words[1:] if setting else command.words:
            said = _ASSIGNMENT.fullmatch(word.raw)
            if said:
                line = text.count("\n", 0, word.start) + 1
                found.append(_assignment(said, line, exported, _values(found, arguments)))
            elif not setting:
                break
    return tuple(found)


def _assignment(
    said: re.Match[str], line: int, exported: bool, values: Mapping[str, Text]
) -> Assignment:
    name, raw = said["name"], said["value"]
    whole = not raw.startswith("(") and not said["more"]
    value = expanded(raw, values) if whole else Text(raw, known=False)
    keeps = re.search(rf"\$\{{?{name}\b", raw) is not None
    return Assignment(name, value, raw, line, exported, keeps)


def _unquoted(text: str, commands: Sequence[Command]) -> str:
    """The words of the script without those in single quotes, where `$1` is awk's and not ours."""
    words = (word.raw for command in commands if not command.function for word in command.words)
    return "\n".join(re.sub(r"'[^']*'", "", word) for word in words)


def _hidden(text: str, commands: Sequence[Command]) -> int:
    """The line of a Python program that stands inside a quoted text, 0 for none."""
    for command in commands:
        for word in command.words:
            if found := _QUOTED_PYTHON.search(word.raw):
                return text.count("\n", 0, word.start + found.start()) + 1
    return 0
