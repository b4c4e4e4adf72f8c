"""The engine and its records; the real ones import torch."""

from __future__ import annotations

import abc
import uuid
from dataclasses import dataclass, field
from typing import Any

from areal.api.cli_args import GenerationHyperparameters


class RolloutWorkflow(abc.ABC):
    @abc.abstractmethod
    async def arun_episode(self, engine: Any, data: dict[str, Any]) -> Any: ...


class InferenceEngine(abc.ABC):
    @property
    @abc.abstractmethod
    def initialized(self) -> bool: ...

    async def agenerate(self, req: Any) -> Any:
        raise NotImplementedError

    def rollout_batch(self, data: Any, workflow: Any) -> Any:
        raise NotImplementedError


@dataclass
class ModelRequest:
    rid: str = field(default_factory=lambda: str(uuid.uuid4()))
    input_ids: list[int] = field(default_factory=list)
    gconfig: GenerationHyperparameters = field(default_factory=GenerationHyperparameters)
    tokenizer: Any = None
    image_data: list[str] | None = field(default_factory=list)


@dataclass
class ModelResponse:
    input_tokens: list[int] = field(default_factory=list)
    output_tokens: list[int] = field(default_factory=list)
    output_logprobs: list[float] = field(default_factory=list)
    output_versions: list[int] = field(default_factory=list)
    stop_reason: str = "stop"
    tokenizer: Any = None
    latency: float = float("inf")
    ttft: float = float("inf")

    @property
    def input_len(self) -> int:
        return len(self.input_tokens)

    @property
    def output_len(self) -> int:
        return len(self.output_tokens)
