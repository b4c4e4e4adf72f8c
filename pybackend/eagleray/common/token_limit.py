"""Texts of a limited number of tokens, each counted as four characters: about as tokenizers have it for English text and code."""

from __future__ import annotations

from eagleray.common.l10n import t

TOKEN = 4


def cut(text: str, size: int) -> str:
    """The lines of `text` that fit into `size` characters, with a note if not all do."""
    if len(text) <= size:
        return text
    note = t("… cut at {size} characters", size=size)
    part = text[: max(0, size - len(note) - 2)].rpartition("\n")[0]
    return f"{part}\n{note}\n"


def cut_markdown(text: str, tokens: int) -> str:
    """The beginning of `text`, in which a block of code that was cut has its end."""
    part = cut(text, tokens * TOKEN)
    return f"{part}```\n" if part.count("\n```") % 2 else part
