"""Which precision an engine's logits have, from its logprobs alone.

The difference of two logprobs of a position is the difference of their logits.  A logit in bfloat16 has 8 significant
bits, one in float16 has 11; so for logits of at least 0.5 all differences are multiples of 2**-8 or 2**-11, which
differences in float32 are not.  A head that computes in float32 after layers in bfloat16 shows no such grid.
"""

from __future__ import annotations

from collections.abc import Iterable

from eagleray.rollouts.comparing.model import RankedToken

_GRIDS = (("bfloat16", 2.0**8), ("float16", 2.0**11))
# Logprobs are float32: two of about -8 are each off by 5e-7.
_ROUNDING = 2e-6
# By chance, a difference lies on the finer grid with a probability of 0.8 %, on the coarser with 0.1 %.
_LEAST_POSITIONS = 24
_LEAST_SHARE = 0.95


def logit_dtype(tops: Iterable[tuple[RankedToken, ...]]) -> str:
    """ "bfloat16" or "float16" if the logits have its grid, else ""."""
    differences = [
        each[0].logprob - each[1].logprob
        for each in tops
        if len(each) > 1 and each[0].logprob - each[1].logprob > _ROUNDING
    ]
    if len(differences) < _LEAST_POSITIONS:
        return ""
    for name, steps in _GRIDS:
        on_grid = sum(
            abs(each * steps - round(each * steps)) <= _ROUNDING * steps for each in differences
        )
        if on_grid >= _LEAST_SHARE * len(differences):
            return name
    return ""
