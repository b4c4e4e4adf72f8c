"""How often a picture samples, and how it reports its progress."""

from __future__ import annotations

from collections.abc import Callable

ROUNDS = 3
PAUSE_S = 2.0

# How many of the rounds are done.
OnProgress = Callable[[int, int], None]
# A sentence about what is done now.
Say = Callable[[str], None]


def unheard(done: int, all_rounds: int) -> None:
    """For callers that show no progress."""


def unsaid(sentence: str) -> None:
    """For callers that show no sentences."""
