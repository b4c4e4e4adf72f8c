"""What the verdict on two engines is made from."""

from __future__ import annotations

from attrs import frozen

from eagleray.features.rollouts.comparing.model import (
    ForeignToken,
    GreedyLayer,
    LogprobMetrics,
    PromptLayer,
)
from eagleray.features.rollouts.comparing.sampling import SamplingEvidence

_FLOATS = ("float32", "bfloat16", "float16")


@frozen
class OtherPrecision:
    """The reference in another precision: against A, and against the reference as it was compared."""

    dtype: str
    to_a: LogprobMetrics
    to_b: LogprobMetrics


@frozen
class ComparisonEvidence:
    """What rules decide from; a dtype is "" where it isn't known."""

    prompts: PromptLayer
    greedy: GreedyLayer
    metrics: LogprobMetrics | None
    sampling: SamplingEvidence
    a_dtype: str = ""
    b_dtype: str = ""
    other: OtherPrecision | None = None
    foreign: ForeignToken | None = None

    @property
    def has_same_dtype(self) -> bool:
        return bool(self.a_dtype) and self.a_dtype == self.b_dtype

    @property
    def has_other_dtype(self) -> bool:
        return bool(self.a_dtype and self.b_dtype) and self.a_dtype != self.b_dtype

    @property
    def has_float32_left(self) -> bool:
        """Whether the engine that isn't the reference is known to compute in float32, and the reference did so too."""
        return self.has_other_dtype and self.other is not None and self.other.dtype == "float32"

    @property
    def quantized(self) -> str:
        """The type of quantized weights, "" without."""
        types = (self.a_dtype, self.b_dtype)
        return next((name for name in types if name and name not in _FLOATS), "")
