"""Published differences between healthy engines and trainers, by precision, model size and routing.

Each row has its source.  Limits are made of the rows: engines of the same class may differ by twice as much as published,
which is four times the k3-KL, since that grows with the square of a difference.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from statistics import NormalDist

from attrs import frozen

from eagleray.rollouts.comparing.model import EngineFacts

# Twice the published differences are usual, and differences six times as large don't come from rounding.
_USUAL_FACTOR = 4.0
BEYOND_FACTOR = 9.0
# Smaller models differ by more: their logits have less margin.
_SMALL_BILLIONS = 1.0
_OUTSIDE = 0.1

# Other types of quantized weights, such as AWQ, have four bits as a rule.
_UNKNOWN_BITS = 4
_FLOATS = ("float32", "bfloat16", "float16")
_BILLIONS = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])", re.IGNORECASE)
_EXPERTS = re.compile(
    r"(?<![a-z0-9])(?:a\d+(?:\.\d+)?b|\d+x\d+(?:\.\d+)?b)(?![a-z0-9])|moe|mixtral", re.IGNORECASE
)
# Names of quantized checkpoints, as publishers write them, and types of llama.cpp, with their bits.
_QUANTIZED = re.compile(
    r"(?<![a-z0-9])(?:(?:mx|nv)?fp([48])|int([248])|w([248])a\d+|i?q([1-8])(?:_\w+)?|([48])bit"
    r"|awq|gptq|nf4)(?![a-z0-9])",
    re.IGNORECASE,
)


@frozen
class Published:
    """The published difference of healthy engines: `statistic` of logprob differences, or of importance ratios.

    `precision` is the coarser one of both sides, or "N bits" of quantized weights; `billions` are its parameters.
    """

    precision: str
    model: str
    billions: float | None
    is_moe: bool
    statistic: str
    value: float
    source: str

    @property
    def k3(self) -> float:
        """The k3-KL of normally distributed differences with this figure; heavier tails have more."""
        if self.statistic == "k3":
            return self.value
        deviation = self.value
        if self.statistic == "mean":
            deviation *= math.sqrt(math.pi / 2)
        elif self.statistic == "outside 0.9 to 1.1":
            deviation = _OUTSIDE / NormalDist().inv_cdf(1 - self.value / 2)
        return deviation**2 / 2

    @property
    def usual_k3(self) -> float:
        """The k3-KL up to which engines of this class are as usual."""
        return _USUAL_FACTOR * self.k3


PUBLISHED = (
    Published("bfloat16", "pythia-410m", 0.41, False, "outside 0.9 to 1.1", 0.343, "verl#6280"),
    Published("bfloat16", "Qwen2.5-0.5B", 0.5, False, "sd", 0.0499, "trl#6789"),
    Published("bfloat16", "Qwen2.5-0.5B", 0.5, False, "sd", 0.0306, "Fast-LLM#525"),
    Published("bfloat16", "Qwen2.5-1.5B", 1.5, False, "mean", 0.018, "trl#5312"),
    Published("bfloat16", "Qwen3-4B", 4, False, "mean", 0.011, "vllm-project/vime#64"),
    Published("bfloat16", "Qwen3-8B", 8, False, "k3", 6.4e-4, "arXiv 2510.11370"),
    Published("bfloat16", "Qwen3-30B-A3B", 30, True, "k3", 1.535e-3, "arXiv 2510.11370"),
    Published("bfloat16", "Nemotron 120B-A12B", 120, True, "k3", 2.7e-3, "NeMo RL#2269"),
    Published("float16", "pythia-410m", 0.41, False, "outside 0.9 to 1.1", 0.0047, "verl#6280"),
    Published(
        "float16", "Qwen2.5-1.5B", 1.5, False, "outside 0.9 to 1.1", 1e-4, "verl#6280: 0.00 %"
    ),
    Published("float32", "Qwen2.5-0.5B", 0.5, False, "sd", 2.2e-3, "Fast-LLM#525"),
    Published("8 bits", "Llama-3-8B Q8_0", 8, False, "k3", 1.36e-3, "llama.cpp, perplexity"),
    Published("8 bits", "DeepSeek-V4-Flash fp8", None, True, "mean", 0.0666, "miles#2722"),
    Published("6 bits", "Llama-3-8B Q6_K", 8, False, "k3", 5.45e-3, "llama.cpp, perplexity"),
    Published("5 bits", "Llama-3-8B Q5_0", 8, False, "k3", 0.0222, "llama.cpp, perplexity"),
    Published("4 bits", "Llama-3-8B Q4_0", 8, False, "k3", 0.0719, "llama.cpp, perplexity"),
    Published("3 bits", "Llama-3-8B Q3_K_S", 8, False, "k3", 0.228, "llama.cpp, perplexity"),
    Published("2 bits", "Llama-3-8B Q2_K", 8, False, "k3", 0.445, "llama.cpp, perplexity"),
)


@frozen
class ModelClass:
    """The facts of two sides about their model: None where neither does; `quantized` is the written type, "" without."""

    precision: str
    billions: float | None = None
    is_moe: bool | None = None
    quantized: str = ""

    @property
    def rows(self) -> tuple[Published, ...]:
        """The published rows of such models, the smallest first; rows of all sizes where it isn't known."""
        same = [row for row in PUBLISHED if row.precision == self.precision]
        chosen = [row for row in same if self._is_like(row)]
        return tuple(sorted(chosen or same, key=lambda row: row.k3))

    @property
    def usual_k3(self) -> float:
        return self.rows[-1].usual_k3

    def nearest(self, k3: float) -> Published:
        """The row whose k3-KL is nearest."""
        return min(self.rows, key=lambda row: abs(math.log(max(k3, 1e-12) / row.k3)))

    def _is_like(self, row: Published) -> bool:
        if self.quantized:
            return True
        if self.is_moe is not None and row.is_moe != self.is_moe:
            return False
        if self.billions is None or row.billions is None or row.is_moe:
            return True
        return (row.billions < _SMALL_BILLIONS) == (self.billions < _SMALL_BILLIONS)


