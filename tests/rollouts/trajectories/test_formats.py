"""Lines of each framework become trajectories: texts, rewards, tokens, versions and what is wrong with them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.rollouts.trajectories.formats import read_line
from eagleray.rollouts.trajectories.model import Trajectory, Turn
from eagleray.rollouts.trajectories.turns import PLAIN, TEMPLATES, split_text, turns_of
from hypothesis import given
from hypothesis import strategies as st

from tests.rollouts.trajectories.dumps import CHATML, areal, nemo, own, verl

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(st.text(max_size=3), parts),
    max_leaves=8,
)
KEYS = sorted({*areal(0, 0), *verl(0, 0), *nemo(0), *own("", 0), "truncated", "error"})


def read(record: Any) -> Trajectory:
    return read_line(json.dumps(record).encode())


def test_line_of_areal_has_group_versions_and_end() -> None:
    line = read(areal(7, 1))
    assert (line.format, line.group, line.sample, line.reward) == ("AReaL", "7", 1, 1.0)
    assert (line.tokens, line.prompt_tokens, line.completion_length) == (20, 12, 8)
    assert (line.first_version, line.last_version, line.ended) == (3, 4, True)
    assert read(areal(7, 1, completion="It is")).ended is False
    assert read(areal(0, 0, head_version=0)).first_version == 0


def test_line_of_verl_has_step_and_other_fields() -> None:
    line = read(verl(12, 0))
    assert (line.format, line.step, line.reward, line.tokens) == ("verl", 12, 1.0, None)
    assert line.fields == {"gts": "4", "acc": True}
    assert line.ended is None
    assert line.completion_length == len("It is 0.")


def test_padding_of_nemo_rl_is_left_out() -> None:
    line = read(nemo(1))
    assert (line.format, line.reward, line.tokens, line.prompt_tokens) == ("NeMo RL", 1.0, 6, 3)
    assert line.columns.ids == (5, 6, 7, 8, 1, 2)
    assert line.columns.trainer_logprobs[4] == -0.25
    assert (line.prompt, line.completion, line.last_id) == ("What is 2+2?", "It is 1.", 2)
    assert turns_of(line) == [
        Turn("prompt", "What is 2+2?", False),
        Turn("completion", "It is 1.", True),
    ]


def test_validation_line_of_nemo_rl_has_roles() -> None:
    content = [[{"role": "user", "content": "2+2"}, {"role": "assistant", "content": "4"}]]
    line = read({"content": content, "rewards": [0.0], "idx": 0})
    assert [(turn.role, turn.text) for turn in turns_of(line)] == [
        ("user", "2+2"),
        ("assistant", "4"),
    ]
    assert (line.prompt, line.completion) == ("2+2", "4")


@pytest.mark.parametrize("role", ["environment", "tool", "user"])
def test_messages_of_the_environment_are_not_the_completion(role: str) -> None:
    content = [
        {"role": "user", "content": "2+2"},
        {"role": "assistant", "content": "5"},
        {"role": role, "content": "Environment: incorrect"},
        {"role": "assistant", "content": "4"},
        {"role": role, "content": "Environment: correct"},
    ]
    for line in (
        read({"content": [content], "rewards": [1.0], "idx": 0}),
        read({"prompt": "2+2", "completion": content[1:]}),
    ):
        assert (line.prompt, line.completion) == ("2+2", "5\n4")
        assert [turn.text for turn in line.messages][-4:] == [
            each["content"] for each in content[1:]
        ]


def test_call_of_a_tool_has_its_name() -> None:
    """As in rollouts of NeMo Gym (nemo_gym/rollout_collection.py): items of OpenAI's responses."""
    call = {"type": "function_call", "name": "calc", "arguments": '{"e": "1"}', "call_id": "c"}
    result = {"type": "function_call_output", "call_id": "c", "output": "391"}
    params = {"input": [{"role": "user", "content": "17*23"}]}
    line = read({"responses_create_params": params, "response": {"output": [call, result]}})
    assert line.completion == 'calc {"e": "1"}'
    assert [turn.text for turn in line.messages] == ["17*23", 'calc {"e": "1"}', "391"]


@pytest.mark.parametrize(
    ("prompt", "completion"),
    [("prompt_tokens", "response_tokens"), ("prompt_ids", "completion_ids")],
)
def test_ids_of_prompt_and_response_are_joined(prompt: str, completion: str) -> None:
    line = read({prompt: [1, 2], completion: [3, 4, 5], "logprobs": [-0.1, -0.2, -0.3]})
    assert line.columns.ids == (1, 2, 3, 4, 5)
    assert line.columns.logprobs == (None, None, -0.1, -0.2, -0.3)
    assert (line.tokens, line.prompt_tokens, line.completion_tokens) == (5, 2, 3)
    assert (line.has_prompt, line.has_completion) == (True, True)


def test_own_line_has_versions_of_tokens_and_tool_calls() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    parts = {"role": "user", "content": [{"type": "text", "text": "a"}, {"text": "b"}]}
    line = read(own("g", 2, messages=[parts, call]))
    assert (line.group, line.sample, line.first_version, line.last_version) == ("g", 2, 7, 7)
    assert (line.ended, line.columns.texts) == (True, ("What", "?", "4"))
    assert [turn.text for turn in line.messages] == ["ab", '[{"id": "1"}]']
    assert line.fields["latency_s"] == 0.25
    assert read(own("g", 2, finish_reason="length")).ended is False


