"""Engines of a model that is a table: in this process, and as servers that answer as vLLM and SGLang do."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from attrs import field, frozen
from eagleray.rollouts.comparing.engines.engine import OnDone
from eagleray.rollouts.comparing.engines.http import EngineAddress
from eagleray.rollouts.comparing.model import (
    EngineFacts,
    Ids,
    LogprobSource,
    RankedToken,
    RolloutPrompt,
    ScoredTokens,
    TokenSequence,
)

VOCABULARY = 40
KEY = "sk-scripted"
BOS = 1


def logits_of(context: Sequence[int], noise: float = 0.0) -> list[float]:
    """Logits that depend on the last tokens; `noise` moves them as other weights would."""
    last, before = context[-1], context[-2] if len(context) > 1 else 0
    return [
        4 * math.sin(1.7 * last + 0.9 * each + 0.31 * before)
        + noise * math.cos(5.3 * last + 2.1 * each)
        for each in range(VOCABULARY)
    ]


def logprobs_of(
    context: Sequence[int], noise: float = 0.0, temperature: float = 1.0
) -> list[float]:
    logits = [each / temperature for each in logits_of(context, noise)]
    total = math.log(sum(map(math.exp, logits)))
    return [each - total for each in logits]


def ranked(logprobs: Sequence[float], count: int = 2) -> tuple[RankedToken, ...]:
    best = sorted(range(len(logprobs)), key=lambda each: -logprobs[each])[:count]
    return tuple(RankedToken(each, logprobs[each]) for each in best)


@frozen
class ScriptedEngine:
    """A `ComparedEngine` in this process; tokens are characters."""

    noise: float = 0.0
    temperature: float = 1.0
    special: Ids = ()
    shift: int = 0
    short: tuple[int, ...] = ()
    likeliest: int = 0
    source: LogprobSource = LogprobSource.RAW
    defaults: dict[str, float] = field(factory=dict)
    dtype: str = "float32"

    async def facts(self) -> EngineFacts:
        return EngineFacts(
            "scripted", "scripted", "table", self.dtype, self.source, dict(self.defaults)
        )

    async def prompt_ids(self, prompts: Sequence[RolloutPrompt]) -> list[Ids]:
        return [self.special + self._ids(each.text) for each in prompts]

    async def plain_ids(self, texts: Sequence[str]) -> list[Ids]:
        return [self._ids(text) for text in texts]

    async def generate(
        self, prompts: Sequence[Ids], max_tokens: int, on_done: OnDone
    ) -> list[ScoredTokens]:
        results = []
        for at, prompt in enumerate(prompts):
            ids = list(prompt)
            for _ in range(max_tokens):
                ids.append(ranked(logprobs_of(ids, self.noise), VOCABULARY)[self.likeliest].id)
            scored = self._scored(prompt, tuple(ids[len(prompt) :]))
            results.append(ScoredTokens(scored.ids, (), (), True) if at in self.short else scored)
            on_done(len(results))
        return results

    async def score(
        self, sequences: Sequence[TokenSequence], on_done: OnDone
    ) -> list[ScoredTokens]:
        on_done(len(sequences))
        return [self._scored(each.prompt, each.completion) for each in sequences]

    async def texts_of(self, tokens: Sequence[int]) -> dict[int, str]:
        return {token: f"<{token}>" for token in tokens}

    async def close(self) -> None:
        """Nothing is open."""

    def _ids(self, text: str) -> Ids:
        return tuple((ord(each) + self.shift) % VOCABULARY for each in text)

    def _scored(self, prompt: Ids, completion: Ids) -> ScoredTokens:
        ids = (*prompt, *completion)
        rows = [
            logprobs_of(ids[: len(prompt) + at], self.noise, self.temperature)
            for at in range(len(completion))
        ]
        return ScoredTokens(
            completion,
            tuple(row[token] for row, token in zip(rows, completion, strict=True)),
            tuple(map(ranked, rows)),
        )


Handler = Callable[[Any], Any]


class ScriptedServer:
    """Routes with JSON answers; `bodies` has what was requested, by route."""

    def __init__(self, routes: dict[str, Handler]) -> None:
        self.bodies: dict[str, list[Any]] = {}
        self.keys: list[str] = []
        self._routes = routes

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[EngineAddress]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        server = TestServer(app)
        await server.start_server()
        try:
            yield EngineAddress("scripted", str(server.make_url("/v1")), KEY)
        finally:
            await server.close()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.keys.append(request.headers.get("Authorization", ""))
        text = await request.text()
        body = json.loads(text) if text else None
        self.bodies.setdefault(request.path, []).append(body)
        handler = self._routes.get(request.path)
        if handler is None:
            return web.json_response({"detail": "Not Found"}, status=404)
        answer = handler(body)
        return answer if isinstance(answer, web.StreamResponse) else web.json_response(answer)


def vllm_routes(processed: bool = False) -> dict[str, Handler]:
    """As vLLM 0.32: `token_ids`, tokens named `token_id:N`, and `prompt_logprobs` by id."""

    def tokenize(body: Any) -> Any:
        if "messages" in body:
            text = "".join(f"<{each['role']}>{each['content']}" for each in body["messages"])
            return {"tokens": [BOS, *(ord(each) % VOCABULARY for each in text)]}
        ids = [ord(each) % VOCABULARY for each in body["prompt"]]
        return {"tokens": [BOS, *ids] if body["add_special_tokens"] else ids}

    def completions(body: Any) -> Any:
        prompt = body["prompt"]
        ids = [7] if isinstance(prompt, str) else list(prompt)
        rows: list[list[float]] = []
        for _ in range(body["max_tokens"]):
            shown = (body["temperature"] or 1.0) if processed else 1.0
            rows.append(logprobs_of(ids, temperature=shown))
            ids.append(ranked(rows[-1])[0].id)
        new = ids[len(ids) - len(rows) :]
        choice: dict[str, Any] = {
            "text": "",
            "token_ids": new,
            "logprobs": {
                "tokens": [f"token_id:{each}" for each in new],
                "token_logprobs": [row[each] for row, each in zip(rows, new, strict=True)],
                "top_logprobs": [
                    {f"token_id:{top.id}": top.logprob for top in ranked(row)} for row in rows
                ],
            },
        }
        if body.get("prompt_logprobs"):
            choice["prompt_logprobs"] = [
                None,
                *(
                    {
                        str(token): {"logprob": row[token], "rank": 1, "decoded_token": f"t{token}"}
                        for token in {prompt[at], *(top.id for top in ranked(row))}
                    }
                    for at in range(1, len(prompt))
                    for row in [logprobs_of(prompt[:at])]
                ),
            ]
        return {"choices": [choice]}

    return {
        "/v1/models": lambda _: {"data": [{"id": "table", "owned_by": "vllm"}]},
        "/tokenize": tokenize,
        "/v1/completions": completions,
    }


def sglang_routes() -> dict[str, Handler]:
    """As SGLang 0.5: `output_ids`, and logprobs as [logprob, id, text] in `meta_info`."""

    def entries(row: list[float], count: int = 2) -> list[Any]:
        return [[top.logprob, top.id, f"t{top.id}"] for top in ranked(row, count)]

    def generate(body: Any) -> Any:
        ids = list(body["input_ids"])
        temperature = body["sampling_params"]["temperature"] or 1.0
        start = body.get("logprob_start_len", len(ids))
        forced = [logprobs_of(ids[:at]) if at else None for at in range(start, len(ids))]
        new: list[int] = []
        rows: list[list[float]] = []
        for _ in range(body["sampling_params"]["max_new_tokens"]):
            # SGLang's are those after the temperature.
            rows.append(logprobs_of([*ids, *new], temperature=temperature))
            new.append(ranked(rows[-1])[0].id)
        first = [None if at == 0 else row for at, row in enumerate(forced)]
        return {
            "text": "",
            "output_ids": new,
            "meta_info": {
                "input_token_logprobs": [
                    [row[token] if row else None, token, f"t{token}"]
                    for row, token in zip(first, ids[start:], strict=True)
                ],
                "input_top_logprobs": [entries(row) if row else None for row in first],
                "output_token_logprobs": [
                    [row[token], token, f"t{token}"] for row, token in zip(rows, new, strict=True)
                ],
                "output_top_logprobs": [entries(row) for row in rows],
            },
        }

    def tokenize(body: Any) -> Any:
        ids = [ord(each) % VOCABULARY for each in body["prompt"]]
        return {"tokens": [BOS, *ids] if body["add_special_tokens"] else ids}

    def chat(body: Any) -> Any:
        text = "".join(f"<{each['role']}>{each['content']}" for each in body["messages"])
        ids = [BOS, *(ord(each) % VOCABULARY for each in text)]
        return {"choices": [{"prompt_token_ids": ids}]}

    return {
        "/v1/models": lambda _: {"data": [{"id": "table", "owned_by": "sglang"}]},
        "/get_server_info": lambda _: {"dtype": "bfloat16"},
        "/generate": generate,
        "/tokenize": tokenize,
        "/v1/chat/completions": chat,
    }
