"""vLLM's routes, as 0.32 has them: completions of token ids with `return_token_ids` and `prompt_logprobs`."""

from __future__ import annotations

from typing import Any

from eagleray.common.errors import UNREADABLE_JSON
from eagleray.rollouts.comparing import errors
from eagleray.rollouts.comparing.engines.engine import NEUTRAL
from eagleray.rollouts.comparing.engines.http import RefusedRequest
from eagleray.rollouts.comparing.engines.logprob_source import probed_source
from eagleray.rollouts.comparing.engines.served import ServedEngine
from eagleray.rollouts.comparing.model import (
    EngineFacts,
    Ids,
    RankedToken,
    RolloutPrompt,
    ScoredTokens,
    TokenSequence,
)

# Parameters that a request leaves out come from the model's generation_config.json (vllm#15241).
_NEUTRAL = {
    **NEUTRAL,
    "return_token_ids": True,
    "return_tokens_as_token_ids": True,
    "stream": False,
}
_TOPS = 2
_ID = "token_id:"


class VllmEngine(ServedEngine):
    """A vLLM server; `close` ends its connections."""

    async def facts(self) -> EngineFacts:
        return EngineFacts(
            name=self._http.name,
            kind="vLLM",
            model=self._model,
            logprobs=await probed_source(self._likeliest),
        )

    async def _prompt_ids(self, prompt: RolloutPrompt) -> Ids:
        if prompt.messages:
            return await self._tokenized(
                {"messages": list(prompt.messages), "add_generation_prompt": True}
            )
        return await self._tokenized({"prompt": prompt.text, "add_special_tokens": True})

    async def _plain_ids(self, text: str) -> Ids:
        return await self._tokenized({"prompt": text, "add_special_tokens": False})

    async def _completed(self, prompt: Ids, max_tokens: int) -> ScoredTokens:
        choice = await self._choice(
            {"prompt": list(prompt), "max_tokens": max_tokens, "logprobs": _TOPS}
        )
        return self._generated(choice)

    async def _score(self, tokens: TokenSequence) -> ScoredTokens:
        ids = [*tokens.prompt, *tokens.completion]
        choice = await self._choice({"prompt": ids, "max_tokens": 1, "prompt_logprobs": _TOPS})
        return self._scored(choice, tokens.completion)

    async def _tokenized(self, body: dict[str, Any]) -> Ids:
        try:
            answer = await self._http.post("/tokenize", {"model": self._model, **body})
        except RefusedRequest as refused:
            raise errors.no_prompt_ids(self._http.name) from refused
        try:
            return tuple(int(each) for each in answer["tokens"])
        except UNREADABLE_JSON as error:
            raise errors.engine_unreadable(self._http.name, f"/tokenize: {error}") from error

    async def _choice(self, body: dict[str, Any]) -> Any:
        request = {"model": self._model, **_NEUTRAL, **body}
        answer = await self._http.required("/v1/completions", request)
        try:
            return answer["choices"][0]
        except UNREADABLE_JSON as error:
            raise errors.engine_unreadable(self._http.name, "no choice") from error

    async def _likeliest(self, temperature: float) -> float:
        """The highest logprob of the first token after a short text."""
        choice = await self._choice(
            {"prompt": "The", "max_tokens": 1, "logprobs": 1, "temperature": temperature, "seed": 1}
        )
        scored = self._generated(choice)
        return max([*scored.logprobs, *(top.logprob for tops in scored.tops for top in tops)])

    def _generated(self, choice: Any) -> ScoredTokens:
        try:
            written = choice["logprobs"]
            logprobs = tuple(float(each) for each in written["token_logprobs"])
            names = written["tokens"]
            # Before 0.10.2 ids come only as the names of tokens.
            ids = tuple(map(int, choice.get("token_ids") or map(_id_of, names)))
            tops = tuple(_ranked(each or {}) for each in written["top_logprobs"])
        except UNREADABLE_JSON as error:
            raise errors.engine_unreadable(self._http.name, f"logprobs: {error}") from error
        if len(logprobs) != len(ids):
            return ScoredTokens(ids, (), is_short=True)
        return ScoredTokens(ids, logprobs, tops)

    def _scored(self, choice: Any, completion: Ids) -> ScoredTokens:
        try:
            listed = choice["prompt_logprobs"][-len(completion) :] if completion else []
            logprobs: list[float] = []
            tops: list[tuple[RankedToken, ...]] = []
            for token, entries in zip(completion, listed, strict=True):
                for id_, entry in entries.items():
                    self._texts[int(id_)] = str(entry.get("decoded_token") or "")
                logprobs.append(float(entries[str(token)]["logprob"]))
                tops.append(_ranked({id_: entry["logprob"] for id_, entry in entries.items()}))
        except UNREADABLE_JSON as error:
            raise errors.unscored_tokens(self._http.name) from error
        return ScoredTokens(completion, tuple(logprobs), tuple(tops))


def _ranked(entries: dict[str, Any]) -> tuple[RankedToken, ...]:
    """The likeliest tokens first; a token that was not among them comes beside them."""
    tokens = [RankedToken(_id_of(name), float(logprob)) for name, logprob in entries.items()]
    return tuple(sorted(tokens, key=lambda each: -each.logprob)[:_TOPS])


def _id_of(name: str) -> int:
    """The id of "token_id:61", or of "61"."""
    return int(name.removeprefix(_ID))
