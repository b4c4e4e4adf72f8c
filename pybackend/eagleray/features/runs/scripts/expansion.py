"""Expands words of a script as far as that is possible without running anything."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import frozen

from eagleray.features.runs.scripts.bash_tokens import BashWord, commands_of, end_of_piece

_PARAMETER = re.compile(r"\$(?:(?P<plain>[A-Za-z_]\w*|\d)|\{(?P<name>\w+)(?P<rest>[^}]*)\})")
_PLAIN = re.compile(r"[^\\'\"$`]+")
_PLAIN_IN_QUOTES = re.compile(r"[^\\$`]+")
# Longer texts are not followed: variables that double each other would have no end.
_LONGEST = 16 * 1024
# In double quotes a backslash is a plain character, unless one of these follows.
_ESCAPED_IN_QUOTES = ("$", "`", '"', "\\", "\n")


@frozen
class ExpandedText:
    """A text; what was not `known` of it stands as the script writes it."""

    text: str
    known: bool = True

    def __add__(self, other: ExpandedText) -> ExpandedText:
        short = len(self.text) + len(other.text) <= _LONGEST
        if not short:
            return ExpandedText((self.text + other.text)[:_LONGEST], known=False)
        return ExpandedText(self.text + other.text, self.known and other.known)


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
    said, at = ExpandedText(""), 0
    while at < len(text):
        if text[at] == "\\" and text[at + 1 : at + 2] in _ESCAPED_IN_QUOTES:
            said += ExpandedText("" if text[at + 1] == "\n" else text[at + 1])
            at += 2
        elif text[at] in "$`":
            piece, at = _parameter(text, at, values)
            said += piece
        else:
            plain = _PLAIN_IN_QUOTES.match(text, at)
            said += ExpandedText(plain[0] if plain else text[at])
            at = plain.end() if plain else at + 1
    return said


def _parameter(raw: str, at: int, values: Mapping[str, ExpandedText]) -> tuple[ExpandedText, int]:
    found = _PARAMETER.match(raw, at)
    if not found:
        end = end_of_piece(raw, at)
        special = raw.startswith(("`", "$(", "${", "$'", '$"', "$@", "$*", "$#", "$?", "$$"), at)
        return ExpandedText(raw[at:end], not special), end
    value, rest = values.get(found["plain"] or found["name"]), found["rest"] or ""
    unknown = ExpandedText(found[0], known=False)
    if not rest:
        return value or unknown, found.end()
    if not rest.startswith((":-", "-")):
        return unknown, found.end()
    if value and value.text:
        return value, found.end()
    default = expanded(rest.removeprefix(":").removeprefix("-"), values)
    # The environment may hold the variable, unless it is an argument, which is known to be missing.
    return ExpandedText(default.text, default.known and found["name"].isdigit()), found.end()


def array_words(raw: str) -> tuple[BashWord, ...]:
    """The words of an array `( … )`, with places counted from the beginning of `raw`."""
    # Line ends separate the words of an array as blanks do.
    inside = re.sub(r"(?:(?<=\s)|^)#[^\n]*", lambda found: " " * len(found[0]), raw[1:-1])
    found = [word for command in commands_of(inside) for word in command.words]
    return tuple(BashWord(item.raw, item.start + 1, item.end + 1) for item in found)
