"""The shapes of logprob differences: what sampling parameters make, and what weights and rounding don't."""

from __future__ import annotations

import pytest
from attrs import evolve
from eagleray.rollouts.comparing.comparison import compare
from eagleray.rollouts.comparing.engines.dump import LogprobDump
from eagleray.rollouts.comparing.model import (
    ComparedSequence,
    ComparisonKind,
    ScoredTokens,
)
from eagleray.rollouts.comparing.shapes import LogprobShape, ShapeKind, shape_of

from tests.rollouts.comparing.logprob_shapes import (
    Change,
    at_temperature,
    penalized,
    rounded,
    sampled,
    truncated,
    unchanged,
)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (truncated(top_p=0.9), unchanged, LogprobShape(ShapeKind.TRUNCATED)),
        (truncated(top_k=8), unchanged, LogprobShape(ShapeKind.TRUNCATED)),
        (truncated(min_p=0.1), unchanged, LogprobShape(ShapeKind.TRUNCATED)),
        (at_temperature(0.7), unchanged, LogprobShape(ShapeKind.TEMPERATURE)),
        (unchanged, at_temperature(0.7), LogprobShape(ShapeKind.TEMPERATURE, is_a=True)),
        (at_temperature(1.4), unchanged, LogprobShape(ShapeKind.TEMPERATURE, is_a=True)),
        (penalized(1.3), unchanged, LogprobShape(ShapeKind.REPEATED, is_a=True)),
        (unchanged, penalized(1.3), LogprobShape(ShapeKind.REPEATED)),
    ],
)
def test_sampling_parameters_have_their_shape(a: Change, b: Change, expected: LogprobShape) -> None:
    shape = shape_of(sampled(a, b), None)
    assert shape is not None
    assert evolve(shape, top_p=None) == expected


@pytest.mark.parametrize("top_p", [0.95, 0.9, 0.7])
def test_truncation_says_how_much_it_raises(top_p: float) -> None:
    shape = shape_of(sampled(truncated(top_p=top_p), unchanged), None)
    assert shape is not None and shape.top_p == pytest.approx(top_p, abs=0.04)


@pytest.mark.parametrize("size", [0.02, 0.2, 0.5, 1.0, 2.0])
def test_rounding_and_other_weights_have_none(size: float) -> None:
    assert shape_of(sampled(rounded(size), unchanged), None) is None
    # Greedy tokens of other weights are raised, but the other side would choose others.
    assert shape_of(sampled(rounded(size), unchanged, greedy=True), 0.9) is None


def test_greedy_tokens_of_another_temperature_differ_in_one_direction() -> None:
    sharper = sampled(at_temperature(0.7), unchanged, greedy=True)
    assert shape_of(sharper, 1.0) == LogprobShape(ShapeKind.COMMON_SIGN)
    flatter = sampled(at_temperature(1.4), unchanged, greedy=True)
    assert shape_of(flatter, 1.0) == LogprobShape(ShapeKind.COMMON_SIGN, is_a=True)


def test_completions_known_by_heart_are_not_sampling() -> None:
    """vllm#51594: a side without the adapter finds everything unlikely that the other one has learned."""
    unlike = [
        evolve(each, a=tuple(0.01 * p for p in each.b)) for each in sampled(unchanged, unchanged)
    ]
    assert shape_of(unlike, None) is None


@pytest.mark.parametrize("by", [1, -1])
def test_logprobs_of_the_next_token_are_shifted(by: int) -> None:
    """ms-swift#8196, prime-rl#1525."""

    def shifted(each: ComparedSequence) -> ComparedSequence:
        return evolve(each, b=(*each.b[by:], *each.b[:by]))

    found = shape_of([shifted(each) for each in sampled(unchanged, unchanged)], None)
    assert found == LogprobShape(ShapeKind.SHIFTED)


@pytest.mark.parametrize("value", [0.0, -9999.0])
def test_tokens_without_a_logprob_are_placeholders(value: float) -> None:
    """vime#70: a list that is too short ends in zeros."""

    def padded(each: ComparedSequence) -> ComparedSequence:
        return evolve(each, a=(*each.a[:-4], value, value, value, value))

    shape = shape_of([padded(each) for each in sampled(unchanged, unchanged)], None)
    assert shape == LogprobShape(ShapeKind.PLACEHOLDER, is_a=True)
    exchanged = [evolve(each, a=each.b, b=padded(each).a) for each in sampled(unchanged, unchanged)]
    assert shape_of(exchanged, None) == LogprobShape(ShapeKind.PLACEHOLDER)


