"""The parts that all engines behind HTTP share: a request for each item, some at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from eagleray.rollouts.comparing.engines.engine import OnDone, for_each
from eagleray.rollouts.comparing.engines.http import EngineHttp
from eagleray.rollouts.comparing.model import Ids, RolloutPrompt, ScoredTokens, TokenSequence


class ServedEngine(ABC):
    """A server; `close` ends its connections."""

    def __init__(self, http: EngineHttp, model: str) -> None:
        self._http = http
        self._model = model
        self._texts: dict[int, str] = {}
        # The scheduler of the server batches them.
        self._at_once = 64

    async def prompt_ids(self, prompts: Sequence[RolloutPrompt]) -> list[Ids]:
        return await for_each(prompts, self._prompt_ids, self._at_once)

    async def plain_ids(self, texts: Sequence[str]) -> list[Ids]:
        return await for_each(texts, self._plain_ids, self._at_once)

    async def generate(
        self, prompts: Sequence[Ids], max_tokens: int, on_done: OnDone
    ) -> list[ScoredTokens]:
        async def completed(prompt: Ids) -> ScoredTokens:
            return await self._completed(prompt, max_tokens)

        return await for_each(prompts, completed, self._at_once, on_done)

    async def score(
        self, sequences: Sequence[TokenSequence], on_done: OnDone
    ) -> list[ScoredTokens]:
        return await for_each(sequences, self._score, self._at_once, on_done)

    async def texts_of(self, tokens: Sequence[int]) -> dict[int, str]:
        return {token: self._texts[token] for token in tokens if token in self._texts}

    async def close(self) -> None:
        await self._http.close()

    @abstractmethod
    async def _prompt_ids(self, prompt: RolloutPrompt) -> Ids: ...
    @abstractmethod
    async def _plain_ids(self, text: str) -> Ids: ...
    @abstractmethod
    async def _completed(self, prompt: Ids, max_tokens: int) -> ScoredTokens: ...
    @abstractmethod
    async def _score(self, tokens: TokenSequence) -> ScoredTokens: ...
