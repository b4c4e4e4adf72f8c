"""Reads a run script: the programs and scripts that it starts, its variables, and how it passes its arguments on."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence, Set
from pathlib import Path

from attrs import evolve, frozen

from eagleray.runs.scripts.bash_tokens import (
    BashCommand,
    BashWord,
    ExpandedText,
    array_items,
    commands_of,
    expanded,
)
from eagleray.runs.scripts.launch_lines import (
    Launch,
    LineWord,
    ScriptStart,
    launch_of,
    start_of,
)

_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<more>\+?)=(?P<value>.*)", re.DOTALL)
_WHOLE_VARIABLE = re.compile(r"\"?\$\{?(?P<name>[A-Za-z_]\w*)(?P<array>\[[@*]\])?\}?\"?")
_SETTING = frozenset({"export", "declare", "local", "readonly", "typeset"})
ALL_ARGUMENTS = {
    f"{quote}{name}{quote}": bool(quote) for name in ("$@", "${@}", "${@:1}") for quote in ("", '"')
}
# Commands that print or search for their words and run none of them.
_ONLY_TEXT = frozenset({"echo", "printf", ":", "grep", "pgrep", "pkill", "alias", "which"})
# Uses of a script's arguments besides passing them on.
_READS_ARGUMENTS = re.compile(r"\$(?:[1-9]|\{[1-9]|#|\{#\}|\{@:(?!1\}))|\b(?:shift|getopts)\b")
_QUOTED_PYTHON = re.compile(r"\bpython[\d.]*\s+(?:-m\s+)?[\w./]+")
_FUNCTION = re.compile(r"^[ \t]*(?:function[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*\(\)", re.MULTILINE)
_GLOB_OPTIONS = re.compile(r"\bshopt\s+-s\b[^\n;]*\b(?:nullglob|failglob)\b")


@frozen
class Assignment:
    """A variable that the script sets to `value`, written as `raw`; `keeps`: that depends on what it was before.

    `start` is the place of `raw` in the text.
    """

    name: str
    value: ExpandedText
    raw: str
    line: int
    exported: bool
    keeps: bool = False
    start: int = 0


@frozen
class Script:
    """A run script, read and not run.

    `text` has Unix line ends, whatever the file has (`crlf`).  `launches` are the lines of Python programs and `starts`
    the starts of other scripts.  `launch` is the one that counts, None without any; `hidden` is the line of a Python
    program in a quoted text.  `globs`: a pattern that matches no file does not stay as it is.
    """

    text: str
    crlf: bool
    launch: Launch | None
    launches: tuple[Launch, ...]
    starts: tuple[ScriptStart, ...]
    assignments: tuple[Assignment, ...]
    commands: tuple[BashCommand, ...]
    globs: bool
    hidden: int

    @property
    def others(self) -> tuple[int, ...]:
        """The lines of further Python programs."""
        return tuple(launch.line for launch in self.launches if launch is not self.launch)

    @property
    def forwards(self) -> bool:
        """Whether the line passes the script's arguments on."""
        return self.launch is not None and self.forwards_to([self.launch])

    @property
    def splits(self) -> bool:
        """Whether the line passes them on without quotes, so that bash splits them once more."""
        return self.launch is not None and self.splits_for([self.launch])

    def forwards_to(self, lines: Sequence[Launch | ScriptStart]) -> bool:
        """Whether each of these lines gets the script's arguments, and nothing else reads them."""
        each = all(_passed_on(self.text, line) is not None and not line.inside for line in lines)
        alone = not _given_to_others(self.commands, {line.end for line in lines})
        return each and alone and _READS_ARGUMENTS.search(_unquoted(self.commands)) is None

    def splits_for(self, lines: Sequence[Launch | ScriptStart]) -> bool:
        return any(_passed_on(self.text, line) is False for line in lines)

    def assigned(self, name: str) -> Assignment | None:
        """The last assignment of this name before the training line."""
        bound = self.launch.line if self.launch else 0
        assignments = [assignment for assignment in self.assignments if assignment.name == name]
        return next(
            (item for item in reversed(assignments) if not bound or item.line <= bound), None
        )

    def uses(self, name: str) -> bool:
        """Whether the script reads the variable `name`."""
        return re.search(rf"\$\{{?{re.escape(name)}\b", self.text) is not None


