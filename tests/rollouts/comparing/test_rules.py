"""The verdicts: measured figures of real engines, and each rule of the table."""

from __future__ import annotations

import pytest
from attrs import evolve
from eagleray.rollouts.comparing.evidence import ComparisonEvidence, OtherPrecision
from eagleray.rollouts.comparing.model import (
    ComparisonKind,
    EngineFacts,
    GreedyLayer,
    ImportanceRatios,
    LogprobMetrics,
    PromptDifference,
    PromptLayer,
    StepRatios,
)
from eagleray.rollouts.comparing.published import model_class
from eagleray.rollouts.comparing.rules import LIMITS, verdict
from eagleray.rollouts.comparing.sampling import SamplingDefault, SamplingEvidence
from eagleray.rollouts.comparing.shapes import LogprobShape, ShapeKind

CONSISTENT = ComparisonKind.CONSISTENT
KERNEL = ComparisonKind.KERNEL_MISMATCH
PRECISION = ComparisonKind.PRECISION_MISMATCH
STALE = ComparisonKind.STALE_WEIGHTS
OTHER = ComparisonKind.OTHER_MODEL
USUAL = ComparisonKind.AS_USUAL
SAMPLING = ComparisonKind.SAMPLING_MISMATCH
UNKNOWN = ComparisonKind.UNKNOWN


def figures(mean: float, maximum: float, k3: float, mult: float) -> LogprobMetrics:
    return LogprobMetrics(1427, mean, maximum, mean / 20, 0.0, k3, mult, 0.999)


# Real engines on a CPU against torch 2.13, a model of 0.5 M parameters, 24 prompts of up to 64 tokens.
VLLM = figures(1.05e-6, 5.0e-6, 0.0, 1.0)
NO_FLASH_ATTENTION = figures(1.24e-6, 5.7e-6, 0.0, 1.0)
FLASH_ATTENTION = figures(1.70e-3, 1.28e-2, 2.4e-6, 1.0017)
OTHER_BATCHES = figures(6.7e-6, 1e-3, 5.2e-10, 1.00001)
OTHER_BATCHES_IN_16_BITS = figures(3.6e-5, 1.2e-3, 1.2e-8, 1.00004)
HALF_CACHE = figures(4.9e-4, 3.2e-3, 2.0e-7, 1.0005)
BFLOAT16 = figures(1.54e-2, 7.3e-2, 1.9e-4, 1.0156)
NOISE_01 = figures(4.7e-3, 2.3e-2, 1.8e-5, 1.00474)
NOISE_1 = figures(4.7e-2, 0.24, 1.7e-3, 1.049)
NOISE_5 = figures(0.24, 1.32, 4.3e-2, 1.298)


def evidence(
    metrics: LogprobMetrics | None, a: str = "", b: str = "float32", model: str = ""
) -> ComparisonEvidence:
    facts = EngineFacts("a", "vLLM", model), EngineFacts("b", "torch")
    return ComparisonEvidence(
        PromptLayer(24),
        GreedyLayer(),
        metrics,
        SamplingEvidence(),
        a_dtype=a,
        b_dtype=b,
        model=model_class(*facts, (a, b)),
    )


@pytest.mark.parametrize(
    ("metrics", "a", "b", "expected"),
    [
        (VLLM, "", "float32", CONSISTENT),
        (NO_FLASH_ATTENTION, "float32", "float32", CONSISTENT),
        (OTHER_BATCHES, "float32", "float32", CONSISTENT),
        (OTHER_BATCHES_IN_16_BITS, "float16", "float16", CONSISTENT),
        (FLASH_ATTENTION, "float32", "float32", KERNEL),
        (FLASH_ATTENTION, "", "", KERNEL),
        (HALF_CACHE, "float32", "float32", KERNEL),
        (BFLOAT16, "float32", "bfloat16", PRECISION),
        # Engines and trainers compute in bfloat16, unless they say otherwise.
        (BFLOAT16, "", "", USUAL),
        (BFLOAT16, "bfloat16", "bfloat16", USUAL),
        # TF32 makes as much of float32.
        (NOISE_01, "float32", "float32", UNKNOWN),
        # Weights that differ by 1 % do so by less than bfloat16 rounds in small models.
        (NOISE_01, "", "", USUAL),
        (NOISE_1, "float32", "float32", OTHER),
        (NOISE_1, "", "", USUAL),
        (NOISE_5, "float32", "float32", OTHER),
        (NOISE_5, "", "", UNKNOWN),
        (NOISE_1, "Q4_K - Medium", "float32", PRECISION),
        # Rounding weights to float16 moves logprobs as little as kernels do.
        (HALF_CACHE, "float16", "float32", PRECISION),
    ],
)
def test_measured_figures_have_their_verdict(
    metrics: LogprobMetrics, a: str, b: str, expected: ComparisonKind
) -> None:
    assert verdict(evidence(metrics, a, b)).reading.kind is expected


