"""Runs the `arun_episode` of AReaL's `RolloutWorkflow` with an engine that generates by the chosen server.

AReaL comes from the user's interpreter (read in inclusionAI/AReaL 4aef98d8, 2026-05: areal/api/workflow_api.py,
engine_api.py and io_struct.py).  Of its `InferenceEngine` only `agenerate` and the version are there, which is all that
its own workflows call; the rest raises NotImplementedError, as in the class itself.
"""

from __future__ import annotations

import importlib
import inspect
import time

from .areal_contract import outcome
from .episode_results import EpisodeResult
from .token_requests import TokenServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

_SETTINGS = (
    "max_new_tokens",
    "top_p",
    "top_k",
    "stop_token_ids",
    "ignore_eos",
    "skip_special_tokens",
    "stop",
    "frequency_penalty",
)


def has_episodes(loaded: Any) -> bool:
    """Whether a class or an agent is a workflow: it has `arun_episode`, and no `run` as agents have it."""
    is_agent = inspect.iscoroutinefunction(getattr(loaded, "run", None))
    return callable(getattr(loaded, "arun_episode", None)) and not is_agent


def workflow_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the class; JSON has no object for `gconfig`, so that it is a dictionary there."""
    given = arguments.get("gconfig")
    if not isinstance(given, dict):
        return arguments
    try:
        options: Any = importlib.import_module("areal.api.cli_args")
    except ImportError:
        # The contract says so.
        return arguments
    return {**arguments, "gconfig": options.GenerationHyperparameters(**given)}


def workflow_rules(workflow: Any, mode: str) -> list[dict[str, Any]]:
    """The rules that need no run; those after a broken one are left out."""
    try:
        api: Any = importlib.import_module("areal.api")
        base = api.RolloutWorkflow
    # It imports torch and more, any of which may fail.
    except Exception as error:
        return [outcome("areal", False, f"{type(error).__name__}: {error}")]
    rules = [outcome("areal", True)]
    if not isinstance(workflow, base):
        return [*rules, outcome("workflow", False, type=type(workflow).__name__)]
    rules.append(outcome("workflow", True))
    if not inspect.iscoroutinefunction(workflow.arun_episode):
        return [*rules, outcome("episode", False)]
    rules.append(outcome("episode", True))
    return [*rules, outcome("mode", mode == "inline")]


def workflow_call(
    workflow: Any, plan: dict[str, Any]
) -> Callable[[Any, Any], Awaitable[EpisodeResult]]:
    """Runs an episode for a data item, over the client of all runs, which have one engine."""
    check = _format_check()
    engines: list[Any] = []

    async def call(data: Any, client: Any) -> EpisodeResult:
        if client is None:
            raise RuntimeError("Install httpx in this Python: the engine sends its requests by it.")
        if not engines:
            tokens = TokenServer(plan["base_url"], plan["api_key"], client)
            engines.append(_engine_type()(tokens))
        return EpisodeResult(await workflow.arun_episode(engines[0], data), check)

    return call


def _engine_type() -> Any:
    """A class of the user's AReaL, since workflows may ask for its type."""
    api: Any = importlib.import_module("areal.api")

    class ServerEngine(api.InferenceEngine):  # type: ignore[misc]
        """Generates by a server that another program runs; its weights never change."""

        def __init__(self, tokens: TokenServer) -> None:
            self._tokens = tokens
            self._version = 0

        @property
        def initialized(self) -> bool:
            return True

        def set_version(self, version: int) -> None:
            self._version = version

        def get_version(self) -> int:
            return self._version

        async def agenerate(self, req: Any) -> Any:
            """Refuses what AReaL's engines refuse, and images."""
            began = time.perf_counter()
            prompt = list(req.input_ids)
            generated = await self._tokens.generate(prompt, _settings(req, len(prompt)))
            seconds = time.perf_counter() - began
            return api.ModelResponse(
                input_tokens=prompt,
                output_tokens=generated.ids,
                output_logprobs=generated.logprobs,
                output_versions=[self._version] * len(generated.ids),
                stop_reason=generated.stop_reason,
                tokenizer=req.tokenizer,
                latency=seconds,
                ttft=seconds,
            )

    return ServerEngine


def _settings(req: Any, prompt_size: int) -> dict[str, Any]:
    given = req.gconfig
    if req.image_data:
        raise NotImplementedError("Eagleray's engine sends no images.")
    if given.n_samples != 1:
        raise ValueError(f"n_samples is {given.n_samples}: an engine generates one sequence.")
    if given.use_beam_search:
        raise NotImplementedError("Eagleray's engine has no beam search.")
    room = min(given.max_tokens - prompt_size, given.max_new_tokens)
    if room <= 0:
        raise RuntimeError(f"No room for new tokens: the prompt has {prompt_size} tokens.")
    settings = {name: getattr(given, name) for name in _SETTINGS}
    temperature = 0.0 if given.greedy else given.temperature
    return {**settings, "max_new_tokens": room, "temperature": temperature}


def _format_check() -> Callable[[Any], Any] | None:
    """AReaL's own check of trajectories, None where it can't be imported."""
    try:
        infra: Any = importlib.import_module("areal.infra")
        check: Callable[[Any], Any] = infra.check_trajectory_format
    except Exception:
        return None
    return check
