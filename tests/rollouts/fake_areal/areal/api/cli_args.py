"""The hyperparameters of a generation, with AReaL's defaults."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass
class GenerationHyperparameters:
    n_samples: int = 1
    max_new_tokens: int = 16384
    max_tokens: int = 32768
    greedy: bool = False
    top_p: float = 1.0
    top_k: int = 100_000_000
    temperature: float = 1.0
    stop_token_ids: list[int] = field(default_factory=list)
    ignore_eos: bool = False
    skip_special_tokens: bool = True
    stop: list[str] | None = None
    frequency_penalty: float = 0.0
    use_beam_search: bool = False

    def new(self, **changes: Any) -> GenerationHyperparameters:
        return replace(self, **changes)