def test_line_of_another_program_is_read_by_usual_names() -> None:
    line = read({"question": "2+2", "response": "4", "score": 1, "truncated": True})
    assert (line.format, line.prompt, line.completion) == ("JSON", "2+2", "4")
    assert (line.reward, line.ended) == (1.0, False)


CHAT = [{"role": "user", "content": "2+2"}, {"role": "assistant", "content": "4"}]


@pytest.mark.parametrize(
    ("record", "texts"),
    [
        ({"messages": json.dumps(CHAT)}, ("2+2", "4")),
        ({"prompt": json.dumps(CHAT[:1]), "completion": json.dumps(CHAT[1])}, ("2+2", "4")),
        ({"prompt": "2+2", "completion": json.dumps([{"type": "a"}])}, ("2+2", '[{"type": "a"}]')),
        ({"prompt": "2+2", "completion": '{"role": '}, ("2+2", '{"role": ')),
        (
            {"request": {"messages": CHAT[:1]}, "response": {"choices": [{"message": CHAT[1]}]}},
            ("2+2", "4"),
        ),
    ],
)
def test_messages_written_as_a_text_of_json_are_read(
    record: dict[str, Any], texts: tuple[str, str]
) -> None:
    line = read(record)
    assert (line.prompt, line.completion, line.problem) == (*texts, "")


def test_images_in_messages_are_named() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0"}}
    content = [image, {"type": "text", "text": " What is it?"}]
    line = read({"messages": [{"role": "user", "content": content}, CHAT[1]]})
    assert (line.prompt, line.completion) == ("[image_url] What is it?", "4")


def test_reward_in_a_list_of_one_number_is_that_number() -> None:
    assert read({"prompt": "2+2", "completion": "4", "reward": [0.5]}).reward == 0.5
    assert read({"prompt": "2+2", "completion": "4", "reward": [0.5, 1]}).reward is None


def test_ids_that_are_not_token_ids_are_left_out() -> None:
    assert read({"prompt": "a", "tokens": [2**70]}).columns.ids == ()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"prompt": "a", ', "The line is not JSON: "),
        (b"[1, 2]", "The line is not a JSON object."),
        (b"[" * 100_000, "The line is not JSON that can be read."),
        (b'{"prompt": "a\xff", "completion": ""}', "The line has bytes that are not UTF-8."),
        (b'{"prompt": "a", "reward": NaN}', "The reward is not a finite number."),
        (b'{"prompt": "a", "reward": 1e999}', "The reward is not a finite number."),
        (b'{"prompt": "a", "reward": "A"}', "The reward is not a finite number."),
        (b'{"prompt": "a", "reward": 1, "error": "TimeoutError"}', "TimeoutError"),
    ],
)
def test_problem_of_a_line_is_a_sentence(line: bytes, problem: str) -> None:
    assert read_line(line).problem.startswith(problem)


@given(st.dictionaries(st.sampled_from(KEYS), JSON))
def test_any_object_is_read(record: dict[str, Any]) -> None:
    line = read(record)
    for turn in turns_of(line):
        turn.text.encode()
    line.prompt.encode()
    assert line.completion_length >= 0


@given(st.binary())
def test_any_bytes_are_read(line: bytes) -> None:
    read_line(line)


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        (CHATML + "4<|im_end|>", ["user", "assistant"]),
        (
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\n2+2<|eot_id|>",
            ["", "system", "user"],
        ),
        ("<start_of_turn>user\n2+2<end_of_turn>\n<start_of_turn>model\n4", ["user", "model"]),
        ("<｜User｜>2+2<｜Assistant｜>4", ["user", "assistant"]),
        ("<|user|>\n2+2<|assistant|>\n4", ["user", "assistant"]),
        (
            "<|start|>user<|message|>2+2<|end|><|start|>assistant<|channel|>final<|message|>4",
            ["user", "assistant"],
        ),
        ("system\nBe brief.\nuser\n2+2\nassistant\n4", ["system", "user", "assistant"]),
        ("The word user\nalone is no header.", [""]),
    ],
)
def test_headers_of_chat_templates_begin_turns(text: str, roles: list[str]) -> None:
    assert [role for role, _, _ in split_text(text, len(text))] == roles


def test_turn_is_cut_where_the_completion_begins() -> None:
    line = read(areal(1, 0, prompt=CHATML + "<think>", completion="4<|im_end|>"))
    assert [(turn.role, turn.text, turn.trained) for turn in turns_of(line)] == [
        ("user", "What is 2+2?<|im_end|>\n", False),
        ("assistant", "<think>", False),
        ("assistant", "4<|im_end|>", True),
    ]


HEADERS = st.sampled_from(
    [
        "<|im_start|>user\n",
        "<|im_start|>",
        "<|im_end|>",
        "user\n",
        "<|user|>",
        "a",
        "\n",
        "<｜User｜>",
    ]
)


@given(st.lists(HEADERS, max_size=12).map("".join), st.integers(0, 40))
def test_turns_have_every_character_that_is_not_in_a_header(text: str, trained_from: int) -> None:
    parts = split_text(text, trained_from)
    shown = "".join(part for _, part, _ in parts)
    possible = {"".join(pattern.sub("", text)) for _, pattern in TEMPLATES} | {PLAIN.sub("", text)}
    assert shown in possible | {text}


def test_error_of_the_catalogue_is_none_of_a_line() -> None:
    """A list must show the others."""
    assert not isinstance(read_line(b"\xff\xfe"), EaglerayError)
