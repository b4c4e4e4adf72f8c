"""Problems of a batch, by the numbers of its tensors; rows of a batch that is made of a dump."""

from __future__ import annotations

from typing import Any

import pytest
from eagleray.rollouts.batches.batches import row_of
from eagleray.rollouts.batches.findings import findings
from eagleray.rollouts.batches.model import (
    BatchSummary,
    BatchTensor,
    MaskedValues,
    RowSums,
)

from tests.rollouts.trajectories.dumps import areal, nemo, own
from tests.rollouts.trajectories.test_formats import read


def tensor(name: str, **changes: Any) -> BatchTensor:
    values = {
        "shape": [4, 8],
        "dtype": "float32",
        "bytes": 128,
        "nan": 0,
        "infinite": 0,
        "least": -1.0,
        "most": 0.0,
        "mean": -0.5,
        "std": 0.25,
        "row_sums": None,
    }
    return BatchTensor(name, **{**values, **changes})


def found(*tensors: BatchTensor, vocabulary: int | None = None, **more: Any) -> list[str]:
    batch = BatchSummary("2.13.0", "weights_only", "dict", tensors=list(tensors), **more)
    return findings(batch, vocabulary)


@pytest.mark.parametrize(
    ("tensor", "sentences"),
    [
        (tensor("logprobs"), []),
        (tensor("logprobs", nan=3), ["logprobs has 3 values that are NaN."]),
        (tensor("values", infinite=2), ["values has 2 infinite values."]),
        (tensor("0.logprobs", most=0.5), ["0.logprobs has positive values, up to 0.5."]),
        (tensor("logprobs", most=0.0005), []),
        (
            tensor("batch.responses", least=-100, most=5),
            ["batch.responses has negative ids, down to -100."],
        ),
        (
            tensor("input_ids", least=0, most=100),
            ["input_ids has id 100; the vocabulary ends at 99."],
        ),
        (tensor("input_ids", least=0, most=99), []),
        (
            tensor("loss_mask", row_sums=RowSums(12, 0, 4, 1)),
            ["loss_mask is 0 in 1 rows, which train nothing."],
        ),
        (tensor("attention_mask", row_sums=RowSums(12, 0, 4, 1)), []),
        (tensor("rewards", shape=[4], mean=1.0, std=0.0), ["rewards is 1 everywhere."]),
        (tensor("rewards", shape=[1], mean=1.0, std=0.0), []),
        (tensor("input_ids", least=None, most=None), []),
    ],
)
def test_tensor_has_these_findings(tensor: BatchTensor, sentences: list[str]) -> None:
    assert found(tensor, vocabulary=100) == sentences


def test_ids_without_a_vocabulary_have_no_end() -> None:
    assert found(tensor("input_ids", least=0, most=10**6)) == []


def test_advantages_that_are_all_zero_teach_nothing() -> None:
    zero = MaskedValues("batch.advantages", 12, 0.0, 0.0, 0.0, 0.0)
    same = MaskedValues("batch.advantages", 12, 1.0, 1.0, 1.0, 0.0)
    empty = MaskedValues("batch.advantages", 0, None, None, None, None)
    assert found(masked=[zero]) == ["batch.advantages is 0 for all trained tokens."]
    assert found(masked=[same, empty]) == []


def test_tensors_of_a_folder_have_the_same_number_of_rows() -> None:
    tensors = tensor("batch.a"), tensor("batch.b", shape=[3]), tensor("other", shape=[5])
    assert found(*tensors) == ["batch.a has 4 rows, batch.b has 3."]


def test_row_of_a_batch_has_a_value_for_each_token() -> None:
    row = row_of(read(own("g", 0, logprobs=[0.0, None], versions=[])))
    assert row == {
        "ids": [5, 6, 7],
        "mask": [0, 0, 1],
        "logprobs": [0.0, 0.0, 0.0],
        "versions": [-1, -1, -1],
        "reward": 1.0,
    }
    padded = row_of(read(nemo(1)))
    assert padded is not None and len(padded["ids"]) == len(padded["mask"]) == 6


@pytest.mark.parametrize(
    "record", [areal(1, 0), own("g", 0, reward=None), own("g", 0, token_ids=[])]
)
def test_line_without_ids_or_reward_is_not_a_row(record: dict[str, Any]) -> None:
    assert row_of(read(record)) is None