# Figures of 24 rebuilt public cases: the published k3-KL, or the k3-KL of normal differences with the published figure.
QWEN_05 = figures(0.028, 0.48, 1.25e-3, 1.029)  # trl#6789
QWEN_4B = figures(0.011, 0.2, 2.0e-4, 1.011)  # vime#64
QWEN_8B = figures(0.020, 0.3, 6.4e-4, 1.021)  # arXiv 2510.11370
MOE_30B = figures(0.024, 1.0, 1.535e-3, 1.026)  # arXiv 2510.11370
PYTHIA = figures(0.084, 0.5, 5.6e-3, 1.1)  # verl#6280
FP8 = figures(0.0666, 0.26, 3.5e-3, 1.08)  # miles#2722
Q4_0 = figures(0.228, 3.8, 0.072, 1.37)  # llama.cpp, perplexity
YARN = figures(0.124, 2.0, 0.030, 1.17)  # prime-rl#2802
WRONG_EXPERTS = figures(0.17, 3.0, 0.0466, 1.25)  # verl#7986
NEVER_SYNCED = figures(0.201, 2.0, 0.05, 1.26)  # trl#5312


@pytest.mark.parametrize(
    ("metrics", "dtype", "model", "expected"),
    [
        (QWEN_05, "bfloat16", "Qwen2.5-0.5B-Instruct", USUAL),
        (QWEN_4B, "bfloat16", "Qwen3-4B", USUAL),
        (QWEN_8B, "bfloat16", "Qwen3-8B", USUAL),
        (MOE_30B, "bfloat16", "Qwen3-30B-A3B", USUAL),
        (PYTHIA, "bfloat16", "pythia-410m", USUAL),
        # Usual differences of a small model aren't usual for a large one.
        (PYTHIA, "bfloat16", "Qwen3-8B", UNKNOWN),
        (YARN, "bfloat16", "Laguna-XS.2", UNKNOWN),
        (WRONG_EXPERTS, "bfloat16", "Qwen3-30B-A3B", UNKNOWN),
        (NEVER_SYNCED, "bfloat16", "Qwen2.5-1.5B", OTHER),
    ],
)
def test_two_sides_in_bfloat16_are_judged_by_published_figures(
    metrics: LogprobMetrics, dtype: str, model: str, expected: ComparisonKind
) -> None:
    found = verdict(evidence(metrics, dtype, dtype, model))
    assert found.reading.kind is expected
    # Size alone is never a reason to name weights or the precision.
    texts = " ".join(each.sentence for each in (found.reading, *found.readings))
    assert STALE not in {each.kind for each in found.readings}
    assert "precision differs" not in found.reading.sentence
    assert ("Published for" in texts) or expected is OTHER


@pytest.mark.parametrize(
    ("metrics", "dtype", "model", "expected"),
    [
        (FP8, "fp8", "", PRECISION),
        (FP8, "", "Qwen3-8B-FP8", PRECISION),
        (Q4_0, "Q4_0", "", PRECISION),
        (Q4_0, "bfloat16", "Qwen2.5-7B-Instruct-AWQ", PRECISION),
        # 8 bits don't make what 4 bits make, and nothing makes differences of this size.
        (figures(1.0, 9.0, 0.7, 3.0), "int8", "", UNKNOWN),
    ],
)
def test_quantized_weights_explain_their_differences(
    metrics: LogprobMetrics, dtype: str, model: str, expected: ComparisonKind
) -> None:
    found = verdict(evidence(metrics, dtype, "bfloat16", model))
    assert found.reading.kind is expected
    assert STALE not in {each.kind for each in found.readings}
    assert "The weights are quantized" in " ".join(each.sentence for each in found.readings)


def steps(*k3: float) -> tuple[StepRatios, ...]:
    return tuple(StepRatios(at, 1000, each, 0.0, 1.0) for at, each in enumerate(k3, 1))


