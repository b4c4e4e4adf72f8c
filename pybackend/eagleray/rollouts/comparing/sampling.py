"""Whether logprobs or tokens come from the model itself, or from its distribution after sampling parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from eagleray.rollouts.comparing.greedy_layer import NEAR_TIE
from eagleray.rollouts.comparing.metrics import bounded
from eagleray.rollouts.comparing.model import EngineFacts, LogprobSource, ScoredTokens
from eagleray.rollouts.comparing.shapes import LogprobShape

# The temperatures at which the reference computes logprobs where logprobs at temperature 1 don't fit.
TEMPERATURES = tuple(round(0.1 * tenth, 1) for tenth in range(2, 21) if tenth != 10)
# How much better the logprobs of another temperature must fit.
_COLLAPSE = 5.0


@frozen
class SamplingDefault:
    """A parameter that the servers use, with different values, for requests without it."""

    name: str
    a: float
    b: float


@frozen
class SamplingEvidence:
    """Evidence for different sampling parameters.

    `overridden`: positions at which A didn't choose its likeliest token at temperature 0.
    `temperature`: the one of which A's logprobs are, where it isn't 1.  `shape`: the shape of the differences.
    """

    overridden: int = 0
    temperature: float | None = None
    shape: LogprobShape | None = None
    sources_differ: bool = False
    defaults: tuple[SamplingDefault, ...] = ()


def overridden_positions(greedy: Iterable[ScoredTokens]) -> int:
    """At how many positions an engine didn't choose its likeliest token, by a clear margin."""
    return sum(
        bool(top) and top[0].id != id_ and top[0].logprob - logprob > NEAR_TIE
        for scored in greedy
        for id_, logprob, top in zip(scored.ids, scored.logprobs, scored.tops, strict=False)
    )


def fitted_temperature(
    a: Sequence[float], b: Sequence[float], b_at: Mapping[float, Sequence[float]]
) -> float | None:
    """The temperature at which B's logprobs fit A's far better than at 1; None if there is none."""
    if not a or not b_at:
        return None
    distances = {temperature: _distance(a, logprobs) for temperature, logprobs in b_at.items()}
    best = min(distances, key=distances.__getitem__)
    return best if distances[best] * _COLLAPSE <= _distance(a, b) else None


def sources_differ(a: EngineFacts, b: EngineFacts) -> bool:
    """Whether one gives raw and the other processed logprobs, as vLLM's --logprobs-mode chooses (verl#2996)."""
    sources = {a.logprobs, b.logprobs}
    return sources == {LogprobSource.RAW, LogprobSource.PROCESSED}


def different_defaults(a: EngineFacts, b: EngineFacts) -> tuple[SamplingDefault, ...]:
    """The parameters that both engines tell, with different values."""
    return tuple(
        SamplingDefault(name, a.defaults[name], b.defaults[name])
        for name in sorted(set(a.defaults) & set(b.defaults))
        if abs(a.defaults[name] - b.defaults[name]) > 1e-6
    )


def _distance(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(abs(bounded(p) - bounded(q)) for p, q in zip(a, b, strict=True)) / len(a)
