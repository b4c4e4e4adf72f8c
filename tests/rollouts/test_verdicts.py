"""The verdicts on waves: a table of what was observed, and that nothing is said of a healthy one."""

from __future__ import annotations

import math
from typing import Any

import pytest
from attrs import evolve
from eagleray.rollouts.agents.model import (
    AgentError,
    AgentRequest,
    AgentRun,
    BlockingCall,
    CodeLine,
    HeldLoop,
    Observed,
    WaveTotals,
)
from eagleray.rollouts.agents.statistics import histogram, percentiles
from eagleray.rollouts.agents.verdicts import verdicts
from hypothesis import example, given
from hypothesis import strategies as st

from tests.rollouts.observed import plan_of

HERE = CodeLine("agent.py", 7, "Agent.run", "call()")


def request_of(**values: Any) -> AgentRequest:
    defaults = {
        "path": "/v1/chat/completions",
        "status": 200,
        "seconds": 0.4,
        "pool_s": 0.0002,
        "tokens": 64,
        "error": "",
    }
    return AgentRequest(**{**defaults, **values})


def run_of(index: int, **values: Any) -> AgentRun:
    defaults: dict[str, Any] = {
        "index": index,
        "item": index // 8 + 1,
        "group": index // 8,
        "member": index % 8,
        "outcome": "done",
        "seconds": 0.5,
        "requests": (request_of(),),
    }
    return AgentRun(**{**defaults, **values})


def wave(runs: list[AgentRun] | None = None, **totals: Any) -> Observed:
    """Eight groups of eight with one shared client, as measured: 0.6 s, a lag of 90 ms."""
    plan = evolve(plan_of("Good"), groups=8, group_size=8)
    figures = WaveTotals(**{"seconds": 0.6, "lag_max_ms": 90.0, **totals})
    return Observed(plan, runs=tuple(runs or map(run_of, range(64))), totals=figures)


def held(*others: HeldLoop, samples: int = 20, **seconds: float) -> WaveTotals:
    return WaveTotals(seconds=4.0, lines=(*others, HeldLoop(HERE, samples=samples, **seconds)))


def function_of(*seconds: float, longest_s: float = 0.02) -> WaveTotals:
    """A function of the user whose lines compute, from line 11 on."""
    lines = [
        HeldLoop(
            CodeLine("agent.py", line, "encode", "n += 1"),
            computing_s=own_s,
            own_s=own_s,
            longest_s=longest_s,
            samples=10,
        )
        for line, own_s in enumerate(seconds, 11)
    ]
    return WaveTotals(seconds=4.0, lines=tuple(lines))


SLEEP = HeldLoop(CodeLine("agent.py", 3, "Agent.run", "sleep()"), waiting_s=9.0, samples=300)


