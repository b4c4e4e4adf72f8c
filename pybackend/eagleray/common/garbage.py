"""How often Python looks for cycles of garbage."""

from __future__ import annotations

import gc

# Python's own is 700 (2,000 since 3.12): with so few a comparison of engines spends a quarter of our time on it.
_NEW_OBJECTS = 20_000


def collect_seldom() -> None:
    """For processes that read much into many small objects; some megabytes of cycles may wait for longer."""
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
