"""Requests that generate token ids with their logprobs, as vLLM, SGLang and llama.cpp take them.

vLLM and SGLang get what AReaL sends them (areal/engine/vllm_remote.py and sglang_remote.py, 4aef98d8); llama.cpp has a
route of its own (b10.2026).  OpenAI's API alone has no token ids.
"""

from __future__ import annotations

import asyncio
import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# AReaL's value for "all tokens".
_ALL_TOKENS = int(1e8)
_LONGEST_QUOTE = 300
_SGLANG = (
    "max_new_tokens",
    "temperature",
    "top_p",
    "top_k",
    "stop_token_ids",
    "ignore_eos",
    "skip_special_tokens",
    "frequency_penalty",
)
# `owned_by` in /v1/models, and routes that no other engine has.
_OWNERS = {"llamacpp": "llama.cpp", "vllm": "vllm", "sglang": "sglang"}
_ROUTES = (
    ("/props", "default_generation_settings", "llama.cpp"),
    ("/get_model_info", "model_path", "sglang"),
    ("/model_info", "model_path", "sglang"),
    ("/version", "version", "vllm"),
)


class TokenRequestFailed(RuntimeError):
    """The server gives no tokens; the message says why."""


class GeneratedTokens:
    """`logprobs` has NaN for a token to which the server gave none."""

    def __init__(self, ids: list[int], logprobs: list[float], stop_reason: str) -> None:
        self.ids = ids
        self.logprobs = logprobs
        self.stop_reason = stop_reason


class TokenServer:
    """Generates by the server at `base_url`, over the client that all runs share; its engine is detected once."""

    def __init__(self, base_url: str, api_key: str, client: Any) -> None:
        self._root = base_url.rstrip("/").removesuffix("/v1")
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = client
        self._detecting = asyncio.Lock()
        self._engine: tuple[str, str] | None = None

    async def generate(self, ids: list[int], settings: dict[str, Any]) -> GeneratedTokens:
        """`settings` are AReaL's hyperparameters by their names."""
        async with self._detecting:
            if self._engine is None:
                self._engine = await self._detected()
        engine, model = self._engine
        path, request, read = ENGINES[engine]
        answer = await self._post(path, request(ids, {**settings, "model": model}))
        try:
            generated: GeneratedTokens = read(answer)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise TokenRequestFailed(f"{path} of {engine} has no token ids: {error!r}") from error
        return _cut(generated, settings["stop_token_ids"])

    async def _detected(self) -> tuple[str, str]:
        """The engine and its model: by the owner of the first model, else by a route that only one engine has."""
        models = (await self._get("/v1/models")).get("data") or [{}]
        model = str(models[0].get("id") or "default")
        owner = _OWNERS.get(str(models[0].get("owned_by")))
        if owner:
            return owner, model
        for path, name, engine in _ROUTES:
            if name in await self._get(path):
                return engine, model
        raise TokenRequestFailed("The server gives no token ids. Use vLLM, SGLang or llama.cpp.")

    async def _get(self, path: str) -> dict[str, Any]:
        response = await self._client.get(self._root + path, headers=self._headers)
        if response.status_code in (401, 403):
            raise TokenRequestFailed("The server rejects the API key.")
        return _object(response) if response.status_code == 200 else {}

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        response = await self._client.post(self._root + path, json=body, headers=self._headers)
        if response.status_code != 200:
            quoted = response.text[:_LONGEST_QUOTE]
            raise TokenRequestFailed(f"{path}: HTTP {response.status_code} {quoted}")
        return _object(response)


def _object(response: Any) -> dict[str, Any]:
    try:
        value = response.json()
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _llama_cpp_request(ids: list[int], settings: dict[str, Any]) -> dict[str, Any]:
    """Its own defaults are temperature 0.8, top_k 40, top_p 0.95 and min_p 0.05."""
    top_k = settings["top_k"]
    return {
        "prompt": ids,
        "n_predict": settings["max_new_tokens"],
        "temperature": settings["temperature"],
        "top_k": 0 if top_k >= _ALL_TOKENS else top_k,
        "top_p": settings["top_p"],
        "min_p": 0,
        "repeat_penalty": 1,
        "frequency_penalty": settings["frequency_penalty"],
        "samplers": ["penalties", "top_k", "top_p", "temperature"],
        "ignore_eos": settings["ignore_eos"],
        "stop": settings["stop"] or [],
        "n_probs": 1,
        "post_sampling_probs": False,
        "return_tokens": True,
        "stream": False,
    }


