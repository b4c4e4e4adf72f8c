"""Requests of requests, urllib3, urllib, http.client and aiohttp are recorded as httpx's are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eagleray.cli.rollouts.agent_shapes import agent_wave_json
from eagleray.cli.rollouts.agent_texts import wave_lines
from eagleray.remote.injected.agents.http_recording import HttpRecord, HttpRecorder, current_run
from eagleray.rollouts.agents.lost_server import no_answer
from eagleray.rollouts.agents.model import DataItem, Mode, Observed
from eagleray.rollouts.agents.verdicts import verdicts

from tests.rollouts.fake_chat import fake_chat
from tests.rollouts.observed import PROGRAMS, observe, plan_of

LINES = (PROGRAMS / "client_agents.py").read_text().splitlines()
TO_THREADS = ("Requests", "Urllib3", "Urllib", "HttpClient")


async def wave_of(
    target: str,
    model: str = "delay=0.02",
    stream: bool = False,
    runs: int = 3,
    mode: Mode = "inline",
    trace: Path | None = None,
) -> Observed:
    async with fake_chat() as url:
        items = (DataItem(1, {"model": model, "stream": stream}),)
        target = f"client_agents:{target}"
        plan = plan_of(target, base_url=url, items=items, groups=runs, mode=mode)
        return await observe(plan, trace=trace)


@pytest.mark.parametrize(
    ("target", "mode"),
    [
        *((target, "inline") for target in (*TO_THREADS, "Session", "OwnPool", "AiohttpJson")),
        ("Requests", "subproc"),
        ("Aiohttp", "subproc"),
    ],
)
async def test_answers_are_recorded(
    own_home: Path, tmp_path: Path, target: str, mode: Mode
) -> None:
    trace = tmp_path / "trace.jsonl"
    observed = await wave_of(target, mode=mode, trace=trace)
    wave = agent_wave_json(observed, "")
    assert (wave["done"], wave["requests"], wave["tokens"]) == (3, 3, 6)
    assert (wave["unobserved_connections"], wave["unattributed_requests"]) == (0, 0)
    assert wave["statuses"] == {"200": 3} and wave["finish_reasons"] == {"stop": 3}
    assert wave["request_ms"]["p50"] >= 20
    for line in trace.read_text().splitlines():
        [request] = json.loads(line)["requests"]
        assert request["method"] == "POST" and request["url"].endswith("/v1/chat/completions")
        assert request["request"]["model"] == "delay=0.02"
        assert request["response"]["choices"][0]["message"]["content"] == "42"


@pytest.mark.parametrize("target", [*TO_THREADS, "Aiohttp"])
async def test_streams_are_counted(own_home: Path, tmp_path: Path, target: str) -> None:
    trace = tmp_path / "trace.jsonl"
    observed = await wave_of(target, stream=True, trace=trace)
    wave = agent_wave_json(observed, "")
    assert (wave["done"], wave["requests"], wave["tokens"]) == (3, 3, 21)
    assert wave["finish_reasons"] == {"stop": 3} and observed.totals.requests_in_flight == 0
    [request] = json.loads(trace.read_text().splitlines()[0])["requests"]
    assert request["response"].count("data: ") == 9 and request["seconds"] >= 0.05


@pytest.mark.parametrize("target", ["Requests", "Urllib3", "Aiohttp"])
async def test_stream_that_is_cut_ends_with_its_error(own_home: Path, target: str) -> None:
    observed = await wave_of(target, "cut=1", stream=True)
    requests = [request for run in observed.runs for request in run.requests]
    assert [(request.status, request.tokens) for request in requests] == [(200, 3)] * 3
    assert all(request.error for request in requests) and observed.totals.requests_in_flight == 0


@pytest.mark.parametrize("target", ["Requests", "AiohttpJson", "AiohttpRaises"])
async def test_refused_requests_are_a_verdict(own_home: Path, target: str) -> None:
    [verdict] = verdicts(await wave_of(target, "status=400"))
    assert verdict.kind == "http-error" and ".post(url" in LINES[verdict.line - 1]


async def test_synchronous_requests_block_the_loop(own_home: Path) -> None:
    [verdict] = verdicts(await wave_of("Blocks", runs=8))
    assert verdict.kind == "blocking-call" and "requests.post(" in LINES[verdict.line - 1]
    assert "in 8 requests (" in verdict.sentence


async def test_full_pool_of_aiohttp_is_named_with_its_size(own_home: Path) -> None:
    [verdict] = verdicts(await wave_of("AiohttpSmallPool", "delay=0.2", runs=16))
    assert verdict.kind == "pool-exhausted"
    assert verdict.sentence.startswith("The client has 2 connections; requests waited up to ")


@pytest.mark.parametrize("target", ["Requests", "Urllib", "AiohttpJson"])
async def test_server_that_is_gone_is_named(own_home: Path, target: str) -> None:
    async with fake_chat() as url:
        items = (DataItem(1, {"model": "delay=0"}),)
        plan = plan_of(f"client_agents:{target}", base_url=url, items=items)
    observed = await observe(plan)
    assert no_answer(observed) == "1 run failed because the server can't be reached."
    assert agent_wave_json(observed, "")["unobserved_connections"] == 0


@pytest.mark.parametrize("mode", ["inline", "subproc"])
async def test_requests_of_threads_without_a_run_belong_to_none(own_home: Path, mode: Mode) -> None:
    observed = await wave_of("OwnThread", mode=mode)
    wave = agent_wave_json(observed, "")
    assert (wave["requests"], wave["request_ms"], wave["unattributed_requests"]) == (None, None, 3)
    assert "3 requests came from threads of which no run is known." in wave_lines(observed)


def test_recording_that_fails_never_fails_the_request(capsys: pytest.CaptureFixture[str]) -> None:
    class WithoutText(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    recorder = HttpRecorder()
    token = current_run.set(HttpRecord())
    try:
        exchange = recorder.begin("POST", "http://127.0.0.1:8000/v1/chat/completions")
        assert exchange is not None
        recorder.ended(exchange, WithoutText())
    finally:
        current_run.reset(token)
    assert "HttpRecorder.ended" in capsys.readouterr().err
