"""The records of a comparison: what engines compute for the same token ids, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from attrs import field, frozen

Ids = tuple[int, ...]
# Takes what is being done, how much of it is done, and how much there is.
OnProgress = Callable[[str, int, int], None]


class ComparisonKind(Enum):
    """The verdicts; `--json` prints the values."""

    CONSISTENT = "consistent"
    AS_USUAL = "as-usual"
    KERNEL_MISMATCH = "kernel-mismatch"
    PRECISION_MISMATCH = "precision-mismatch"
    STALE_WEIGHTS = "stale-weights"
    OTHER_MODEL = "other-model"
    MISALIGNED = "misaligned"
    TEMPLATE_MISMATCH = "template-mismatch"
    TOKENIZER_DRIFT = "tokenizer-drift"
    SAMPLING_MISMATCH = "sampling-mismatch"
    UNKNOWN = "unknown"


@frozen
class RolloutPrompt:
    """A prompt of the user's data: a text, or messages for the chat template."""

    index: int
    text: str = ""
    messages: tuple[Mapping[str, Any], ...] = ()

    @property
    def plain_texts(self) -> list[str]:
        """The texts without template and special tokens."""
        if not self.messages:
            return [self.text]
        contents = [message.get("content") for message in self.messages]
        return [text for text in contents if isinstance(text, str) and text]


class RankedToken(NamedTuple):
    """A token that an engine could have chosen at a position."""

    id: int
    logprob: float


@frozen
class ScoredTokens:
    """The tokens of one completion with an engine's logprobs; `tops` has the two likeliest of each position, or nothing.

    `is_short`: the engine gave fewer logprobs than tokens, so that they can't be matched.
    """

    ids: Ids
    logprobs: tuple[float, ...]
    tops: tuple[tuple[RankedToken, ...], ...] = ()
    is_short: bool = False


@frozen
class TokenSequence:
    """A prompt and a completion as token ids; `index` is the prompt's place in the data, `step` the one of a training."""

    index: int
    prompt: Ids
    completion: Ids
    step: int | None = None


class LogprobSource(Enum):
    """The source of an engine's logprobs: the model, or its distribution after the sampling parameters."""

    RAW = "raw"
    PROCESSED = "processed"
    UNKNOWN = "unknown"


@frozen
class EngineFacts:
    """The facts of an engine about itself; `dtype` is "" if it is unknown.

    `defaults` are its sampling parameters for requests that have none, if the engine reports them.  `vocabulary` is the
    number of its token ids, 0 if it is unknown.
    """

    name: str
    kind: str
    model: str = ""
    dtype: str = ""
    logprobs: LogprobSource = LogprobSource.UNKNOWN
    defaults: Mapping[str, float] = field(factory=dict)
    vocabulary: int = 0


@frozen
class ForeignToken:
    """A token id that an engine lacks, the first in `sequences` that have such ids, so that it can't compute them."""

    engine: str
    vocabulary: int
    id: int
    sequences: int


@frozen
class LogprobMetrics:
    """The metrics that the trainer would see: A are the rollouts, B is the trainer; `pearson` is None where it is not
    defined.
    """

    tokens: int
    mean_abs_dlogp: float
    max_abs_dlogp: float
    mean_abs_dp: float
    k1_kl: float
    k3_kl: float
    mult_error: float
    pearson: float | None


@frozen
class ImportanceRatios:
    """The ratios p(B) / p(A) of a trainer: the shares outside 0.8 to 1.25 and above a cap of 2, and the largest.

    `quarters` are the shares outside in each quarter of the completions, `half` is the share of tokens that makes half of
    the differences.
    """

    outside: float
    largest: float
    clipped: float
    quarters: tuple[float, ...]
    half: float


@frozen
class StepRatios:
    """The ratios of one training step."""

    step: int
    tokens: int
    k3_kl: float
    outside: float
    largest: float


@frozen
class PromptDifference:
    """The first place at which the ids of a prompt differ, with the ids from there on."""

    index: int
    position: int
    a: Ids
    b: Ids
    length_a: int
    length_b: int


@frozen
class PromptLayer:
    """The ids of all prompts: how many were compared and how many differ.

    `plain_differ`: whether texts without template and special tokens have other ids too; None if that wasn't compared.
    """

    compared: int = 0
    different: int = 0
    plain_differ: bool | None = None
    first: PromptDifference | None = None


@frozen
class GreedyDivergence:
    """Where B would choose another token than A did; margins are logprobs between the two tokens."""

    sequence: int
    position: int
    a_id: int
    b_id: int
    a_margin: float | None
    b_margin: float
    is_near_tie: bool


@frozen
class GreedyLayer:
    """The greedy tokens of both engines; `agreement` is the share of positions at which B would choose A's token."""

    sequences: int = 0
    positions: int = 0
    agreement: float = 1.0
    near_ties: int = 0
    divergences: tuple[GreedyDivergence, ...] = ()

    @property
    def first(self) -> GreedyDivergence | None:
        """The divergence that is the earliest within its completion, one with a clear margin before near ties."""
        ordered = sorted(self.divergences, key=lambda each: (each.is_near_tie, each.position))
        return ordered[0] if ordered else None


@frozen
class TokenDelta:
    """A token for which the logprobs of the engines differ: `delta` is A's minus B's."""

    sequence: int
    position: int
    id: int
    text: str
    a: float
    b: float

    @property
    def delta(self) -> float:
        return self.a - self.b


@frozen
class ComparedSequence:
    """One completion with both engines' logprobs."""

    tokens: TokenSequence
    a: tuple[float, ...]
    b: tuple[float, ...]
    divergence: GreedyDivergence | None

    @property
    def deltas(self) -> list[float]:
        return [a - b for a, b in zip(self.a, self.b, strict=True)]


@frozen
class ComparisonReading:
    """One reading of the evidence; `confidence` is between 0 and 1."""

    kind: ComparisonKind
    confidence: float
    sentence: str
    next_step: str


@frozen
class ComparisonVerdict:
    """The best reading, or `unknown` with the two best in `readings`."""

    reading: ComparisonReading
    readings: tuple[ComparisonReading, ...] = ()


@frozen(kw_only=True)
class ComparedFigures:
    """The figures of a comparison; `metrics` is None where no logprobs could be compared, `notes` are for the user."""

    metrics: LogprobMetrics | None
    ratios: ImportanceRatios | None = None
    steps: tuple[StepRatios, ...] = ()
    notes: tuple[str, ...]


@frozen(kw_only=True)
class EngineComparison(ComparedFigures):
    """Two engines compared; `left_out`: sequences whose logprobs can't be matched with tokens."""

    a: EngineFacts
    b: EngineFacts
    verdict: ComparisonVerdict
    prompts: PromptLayer
    greedy: GreedyLayer
    sequences: tuple[ComparedSequence, ...]
    worst: tuple[TokenDelta, ...]
    left_out: int


def unheard(doing: str, done: int, total: int) -> None:
    """An `OnProgress` that does nothing."""
