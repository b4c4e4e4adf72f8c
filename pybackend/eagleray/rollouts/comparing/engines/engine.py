"""The interface of an engine that a comparison needs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from eagleray.rollouts.comparing.model import (
    EngineFacts,
    Ids,
    RolloutPrompt,
    ScoredTokens,
    TokenSequence,
)

# Sampling parameters of vLLM and SGLang that leave the logprobs as they are.
NEUTRAL = {
    "temperature": 0,
    "top_p": 1,
    "top_k": -1,
    "min_p": 0,
    "repetition_penalty": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
}
# Takes the number of sequences that are done.
OnDone = Callable[[int], None]
T = TypeVar("T")
R = TypeVar("R")


class ComparedEngine(Protocol):
    """Token ids and logprobs of one engine; the owner calls `close`."""

    async def facts(self) -> EngineFacts:
        """Returns the engine's facts about itself."""

    async def prompt_ids(self, prompts: Sequence[RolloutPrompt]) -> list[Ids]:
        """The ids of prompts with the engine's own template and special tokens."""

    async def plain_ids(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of texts without template and special tokens."""

    async def generate(
        self, prompts: Sequence[Ids], max_tokens: int, on_done: OnDone
    ) -> list[ScoredTokens]:
        """Greedy completions with their logprobs."""

    async def score(
        self, sequences: Sequence[TokenSequence], on_done: OnDone
    ) -> list[ScoredTokens]:
        """The logprobs of given completions; results have the ids of the completions."""

    async def texts_of(self, tokens: Sequence[int]) -> dict[int, str]:
        """The texts of those tokens for which the engine has sent one."""

    async def close(self) -> None:
        """Ends connections and processes."""


async def for_each(
    items: Sequence[T],
    call: Callable[[T], Awaitable[R]],
    at_once: int,
    on_done: OnDone = lambda done: None,
) -> list[R]:
    """Calls for all items, some at once; the first failure ends the others.

    Workers take the next item as soon as they are free, so that a long completion doesn't stop the others.
    """
    results: dict[int, R] = {}
    remaining = iter(enumerate(items))

    async def work() -> None:
        for at, item in remaining:
            results[at] = await call(item)
            on_done(len(results))

    workers = [asyncio.ensure_future(work()) for _ in range(min(at_once, len(items)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return [results[at] for at in range(len(items))]
