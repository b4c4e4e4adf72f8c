"""Token columns of responses, as servers write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from eagleray.rollouts.chat_responses import answer_text, token_columns

RECORDED = Path(__file__).parent / "recorded"
NO_IDS: list[int] = []


def answer(
    texts: str, *, ids: list[int] | None = None, prompt: list[int] | None = None, **entry: Any
) -> dict[str, Any]:
    """As vLLM with `return_token_ids`; each character is a token with the logprob -1, -2, …"""
    content = [{"token": text, "logprob": -float(at), **entry} for at, text in enumerate(texts, 1)]
    choice = {"message": {"role": "assistant", "content": texts}, "logprobs": {"content": content}}
    if ids is not None:
        choice["token_ids"] = ids
    usage = {"prompt_tokens": len(prompt or ()), "completion_tokens": len(texts)}
    return {"choices": [choice], "usage": usage, "prompt_token_ids": prompt}


def test_prompt_and_completion_are_one_sequence() -> None:
    assert token_columns([answer("ab", ids=[7, 8], prompt=[1, 2])]) == {
        "token_ids": [1, 2, 7, 8],
        "token_texts": ["", "", "a", "b"],
        "mask": [0, 0, 1, 1],
        "logprobs": [0.0, 0.0, -1.0, -2.0],
    }


def test_turn_that_continues_keeps_what_was_generated() -> None:
    first = answer("ab", ids=[7, 8], prompt=[1, 2])
    second = answer("c", ids=[9], prompt=[1, 2, 7, 8, 3])
    columns = token_columns([first, second])
    assert columns["token_ids"] == [1, 2, 7, 8, 3, 9]
    assert columns["mask"] == [0, 0, 1, 1, 0, 1]
    assert columns["logprobs"] == [0.0, 0.0, -1.0, -2.0, 0.0, -1.0]


def test_turns_of_a_real_vllm_are_one_sequence() -> None:
    """Recorded from vLLM 0.32.0 on a CPU, with `return_token_ids` and `logprobs`."""
    first, second = json.loads((RECORDED / "vllm-0.32.0-turns.json").read_text())
    columns = token_columns([first, second])
    ids = [turn["choices"][0]["token_ids"] for turn in (first, second)]
    assert columns["token_ids"] == second["prompt_token_ids"] + ids[1]
    start = len(first["prompt_token_ids"])
    assert columns["token_ids"][start : start + 5] == ids[0]
    assert (
        columns["mask"]
        == [0] * start + [1] * 5 + [0] * (len(columns["mask"]) - start - 10) + [1] * 5
    )
    assert columns["logprobs"][start] == pytest.approx(-3.6975, abs=1e-4)


def test_turn_with_another_beginning_is_alone() -> None:
    first = answer("ab", ids=[7, 8], prompt=[1, 2])
    second = answer("c", ids=[9], prompt=[1, 2, 7, 6, 3])
    assert token_columns([first, second])["mask"] == [0, 0, 0, 0, 0, 1]


def test_ids_of_sglang_are_in_its_meta_info() -> None:
    response = answer("ab")
    [choice] = response["choices"]
    choice["prompt_token_ids"] = [1, 2]
    choice["meta_info"] = {"output_token_logprobs": [[-1.0, 7, None], [-2.0, 8, None]]}
    columns = token_columns([response])
    assert (columns["token_ids"], columns["mask"]) == ([1, 2, 7, 8], [0, 0, 1, 1])
    choice["meta_info"] = {"output_token_logprobs": [[-1.0, 7, None], [-2.0]]}
    assert token_columns([response]) == {}


def test_ids_beside_logprobs_are_the_ids_of_the_completion() -> None:
    columns = token_columns([answer("ab", id=5)])
    assert (columns["completion_ids"], columns["mask"]) == ([5, 5], [1, 1])
    assert "token_ids" not in columns


@pytest.mark.parametrize(
    "response",
    [
        {**answer("ab", id=5), "usage": {"completion_tokens": 3}},
        answer("ab", ids=[7], prompt=[1, 2]),
        answer("ab", id="5"),
        answer("ab", id=True),
        answer("ab"),
    ],
)
def test_ids_that_are_not_one_for_each_token_are_left_out(response: dict[str, Any]) -> None:
    columns = token_columns([response])
    assert columns["completion_ids"] == NO_IDS
    assert columns["logprobs"] == [-1.0, -2.0]


@pytest.mark.parametrize(
    "response",
    [
        "data: {}",
        None,
        {},
        {"choices": []},
        {"choices": [{"logprobs": None}]},
        {"choices": [{"logprobs": {"content": [{"token": "a", "logprob": None}]}}]},
        {"choices": [{"logprobs": {"content": 5}}]},
        {"choices": [5]},
        [5],
    ],
)
def test_response_without_logprobs_has_no_columns(response: object) -> None:
    assert token_columns([response]) == {}


def test_text_of_an_answer_comes_from_its_choice_or_from_all_its_events() -> None:
    whole = json.dumps({"choices": [{"message": {"content": "Four."}}]})
    parts = [{"choices": [{"delta": {"content": part}}]} for part in ("Fo", "ur.")]
    stream = "".join(f"data: {json.dumps(part)}\n\n" for part in [*parts, {"choices": []}])
    assert answer_text(whole) == answer_text(stream + "data: [DONE]\n\n") == "Four."
    tool = json.dumps({"choices": [{"message": {"content": None, "tool_calls": []}}]})
    assert {answer_text(body) for body in (tool, stream, whole[:-3], "", "[]", "refused")} == {""}