@pytest.mark.parametrize(
    ("trend", "expected"),
    [
        # trl#5312: warm-up steps, then an engine that sleeps through the updates.
        (steps(1e-4, 3e-4, 0.05, 0.06, 0.07), STALE),
        # vime#64: a drift has no step at which it begins.
        (steps(1e-3, 3e-3, 0.01, 0.03, 0.06), UNKNOWN),
        # NeMo RL#1801: spikes of a kernel come and go.
        (steps(1e-4, 0.05, 1e-4, 0.05, 1e-4), UNKNOWN),
        (steps(0.05, 0.05, 0.05), UNKNOWN),
    ],
)
def test_weights_are_named_where_differences_begin_at_a_step(
    trend: tuple[StepRatios, ...], expected: ComparisonKind
) -> None:
    found = verdict(evolve(evidence(NEVER_SYNCED, "", ""), steps=trend)).reading
    assert found.kind is expected
    assert ("from step 3 on" in found.sentence) == (expected is STALE)


def test_unexplained_differences_say_what_is_excluded_and_remains() -> None:
    found = verdict(evidence(YARN, "bfloat16", "bfloat16", "Laguna-XS.2")).reading
    assert "Excluded: sampling parameters, shifted logprobs, tokenizer, template." in found.sentence
    assert "Remaining: weights, adapters, RoPE scaling, attention, expert" in found.sentence
    growing = ImportanceRatios(0.18, 7.4, 0.008, (0.05, 0.15, 0.2, 0.3), 0.1)
    along = evolve(evidence(YARN, "bfloat16", "bfloat16", "Laguna-XS.2"), ratios=growing)
    assert "RoPE scaling first" in verdict(along).reading.next_step


def test_figures_beside_a_published_one_are_multiples_of_it() -> None:
    found = verdict(evidence(NOISE_5, "", "")).reading
    assert "k3-KL is 7.7 times the highest published of bfloat16." in found.sentence
    assert "Published for pythia-410m: k3-KL 0.0056 (verl#6280)." in found.sentence


def test_many_times_the_usual_is_not_as_usual() -> None:
    """mini-verl#95: vLLM in bfloat16 against NF4 has a k3-KL of 0.16."""
    found = verdict(evidence(figures(0.31, 1.8, 0.16, 1.5), "", ""))
    assert found.reading.kind is UNKNOWN
    assert USUAL not in {each.kind for each in found.readings}
    assert "quantized weights" in found.reading.sentence


@pytest.mark.parametrize("k3", [0.014, 0.021])
def test_largest_published_difference_is_not_usual_for_a_model_of_unknown_size(k3: float) -> None:
    """Weights that are a step old, or an engine in fp8, make as much in a model of usual size."""
    found = verdict(evidence(figures(0.1, 2.8, k3, 1.12), "", "")).reading
    assert found.kind is UNKNOWN
    assert found.sentence.startswith("Only small models, or experts, usually differ so much.")
    assert "?dtype=bfloat16&model=NAME" in found.next_step
    named = evidence(figures(0.1, 2.8, k3, 1.12), "bfloat16", "bfloat16", "pythia-410m")
    assert verdict(named).reading.kind is USUAL


def test_dropout_remains_as_a_cause() -> None:
    """peft#2438: a trainer in training mode, against a model of known size."""
    found = verdict(evidence(figures(0.13, 3.4, 0.037, 1.19), "bfloat16", "bfloat16", "Qwen3-4B"))
    assert "dropout" in found.reading.sentence
    assert found.reading.confidence <= 0.6


def test_few_tokens_with_large_differences_do_not_mean_another_model() -> None:
    """miles#1067: 5 of 1,000 tokens that differ by 50."""
    few = ImportanceRatios(0.005, 1.0, 0.0, (0.0, 0.0, 0.0, 0.02), 0.003)
    found = verdict(evolve(evidence(figures(0.25, 50.0, 0.25, 9e9), "", ""), ratios=few)).reading
    assert found.kind is UNKNOWN
    assert "0.3 % of the tokens make half of the differences." in found.sentence


def test_sentence_says_what_the_trainer_sees() -> None:
    ratios = ImportanceRatios(0.03, 4.1, 0.004, (0.03, 0.03, 0.03, 0.03), 0.1)
    found = verdict(evolve(evidence(MOE_30B, "", ""), ratios=ratios)).reading
    expected = "Importance ratios: 3 % outside 0.8 to 1.25, largest 4.1; a cap of 2 clips 0.4 %."
    assert expected in found.sentence


def test_unknown_names_the_two_best_readings() -> None:
    unclear = verdict(evidence(NOISE_5, "", ""))
    assert {each.kind for each in unclear.readings} == {USUAL, OTHER}
    assert all(each.confidence < 0.5 for each in unclear.readings)


