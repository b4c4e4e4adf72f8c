"""Agents that ask a real inference server: completion ids, requests, and the verdicts on waves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from eagleray.cli.rollouts.agent_shapes import agent_wave_json
from eagleray.rollouts.agents.model import AgentPlan, DataItem, Mode, Observed
from eagleray.rollouts.agents.statistics import wave_statistics
from eagleray.rollouts.agents.verdicts import verdicts
from eagleray.rollouts.trajectories.formats import read_line

from tests.engine.fixtures import ENGINE_PYTHON, Engine, serving
from tests.rollouts.observed import PROGRAMS, broken, observe, plan_of

LINES = (PROGRAMS / "model_agents.py").read_text().splitlines()


def plan_for(engine: Engine, target: str, groups: int = 1, **values: Any) -> AgentPlan:
    items = tuple(
        DataItem(n, {"messages": [{"role": "user", "content": f"Count to {n}"}]})
        for n in range(1, groups + 1)
    )
    return plan_of(
        f"model_agents:{target}",
        python=ENGINE_PYTHON,
        base_url=engine.url,
        api_key=engine.key,
        items=items,
        groups=groups,
        **values,
    )


def line_of(text: str, after: str) -> int:
    start = next(n for n, line in enumerate(LINES) if line.startswith(f"class {after}"))
    return next(n for n, line in enumerate(LINES[start:], start + 1) if text in line)


def lines_of_function(name: str) -> range:
    start = next(n for n, line in enumerate(LINES, 1) if line.startswith(f"def {name}("))
    end = next(n for n, line in enumerate(LINES[start:], start + 1) if line and line[0] != " ")
    return range(start + 1, end)


def kinds(observed: Observed) -> dict[str, int]:
    return {verdict.kind: verdict.line for verdict in verdicts(observed)}


@pytest.mark.parametrize("target", ["Shared", "Streams"])
async def test_ids_of_completions_are_recognised(
    own_home: Path, engine: Engine, target: str, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.jsonl"
    observed = await observe(plan_for(engine, target), trace=trace)
    assert broken(observed) == {}
    [run] = observed.runs
    [request] = run.requests
    assert (request.path, request.status) == ("/v1/chat/completions", 200)
    assert 0 < request.tokens <= 16
    [exchange] = json.loads(trace.read_text())["requests"]
    assert exchange["request"]["messages"][0]["content"] == "Count to 1"
    assert engine.key not in trace.read_text()


@pytest.mark.parametrize("mode", ["inline", "subproc"])
async def test_tokens_of_streams_and_large_responses_are_counted(
    own_home: Path, engine: Engine, mode: Mode, tmp_path: Path
) -> None:
    streams = ((False, True), (True, False), (True, True))
    kinds = [(large, *stream) for large in (False, True) for stream in streams]
    data = {"messages": [{"role": "user", "content": "Count to 1"}]}
    items = tuple(
        DataItem(number, {**data, "large": large, "stream": stream, "usage": usage})
        for number, (large, stream, usage) in enumerate(kinds)
    )
    plan = evolve(plan_for(engine, "Generates"), items=items, groups=len(kinds), mode=mode)
    observed = await observe(plan, trace=tmp_path / "trace.jsonl")
    tokens = {run.item: run.requests[0].tokens for run in observed.runs}
    assert tokens == {number: 900 if large else 16 for number, (large, _, _) in enumerate(kinds)}
    assert observed.totals.tokens == sum(tokens.values())
    traces = map(json.loads, (tmp_path / "trace.jsonl").read_text().splitlines())
    sizes = {trace["item"]: trace["requests"][0]["response_size"] for trace in traces}
    assert [sizes[number] > 2**20 for number in sorted(sizes)] == [large for large, _, _ in kinds]


async def test_trace_is_a_trajectory(own_home: Path, engine: Engine, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    await observe(plan_for(engine, "Shared"), trace=trace)
    trajectory = read_line(trace.read_bytes())
    assert (trajectory.format, trajectory.problem, trajectory.reward) == ("Eagleray", "", 1.0)
    assert trajectory.group == "0"
    assert [turn.role for turn in trajectory.messages] == ["user", "assistant"]


async def test_unknown_id_breaks_the_contract(own_home: Path, engine: Engine) -> None:
    observed = await observe(plan_for(engine, "Misnames"))
    assert broken(observed) == {
        "ids": "The dictionary names an unknown completion. KeyError: 'chatcmpl-of-somebody-else'"
    }


async def test_closed_shared_client_breaks_the_contract(own_home: Path, engine: Engine) -> None:
    observed = await observe(plan_for(engine, "ClosesShared"))
    assert list(broken(observed)) == ["client"]


async def test_processes_observe_requests_too(own_home: Path, engine: Engine) -> None:
    observed = await observe(plan_for(engine, "FromEnvironment", mode="subproc", group_size=2))
    assert broken(observed) == {} and kinds(observed) == {}
    assert wave_statistics(observed).done == observed.totals.requests == 2


async def test_wave_with_a_shared_client_has_no_fault_of_its_own(
    own_home: Path, engine: Engine
) -> None:
    observed = await observe(plan_for(engine, "Shared", groups=4, group_size=4))
    assert wave_statistics(observed).done == 16
    assert observed.totals.max_in_flight == observed.totals.max_requests_in_flight == 16
    # Other load of the machine may make the server slow.
    assert set(kinds(observed)) <= {"server-saturated"}


async def test_wave_with_a_client_for_each_run_is_named(own_home: Path, engine: Engine) -> None:
    observed = await observe(plan_for(engine, "ClientPerRun", groups=4, group_size=4))
    assert wave_statistics(observed).clients == 16
    assert kinds(observed)["client-per-run"] == line_of("AsyncOpenAI(", "ClientPerRun")
    assert "blocking-call" not in kinds(observed)


async def test_wave_with_a_synchronous_client_is_named(own_home: Path, engine: Engine) -> None:
    observed = await observe(plan_for(engine, "Synchronous", groups=4, group_size=4))
    assert observed.totals.max_in_flight == 1
    assert kinds(observed) == {"blocking-call": line_of("completions.create(", "Synchronous")}


async def test_wave_of_64_x_8_names_the_blocking_call_between_requests(
    own_home: Path, engine: Engine
) -> None:
    plan = plan_for(engine, "Blocks", groups=64, group_size=8)
    observed = await observe(evolve(plan, timeout_s=300.0))
    wave = agent_wave_json(observed, "")
    assert (wave["runs"], wave["done"], wave["failed"]) == (512, 512, 0)
    assert wave["max_in_flight"] == 512
    # Other load of the machine may make a second line slow.
    first = wave["verdicts"][0]
    assert (first["kind"], first["line"]) == ("blocking-call", line_of("time.sleep", "Blocks"))


async def test_wrong_key_fails_each_run_with_the_servers_answer(
    own_home: Path, engine: Engine
) -> None:
    observed = await observe(
        plan_for(evolve(engine, key="sk-wrong"), "Shared", groups=2, group_size=2)
    )
    assert [run.outcome for run in observed.runs] == ["failed"] * 4
    assert {run.error and run.error.type for run in observed.runs} == {"AuthenticationError"}
    assert {request.status for run in observed.runs for request in run.requests} == {401}
    assert list(kinds(observed)) == ["http-error"]


@pytest.mark.parametrize(
    ("target", "file", "text"),
    [
        ("SleepsInHelper", "waiting.py", "time.sleep(0.05)"),
        ("Urllib", "model_agents.py", "urllib.request.urlopen("),
        ("Encodes", "model_agents.py", ""),
    ],
)
async def test_planted_line_that_blocks_is_named(
    own_home: Path, engine: Engine, target: str, file: str, text: str
) -> None:
    observed = await observe(plan_for(engine, target, groups=8, group_size=4))
    [verdict] = verdicts(observed)
    assert (verdict.kind, Path(verdict.file)) == ("blocking-call", PROGRAMS / file)
    line = (PROGRAMS / file).read_text().splitlines()[verdict.line - 1]
    if text:
        assert text in line
        return
    assert verdict.sentence.startswith("`encode` computed for ")
    assert verdict.line in lines_of_function("encode")


async def test_small_pool_is_named(own_home: Path, engine: Engine) -> None:
    observed = await observe(plan_for(engine, "SmallPool", groups=8, group_size=8))
    assert "pool-exhausted" in kinds(observed)


async def test_server_with_one_slot_is_saturated(own_home: Path) -> None:
    with serving("--slots", "1") as small:
        observed = await observe(plan_for(small, "Talks", groups=5, group_size=4))
    assert wave_statistics(observed).done == 20
    assert [(each.kind, each.sentence) for each in verdicts(observed)] == [
        ("server-saturated", "The server is the limit: it computes 1 request at once.")
    ]


async def test_run_that_takes_far_longer_than_its_group_is_named(
    own_home: Path, engine: Engine
) -> None:
    observed = await observe(plan_for(engine, "OneIsLate", groups=4, group_size=4))
    assert wave_statistics(observed).done == 16
    [verdict] = verdicts(observed)
    assert verdict.kind == "straggler"
    assert verdict.sentence.startswith("1 group waits for one run; item 3 takes ")
