"""Reads prompts and dumps as trainers and users write them, also broken ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.rollouts.comparing.engines.dump import (
    ROLLOUT_LOGPROBS,
    TRAINER_LOGPROBS,
    read_dump,
)
from eagleray.rollouts.comparing.engines.torch_reference import TorchModel
from eagleray.rollouts.comparing.prompts import read_prompts
from eagleray.rollouts.comparing.targets import DumpTarget, ServerTarget, target_of

MESSAGES = [{"role": "user", "content": "hi"}, {"role": "tool", "content": [{"type": "text"}]}]


def written(path: Path, *rows: Any) -> Path:
    path.write_text(
        "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    )
    return path


def test_prompts_are_texts_or_messages(tmp_path: Path) -> None:
    file = written(
        tmp_path / "p.jsonl", {"prompt": "a"}, {"messages": MESSAGES}, {"prompt": MESSAGES}
    )
    prompts = read_prompts(file).prompts
    assert [each.index for each in prompts] == [0, 1, 2]
    assert (prompts[0].text, prompts[1].messages, prompts[2].messages) == (
        "a",
        tuple(MESSAGES),
        tuple(MESSAGES),
    )
    assert prompts[1].plain_texts == ["hi"]


def test_broken_lines_are_counted(tmp_path: Path) -> None:
    long = json.dumps({"prompt": "x" * 10_000_000})
    rows = ["\ufeff" + json.dumps({"prompt": "first"}), "{", "", "[1]", {"text": "a"}, "[" * 10_000]
    file = written(tmp_path / "p.jsonl", *rows, {"prompt": ""}, {"prompt": [1]}, long)
    read = read_prompts(file)
    assert [len(each.text) for each in read.prompts] == [5, 10_000_000]
    assert read.unreadable == 6
    assert len(read_prompts(file, 1).prompts) == 1


@pytest.mark.parametrize("content", ["", "{}\n", None])
def test_file_without_prompts_is_an_error(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "p.jsonl"
    if content is not None:
        file.write_text(content)
    with pytest.raises(EaglerayError) as error:
        read_prompts(file)
    assert error.value.code == "unreadable-prompts"


def test_row_of_nemo_rl_has_both_logprobs(tmp_path: Path) -> None:
    row = {
        "token_ids": [5, 6, 7, 8, 0, 0],
        "token_loss_mask": [0, 0, 1, 1, 0, 0],
        "input_lengths": 4,
        "generation_logprobs": [0, 0, -0.5, -0.6, 0, 0],
        "prev_logprobs": [0, 0, -0.4, -0.7, 0, 0],
    }
    file = written(tmp_path / "train_data_step3.jsonl", row)
    rollout, trainer = read_dump(file, ROLLOUT_LOGPROBS), read_dump(file, TRAINER_LOGPROBS)
    assert (rollout.sequences[0].prompt, rollout.sequences[0].completion) == ((5, 6), (7, 8))
    assert rollout.scored[0].logprobs == (-0.5, -0.6)
    assert trainer.scored[0].logprobs == (-0.4, -0.7)


@pytest.mark.parametrize("batch", [1, 2])
def test_batch_in_a_row_has_its_sequences(tmp_path: Path, batch: int) -> None:
    """NeMo RL's log_batched_dict_as_jsonl writes each value as a list with the values of its sequences."""
    row = {
        "token_ids": [[5, 6, 7 + at, 8, 0, 0] for at in range(batch)],
        "token_loss_mask": [[0, 0, 1, 1, 0, 0]] * batch,
        "input_lengths": [4] * batch,
        "generation_logprobs": [[0, 0, -0.5, -0.6, 0, 0]] * batch,
        "prev_logprobs": [[0, 0, -0.4, -0.7, 0, 0]] * batch,
        "rewards": [1.0] * batch,
    }
    file = written(tmp_path / "train_data_step3.jsonl", row)
    rollout, trainer = read_dump(file, ROLLOUT_LOGPROBS), read_dump(file, TRAINER_LOGPROBS)
    assert [each.completion for each in rollout.sequences] == [(7 + at, 8) for at in range(batch)]
    assert rollout.scored[-1].logprobs == (-0.5, -0.6)
    assert trainer.scored[-1].logprobs == (-0.4, -0.7)
    assert rollout.sequences[0].step == 3


def test_each_turn_is_a_completion_after_all_before_it(tmp_path: Path) -> None:
    row = {
        "input_ids": [1, 2, 3, 4, 5],
        "loss_mask": [0, 1, 0, 1, 1],
        "logprobs": [0, -1.0, 0, -2.0, -3.0],
    }
    dump = read_dump(written(tmp_path / "d.jsonl", row), ROLLOUT_LOGPROBS)
    assert [(each.prompt, each.completion) for each in dump.sequences] == [
        ((1,), (2,)),
        ((1, 2, 3), (4, 5)),
    ]
    assert [each.logprobs for each in dump.scored] == [(-1.0,), (-2.0, -3.0)]


