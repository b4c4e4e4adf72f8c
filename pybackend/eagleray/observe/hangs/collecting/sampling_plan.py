"""How a picture samples: how often, what it may ask of processes, and how it reports its progress."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

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


@frozen
class SamplingPlan:
    """How often a picture samples, and to whom it reports its progress.

    `inside`: a thread in some of the processes, for two minutes, reads exceptions, awaited tasks and collectives.
    `native`: the native frames of one process of each class of stacks are read, which stops it for a moment.
    """

    on_progress: OnProgress = unheard
    rounds: int = ROUNDS
    pause_s: float = PAUSE_S
    inside: bool = False
    native: bool = False
    say: Say = unsaid


DEFAULT_PLAN = SamplingPlan()
