"""The clients of vLLM and SGLang against servers that answer as theirs do, and what they refuse to do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from eagleray.common.errors import EaglerayError
from eagleray.rollouts.comparing.comparison import compare
from eagleray.rollouts.comparing.engines import http
from eagleray.rollouts.comparing.engines.detection import opened_engine
from eagleray.rollouts.comparing.engines.engine import ComparedEngine
from eagleray.rollouts.comparing.engines.http import EngineAddress
from eagleray.rollouts.comparing.model import (
    ComparisonKind,
    LogprobSource,
    RolloutPrompt,
    TokenSequence,
)

from tests.rollouts.comparing.scripted_engines import (
    BOS,
    KEY,
    Handler,
    ScriptedEngine,
    ScriptedServer,
    sglang_routes,
    vllm_routes,
)

PROMPTS = [
    RolloutPrompt(0, "abc"),
    RolloutPrompt(1, messages=({"role": "user", "content": "hi"},)),
]


@asynccontextmanager
async def opened(
    routes: dict[str, Handler],
) -> AsyncIterator[tuple[ComparedEngine, ScriptedServer]]:
    scripted = ScriptedServer(routes)
    async with scripted.serving() as address:
        engine = await opened_engine(address)
        try:
            yield engine, scripted
        finally:
            await engine.close()


@pytest.mark.parametrize("routes", [vllm_routes(), sglang_routes()], ids=["vllm", "sglang"])
async def test_client_reads_ids_and_logprobs(routes: dict[str, Handler]) -> None:
    expected = ScriptedEngine()
    async with opened(routes) as (engine, _):
        prompts = await engine.prompt_ids(PROMPTS)
        assert prompts[0] == (BOS, *(ord(each) % 40 for each in "abc"))
        assert prompts[1][0] == BOS
        assert await engine.plain_ids(["abc"]) == [prompts[0][1:]]
        generated = await engine.generate(prompts, 6, lambda done: None)
        assert generated == await expected.generate(prompts, 6, lambda done: None)
        sequences = [
            TokenSequence(at, prompt, (3, 9, 27, 0)) for at, prompt in enumerate([*prompts, (BOS,)])
        ]
        scored = await engine.score(sequences, lambda done: None)
        assert scored == await expected.score(sequences, lambda done: None)
        assert (await engine.texts_of([27]))[27] == "t27"


@pytest.mark.parametrize(
    ("routes", "source"),
    [
        (vllm_routes(), LogprobSource.RAW),
        (vllm_routes(processed=True), LogprobSource.PROCESSED),
        (sglang_routes(), LogprobSource.PROCESSED),
    ],
)
async def test_client_finds_out_what_logprobs_are_of(
    routes: dict[str, Handler], source: LogprobSource
) -> None:
    async with opened(routes) as (engine, _):
        assert (await engine.facts()).logprobs is source


async def test_every_request_sets_the_sampling_parameters_and_the_key() -> None:
    """A server's own defaults come from generation_config.json, vllm#15241."""
    async with opened(vllm_routes()) as (engine, scripted):
        await engine.generate([(1, 2)], 2, lambda done: None)
        await engine.score([TokenSequence(0, (1,), (2,))], lambda done: None)
        for body in scripted.bodies["/v1/completions"]:
            assert (body["temperature"], body["top_p"], body["top_k"], body["min_p"]) == (
                0,
                1,
                -1,
                0,
            )
            assert body["repetition_penalty"] == 1
        assert set(scripted.keys) == {f"Bearer {KEY}"}
    async with opened(sglang_routes()) as (engine, scripted):
        await engine.generate([(1, 2)], 2, lambda done: None)
        sampling = scripted.bodies["/generate"][0]["sampling_params"]
        assert (sampling["temperature"], sampling["top_p"], sampling["top_k"]) == (0, 1, -1)


async def test_vllm_and_sglang_agree_but_for_their_logprobs() -> None:
    async with opened(vllm_routes()) as (a, _), opened(sglang_routes()) as (b, _):
        compared = await compare(a, b, PROMPTS, 8)
    assert compared.metrics is not None
    assert compared.metrics.max_abs_dlogp < 1e-9
    assert compared.verdict.reading.kind is ComparisonKind.SAMPLING_MISMATCH
    assert "raw" in compared.verdict.reading.sentence


async def test_engine_is_recognised_by_its_routes_under_another_owner() -> None:
    routes = vllm_routes() | {
        "/v1/models": lambda _: {"data": [{"id": "m", "owned_by": "my-team"}]},
        "/version": lambda _: {"version": "0.32.0"},
    }
    async with opened(routes) as (engine, _):
        assert (await engine.facts()).kind == "vLLM"


def redirect(_: Any) -> web.StreamResponse:
    return web.Response(status=307, headers={"Location": "http://127.0.0.1:9/v1/models"})


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (redirect, "engine-redirects"),
        (lambda _: web.Response(status=401), "engine-refused-key"),
        (lambda _: web.Response(text="<html>"), "unsupported-engine"),
        (lambda _: {"data": [{"id": "m", "owned_by": "ollama"}]}, "unsupported-engine"),
        (lambda _: {"data": 7}, "unsupported-engine"),
    ],
)
async def test_other_servers_are_refused(answer: Handler, code: str) -> None:
    async with ScriptedServer({"/v1/models": answer}).serving() as address:
        with pytest.raises(EaglerayError) as error:
            await opened_engine(address)
    assert error.value.code == code


async def test_server_that_is_gone_is_an_error() -> None:
    async with ScriptedServer({}).serving() as address:
        pass
    with pytest.raises(EaglerayError) as error:
        await opened_engine(address)
    assert error.value.code == "engine-unreachable"
    assert KEY not in f"{error.value!r} {address!r}"


@pytest.mark.parametrize(
    ("route", "answer", "code"),
    [
        ("/v1/completions", lambda _: web.Response(status=500, text="boom"), "engine-failed"),
        ("/v1/completions", lambda _: {"choices": []}, "engine-unreadable"),
        ("/v1/completions", lambda _: {"choices": [{"logprobs": None}]}, "engine-unreadable"),
        ("/tokenize", lambda _: web.Response(status=404), "no-prompt-ids"),
    ],
)
async def test_unusable_answers_are_errors(route: str, answer: Handler, code: str) -> None:
    async with opened(vllm_routes() | {route: answer}) as (engine, _):
        with pytest.raises(EaglerayError) as error:
            await engine.prompt_ids(PROMPTS)
            await engine.generate([(1,)], 2, lambda done: None)
    assert error.value.code == code


async def test_logprobs_of_other_tokens_are_refused() -> None:
    routes = sglang_routes()
    good = routes["/generate"]

    def shifted(body: Any) -> Any:
        answer = good(body)
        for entry in answer["meta_info"]["input_token_logprobs"]:
            entry[1] += 1
        return answer

    async with opened(routes | {"/generate": shifted}) as (engine, _):
        with pytest.raises(EaglerayError) as error:
            await engine.score([TokenSequence(0, (1, 2), (3,))], lambda done: None)
    assert error.value.code == "unscored-tokens"


async def test_response_without_end_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_LARGEST", 1000)
    routes = {"/v1/models": lambda _: {"data": [{"id": "x" * 2000}]}}
    async with ScriptedServer(routes).serving() as address:
        engine = http.EngineHttp(EngineAddress("s", address.url))
        with pytest.raises(EaglerayError) as error:
            await engine.get("/v1/models")
        await engine.close()
    assert error.value.code == "engine-unreadable"
