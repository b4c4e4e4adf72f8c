"""Prints how long something takes: "30 s", "1 m 20 s", "2 h 5 m", "3 d 4 h", as `duration` of the editor."""

from __future__ import annotations


def duration_text(seconds: float) -> str:
    """The two largest units; seconds only below an hour."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    units = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
    at = next(i for i, (size, _) in enumerate(units) if whole >= size)
    (large, large_unit), (small, small_unit) = units[at], units[at + 1]
    count, rest = divmod(whole, large)
    return (
        f"{count} {large_unit} {rest // small} {small_unit}"
        if rest // small
        else f"{count} {large_unit}"
    )