def test_logprobs_of_the_completion_alone_are_matched(tmp_path: Path) -> None:
    row = {"prompt_ids": [1, 2], "response_ids": [3, 4], "rollout_log_probs": [-1.0, -2.0]}
    dump = read_dump(written(tmp_path / "d.jsonl", row, "{broken"), ROLLOUT_LOGPROBS)
    assert dump.scored[0].logprobs == (-1.0, -2.0)
    assert dump.unreadable == 1


@pytest.mark.parametrize("padding", [(0.0, 0.0), (-11.5,) * 5])
def test_padding_without_a_mask_is_not_compared(tmp_path: Path, padding: tuple[float, ...]) -> None:
    ids, own = [5, 6, 2], [-0.1, -0.2, -0.3]
    row = {
        "prompt_ids": [1, 3],
        "response_ids": [*ids, *[2 if len(padding) > 2 else 0] * len(padding)],
        "rollout_log_probs": [*own, *padding],
    }
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(row) + "\n")
    dump = read_dump(file, ["rollout_log_probs"])
    assert (dump.sequences[0].completion, dump.scored[0].logprobs) == ((*ids,), (*own,))


@pytest.mark.parametrize("mask", ["response_mask", "loss_mask", "mask"])
def test_masked_tokens_of_a_response_are_not_compared(tmp_path: Path, mask: str) -> None:
    """verl pads responses to one length, and masks padding and the tokens of tools."""
    row = {"prompt_ids": [1], "response_ids": [3, 4, 5, 0, 0], mask: [1, 0, 1, 0, 0]}
    row["old_log_probs"] = [-1.0, 0.0, -2.0, 0.0, 0.0]
    dump = read_dump(written(tmp_path / "d.jsonl", row), TRAINER_LOGPROBS)
    assert [(each.prompt, each.completion) for each in dump.sequences] == [
        ((1,), (3,)),
        ((1, 3, 4), (5,)),
    ]
    assert [each.logprobs for each in dump.scored] == [(-1.0,), (-2.0,)]


@pytest.mark.parametrize(
    ("row", "missing"),
    [
        ({"response_ids": [3], "logprobs": [-1.0]}, "rows lack `prompt_ids`"),
        ({"input_ids": [3], "logprobs": [-1.0]}, "rows lack `loss_mask`"),
        ({"responses": [3], "logprobs": [-1.0]}, "but no token ids, such as `response_ids`"),
    ],
)
def test_refusal_names_what_a_dump_lacks(tmp_path: Path, row: dict[str, Any], missing: str) -> None:
    with pytest.raises(EaglerayError) as error:
        read_dump(written(tmp_path / "d.jsonl", row), ROLLOUT_LOGPROBS)
    assert missing in str(error.value)


@pytest.mark.parametrize(
    "row",
    [
        # AReaL's dump_to_file and verl's rollout_data_dir: texts only.
        {"task_id": 1, "seqlen": 4, "prompt_len": 2, "prompt": "a", "completion": "b"},
        {"input": "a", "output": "b", "score": 1.0, "step": 3},
        {"input_ids": [1, 2], "loss_mask": [0, 1]},
        {"input_ids": [1, 2, 3], "loss_mask": [0, 1, 1], "logprobs": [-1.0]},
        {"input_ids": [1, "2"], "loss_mask": [0, 1], "logprobs": [0, -1.0]},
    ],
)
def test_dump_without_ids_and_logprobs_is_an_error(tmp_path: Path, row: dict[str, Any]) -> None:
    with pytest.raises(EaglerayError) as error:
        read_dump(written(tmp_path / "d.jsonl", row), ROLLOUT_LOGPROBS)
    assert error.value.code == "unreadable-dump"


def test_targets_are_models_servers_and_dumps(tmp_path: Path) -> None:
    file = written(tmp_path / "batch", {})
    assert target_of("torch:/m?dtype=bf16&device=cuda:1") == TorchModel(
        Path("/m"), "bfloat16", "cuda:1"
    )
    assert target_of("torch:/m") == TorchModel(Path("/m"))
    assert target_of("http://h:1/v1") == ServerTarget("http://h:1/v1")
    assert target_of("rollouts") == ServerTarget("rollouts")
    assert target_of(f"{file}?logprobs=prev_logprobs") == DumpTarget(file, "prev_logprobs")
    assert target_of("missing.jsonl") == DumpTarget(Path("missing.jsonl"))