POOL_ERROR = AgentError("APITimeoutError", "", file="agent.py", line=9, is_pool_timeout=True)
HEALTHY = wave()
TABLE: list[tuple[str, Observed, list[tuple[str, int]]]] = [
    ("healthy", HEALTHY, []),
    (
        "waiting line",
        evolve(HEALTHY, totals=held(waiting_s=2.9, longest_s=0.08)),
        [("blocking-call", 7)],
    ),
    (
        "computing line",
        evolve(HEALTHY, totals=held(computing_s=2.0, longest_s=0.3)),
        [("blocking-call", 7)],
    ),
    ("short computations", evolve(HEALTHY, totals=held(computing_s=2.0, longest_s=0.02)), []),
    ("share of a library", evolve(HEALTHY, totals=held(awaited_s=2.0, longest_s=0.3)), []),
    (
        "library that is sampled while it sends",
        evolve(HEALTHY, totals=held(SLEEP, awaited_s=3.0, waiting_s=2.0, samples=50)),
        [("blocking-call", 3)],
    ),
    (
        "short calls that wait and compute",
        evolve(HEALTHY, totals=held(waiting_s=0.4, computing_s=0.3, longest_s=0.05)),
        [("blocking-call", 7)],
    ),
    (
        "short calls that mostly compute",
        evolve(HEALTHY, totals=held(waiting_s=0.3, computing_s=0.4, longest_s=0.05)),
        [],
    ),
    (
        "function",
        evolve(HEALTHY, totals=function_of(0.3, 0.5, longest_s=0.3)),
        [("blocking-call", 12)],
    ),
    (
        "own code of all runs",
        evolve(HEALTHY, totals=function_of(0.4, 0.7)),
        [("blocking-call", 12)],
    ),
    ("own code", evolve(HEALTHY, totals=function_of(0.4, 0.5)), []),
    ("short function", evolve(HEALTHY, totals=function_of(0.2, 0.2, longest_s=0.3)), []),
    ("short wait", evolve(HEALTHY, totals=held(waiting_s=0.3, longest_s=0.3)), []),
    ("late samples", evolve(HEALTHY, totals=held(waiting_s=0.9, longest_s=0.6, samples=2)), []),
    (
        "line beside one that blocks for long",
        evolve(HEALTHY, totals=held(SLEEP, waiting_s=0.6, longest_s=0.1)),
        [("blocking-call", 3)],
    ),
    (
        "two lines that block",
        evolve(HEALTHY, totals=held(SLEEP, waiting_s=1.6, longest_s=0.1)),
        [("blocking-call", 3), ("blocking-call", 7)],
    ),
    (
        "line in processes",
        evolve(HEALTHY, plan=evolve(HEALTHY.plan, mode="subproc"), totals=held(waiting_s=2.9)),
        [],
    ),
    (
        "synchronous requests",
        wave(seconds=0.8, blocking=(BlockingCall(HERE, 0.4, 16),)),
        [("blocking-call", 7)],
    ),
    (
        "line that is certain and sampled",
        evolve(HEALTHY, totals=evolve(held(waiting_s=2.9), blocking=(BlockingCall(HERE, 3.0, 9),))),
        [("blocking-call", 7)],
    ),
    (
        "synchronous request at the start of a long wave",
        wave(seconds=60.0, blocking=(BlockingCall(HERE, 0.02, 1),)),
        [],
    ),
    ("stuck loop", evolve(HEALTHY, is_stuck=True, stuck_at=HERE), [("blocking-call", 7)]),
    (
        "client for each run",
        wave([run_of(n, clients=1, client_s=0.023, client_place=HERE) for n in range(64)]),
        [("client-per-run", 7)],
    ),
    ("one client", wave([run_of(n, clients=int(n == 0)) for n in range(64)]), []),
    (
        "pool time-outs",
        wave(
            [
                run_of(n, **({"outcome": "failed", "error": POOL_ERROR} if n < 5 else {}))
                for n in range(64)
            ]
        ),
        [("pool-exhausted", 9)],
    ),
    (
        "waits for the pool",
        wave([run_of(n, requests=(request_of(pool_s=0.3, pool_limit=8),)) for n in range(64)]),
        [("pool-exhausted", 0)],
    ),
    (
        "pool of unknown size",
        wave([run_of(n, requests=(request_of(pool_s=None),)) for n in range(64)]),
        [],
    ),
    (
        "tool that doesn't find a page",
        wave(
            [
                run_of(n, requests=(request_of(), request_of(status=404, is_of_server=False)))
                for n in range(64)
            ]
        ),
        [],
    ),
    (
        "few errors",
        wave([run_of(n, requests=(request_of(status=400 if n < 3 else 200),)) for n in range(64)]),
        [],
    ),
    (
        "errors before a line that blocks",
        evolve(
            wave([run_of(n, requests=(request_of(status=500, place=HERE),)) for n in range(64)]),
            totals=held(SLEEP, waiting_s=0.6),
        ),
        [("http-error", 7), ("blocking-call", 3)],
    ),
    (
        "busy server",
        wave([run_of(n, requests=(request_of(status=429 if n < 8 else 200),)) for n in range(64)]),
        [("server-saturated", 0)],
    ),
    (
        "queue in the server",
        wave(
            [run_of(n, requests=(request_of(seconds=0.05 + 0.05 * n),)) for n in range(64)],
            seconds=3.4,
        ),
        [("server-saturated", 0)],
    ),
    (
        "time-outs",
        wave(
            [
                run_of(n, **({"outcome": "timeout", "place": HERE} if n < 3 else {}))
                for n in range(64)
            ]
        ),
        [("timeout", 7)],
    ),
    (
        "straggler",
        wave([run_of(n, seconds=9.0 if n == 12 else 0.5) for n in range(64)]),
        [("straggler", 0)],
    ),
    ("slow group", wave([run_of(n, seconds=9.0 if n < 8 else 0.5) for n in range(64)]), []),
]