def read_script(
    raw: str, arguments: Sequence[str] = (), prefers: Callable[[Launch], bool] = lambda _: True
) -> Script:
    """Reads `raw`, given `arguments`.  Of several Python lines the last one that `prefers` accepts counts."""
    text = raw.replace("\r\n", "\n")
    commands = commands_of(text)
    reader = _ScriptReader(text, arguments)
    lines = [line for command in commands if (line := reader.read(command))]
    launches = tuple(line for line in lines if isinstance(line, Launch))
    last = launches[-1] if launches else None
    return Script(
        text=text,
        crlf=text != raw,
        launch=next((launch for launch in reversed(launches) if prefers(launch)), last),
        launches=launches,
        starts=tuple(line for line in lines if isinstance(line, ScriptStart)),
        assignments=tuple(reader.assignments),
        commands=tuple(commands),
        globs=_GLOB_OPTIONS.search(text) is not None,
        hidden=0 if launches else _hidden(text, commands),
    )


class _ScriptReader:
    """Reads the commands in their order, with the variables that are set before each."""

    def __init__(self, text: str, arguments: Sequence[str]) -> None:
        self._text = text
        self._arguments = list(map(LineWord, arguments))
        self._ends = [at for at, sign in enumerate(text) if sign == "\n"]
        self._functions = frozenset(_FUNCTION.findall(text))
        self._values = {
            str(i): ExpandedText(argument) for i, argument in enumerate(arguments[:9], 1)
        }
        self._last: dict[str, Assignment] = {}
        # The assignments of arrays, with assignments that extend them, and assignments in earlier branches.
        self._parts: dict[str, list[Assignment]] = {}
        self._replaced: dict[str, list[Assignment]] = {}
        self._folder = ""
        self.assignments: list[Assignment] = []

    def read(self, command: BashCommand) -> Launch | ScriptStart | None:
        tokens = [token for word in command.tokens for token in self._tokens_of(word)]
        # Assignments before a command are not part of its words.
        first = next(
            (i for i, token in enumerate(tokens) if not _ASSIGNMENT.fullmatch(token.text)), 0
        )
        self._assign(command)
        if not tokens or tokens[first].text in _ONLY_TEXT:
            return None
        if tokens[first].text in ("cd", "pushd"):
            self._enter(tokens[first + 1 :])
            return None
        tokens = tokens[first:]
        start = start_of(tokens, self._functions) or launch_of(tokens)
        if start is None and not command.function:
            start = self._given(tokens)
        line = self._line(command.tokens[0])
        if isinstance(start, Launch):
            start = evolve(start, maybe=self._maybe(command))
        return start and evolve(
            start, line=line, end=command.end, inside=command.function, folder=self._folder
        )

    def _given(self, tokens: Sequence[LineWord]) -> Launch | None:
        """A program that the script's own arguments name: `torchrun "$@"`."""
        at = next((i for i, word in enumerate(tokens) if word.text in ALL_ARGUMENTS), len(tokens))
        launch = launch_of([*tokens[:at], *self._arguments]) if tokens[at:] else None
        return launch and evolve(launch, tokens=tuple(tokens), arguments=tuple(tokens[at:]))

    def _maybe(self, command: BashCommand) -> tuple[LineWord, ...]:
        """The items of the arrays of a line in assignments that a later one replaced, if that one ran."""
        names = (_WHOLE_VARIABLE.fullmatch(word.raw) for word in command.tokens)
        return tuple(
            evolve(item, is_resolved=False)
            for name in names
            for part in (self._replaced.get(name["name"], ()) if name else ())
            for item in self._items(part)
        )

    def _enter(self, arguments: Sequence[LineWord]) -> None:
        text = arguments[0].text if len(arguments) == 1 else ""
        if "$" in text:
            self._folder = "" if ".." in text else text
        else:
            self._folder = text and str(Path(self._folder) / text)

    def _line(self, word: BashWord) -> int:
        return bisect(self._ends, word.start - 1) + 1

    def _tokens_of(self, word: BashWord) -> list[LineWord]:
        """The words that a word expands to: itself, or the words of the variable or array that it consists of."""
        whole = _WHOLE_VARIABLE.fullmatch(word.raw)
        held = self._last.get(whole["name"]) if whole else None
        if whole and held and held.raw.startswith("(") and whole["array"]:
            return [item for part in self._parts[held.name] for item in self._items(part)]
        if held and not word.raw.startswith('"') and " " in held.raw and held.raw.startswith('"'):
            inner = commands_of(held.raw[1:-1])
            return [self._of_raw(word.raw, held.line) for c in inner[:1] for word in c.tokens]
        token = self._of_raw(word.raw, self._line(word))
        return [evolve(token, span=(word.start, word.end))]

    def _items(self, part: Assignment) -> Iterator[LineWord]:
        """The items of an array; without places if another line uses it, too."""
        is_own = len(re.findall(rf"\$\{{{part.name}\[", self._text)) == 1
        for item in array_items(part.raw):
            word = self._of_raw(item.raw, part.line + part.raw.count("\n", 0, item.start))
            span = (part.start + item.start, part.start + item.end)
            yield evolve(word, span=span) if is_own else word

    def _of_raw(self, raw: str, line: int) -> LineWord:
        value = expanded(raw, self._values)
        return LineWord(value.text, value.is_resolved, line)

    def _assign(self, command: BashCommand) -> None:
        exported = command.tokens[0].raw == "export"
        setting = command.tokens[0].raw in _SETTING
        for word in command.tokens[1:] if setting else command.tokens:
            match = _ASSIGNMENT.fullmatch(word.raw)
            if match:
                self._add(match, word, exported)
            elif not setting:
                break

    def _add(self, match: re.Match[str], word: BashWord, exported: bool) -> None:
        name, raw = match["name"], match["value"]
        whole = not raw.startswith("(") and not match["more"]
        value = expanded(raw, self._values) if whole else ExpandedText(raw, is_resolved=False)
        keeps = re.search(rf"\$\{{?{name}\b", raw) is not None
        start = word.start + match.start("value")
        assignment = Assignment(name, value, raw, self._line(word), exported, keeps, start)
        # Which of several branches is taken is not known.
        earlier = self._values.get(name)
        sure = earlier is None or earlier == value
        self._values[name] = value if sure else ExpandedText(f"${{{name}}}", is_resolved=False)
        self._last[name] = assignment
        if not match["more"]:
            self._replaced.setdefault(name, []).extend(self._parts.pop(name, []))
        self._parts.setdefault(name, []).append(assignment)
        self.assignments.append(assignment)


