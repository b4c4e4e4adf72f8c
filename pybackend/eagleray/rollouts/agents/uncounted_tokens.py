"""Says of how many requests the tokens aren't counted: the agent reads compressed streams without its client's decoder."""

from __future__ import annotations

from eagleray.common.l10n import counted
from eagleray.rollouts.agents.model import Observed


def uncounted_requests(observed: Observed) -> int:
    return sum(request.tokens is None for run in observed.runs for request in run.requests)


def uncounted_text(observed: Observed) -> str:
    """A sentence, "" where all are counted."""
    number = uncounted_requests(observed)
    if not number:
        return ""
    return counted(
        number,
        "The tokens of {n} compressed stream couldn't be counted.",
        "The tokens of {n} compressed streams couldn't be counted.",
    )
