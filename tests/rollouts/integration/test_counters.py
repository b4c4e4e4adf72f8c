"""Counters of AReaL's rollout tracing."""

from __future__ import annotations

import pytest
from eagleray.rollouts.integration.counters import (
    RolloutCounters,
    counters_in,
    counters_text,
    waiting_text,
)


@pytest.mark.parametrize(
    ("line", "counters"),
    [
        (
            "20260521-01:25:07.123 [WorkflowExecutor] INFO: Submit rollout. enqueued: 8, running: 8, accepted: 0, rejected: 0.",
            RolloutCounters(8, 8, 0, 0),
        ),
        (
            "Finish but reject rollout. enqueued: 0, running: 3, accepted: 4, rejected: 1.",
            RolloutCounters(0, 3, 4, 1),
        ),
        (
            "(AReaL) 20261128-14:56:33.366 RolloutController INFO: Finish and accept rollout. enqueued: 0, running: 0, accepted: 2, rejected: 0.",
            RolloutCounters(0, 0, 2, 0),
        ),
        (
            "(AReaL) 20261128-14:56:33.352 [RemoteInfEngine Rank 0] INFO: Finish and accept rollout. enqueued: 0, running: 1, accepted: 1, rejected: 0.",
            None,
        ),
        ("Submit rollout.", None),
        ("enqueued: 8, running: 8", None),
    ],
)
def test_counters_are_read(line: str, counters: RolloutCounters | None) -> None:
    assert counters_in(line) == counters


def test_counters_have_a_text() -> None:
    assert counters_text(RolloutCounters(1, 2, 3, 4)) == "2 running, 3 accepted, 4 rejected"


@pytest.mark.parametrize(
    ("counters", "part"),
    [
        (None, "proxies didn't start"),
        (RolloutCounters(8, 0, 0, 0), "limits block them"),
        (RolloutCounters(0, 8, 0, 0), "the agent waits"),
        (RolloutCounters(0, 0, 1, 0), ""),
    ],
)
def test_reason_without_results_is_named(counters: RolloutCounters | None, part: str) -> None:
    text = waiting_text(counters)

    assert part in text
    assert bool(text) == bool(part)
