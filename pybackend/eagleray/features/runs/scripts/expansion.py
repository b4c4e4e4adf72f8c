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
    """The words of an array `( … )`, with places counted from the beginning of `raw`."""
    # Line ends separate the words of an array as blanks do.
    inside = re.sub(r"(?:(?<=\s)|^)#[^\n]*", lambda comment: " " * len(comment[0]), raw[1:-1])
    items = [word for command in commands_of(inside) for word in command.tokens]
    return tuple(BashWord(item.raw, item.start + 1, item.end + 1) for item in items)