def _read_llama_cpp(answer: dict[str, Any]) -> GeneratedTokens:
    """Its logprobs leave tokens out whose bytes are only a part of a character."""
    ids = [int(each) for each in answer["tokens"]]
    listed = iter(answer["completion_probabilities"])
    entry = next(listed, None)
    logprobs = []
    for token in ids:
        if entry is not None and int(entry["id"]) == token:
            logprobs.append(float(entry["logprob"]))
            entry = next(listed, None)
        else:
            logprobs.append(math.nan)
    return GeneratedTokens(
        ids, logprobs, "length" if answer.get("stop_type") == "limit" else "stop"
    )


def _vllm_request(ids: list[int], settings: dict[str, Any]) -> dict[str, Any]:
    stop = {"stop": settings["stop"]} if settings["stop"] else {}
    return {
        "model": settings["model"],
        "prompt": ids,
        "max_tokens": settings["max_new_tokens"],
        "temperature": settings["temperature"],
        "top_p": settings["top_p"],
        "top_k": settings["top_k"],
        "frequency_penalty": settings["frequency_penalty"],
        "stop_token_ids": settings["stop_token_ids"],
        "ignore_eos": settings["ignore_eos"],
        "skip_special_tokens": settings["skip_special_tokens"],
        "return_tokens_as_token_ids": True,
        "return_token_ids": True,
        "logprobs": 0,
        "stream": False,
        **stop,
    }


def _read_vllm(answer: dict[str, Any]) -> GeneratedTokens:
    choice = answer["choices"][0]
    written = choice["logprobs"]
    # Before 0.10.2 ids come only as the names of tokens, "token_id:61".
    ids = choice.get("token_ids") or [name.rpartition(":")[2] for name in written["tokens"]]
    logprobs = [float(each) for each in written["token_logprobs"]]
    if len(ids) != len(logprobs):
        raise ValueError(f"{len(ids)} tokens, {len(logprobs)} logprobs")
    return GeneratedTokens(
        [int(each) for each in ids], logprobs, _stop_reason(choice["finish_reason"])
    )


def _sglang_request(ids: list[int], settings: dict[str, Any]) -> dict[str, Any]:
    sampling = {name: settings[name] for name in _SGLANG}
    if settings["stop"]:
        sampling["stop"] = settings["stop"]
    return {"input_ids": ids, "sampling_params": sampling, "return_logprob": True, "stream": False}


def _read_sglang(answer: dict[str, Any]) -> GeneratedTokens:
    meta = answer["meta_info"]
    listed = meta["output_token_logprobs"]
    reason = _stop_reason(meta["finish_reason"]["type"])
    return GeneratedTokens(
        [int(each[1]) for each in listed], [float(each[0]) for each in listed], reason
    )


def _stop_reason(written: Any) -> str:
    """As AReaL does: a request that was ended counts as one that reached its length."""
    return written if written in ("stop", "tool_calls") else "length"


def _cut(generated: GeneratedTokens, stop_ids: list[int]) -> GeneratedTokens:
    """Ends with the first token that stops: llama.cpp has no such option."""
    at = next((at for at, token in enumerate(generated.ids) if token in stop_ids), None)
    if at is None or at + 1 == len(generated.ids):
        return generated
    return GeneratedTokens(generated.ids[: at + 1], generated.logprobs[: at + 1], "stop")


# The route, the body of a request, and the tokens of an answer.
ENGINES: dict[str, tuple[str, Callable[..., dict[str, Any]], Callable[..., GeneratedTokens]]] = {
    "llama.cpp": ("/completion", _llama_cpp_request, _read_llama_cpp),
    "vllm": ("/v1/completions", _vllm_request, _read_vllm),
    "sglang": ("/generate", _sglang_request, _read_sglang),
}
