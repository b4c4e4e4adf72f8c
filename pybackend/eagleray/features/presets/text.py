"""A debug run in words, the same for a terminal and an editor: the summary, and the settings grouped by outcome."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from eagleray.common.errors import printable
from eagleray.features.presets.proposal import Change, Outcome, Proposal
from eagleray.features.presets.shown import NOT_SET, REMOVED

# Longer lines are hard to read, however wide the terminal is.
WIDEST = 100
_LABEL = 30
_VALUE = 44
_KEY = 56
# What changes comes first, then problems.  Outcomes of the whole run are in the summary.
_SECTIONS: tuple[tuple[Outcome, str], ...] = (
    ("will apply", "Will apply"),
    ("set, effect not verified", "Set, effect not verified"),
    ("not changed", "Not changed"),
    ("no such option", "No such option"),
    ("already so", "Already so"),
)


def lines_of(made: Proposal, columns: int = WIDEST, details: bool = False) -> list[str]:
    """At most `columns` wide; `details` shows values in full.  No lines if nothing was asked for."""
    lines = textwrap.wrap(printable(made.summary, 2000), columns, break_on_hyphens=False)
    for outcome, title in _SECTIONS:
        changes = [one for one in made.changes if one.outcome == outcome]
        if changes:
            lines += [*([""] if lines else []), title, *_section(changes, columns, details)]
    return lines


def setting_of(change: Change, details: bool = False) -> str:
    """`trainer.save_freq = 20 -> -1`, `--load_checkpoint: removed (line 12)`; "" for a change without a setting."""
    key, value = change.key, printable(change.value, 4000)
    if not details:
        key = _shortened(key, _KEY)
        value = " -> ".join(_shortened(part, _VALUE) for part in value.split(" -> "))
    joined = ": " if value in (REMOVED, NOT_SET) else " = "
    text = f"{key}{joined}{value}" if key and value else key or value
    return f"{text} ({change.place})" if change.place else text


def _section(changes: Sequence[Change], columns: int, details: bool) -> Iterator[str]:
    """Two columns: what was asked for, and its settings.  What is equal in the row above is left out."""
    label_before = why_before = ""
    for change in changes:
        label, why = change.asked.partition(": ")[0], printable(change.why, 1000)
        setting = setting_of(change, details) or printable(change.where, 1000)
        texts = [text for text in (setting, "" if why == why_before else why) if text]
        yield from _row("" if label == label_before else label, texts, columns)
        label_before, why_before = label, why


def _row(label: str, texts: Iterable[str], columns: int) -> Iterator[str]:
    left = textwrap.wrap(printable(label, 200), _LABEL - 1) if label else []
    right = [line for text in texts for line in _wrapped(text, columns - _LABEL - 2)]
    for i in range(max(len(left), len(right))):
        name, text = left[i] if i < len(left) else "", right[i] if i < len(right) else ""
        yield f"  {name:<{_LABEL}}{text}".rstrip()


def _wrapped(text: str, columns: int) -> list[str]:
    return textwrap.wrap(text, columns, subsequent_indent="  ", break_on_hyphens=False)


def _shortened(text: str, limit: int) -> str:
    """Its middle is left out, since beginning and end say the most."""
    if len(text) <= limit:
        return text
    half = (limit - 1) // 2
    return f"{text[:half]}…{text[-half:]}"
