"""Tokenizes bash scripts into simple commands, and expands their words, without running anything.

Quotes, comments, continued lines, here-documents, `$(…)`, `${…}`, arrays and redirections are distinguished.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import define, evolve, field, frozen

# Keywords that precede a command.
_BEFORE_COMMANDS = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "time"})
_REDIRECTION = re.compile(r"(?:\d*|&)(?:<<<|<<-?|<>|>>|>\||[<>]&|[<>])|&>>?")
_FUNCTION = re.compile(r"[A-Za-z_][\w.-]*")
_PARAMETER = re.compile(r"\$(?:(?P<plain>[A-Za-z_]\w*|\d)|\{(?P<name>\w+)(?P<rest>[^}]*)\})")
_PLAIN = re.compile(r"[^\\'\"$`]+")
_PLAIN_IN_QUOTES = re.compile(r"[^\\$`]+")
# Longer texts are not followed: variables that double each other would have no end.
_LONGEST = 16 * 1024
# In double quotes a backslash is a plain character, unless one of these follows.
_ESCAPED_IN_QUOTES = ("$", "`", '"', "\\", "\n")


@frozen
class BashWord:
    """A word as it is written, and where: `raw == text[start:end]`."""

    raw: str
    start: int
    end: int


@frozen
class BashCommand:
    """A simple command; `end` is where another word could be added.  `function`: it is part of a function."""

    tokens: tuple[BashWord, ...] = field(repr=False)
    end: int
    function: bool = False


@define
class _Group:
    """A group that so many characters opened; `plain`: nothing begins in it.  `depth` are brackets open within."""

    closing: str
    opening: int
    plain: bool = False
    depth: int = 0


@define
class _TokenReader:
    text: str
    at: int = 0
    tokens: list[BashWord] = field(factory=list, repr=False)
    commands: list[BashCommand] = field(factory=list)
    here: list[tuple[str, bool]] = field(factory=list)
    braces: list[bool] = field(factory=list)
    # "name", "name(" or "name()", as far as the head of a function has been read.
    head: str = ""

    def all(self) -> tuple[BashCommand, ...]:
        while self.at < len(self.text):
            self._step()
        self._finish()
        return tuple(self.commands)

    def _step(self) -> None:
        text, at = self.text, self.at
        redirection = _REDIRECTION.match(text, at)
        if text[at] == "\n":
            self._finish()
            self.at += 1
            self._skip_here_documents()
        elif text[at] in " \t\r":
            self.at += 1
        elif text.startswith("\\\n", at):
            self.at += 2
        elif _ends_script(text, at):
            self.at += 1
        elif text[at] == "#":
            self.at = _end_of_line(text, at)
        elif redirection and not (text[at] == "&" and redirection[0] == "&"):
            self._redirect(redirection)
        elif text[at] in ";&|()":
            self._separator(text[at])
        else:
            self._word()

    def _separator(self, sign: str) -> None:
        named = len(self.tokens) == 1 and _FUNCTION.fullmatch(self.tokens[0].raw)
        if sign == "(" and named:
            self.head = "("
            self.tokens.clear()
        elif sign == ")" and self.head == "(":
            self.head = "()"
        else:
            self._finish()
        self.at += 1

    def _word(self) -> None:
        end = end_of_word(self.text, self.at)
        word = BashWord(self.text[self.at : end], self.at, end)
        self.at = max(end, self.at + 1)
        first = not self.tokens
        if first and word.raw == "{":
            self.braces.append(self.head == "()")
            self.head = ""
        elif first and word.raw == "}":
            if self.braces:
                self.braces.pop()
        elif len(self.tokens) == 2 and word.raw == "{" and self.tokens[0].raw == "function":
            self.braces.append(True)
            self.tokens.clear()
        elif not (first and word.raw in _BEFORE_COMMANDS):
            self.tokens.append(word)

    def _redirect(self, match: re.Match[str]) -> None:
        self.at = match.end()
        while self.text.startswith((" ", "\t"), self.at):
            self.at += 1
        start, self.at = self.at, end_of_word(self.text, self.at)
        if match[0].endswith(("<<", "<<-")) and "<<<" not in match[0]:
            raw = self.text[start : self.at]
            self.here.append((re.sub(r"[\\'\"]", "", raw), match[0].endswith("-")))

    def _skip_here_documents(self) -> None:
        for delimiter, indented in self.here:
            while self.at < len(self.text):
                end = _end_of_line(self.text, self.at)
                line = self.text[self.at : end]
                self.at = min(end + 1, len(self.text))
                if (line.lstrip("\t") if indented else line) == delimiter:
                    break
        self.here.clear()

    def _finish(self) -> None:
        if self.tokens:
            end = self.tokens[-1].end
            self.commands.append(BashCommand(tuple(self.tokens), end, any(self.braces)))
            self.tokens.clear()


def commands_of(text: str) -> tuple[BashCommand, ...]:
    """The simple commands of a script, in their order."""
    return _TokenReader(text).all()


def moved(command: BashCommand, by: int) -> BashCommand:
    """The same command, `by` characters further on."""
    tokens = tuple(BashWord(word.raw, word.start + by, word.end + by) for word in command.tokens)
    return evolve(command, tokens=tokens, end=command.end + by)


def end_of_word(text: str, at: int) -> int:
    """The end of the word that begins at `at`."""
    while at < len(text):
        sign = text[at]
        if sign == "(" and text[at - 1 : at] == "=":
            at = _end_of_group(text, at, _Group(")", 1))
        elif sign in " \t\r\n;&|()<>" or _ends_script(text, at):
            return at
        else:
            at = end_of_piece(text, at)
    return at


def end_of_piece(text: str, at: int) -> int:
    """Where a quoted string, an expansion or a single character ends."""
    group = _opened(text, at)
    return _end_of_single(text, at) if group is None else _end_of_group(text, at, group)


def _opened(text: str, at: int) -> _Group | None:
    """Returns the group that begins there and has further pieces in it."""
    sign = text[at]
    if sign == '"':
        return _Group('"', 1)
    if sign == "`":
        return _Group("`", 1, plain=True)
    if text.startswith("$'", at):
        return _Group("'", 2, plain=True)
    if text.startswith(("$(", "${"), at):
        return _Group(")" if text[at + 1] == "(" else "}", 2)
    return None


def _end_of_single(text: str, at: int) -> int:
    if text[at] == "\\":
        return min(at + 2, len(text))
    if text[at] == "'":
        end = text.find("'", at + 1)
        return len(text) if end < 0 else end + 1
    return at + 1


def _end_of_group(text: str, at: int, group: _Group) -> int:
    """The place after the end of the group that begins at `at`, however deep others are nested in it."""
    at += group.opening
    inside = [group]
    while inside and at < len(text):
        group, sign = inside[-1], text[at]
        if sign == group.closing and group.depth == 0:
            inside.pop()
            at += 1
        elif group.plain:
            at += 2 if sign == "\\" else 1
        elif group.closing == '"' and sign == "'":
            at += 1
        elif sign == "#" and group.closing == ")" and text[at - 1] in " \t\n":
            at = _end_of_line(text, at)
        elif sign in "({" and group.closing != '"':
            group.depth += 1 if sign == {")": "(", "}": "{"}[group.closing] else 0
            at += 1
        elif sign == group.closing:
            group.depth -= 1
            at += 1
        elif inner := _opened(text, at):
            inside.append(inner)
            at += inner.opening
        else:
            at = _end_of_single(text, at)
    return min(at, len(text))


def _ends_script(text: str, at: int) -> bool:
    """Whether this is a continued line after which nothing comes: bash drops such a backslash."""
    return text[at] == "\\" and at + 1 == len(text)


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


@frozen
class ExpandedText:
    """A text; unless it `is_resolved`, a part of it is as the script writes it."""

    text: str
    is_resolved: bool = True

    def __add__(self, other: ExpandedText) -> ExpandedText:
        short = len(self.text) + len(other.text) <= _LONGEST
        if not short:
            return ExpandedText((self.text + other.text)[:_LONGEST], is_resolved=False)
        return ExpandedText(self.text + other.text, self.is_resolved and other.is_resolved)


def expanded(raw: str, values: Mapping[str, ExpandedText]) -> ExpandedText:
    """The text of the word `raw`, given the variables in `values`."""
    text, at = ExpandedText(""), 0
    while at < len(raw):
        piece, at = _piece(raw, at, values)
        text += piece
    return text


def _piece(raw: str, at: int, values: Mapping[str, ExpandedText]) -> tuple[ExpandedText, int]:
    if plain := _PLAIN.match(raw, at):
        return ExpandedText(plain[0]), plain.end()
    end = end_of_piece(raw, at)
    piece = raw[at:end]
    if piece[0] == "'":
        closed = len(piece) > 1 and piece[-1] == "'"
        return (ExpandedText(piece[1:-1]) if closed else ExpandedText(piece, False)), end
    if piece[0] == '"':
        closed = len(piece) > 1 and piece[-1] == '"'
        return (_in_quotes(piece[1:-1], values) if closed else ExpandedText(piece, False)), end
    if piece[0] == "\\":
        return ExpandedText("" if piece[1:] == "\n" else piece[1:]), end
    return _parameter(raw, at, values)


def _in_quotes(text: str, values: Mapping[str, ExpandedText]) -> ExpandedText:
    result, at = ExpandedText(""), 0
    while at < len(text):
        if text[at] == "\\" and text[at + 1 : at + 2] in _ESCAPED_IN_QUOTES:
            result += ExpandedText("" if text[at + 1] == "\n" else text[at + 1])
            at += 2
        elif text[at] in "$`":
            piece, at = _parameter(text, at, values)
            result += piece
        else:
            plain = _PLAIN_IN_QUOTES.match(text, at)
            result += ExpandedText(plain[0] if plain else text[at])
            at = plain.end() if plain else at + 1
    return result


def _parameter(raw: str, at: int, values: Mapping[str, ExpandedText]) -> tuple[ExpandedText, int]:
    match = _PARAMETER.match(raw, at)
    if not match:
        end = end_of_piece(raw, at)
        special = raw.startswith(("`", "$(", "${", "$'", '$"', "$@", "$*", "$#", "$?", "$$"), at)
        return ExpandedText(raw[at:end], not special), end
    value, rest = values.get(match["plain"] or match["name"]), match["rest"] or ""
    unknown = ExpandedText(match[0], is_resolved=False)
    if not rest:
        return value or unknown, match.end()
    if not rest.startswith((":-", "-")):
        return unknown, match.end()
    if value and value.text:
        return value, match.end()
    default = expanded(rest.removeprefix(":").removeprefix("-"), values)
    # The environment may hold the variable, unless it is an argument, which is known to be missing.
    return ExpandedText(default.text, default.is_resolved and match["name"].isdigit()), match.end()


def array_items(raw: str) -> tuple[BashWord, ...]:
    """The words of an array `( … )`, with places from the beginning of `raw`."""
    # Line ends separate the words of an array as blanks do.
    inside = re.sub(r"(?:(?<=\s)|^)#[^\n]*", lambda comment: " " * len(comment[0]), raw[1:-1])
    items = [word for command in commands_of(inside) for word in command.tokens]
    return tuple(BashWord(item.raw, item.start + 1, item.end + 1) for item in items)
