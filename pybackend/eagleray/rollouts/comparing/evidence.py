"""The evidence for the verdict on two engines."""

from __future__ import annotations

from attrs import field, frozen

from eagleray.rollouts.comparing.model import (
    ForeignToken,
    GreedyLayer,
    ImportanceRatios,
    LogprobMetrics,
    PromptLayer,
    StepRatios,
)
from eagleray.rollouts.comparing.published import ModelClass
from eagleray.rollouts.comparing.ratios import missed_update
from eagleray.rollouts.comparing.sampling import SamplingEvidence

_FEW_TOKENS = 100
# Rounding, even of experts, and other weights spread half of the differences over more tokens.
_FEW_LARGE = 0.01
_LEAST_AGREEING = 0.1


@frozen
class OtherPrecision:
    """The reference in another precision: against A, and against the reference as it was compared."""

    dtype: str
    to_a: LogprobMetrics
    to_b: LogprobMetrics


@frozen
class ComparisonEvidence:
    """The evidence that rules decide from; a dtype is "" where it isn't known."""

    prompts: PromptLayer
    greedy: GreedyLayer
    metrics: LogprobMetrics | None
    sampling: SamplingEvidence
    a_dtype: str = ""
    b_dtype: str = ""
    other: OtherPrecision | None = None
    foreign: ForeignToken | None = None
    model: ModelClass = field(factory=lambda: ModelClass("bfloat16"))
    ratios: ImportanceRatios | None = None
    steps: tuple[StepRatios, ...] = ()
    # How many sequences agree as usual, of how many.
    agreeing: tuple[int, int] = (0, 0)

    @property
    def some_agree(self) -> bool:
        """Whether a part of the sequences is as usual while all together aren't, as with one other model they would be."""
        count, total = self.agreeing
        return self.times_usual > 1 and count >= max(2, total * _LEAST_AGREEING)

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
    def is_16_bit(self) -> bool:
        """Whether both are known to compute in the same 16 bits."""
        return self.has_same_dtype and self.a_dtype in ("bfloat16", "float16")

    @property
    def has_few_tokens(self) -> bool:
        """Whether a few more tokens might change the figures a lot."""
        return self.metrics is not None and self.metrics.tokens < _FEW_TOKENS

    @property
    def has_few_large(self) -> bool:
        """Whether hardly any token makes half of the differences, as other weights don't."""
        return self.ratios is not None and self.ratios.half <= _FEW_LARGE

    @property
    def times_usual(self) -> float:
        """The k3-KL as a multiple of the largest usual one."""
        return self.metrics.k3_kl / self.model.usual_k3 if self.metrics else 0.0

    @property
    def times_published(self) -> float:
        """The k3-KL as a multiple of the largest published one of such models."""
        return self.metrics.k3_kl / self.model.rows[-1].k3 if self.metrics else 0.0

    @property
    def may_be_unusual(self) -> bool:
        """Whether the k3-KL is above what half of the published models have, and the size of this one isn't known."""
        rows = self.model.rows
        most = rows[(len(rows) - 1) // 2].usual_k3
        return not self.model.billions and self.metrics is not None and self.metrics.k3_kl > most

    @property
    def missed_update(self) -> int | None:
        return missed_update(self.steps, self.model.usual_k3)
