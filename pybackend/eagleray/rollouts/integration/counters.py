"""The counters that AReaL's rollout tracing prints, and what they say about a test that waits."""

from __future__ import annotations

import re

from attrs import frozen

from eagleray.common.l10n import t

# The log line of areal/infra/workflow_executor.py, 4aef98d8: "Submit rollout. enqueued: 8, running: 8, accepted: 0,
# rejected: 0."
_LINE = re.compile(
    r"(?P<event>Enqueue|Submit|Finish and accept|Finish but reject) rollout\. enqueued: (?P<enqueued>\d{1,9}), "
    r"running: (?P<running>\d{1,9}), accepted: (?P<accepted>\d{1,9}), rejected: (?P<rejected>\d{1,9})\."
)

# Each engine counts its own, under its rank; the controller has the sum (areal 1.0.4).
_ENGINE = re.compile(r"\[\w{1,60} Rank \d{1,6}\]")


@frozen
class RolloutCounters:
    """Groups that wait, run, were accepted and were rejected."""

    enqueued: int
    running: int
    accepted: int
    rejected: int

    @property
    def finished(self) -> int:
        return self.accepted + self.rejected


def counters_in(line: str) -> RolloutCounters | None:
    """The counters of the controller in a line of output, None without any."""
    match = _LINE.search(line)
    if not match or _ENGINE.search(line, 0, match.start()):
        return None
    names = ("enqueued", "running", "accepted", "rejected")
    return RolloutCounters(*(int(match[name]) for name in names))


def counters_text(counters: RolloutCounters) -> str:
    return t(
        "{running} running, {accepted} accepted, {rejected} rejected",
        running=counters.running,
        accepted=counters.accepted,
        rejected=counters.rejected,
    )


def waiting_text(counters: RolloutCounters | None) -> str:
    """Why a test that ended, or was ended, has no results; "" if it has some."""
    if counters is None:
        return t("No rollout was submitted: the engine or its proxies didn't start.")
    if counters.finished:
        return ""
    if counters.running:
        return t("Rollouts run, but none has ended: the agent waits.")
    return t("Rollouts wait to be started: staleness or concurrency limits block them.")
