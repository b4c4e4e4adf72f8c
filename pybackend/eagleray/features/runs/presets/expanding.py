"""What a word of a script becomes, as far as that can be known without running anything."""

from __future__ import annotations

import re
from collections.abc import Mapping

from eagleray.features.runs.presets.bash_words import Word, commands_of, end_of_word

_PARAMETER = re.compile(r"\$(?:(?P<plain>[A-Za-z_]\w*|\d)|\{(?P<name>\w+)(?P<rest>[^}]*)\})")
_PLAIN = re.compile(r"[^\\'\"$`]+")
# In double quotes a backslash is one, unless one of these follows.
_ESCAPED_IN_QUOTES = '$`"\\\n'


def expanded(raw: str, values: Mapping[str, str]) -> str | None:
    """The text of the word `raw`; None where it takes more than the variables in `values`."""
    text, at = "", 0
    while at < len(raw):
        piece, at = _piece(raw, at, values)
        if piece is None:
            return None
        text += piece
    return text


def _piece(raw: str, at: int, values: Mapping[str, str]) -> tuple[str | None, int]:
    if plain := _PLAIN.match(raw, at):
        return plain[0], plain.end()
    sign = raw[at]
    if sign == "'":
        end = raw.find("'", at + 1)
        return (raw[at + 1 : end], end + 1) if end > 0 else (None, len(raw))
    if sign == "\\":
        after = raw[at + 1 : at + 2]
        return ("" if after == "\n" else after), at + 2
    if sign == '"':
        end = end_of_word(raw[at:], 0) if at == 0 else _closing(raw, at)
        return _in_quotes(raw[at + 1 : _closing(raw, at) - 1], values), min(end, _closing(raw, at))
    return _parameter(raw, at, values)


def _closing(raw: str, at: int) -> int:
    """Just behind the double quote that closes the one at `at`."""
    end = at + 1
    while end < len(raw) and raw[end] != '"':
        end += 2 if raw[end] == "\\" else 1
    return end + 1


def _in_quotes(text: str, values: Mapping[str, str]) -> str | None:
    said, at = "", 0
    while at < len(text):
        if text[at] == "\\" and text[at + 1 : at + 2] in tuple(_ESCAPED_IN_QUOTES):
            said += "" if text[at + 1] == "\n" else text[at + 1]
            at += 2
        elif text[at] in "$`":
            piece, at = _parameter(text, at, values)
            if piece is None:
                return None
            said += piece
        else:
            said += text[at]
            at += 1
    return said


def _parameter(raw: str, at: int, values: Mapping[str, str]) -> tuple[str | None, int]:
    found = _PARAMETER.match(raw, at)
    if not found:
        literal = raw[at] == "$" and not raw.startswith(("$(", "${", "$'", '$"', "$@", "$*"), at)
        return ("$", at + 1) if literal else (None, len(raw))
    rest = found["rest"] or ""
    value = values.get(found["plain"] or found["name"])
    if rest.startswith((":-", "-")) and not value:
        value = expanded(rest.removeprefix(":").removeprefix("-"), values)
    elif rest and not rest.startswith((":-", "-")):
        value = None
    return value, found.end()


def array_words(raw: str) -> tuple[Word, ...]:
    """The words of `NAME=( … )`, with places counted from the beginning of `raw`."""
    opening = raw.index("(") + 1
    # Line ends separate the words of an array as blanks do.
    inside = _without_comments(raw[opening:-1])
    found = [word for command in commands_of(inside) for word in command.words]
    return tuple(Word(one.raw, one.start + opening, one.end + opening) for one in found)


def _without_comments(text: str) -> str:
    return re.sub(r"(?:(?<=\s)|^)#[^\n]*", lambda found: " " * len(found[0]), text)
