"""Writes overrides so that Hydra or argparse reads exactly this key with exactly this value."""

from __future__ import annotations

import re

from eagleray.features.presets.errors import bad_answer

# What Hydra's grammar takes for a text without quotes.
_PLAIN_TEXT = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
_NOT_TEXTS = frozenset(
    {"null", "true", "false", "yes", "no", "on", "off", "nan", "inf", "infinity"}
)


def hydra_override(key: str, value: str) -> str:
    """`key` set to `value`, which is written in Hydra's grammar; `++` takes known keys and new ones."""
    return f"++{key}={value}"


def hydra_text(text: str) -> str:
    """`text` as a value that Hydra reads as this text."""
    if "${" in text or not _printable(text):
        raise bad_answer(text, "it holds `${` or a control character")
    if _PLAIN_TEXT.fullmatch(text) and text.lower() not in _NOT_TEXTS:
        return text
    return hydra_quoted(text)


def hydra_quoted(text: str) -> str:
    """`text` in quotes: a text for Hydra even if it looks like a number."""
    # Backslashes are taken as they are, unless a quote comes after them.
    escaped = re.sub(r"(\\*)('|$)", lambda match: match[1] * 2 + ("\\'" if match[2] else ""), text)
    return f"'{escaped}'"


def argparse_arguments(key: str, value: str) -> tuple[str, ...]:
    """An option with its value; the last one of several counts.

    A value that looks like an option is joined to it by `=`, except a negative number.
    """
    if not _printable(value):
        raise bad_answer(value, "it holds a control character")
    if value == "--":
        raise bad_answer(value, "argparse reads it as the end of the options")
    negative_number = re.fullmatch(r"-\d+(\.\d+)?", value) is not None
    if value.startswith("-") and not negative_number:
        return (f"{key}={value}",)
    return (key, value)


def _printable(text: str) -> bool:
    return all(character.isprintable() for character in text)
