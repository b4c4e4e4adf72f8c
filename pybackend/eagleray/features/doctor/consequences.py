"""Which causes follow from others, and why."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from eagleray.common.l10n import t
from eagleray.features.doctor.clocks import TOLERANCE_S
from eagleray.features.doctor.model import Cause


def with_consequences(causes: Sequence[Cause]) -> list[Cause]:
    """The causes, which come in their order, with consequences last; each says why others follow from it.

    1. Without an error of its own, the earliest consequence is the cause.
    2. An error explains consequences that aren't earlier than it.
    """
    if not causes:
        return []
    if not any(_explains(cause) for cause in causes):
        first = next((cause for cause in causes if cause.severity == "error"), causes[0])
        rest = [cause for cause in causes if cause is not first]
        causes = [evolve(first, secondary=False), *rest]
    secondary = [cause for cause in causes if cause.secondary]
    primary = [evolve(cause, why=_why(cause, secondary)) for cause in causes if not cause.secondary]
    return [*primary, *secondary]


def _explains(cause: Cause) -> bool:
    return not cause.secondary and cause.severity == "error"


def _why(cause: Cause, secondary: Sequence[Cause]) -> str:
    if cause.severity != "error" or not any(_may_follow(other, cause) for other in secondary):
        return ""
    return cause.why or t("A process that fails like this leaves its peers waiting.")


def _may_follow(consequence: Cause, cause: Cause) -> bool:
    """Whether times don't contradict it."""
    first, then = cause.evidence[0].time, consequence.evidence[0].time
    return first is None or then is None or then >= first - TOLERANCE_S
