"""Token counts of response bodies, however large and in whatever parts they come."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from eagleray.remote.injected.agents.token_counts import TokenCount
from hypothesis import given
from hypothesis import strategies as st


def events(*values: object) -> bytes:
    return b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values)


def delta(text: str | None, name: str = "content", **fields: object) -> dict[str, object]:
    return {"id": "cmpl-1", "choices": [{"delta": {name: text}}], "usage": None, **fields}


def counted(body: bytes, is_stream: bool, part: int) -> TokenCount:
    count = TokenCount(is_stream)
    for start in range(0, len(body), part):
        count.add(body[start : start + part])
    return count


TEXTS = [delta("", role="assistant"), *[delta("ab")] * 3, delta(None)]
QUOTES = delta('a "content":"b" "completion_tokens": 9')
LOGPROBS = [{"token": "a", "id": 7, "logprob": -1.5, "top_logprobs": []}] * 40_000
LARGE = {"choices": [{"logprobs": {"content": LOGPROBS}}], "id": "cmpl-2"}
LATE = [*[delta("ab")] * 20_000, {"choices": [], "usage": {"completion_tokens": 20_005}}]
# Body, whether it is a stream, tokens, ids.
TABLE: dict[str, tuple[bytes, bool, int, list[str]]] = {
    "usage": (b'{"id": "a", "usage": {"completion_tokens": 12}}', False, 12, ["a"]),
    "text with a count": (json.dumps(QUOTES).encode(), False, 0, ["cmpl-1"]),
    "no count": (b'{"choices": [{"text": "abc"}]}', False, 0, []),
    "Responses": (b'{"usage": {"output_tokens": 3, "output_tokens_details": {}}}', False, 3, []),
    "Ollama": (b'{"eval_count": 5, "done": true}', False, 5, []),
    "events": (events(*TEXTS) + b"data: [DONE]\n\n", True, 3, ["cmpl-1"]),
    "events with quotes": (events(QUOTES), True, 1, ["cmpl-1"]),
    "reasoning": (events(delta("hm", "reasoning_content"), delta("ab")), True, 2, ["cmpl-1"]),
    "tools": (events(delta("{", "arguments"), delta("}", "arguments")), True, 2, ["cmpl-1"]),
    "last event": (events(*TEXTS, {"usage": {"completion_tokens": 7}}), True, 7, ["cmpl-1"]),
    "timings": (events(*TEXTS, delta(None, timings={"predicted_n": 4})), True, 4, ["cmpl-1"]),
    "growing": (events(*[{"usage": {"completion_tokens": n}} for n in (1, 2, 9)]), True, 9, []),
    "Anthropic": (
        b"event: message_start\n"
        + events({"message": {"id": "msg", "usage": {"output_tokens": 1}}})
        + events({"delta": {"type": "text_delta", "text": "ab"}}, {"usage": {"output_tokens": 8}}),
        True,
        8,
        ["msg"],
    ),
    "large": (
        json.dumps({**LARGE, "usage": {"completion_tokens": 40_000}}).encode(),
        False,
        40_000,
        ["cmpl-2"],
    ),
    "large events": (events(*[delta("ab")] * 20_000), True, 20_000, ["cmpl-1"]),
    "large events with a count": (events(*LATE), True, 20_005, ["cmpl-1"]),
}


@pytest.mark.parametrize("part", [7, 4099, 10**9])
@pytest.mark.parametrize(
    ("body", "is_stream", "tokens", "ids"), list(TABLE.values()), ids=list(TABLE)
)
def test_tokens_and_ids_are_counted(
    body: bytes, is_stream: bool, tokens: int, ids: list[str], part: int
) -> None:
    count = counted(body, is_stream, part)
    assert (count.tokens(), count.ids()) == (tokens, ids)


@given(st.lists(st.integers(1, 60_000), max_size=6), st.integers(0, 10**9))
def test_count_at_the_edge_of_a_block_is_whole(spaces: list[int], tokens: int) -> None:
    body = b"".join(b" " * each for each in spaces) + b'{"completion_tokens":%d}' % tokens
    assert counted(body, False, 1000).tokens() == tokens


def test_body_of_100_mb_takes_little_memory() -> None:
    count, part = TokenCount(is_stream=True), b"x" * 10_000
    tracemalloc.start()
    for _ in range(10_000):
        count.add(part)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2**20


def answer(message: dict[str, object], finish: str | None = "stop") -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": finish}]}).encode()


# Body, finish reason, whether it has content.
ENDINGS: dict[str, tuple[bytes, str, bool]] = {
    "content": (answer({"content": "a"}), "stop", True),
    "reasoning alone": (
        answer({"content": "", "reasoning_content": "hm"}, "length"),
        "length",
        False,
    ),
    "null": (answer({"content": None, "tool_calls": []}), "stop", False),
    "tool call": (
        answer(
            {"content": None, "tool_calls": [{"function": {"name": "f", "arguments": ""}}]},
            "tool_calls",
        ),
        "tool_calls",
        True,
    ),
    "empty text with a quoted reason": (answer({"content": ' "finish_reason": "x"'}), "stop", True),
    "logprobs without text": (
        b'{"choices": [{"message": {"content": ""}, "logprobs": {"content": [{"token": "a"}]}, "finish_reason": "stop"}]}',
        "stop",
        False,
    ),
    "SGLang": (
        b'{"text": "", "meta_info": {"finish_reason": {"type": "length", "length": 8}}}',
        "length",
        False,
    ),
    "Anthropic": (
        b'{"content": [{"type": "text", "text": "a"}], "stop_reason": "end_turn"}',
        "end_turn",
        True,
    ),
    "not ended": (answer({"content": ""}, None), "", False),
}


@pytest.mark.parametrize(
    ("body", "finish", "has_content"), list(ENDINGS.values()), ids=list(ENDINGS)
)
def test_ending_of_an_answer(body: bytes, finish: str, has_content: bool) -> None:
    count = counted(body, False, 7)
    count.tokens()
    assert (count.finish, count.has_content) == (finish, has_content)
