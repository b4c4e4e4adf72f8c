"""The layers of prompts and of greedy tokens, and what tells a precision or sampling parameters."""

from __future__ import annotations

import random
import struct

import pytest
from eagleray.rollouts.comparing.greedy_layer import NEAR_TIE, greedy_layer
from eagleray.rollouts.comparing.model import RankedToken, ScoredTokens
from eagleray.rollouts.comparing.precision import logit_dtype
from eagleray.rollouts.comparing.prompt_layer import prompt_layer
from eagleray.rollouts.comparing.sampling import (
    fitted_temperature,
    overridden_positions,
)
from hypothesis import given
from hypothesis import strategies as st

IDS = st.lists(st.integers(0, 5), max_size=8).map(tuple)


def scored(*tokens: tuple[tuple[int, float], ...], ids: tuple[int, ...] = ()) -> ScoredTokens:
    """Tokens with their tops; the chosen one is the first unless `ids` says otherwise."""
    chosen = ids or tuple(each[0][0] for each in tokens)
    logprobs = tuple(dict(each).get(id_, -20.0) for each, id_ in zip(tokens, chosen, strict=True))
    tops = tuple(tuple(RankedToken(*top) for top in each) for each in tokens)
    return ScoredTokens(chosen, logprobs, tops)


@given(IDS, IDS)
def test_prompt_difference_is_where_ids_first_differ(
    a: tuple[int, ...], b: tuple[int, ...]
) -> None:
    layer = prompt_layer([(7, a, b)])
    assert layer.different == int(a != b)
    if layer.first is not None:
        at = layer.first.position
        assert a[:at] == b[:at]
        assert a[at : at + 1] != b[at : at + 1]
        assert layer.first.index == 7


def test_plain_texts_tell_tokenizers_from_templates() -> None:
    rendered = [(0, (1, 2), (1, 2)), (1, (1, 2, 3), (2, 3))]
    assert prompt_layer(rendered).plain_differ is None
    assert prompt_layer(rendered, [((2, 3), (2, 3))]).plain_differ is False
    assert prompt_layer(rendered, [((2, 3), (3, 2))]).plain_differ is True


def test_divergence_has_the_margins_of_both() -> None:
    a = scored(((1, -0.5), (2, -1.5)), ((3, -0.4), (4, -2.4)))
    b = scored(((1, -0.5), (2, -1.5)), ((4, -0.6), (3, -1.1)), ids=(1, 3))
    layer = greedy_layer([(9, a, b)])
    assert layer.first is not None
    assert (layer.first.sequence, layer.first.position) == (9, 1)
    assert (layer.first.a_id, layer.first.b_id) == (3, 4)
    assert (layer.first.a_margin, layer.first.b_margin) == (2.0, pytest.approx(0.5))
    assert not layer.first.is_near_tie
    assert layer.agreement == 0.5


def test_near_tie_is_not_a_fault_and_comes_after_clear_divergences() -> None:
    near = scored(((1, -0.70), (2, -0.71)))
    near_b = scored(((2, -0.70), (1, -0.70 - NEAR_TIE / 2)), ids=(1,))
    far = scored(((5, -0.1), (6, -3.0)), ((1, -0.1), (2, -3.0)))
    far_b = scored(((5, -0.1), (6, -3.0)), ((2, -0.1), (1, -3.0)), ids=(5, 1))
    layer = greedy_layer([(0, near, near_b), (1, far, far_b)])
    assert (layer.near_ties, len(layer.divergences)) == (1, 2)
    assert layer.first is not None
    assert layer.first.sequence == 1


def test_engine_without_ranks_is_not_compared() -> None:
    plain = ScoredTokens((1,), (-0.5,))
    assert greedy_layer([(0, plain, plain)]).sequences == 0


def bfloat16(value: float) -> float:
    """Cut to the upper 16 bits of a float32."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    (cut,) = struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))
    return float(cut)


def float16(value: float) -> float:
    (cut,) = struct.unpack("<e", struct.pack("<e", value))
    return float(cut)


def float32(value: float) -> float:
    (cut,) = struct.unpack("<f", struct.pack("<f", value))
    return float(cut)


def tops_of(rounded: object, positions: int = 200) -> list[tuple[RankedToken, ...]]:
    """The two likeliest tokens of logits in a precision, as float32 logprobs."""
    chance = random.Random(1)
    tops = []
    for _ in range(positions):
        logits = sorted((rounded(chance.uniform(1, 20)) for _ in range(2)), reverse=True)  # type: ignore[operator]
        norm = chance.uniform(18, 24)
        tops.append(tuple(RankedToken(at, float32(each - norm)) for at, each in enumerate(logits)))
    return tops


def test_precision_of_logits_shows_in_logprobs() -> None:
    assert logit_dtype(tops_of(bfloat16)) == "bfloat16"
    assert logit_dtype(tops_of(float16)) == "float16"
    assert logit_dtype(tops_of(float32)) == ""
    assert logit_dtype(tops_of(bfloat16, positions=8)) == ""


def test_temperature_fits_only_its_own_logprobs() -> None:
    raw = [-0.1 * at for at in range(1, 20)]
    at_temperature = {0.6: [each * 1.5 for each in raw], 1.4: [each * 0.7 for each in raw]}
    assert fitted_temperature([each * 1.5 for each in raw], raw, at_temperature) == 0.6
    assert fitted_temperature([each - 0.05 for each in raw], raw, at_temperature) is None
    assert fitted_temperature(raw, raw, {}) is None


def test_other_choice_than_the_likeliest_token_is_an_override() -> None:
    clear = scored(((2, -0.1), (1, -3.0)), ids=(1,))
    tie = scored(((2, -0.70), (1, -0.71)), ids=(1,))
    assert overridden_positions([clear, tie]) == 1
