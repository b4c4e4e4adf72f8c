"""Sets of ranks: their text, and the laws of sets."""

import pytest
from eagleray.remote.sampling.rank_sets import RankSet
from hypothesis import given
from hypothesis import strategies as st

ranks = st.frozensets(st.integers(0, 60), max_size=40)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([], ""),
        ([3], "3"),
        ([3, 0, 1], "0-1,3"),
        ([0, 1, 2, 3], "0-3"),
        ([5, 5, 7, 6], "5-7"),
    ],
)
def test_text_folds_neighbours(numbers: list[int], text: str) -> None:
    assert str(RankSet.of(numbers)) == text
    assert RankSet.parse(text) == RankSet.of(numbers)


@pytest.mark.parametrize("text", ["x", "1-", "-1", "3-1", "1--2", "٣", "1" * 400])
def test_text_that_names_no_ranks_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        RankSet.parse(text)


@given(ranks, ranks)
def test_sets_behave_as_sets(one: frozenset[int], other: frozenset[int]) -> None:
    left, right = RankSet.of(one), RankSet.of(other)
    assert set(RankSet.union([left, right])) == one | other
    assert set(left.without(right)) == one - other
    assert len(left) == len(one)
    assert all((rank in left) == (rank in one) for rank in range(61))
    assert RankSet.parse(str(left)) == left