def model_class(a: EngineFacts, b: EngineFacts, dtypes: tuple[str, str]) -> ModelClass:
    """`dtypes` has one for each side, "" where unknown, which counts as bfloat16: engines and trainers use it."""
    names = [each for facts in (a, b) for each in (facts.model, facts.name) if each]
    billions = next((size for name in names for size in _sizes(name)), None)
    is_moe = any(map(_EXPERTS.search, names)) or (None if billions is None else False)
    for text in (*dtypes, *names):
        bits = _bits(text, is_dtype=text in dtypes)
        if bits:
            return ModelClass(f"{bits} bits", billions, is_moe, text)
    for precision in ("float32", "float16"):
        if set(dtypes) <= {"float32", precision}:
            return ModelClass(precision, billions, is_moe)
    return ModelClass("bfloat16", billions, is_moe)


def _sizes(name: str) -> Iterator[float]:
    for match in _BILLIONS.finditer(name):
        yield float(match[1]) / (1000 if match[2] in "mM" else 1)


def _bits(text: str, *, is_dtype: bool) -> int:
    """The bits of quantized weights by their type or a model's name, 0 for others."""
    match = _QUANTIZED.search(text)
    if match is None:
        return _UNKNOWN_BITS if is_dtype and text and text not in _FLOATS else 0
    bits = next((int(each) for each in match.groups() if each), _UNKNOWN_BITS)
    return 8 if bits == 7 else max(bits, 2)


def table() -> str:
    """The rows as the table of docs/internals/rollouts.md."""
    lines = [
        "| Precision | Model | Published | k3 | Usual up to | Source |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in PUBLISHED:
        name = {"sd": "sd of Δlogp", "mean": "mean \\|Δlogp\\|"}.get(row.statistic, row.statistic)
        figures = f"{name} {row.value:.3g} | {row.k3:.2g} | {row.usual_k3:.2g}"
        lines.append(f"| {row.precision} | {row.model} | {figures} | {row.source} |")
    return "\n".join(lines)