def _given_to_others(commands: Sequence[BashCommand], ends: Set[int]) -> bool:
    """Whether a command that ends elsewhere and does more than print gets the script's arguments too."""
    return any(
        word.raw in ALL_ARGUMENTS
        for command in commands
        if command.end not in ends and not command.function
        if command.tokens[0].raw not in _ONLY_TEXT
        for word in command.tokens
    )


def _passed_on(text: str, line: Launch | ScriptStart) -> bool | None:
    """Whether the line quotes `$@`; None where it does not have it."""
    for word in line.arguments:
        raw = text[slice(*word.span)] if word.span else word.text
        if raw in ALL_ARGUMENTS:
            return ALL_ARGUMENTS[raw]
    return None


def _unquoted(commands: Sequence[BashCommand]) -> str:
    """The words of the script without those in single quotes, where `$1` is awk's and not ours."""
    tokens = (word.raw for command in commands if not command.function for word in command.tokens)
    return "\n".join(re.sub(r"'[^']*'", "", word) for word in tokens)


def _hidden(text: str, commands: Sequence[BashCommand]) -> int:
    """The line of a Python program inside a quoted text, 0 for none."""
    for command in commands:
        for word in command.tokens if command.tokens[0].raw not in _ONLY_TEXT else ():
            if match := _QUOTED_PYTHON.search(word.raw):
                return text.count("\n", 0, word.start + match.start()) + 1
    return 0
