"""How a setting of a debug run is shown: its key, the old and the new value, and where it is set; without secrets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eagleray.common.redact import HIDDEN, is_secret, redact_text
from eagleray.features.presets.launch import Said, value_of

REMOVED, NOT_SET = "removed", "not set"


@dataclass(frozen=True)
class Shown:
    """`value` is ready to be read: `2`, `100 -> 2`, `""`, "removed"."""

    key: str = ""
    value: str = ""
    place: str = ""


def of_variable(name: str, value: str, old: str | None, place: str) -> Shown:
    return Shown(name, _changed(name, old, value), place)


def of_words(words: Sequence[str], line: Sequence[Said], syntax: str) -> Shown:
    """One override or option; several of them have no key."""
    key, value = _parsed(words)
    if key is None:
        return Shown("", redact_text(" ".join(words)))
    said = value_of(line, key, syntax)
    return Shown(key, _changed(key, said[1] if said else None, value))


def of_said(key: str, value: str, word: Said) -> Shown:
    """A setting that the line has already."""
    return Shown(key, _visible(key, value), f"line {word.line}" if word.line else "command")


def _parsed(words: Sequence[str]) -> tuple[str | None, str]:
    first, *rest = words
    if len(rest) == 1 and first.startswith("--") and "=" not in first:
        return first, rest[0]
    key, equals, value = first.partition("=")
    if rest or not equals:
        return None, ""
    return key.lstrip("+"), value


def _changed(key: str, old: str | None, new: str) -> str:
    after = _visible(key, new)
    return after if old is None else f"{_visible(key, old)} -> {after}"


def _visible(key: str, value: str) -> str:
    bare = value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
    if not bare:
        return '""'
    return HIDDEN if is_secret(key, value) else redact_text(value)
