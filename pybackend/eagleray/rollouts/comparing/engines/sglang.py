"""SGLang's own route `/generate`, as 0.5 has it: `input_ids` in, `output_ids` and logprobs with ids out."""

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

_LOGPROBS = {"return_logprob": True, "top_logprobs_num": 2, "return_text_in_logprobs": True}
_INFO_ROUTES = ("/get_server_info", "/server_info")
_DTYPES = ("float32", "bfloat16", "float16")


class SglangEngine(ServedEngine):
    """An SGLang server; `close` ends its connections."""

    async def facts(self) -> EngineFacts:
        return EngineFacts(
            name=self._http.name,
            kind="SGLang",
            model=self._model,
            dtype=await self._dtype(),
            logprobs=await probed_source(self._likeliest),
        )

    async def _prompt_ids(self, prompt: RolloutPrompt) -> Ids:
        if prompt.messages:
            return await self._rendered(prompt)
        return await self._tokenized(prompt.text, special=True)

    async def _plain_ids(self, text: str) -> Ids:
        return await self._tokenized(text, special=False)

    async def _completed(self, prompt: Ids, max_tokens: int) -> ScoredTokens:
        answer = await self._generate(prompt, {"max_new_tokens": max_tokens})
        return self._read(answer, "output", tuple(map(int, answer["output_ids"])))

    async def _score(self, tokens: TokenSequence) -> ScoredTokens:
        # The first position that it reports has no logprob.
        start = {"logprob_start_len": max(0, len(tokens.prompt) - 1)}
        ids = (*tokens.prompt, *tokens.completion)
        answer = await self._generate(ids, {"max_new_tokens": 0}, start)
        return self._read(answer, "input", tokens.completion)

    async def _dtype(self) -> str:
        """The dtype that the server was started with; "auto" says nothing."""
        for route in _INFO_ROUTES:
            try:
                answer = await self._http.get(route)
            except RefusedRequest:
                continue
            dtype = answer.get("dtype") if isinstance(answer, dict) else None
            return dtype if dtype in _DTYPES else ""
        return ""

    async def _rendered(self, prompt: RolloutPrompt) -> Ids:
        """The ids of messages, which /tokenize doesn't take; SGLang 0.5.13 returns them with a completion."""
        body = {
            "model": self._model,
            "messages": list(prompt.messages),
            "max_tokens": 1,
            "return_prompt_token_ids": True,
        }
        answer = await self._http.required("/v1/chat/completions", body)
        try:
            return tuple(int(each) for each in answer["choices"][0]["prompt_token_ids"])
        except UNREADABLE_JSON as error:
            raise errors.no_prompt_ids(self._http.name) from error

    async def _tokenized(self, text: str, *, special: bool) -> Ids:
        body = {"model": self._model, "prompt": text, "add_special_tokens": special}
        try:
            answer = await self._http.post("/tokenize", body)
            return tuple(int(each) for each in answer["tokens"])
        except (RefusedRequest, *UNREADABLE_JSON) as error:
            raise errors.no_prompt_ids(self._http.name) from error

    async def _likeliest(self, temperature: float) -> float:
        """The highest logprob of the first token after a short text."""
        ids = await self._tokenized("The", special=True)
        answer = await self._generate(ids, {"max_new_tokens": 1, "temperature": temperature})
        scored = self._read(answer, "output", tuple(map(int, answer["output_ids"])))
        return max([*scored.logprobs, *(top.logprob for tops in scored.tops for top in tops)])

    async def _generate(
        self, ids: Ids, sampling: dict[str, Any], more: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        body = {
            "input_ids": list(ids),
            "sampling_params": {**NEUTRAL, **sampling},
            **_LOGPROBS,
            **(more or {}),
        }
        answer = await self._http.required("/generate", body)
        if not isinstance(answer, dict) or not isinstance(answer.get("meta_info"), dict):
            raise errors.engine_unreadable(self._http.name, "no meta_info")
        return {"output_ids": [], **answer}

    def _read(self, answer: dict[str, Any], side: str, ids: Ids) -> ScoredTokens:
        """The last logprobs of a side, "input" or "output", which must belong to `ids`."""
        try:
            listed = answer["meta_info"][f"{side}_token_logprobs"][-len(ids) :] if ids else []
            if len(listed) < len(ids):
                return ScoredTokens(ids, (), is_short=True)
            if tuple(int(each[1]) for each in listed) != ids:
                raise errors.unscored_tokens(self._http.name)
            logprobs = tuple(each.logprob for each in self._ranked(listed))
            top_lists = answer["meta_info"].get(f"{side}_top_logprobs") or []
            tops = tuple(self._ranked(each or []) for each in top_lists[-len(ids) :])
        except UNREADABLE_JSON as error:
            raise errors.unscored_tokens(self._http.name) from error
        return ScoredTokens(ids, logprobs, tops if len(tops) == len(ids) else ())

    def _ranked(self, entries: list[Any]) -> tuple[RankedToken, ...]:
        for entry in entries:
            if len(entry) > 2 and entry[2] is not None:
                self._texts[int(entry[1])] = str(entry[2])
        return tuple(RankedToken(int(entry[1]), float(entry[0])) for entry in entries)
