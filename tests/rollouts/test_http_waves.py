"""Waves of agents whose requests prove what is wrong, against a chat server without a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from eagleray.cli.rollouts.agent_shapes import agent_wave_json
from eagleray.cli.rollouts.agent_texts import wave_lines
from eagleray.rollouts.agents.answers import answer_counts, are_all_refused
from eagleray.rollouts.agents.model import DataItem, Mode, Observed
from eagleray.rollouts.agents.statistics import wave_statistics
from eagleray.rollouts.agents.verdicts import verdicts

from tests.engine.fixtures import ENGINE_PYTHON
from tests.rollouts.fake_chat import fake_chat
from tests.rollouts.observed import PROGRAMS, observe, plan_of

LINES = (PROGRAMS / "http_agents.py").read_text().splitlines()


async def wave_of(
    target: str, model: str, runs: int = 16, turns: int = 1, **values: Any
) -> Observed:
    async with fake_chat() as url:
        plan = plan_of(
            f"http_agents:{target}",
            python=ENGINE_PYTHON,
            base_url=url,
            items=(DataItem(1, {"model": model, "turns": turns}),),
            groups=runs,
            **values,
        )
        return await observe(plan)


@pytest.mark.parametrize(
    ("target", "text"),
    [("Synchronous", "client.post(url"), ("StreamsSynchronously", "self.client.stream(")],
)
async def test_short_synchronous_requests_block_the_loop(
    own_home: Path, target: str, text: str
) -> None:
    """Each is far below any threshold of samples."""
    observed = await wave_of(target, "delay=0.023")
    assert observed.totals.max_requests_in_flight == 1
    [verdict, *_] = verdicts(observed)
    assert verdict.kind == "blocking-call"
    assert text in LINES[verdict.line - 1]
    assert "in 16 requests (" in verdict.sentence


async def test_concurrent_requests_block_nothing(own_home: Path) -> None:
    observed = await wave_of("Shared", "delay=0.2")
    assert observed.totals.blocking == () and verdicts(observed) == ()


async def test_full_pool_is_named_with_its_size(own_home: Path) -> None:
    [verdict] = verdicts(await wave_of("SmallPool", "delay=0.2"))
    assert verdict.kind == "pool-exhausted"
    assert verdict.sentence.startswith("The client has 2 connections; requests waited up to ")


async def test_late_loop_is_not_taken_for_a_full_pool(own_home: Path) -> None:
    observed = await wave_of("Computes", "delay=0.02", runs=48)
    assert {run.requests[0].pool_s for run in observed.runs} == {0.0}
    assert {verdict.kind for verdict in verdicts(observed)} <= {"blocking-call"}


async def test_refused_requests_are_counted_although_agents_swallow_them(own_home: Path) -> None:
    observed = await wave_of("Shared", "status=400")
    assert wave_statistics(observed).done == 16
    [verdict] = verdicts(observed)
    assert verdict.kind == "http-error" and "post_by(" in LINES[verdict.line - 1]
    assert verdict.sentence == "16 of 16 requests got HTTP 400: refused."
    assert are_all_refused(observed)


async def test_rejections_come_before_what_they_explain(own_home: Path) -> None:
    observed = await wave_of("Retries", "delay=0.1,limit=4")
    first = verdicts(observed)[0]
    assert first.kind == "server-saturated" and "429" in first.sentence
    assert answer_counts(observed).statuses[200] == 16 and not are_all_refused(observed)


async def test_empty_answers_have_their_finish_reason(own_home: Path) -> None:
    observed = await wave_of("Shared", "content=,finish=length")
    [verdict] = verdicts(observed)
    assert verdict.sentence == ("16 of 16 answers have no content (finish reasons: length × 16).")
    assert agent_wave_json(observed, "")["empty_answers"] == 16


@pytest.mark.parametrize("mode", ["inline", "subproc"])
async def test_requests_of_other_clients_are_unknown(own_home: Path, mode: Mode) -> None:
    observed = await wave_of("Sockets", "delay=0.02", runs=4, mode=mode)
    wave = agent_wave_json(observed, "")
    assert wave["done"] == wave["unobserved_connections"] == 4
    names = ("requests", "tokens", "tokens_per_second", "request_ms", "max_requests_in_flight")
    assert {wave[name] for name in names} == {None}
    sentence = "Requests of 4 connections weren't observed: their client is unknown."
    assert sentence in wave_lines(observed)


async def test_line_that_returns_each_time_ends_no_wave(own_home: Path) -> None:
    """The loop is late by more than the time limit, but no single call is."""
    observed = await wave_of("Synchronous", "delay=0.03", runs=120, timeout_s=0.5)
    assert not observed.is_stuck and wave_statistics(observed).done == 120


@pytest.mark.parametrize(
    ("target", "delay", "text"),
    [
        ("TakesTurns", 0.2, "async with self.turn"),
        # In its four threads.
        ("InThreads", 0.7, "await asyncio.to_thread("),
    ],
)
async def test_runs_that_wait_for_each_other_are_named(
    own_home: Path, target: str, delay: float, text: str
) -> None:
    """Each wave takes three seconds, which are many samples on a busy machine, too."""
    observed = await wave_of(target, f"delay={delay}")
    [verdict] = [each for each in verdicts(observed) if each.kind == "self-limited"]
    most = observed.totals.max_requests_in_flight
    assert verdict.sentence.startswith(f"At most {most} of 16 runs were in a request at once.")
    assert text in LINES[verdict.line - 1]


@pytest.mark.parametrize(("target", "turns"), [("TakesTurns", 12), ("Rests", 1)])
async def test_runs_that_hardly_wait_for_each_other_have_no_verdict(
    own_home: Path, target: str, turns: int
) -> None:
    observed = await wave_of(target, "delay=0.1", turns=turns)
    assert "self-limited" not in {verdict.kind for verdict in verdicts(observed)}


async def test_answer_of_one_run_in_the_messages_of_another_is_shared(own_home: Path) -> None:
    observed = await wave_of("SharesMessages", "unique=1", runs=4, turns=2)
    first, *others = observed.shared
    assert others and all(each.run != each.answered for each in observed.shared)
    [verdict] = verdicts(observed)
    assert (verdict.kind, verdict.sentence) == (
        "shared-messages",
        f"Runs share messages: run {first.run} sent the answer to run {first.answered} ({1 + len(others)} runs in all).",
    )


@pytest.mark.parametrize("model", ["unique=1", f"content={'the same long answer ' * 3}"])
async def test_own_messages_examples_and_equal_answers_are_not_shared(
    own_home: Path, model: str
) -> None:
    observed = await wave_of("KeepsMessages", model, runs=4, turns=3)
    assert len(observed.runs) == 4 and observed.totals.requests == 12
    assert observed.shared == () and verdicts(observed) == ()
