"""Which engine a server is, by its list of models and by the routes that it has."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eagleray.common.errors import EaglerayError
from eagleray.rollouts.comparing import errors
from eagleray.rollouts.comparing.engines.engine import ComparedEngine
from eagleray.rollouts.comparing.engines.http import (
    EngineAddress,
    EngineHttp,
    RefusedRequest,
)
from eagleray.rollouts.comparing.engines.llama_cpp import LlamaCppEngine
from eagleray.rollouts.comparing.engines.sglang import SglangEngine
from eagleray.rollouts.comparing.engines.vllm import VllmEngine

# Makes the client of an engine from the server and the name of its model.
EngineType = Callable[[EngineHttp, str], ComparedEngine]

_DETECT_S = 30.0
# `owned_by` in /v1/models: vLLM 0.32, SGLang 0.5, llama.cpp b10.2026.
_OWNERS: Mapping[str, EngineType] = {
    "llamacpp": LlamaCppEngine,
    "vllm": VllmEngine,
    "sglang": SglangEngine,
}
# Routes that no other of them has, for models that are served under another owner.
_ROUTES: Sequence[tuple[str, str, EngineType]] = (
    ("/props", "default_generation_settings", LlamaCppEngine),
    ("/get_model_info", "model_path", SglangEngine),
    ("/model_info", "model_path", SglangEngine),
    ("/version", "version", VllmEngine),
)


async def opened_engine(server: EngineAddress) -> ComparedEngine:
    """The client of the server's engine.

    1. The owner of its first model names it.
    2. It answers a route that only one engine has.
    3. Else it is none that gives token ids.
    """
    http = EngineHttp(server)
    try:
        models = await _models(http)
        model = next((str(each.get("id", "")) for each in models), "")
        for each in models:
            if engine_type := _OWNERS.get(str(each.get("owned_by", ""))):
                return engine_type(http, model)
        for path, field, engine_type in _ROUTES:
            with contextlib.suppress(RefusedRequest):
                answer = await http.get(path, _DETECT_S)
                if isinstance(answer, dict) and field in answer:
                    return engine_type(http, model)
        raise errors.unsupported_engine(server.name)
    except BaseException:
        await http.close()
        raise


async def _models(http: EngineHttp) -> list[dict[str, Any]]:
    """The served models; an empty list from a server without this route."""
    try:
        answer = await http.get("/v1/models", _DETECT_S)
    except RefusedRequest:
        return []
    except EaglerayError as error:
        if error.code == "engine-unreadable":
            return []
        raise
    listed = answer.get("data") if isinstance(answer, dict) else None
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
