"""Tokens of streams that the server compresses: counted where the client decodes them, else said not to be counted."""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from attrs import evolve
from eagleray.cli.rollouts.agent_shapes import agent_run_json, agent_wave_json
from eagleray.cli.rollouts.agent_texts import run_lines, wave_lines
from eagleray.rollouts.agents.editor_waves import report_of
from eagleray.rollouts.agents.model import AgentPlan, DataItem

from tests.engine.fixtures import ENGINE_PYTHON
from tests.rollouts.observed import observe, plan_of

TOKENS = 40
COMPRESSORS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.compressobj(wbits=zlib.MAX_WBITS | 16),
    "deflate": zlib.compressobj,
}


def events() -> list[bytes]:
    """One for each token, and none that has their number."""
    text = {"id": "cmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    chunks = [{**text, "choices": [{"index": 0, "delta": {"content": "ab"}}]}] * TOKENS
    return [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]


async def stream(request: web.Request) -> web.StreamResponse:
    """The path names the encoding."""
    encoding = request.match_info["encoding"]
    compressor = COMPRESSORS[encoding]()
    headers = {"Content-Type": "text/event-stream", "Content-Encoding": encoding}
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    for event in events():
        await response.write(compressor.compress(event) + compressor.flush(zlib.Z_SYNC_FLUSH))
    await response.write(compressor.compress(b"data: [DONE]\n\n") + compressor.flush())
    return response


@pytest.fixture
async def address() -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/{encoding}/v1/chat/completions", stream)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    [(_, port)] = runner.addresses
    yield f"http://127.0.0.1:{port}"
    await runner.cleanup()


def plan_for(address: str, encoding: str, target: str, **values: Any) -> AgentPlan:
    item = DataItem(1, {"messages": [{"role": "user", "content": "Count"}]})
    return plan_of(
        f"model_agents:{target}",
        python=ENGINE_PYTHON,
        base_url=f"{address}/{encoding}/v1",
        items=(item,),
        **values,
    )


@pytest.mark.parametrize(("encoding", "target"), [("gzip", "Streams"), ("deflate", "ReadsParts")])
async def test_tokens_of_a_compressed_stream_are_counted(
    own_home: Path, address: str, encoding: str, target: str, tmp_path: Path
) -> None:
    """Also in parts of a size of their own, of which the last comes after the end of the connection's data."""
    trace = tmp_path / "trace.jsonl"
    observed = await observe(plan_for(address, encoding, target), trace=trace)
    [run] = observed.runs
    assert (run.outcome, [each.tokens for each in run.requests]) == ("done", [TOKENS])
    assert observed.totals.tokens == TOKENS
    [exchange] = json.loads(trace.read_text())["requests"]
    whole = b"".join(events()) + b"data: [DONE]\n\n"
    assert exchange["response_size"] == len(whole)
    # A trace has parsed what it can.
    assert "cmpl-1" in json.dumps(exchange["response"])


async def test_tokens_that_are_not_counted_are_said(own_home: Path, address: str) -> None:
    """The agent reads the bytes as they came."""
    plan = plan_for(address, "gzip", "ReadsRaw", groups=1, group_size=2)
    observed = await observe(plan)
    assert [[each.tokens for each in run.requests] for run in observed.runs] == [[None]] * 2
    sentence = "The tokens of 2 compressed streams couldn't be counted."
    assert sentence in wave_lines(observed)
    assert report_of(observed, "").ending == sentence
    wave = agent_wave_json(observed, "")
    assert (wave["tokens"], wave["uncounted_requests"]) == (0, 2)
    single = evolve(observed, runs=observed.runs[:1])
    assert agent_run_json(single, "")["requests"][0]["tokens"] is None
    assert any(line.endswith("tokens not counted: compressed") for line in run_lines(single))
