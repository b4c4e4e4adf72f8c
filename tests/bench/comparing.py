"""A comparison of two real servers: what it adds to the time of the engines, which the same requests take by themselves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import aiohttp
from attrs import field, frozen
from eagleray.rollouts.comparing.comparison import compare
from eagleray.rollouts.comparing.engines.detection import opened_engine
from eagleray.rollouts.comparing.engines.http import EngineAddress, EngineHttp
from eagleray.rollouts.comparing.model import RolloutPrompt
from eagleray.rollouts.comparing.page_record import shown

from tests.bench.rows import Row, least_at_most_times
from tests.engine.fixtures import KEY, Engine, serving

PROMPTS = 256
TOKENS = 64
# As many as the server computes at once, so that the bare requests wait in the same places.
_AT_ONCE = 64


def rows(samples: int) -> list[Row]:
    pairs = min(samples, 5)
    with serving("--flash-attention", "off") as a, serving() as b:
        ours, bare = asyncio.run(_measure(a, b, pairs))
    name = f"comparison of {PROMPTS} prompts of {TOKENS} tokens, as its requests alone (s)"
    return [least_at_most_times(name, ours, bare, 1.1)]


@frozen
class SentRequest:
    """A request as an engine gets it."""

    url: str
    body: Any


@frozen
class SentRequests:
    """Requests in phases: requests of a phase were on their way at once."""

    phases: list[list[SentRequest]] = field(factory=list)

    @contextmanager
    def recorded(self) -> Iterator[None]:
        sending = EngineHttp.post
        on_their_way = 0

        async def post(http: EngineHttp, path: str, body: Any, *more: Any) -> Any:
            nonlocal on_their_way
            if on_their_way == 0:
                self.phases.append([])
            on_their_way += 1
            self.phases[-1].append(SentRequest(f"{http._base}".rstrip("/") + path, body))
            try:
                return await sending(http, path, body, *more)
            finally:
                on_their_way -= 1

        with patch.object(EngineHttp, "post", post):
            yield


async def _measure(a: Engine, b: Engine, pairs: int) -> tuple[list[float], list[float]]:
    prompts = [RolloutPrompt(at, f"def parse_{at}(self, namespace") for at in range(PROMPTS)]
    sent = SentRequests()
    with sent.recorded():
        await _compare(a, b, prompts)
    ours, bare = [], []
    for _ in range(pairs):
        begin = time.perf_counter()
        await _compare(a, b, prompts)
        middle = time.perf_counter()
        await _send(sent)
        ours.append(middle - begin)
        bare.append(time.perf_counter() - middle)
    return ours, bare


async def _compare(a: Engine, b: Engine, prompts: list[RolloutPrompt]) -> None:
    """All of it, up to the record of the page."""
    engines = [await opened_engine(EngineAddress("engine", each.url, each.key)) for each in (a, b)]
    try:
        compared = shown(await compare(*engines, prompts, TOKENS), "")
    finally:
        for engine in engines:
            await engine.close()
    assert compared.metrics is not None and compared.metrics.tokens > PROMPTS * TOKENS / 2


async def _send(sent: SentRequests) -> None:
    connector = aiohttp.TCPConnector(limit=_AT_ONCE)
    headers = {"Authorization": f"Bearer {KEY}"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        for phase in sent.phases:
            await asyncio.gather(*(_post(session, each) for each in phase))


async def _post(session: aiohttp.ClientSession, request: SentRequest) -> None:
    async with session.post(request.url, json=request.body) as answer:
        await answer.read()
