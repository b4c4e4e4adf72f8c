"""Whether a server's logprobs come from the model, or from its logits divided by the temperature."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from eagleray.rollouts.comparing.model import LogprobSource

# So far a logprob of the model itself may move between two requests, by batching.
_SAME = 0.02
# A token that is this likely has nearly the same logprob at every temperature.
_CERTAIN = -0.05


async def probed_source(likeliest: Callable[[float], Awaitable[float]]) -> LogprobSource:
    """`likeliest` returns the highest logprob of one position at a temperature: raw ones don't depend on it."""
    plain, sharpened = await likeliest(1.0), await likeliest(0.5)
    if plain > _CERTAIN:
        return LogprobSource.UNKNOWN
    moved = abs(plain - sharpened) > _SAME
    return LogprobSource.PROCESSED if moved else LogprobSource.RAW