@pytest.mark.parametrize("by", [1, -1])
def test_part_that_is_shifted_is_counted(by: int) -> None:
    """rllm#898: every third row moved by one, with zeros at its end."""
    some = [
        evolve(each, a=(*each.a[1:-2], 0.0, 0.0, 0.0) if by > 0 else (0.0, *each.a[:-1]))
        if at % 3 == 0
        else each
        for at, each in enumerate(sampled(unchanged, unchanged))
    ]
    assert shape_of(some, None) == LogprobShape(ShapeKind.SHIFTED, part=(10, 30))


def test_few_unlikely_tokens_are_not_shifted_by_chance() -> None:
    """Another model may find one unlikely token of a completion unlikely, and the other model the next one."""
    some = [
        evolve(each, a=(-0.01, -9.0, *(-0.02,) * 38), b=(-0.02, -0.01, -9.0, *(-0.01,) * 37))
        if at % 3 == 0
        else each
        for at, each in enumerate(sampled(rounded(2.0), unchanged))
    ]
    assert shape_of(some, None) is None


def test_zeros_at_the_end_of_a_part_are_counted() -> None:
    some = [
        evolve(each, a=(*each.a[:-6], *(0.0,) * 6)) if at % 3 == 0 else each
        for at, each in enumerate(sampled(unchanged, unchanged))
    ]
    shape = shape_of(some, None)
    assert shape is not None and shape.part is not None
    assert (shape.kind, shape.is_a) == (ShapeKind.PLACEHOLDER, True)
    assert 8 <= shape.part[0] <= 10


async def test_part_is_in_the_sentence() -> None:
    some = [
        evolve(each, a=(*each.a[1:], -1.0)) if at % 3 == 0 else each
        for at, each in enumerate(sampled(unchanged, unchanged))
    ]
    reading = (await compare(*dumps(some))).verdict.reading
    assert reading.kind is ComparisonKind.MISALIGNED
    assert "At least 10 of 30 sequences are affected." in reading.sentence


async def test_sequences_that_agree_are_not_of_another_model() -> None:
    """unsloth-zoo#840: rows without padding agree, the others don't."""
    healthy, wrong = sampled(unchanged, unchanged), sampled(rounded(2.0), unchanged)
    some = [
        each if at % 3 == 0 else other
        for at, (each, other) in enumerate(zip(healthy, wrong, strict=True))
    ]
    found = (await compare(*dumps(some))).verdict
    assert found.reading.kind is ComparisonKind.UNKNOWN
    assert "10 of 30 sequences agree as usual." in found.reading.sentence
    # A few of them may be shifted.
    assert "shifted" not in found.reading.sentence
    assert all(each.confidence <= 0.3 for each in found.readings)


def dumps(sequences: list[ComparedSequence]) -> list[LogprobDump]:
    tokens = tuple(each.tokens for each in sequences)
    return [
        LogprobDump(
            name,
            tokens,
            tuple(ScoredTokens(each.tokens.completion, getattr(each, name)) for each in sequences),
            0,
        )
        for name in ("a", "b")
    ]


@pytest.mark.parametrize(
    ("a", "kind", "words"),
    [
        (truncated(top_p=0.9), ComparisonKind.SAMPLING_MISMATCH, "A top_p of 0."),
        (truncated(top_k=8), ComparisonKind.SAMPLING_MISMATCH, "top_p, top_k or min_p"),
        (
            at_temperature(0.6),
            ComparisonKind.SAMPLING_MISMATCH,
            "B's logprobs are those of a higher",
        ),
        (penalized(1.3), ComparisonKind.SAMPLING_MISMATCH, "a penalty"),
        (unchanged, ComparisonKind.AS_USUAL, "as usual for bfloat16"),
        (rounded(2.0), ComparisonKind.OTHER_MODEL, "More than rounding differs."),
    ],
)
async def test_dumps_are_told_by_their_shape(a: Change, kind: ComparisonKind, words: str) -> None:
    result = await compare(*dumps(sampled(a, unchanged)))
    assert result.verdict.reading.kind is kind
    assert words in result.verdict.reading.sentence
    assert "Importance ratios: " in result.verdict.reading.sentence