@pytest.mark.parametrize(
    ("observed", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_verdict(observed: Observed, expected: list[tuple[str, int]]) -> None:
    assert [(verdict.kind, verdict.line) for verdict in verdicts(observed)] == expected


def test_queue_of_a_server_is_not_blamed_for_a_blocked_loop() -> None:
    runs = [run_of(n, requests=(request_of(seconds=0.05 + 0.05 * n),)) for n in range(64)]
    observed = evolve(wave(runs), totals=held(waiting_s=2.9))
    assert [verdict.kind for verdict in verdicts(observed)] == ["blocking-call"]


QUEUED = [run_of(n, requests=(request_of(seconds=0.1 * (n // 4 + 1)),)) for n in range(64)]
MEASURED = "Half the requests took over 0.8 s, the quickest 0.10 s."


@pytest.mark.parametrize(
    ("slots", "sentence"),
    [
        (1, "The server is the limit: it computes 1 request at once."),
        (4, "The server is the limit: it computes 4 requests at once."),
        # As many as are in flight don't wait: the server computes slowly.
        (64, MEASURED),
        (None, MEASURED),
    ],
)
def test_sentence_says_why_requests_wait(slots: int | None, sentence: str) -> None:
    observed = wave(QUEUED, seconds=1.6, max_requests_in_flight=64)
    [verdict] = verdicts(evolve(observed, server_slots=slots))
    assert verdict.sentence == sentence


@pytest.mark.parametrize(
    ("slots", "is_saturated"), [(1, True), (16, True), (32, False), (None, False)]
)
def test_queue_is_seen_where_every_request_waits(slots: int | None, is_saturated: bool) -> None:
    """The quickest requests are slow, too: the client was busy as they began."""
    runs = [run_of(n, requests=(request_of(seconds=1.0 + n / 64),)) for n in range(64)]
    observed = evolve(wave(runs, seconds=2.5, max_requests_in_flight=64), server_slots=slots)
    assert [verdict.kind for verdict in verdicts(observed)] == ["server-saturated"] * is_saturated


def test_requests_of_tools_and_short_answers_make_no_queue() -> None:
    """An agent whose tools and refusals are quick doesn't make the server look busy."""
    tools = [request_of(path="/search", seconds=0.01, tokens=0) for _ in range(3)]
    short = request_of(seconds=0.02, tokens=1)
    runs = [run_of(n, requests=(*tools, short, request_of(), request_of())) for n in range(64)]
    assert verdicts(wave(runs)) == ()


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ((1.0, 1.5), "`encode` computed for 2.5 s; the event loop waited."),
        ((0.1, 2.5), "`n += 1` blocked the event loop for 2.6 s."),
    ],
)
def test_sentence_names_what_computes(lines: tuple[float, ...], sentence: str) -> None:
    observed = evolve(HEALTHY, totals=function_of(*lines, longest_s=0.3))
    assert [(each.sentence, each.line) for each in verdicts(observed)] == [(sentence, 12)]


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_percentiles_are_ordered_values(seconds: list[float]) -> None:
    figures = percentiles(seconds)
    assert figures.p50 <= figures.p99 <= figures.max
    assert figures.max == round(max(seconds) * 1000, 1)


@example([*map(float, range(60)), 1.7976931348623155e308, -1.997436816513686e307])
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=60))
def test_histogram_has_every_reward_once(rewards: list[float]) -> None:
    bins = histogram(rewards)
    assert sum(each.count for each in bins) == len(rewards)
    assert all(math.isfinite(each.low) and each.low <= each.high for each in bins)
