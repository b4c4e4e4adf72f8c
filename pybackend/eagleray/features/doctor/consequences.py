"""Which causes follow from others, and why."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from eagleray.common.l10n import t
from eagleray.features.doctor.clocks import TOLERANCE_S
from eagleray.features.doctor.model import Cause, LogEvidence

# The ID of an error that no rule explains.
UNKNOWN = "unknown-error"


def with_consequences(causes: Sequence[Cause], chain: Sequence[LogEvidence] = ()) -> list[Cause]:
    """The causes, which come in their order, with consequences last; each says why others follow from it.

    `chain` has the first exception that no rule explains, then those that were raised while it was handled.

    1. Without an error of its own, the first exception that no rule explains is the cause, if the consequences aren't earlier.
    2. Else the earliest consequence is the cause.
    3. An error explains consequences that aren't earlier than it.
    """
    if not causes:
        return []
    if not any(_explains(cause) for cause in causes):
        first = next((cause for cause in causes if cause.severity == "error"), causes[0])
        if chain and first.secondary and _comes_first(chain[0], first.evidence[0]):
            sentence = t("No rule explains the first error: {text}", text=chain[0].text)
            return with_consequences([unknown_cause(chain, sentence), *causes])
        rest = [cause for cause in causes if cause is not first]
        causes = [evolve(first, secondary=False), *rest]
    secondary = [cause for cause in causes if cause.secondary]
    primary = [evolve(cause, why=_why(cause, secondary)) for cause in causes if not cause.secondary]
    return [*primary, *secondary]


def unknown_cause(evidence: Sequence[LogEvidence], sentence: str) -> Cause:
    """An error that no rule explains, in the words of a diagnosis; its first line is the one that they name."""
    return Cause(
        UNKNOWN,
        sentence,
        t("Read the traceback or the lines above it."),
        tuple(evidence),
        secondary=False,
        severity="error",
        count=1,
        files=1,
        source="",
    )


def _comes_first(exception: LogEvidence, consequence: LogEvidence) -> bool:
    """By time, else by line; in files without times either may be."""
    first, then = exception.time, consequence.time
    if first is not None and then is not None and first != then:
        return first <= then + TOLERANCE_S
    return exception.path != consequence.path or exception.line <= consequence.line


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