@pytest.mark.parametrize(
    ("metrics", "a", "to_a", "to_b", "expected"),
    [
        # In A's precision the reference agrees with A.
        (BFLOAT16, "", NO_FLASH_ATTENTION, BFLOAT16, PRECISION),
        # A isn't nearer to either, and differs as much as rounding.
        (BFLOAT16, "", BFLOAT16, BFLOAT16, PRECISION),
        # It differs by three times as much as rounding makes of this model.
        (NOISE_1, "", NOISE_1, BFLOAT16, OTHER),
        (NOISE_5, "", NOISE_5, BFLOAT16, OTHER),
        # Twice as much as rounding may be either.
        (figures(3.1e-2, 0.2, 8e-4, 1.03), "", NOISE_1, BFLOAT16, UNKNOWN),
        (NOISE_01, "float32", BFLOAT16, BFLOAT16, PRECISION),
    ],
)
def test_reference_in_another_precision_decides(
    metrics: LogprobMetrics,
    a: str,
    to_a: LogprobMetrics,
    to_b: LogprobMetrics,
    expected: ComparisonKind,
) -> None:
    examined = evolve(evidence(metrics, a), other=OtherPrecision("bfloat16", to_a, to_b))
    assert verdict(examined).reading.kind is expected


@pytest.mark.parametrize(
    ("left", "expected"),
    [(NO_FLASH_ATTENTION, PRECISION), (FLASH_ATTENTION, PRECISION), (NOISE_01, OTHER)],
)
def test_rest_in_float32_is_not_rounding(left: LogprobMetrics, expected: ComparisonKind) -> None:
    """A bfloat16 trainer rounds by more than weights off by 0.1 % differ."""
    examined = evolve(
        evidence(BFLOAT16, "float32", "bfloat16"), other=OtherPrecision("float32", left, BFLOAT16)
    )
    best = verdict(examined).reading
    assert best.kind is expected
    assert "in float32, mean |Δlogp| is still" in best.sentence or expected is PRECISION


@pytest.mark.parametrize(
    ("plain_differ", "expected"),
    [
        (True, ComparisonKind.TOKENIZER_DRIFT),
        (False, ComparisonKind.TEMPLATE_MISMATCH),
        (None, ComparisonKind.TEMPLATE_MISMATCH),
    ],
)
def test_prompts_come_before_figures(plain_differ: bool | None, expected: ComparisonKind) -> None:
    first = PromptDifference(2, 5, (1, 2), (3, 4), 10, 11)
    differing = PromptLayer(24, 3, plain_differ, first)
    found = verdict(evolve(evidence(NOISE_5), prompts=differing)).reading
    assert found.kind is expected
    assert "prompt 3" in found.sentence


@pytest.mark.parametrize(
    ("sampling", "words"),
    [
        (SamplingEvidence(temperature=0.6), "temperature 0.6"),
        (SamplingEvidence(overridden=3), "overrides temperature 0"),
        (SamplingEvidence(shape=LogprobShape(ShapeKind.COMMON_SIGN)), "in one direction"),
    ],
)
def test_sampling_explains_any_figures(sampling: SamplingEvidence, words: str) -> None:
    found = verdict(evolve(evidence(NOISE_5), sampling=sampling)).reading
    assert found.kind is SAMPLING
    assert words in found.sentence


@pytest.mark.parametrize(
    "sampling",
    [
        SamplingEvidence(sources_differ=True),
        SamplingEvidence(defaults=(SamplingDefault("temperature", 0.8, 0.2),)),
    ],
)
def test_other_sampling_of_the_servers_shows_once_they_agree(sampling: SamplingEvidence) -> None:
    for agreeing in (VLLM, FLASH_ATTENTION):
        found = verdict(evolve(evidence(agreeing), sampling=sampling)).reading
        assert found.kind is SAMPLING
    assert verdict(evolve(evidence(NOISE_5), sampling=sampling)).reading.kind is UNKNOWN


def test_nothing_compared_is_unknown() -> None:
    found = verdict(evidence(None))
    assert found.reading.kind is UNKNOWN
    assert found.readings == ()


def test_sentence_has_the_figures_of_the_trainer() -> None:
    sentence = verdict(evidence(NOISE_1, "float32")).reading.sentence
    assert "0.047" in sentence
    assert "0.0017" in sentence
    assert "1.049" in sentence


def test_every_limit_has_its_source() -> None:
    assert all(limit.value > 0 and limit.source for limit in LIMITS.values())
