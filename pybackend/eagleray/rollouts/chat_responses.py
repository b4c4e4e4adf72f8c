"""Chats in a trace of requests: their messages, and the tokens of their responses as columns of a trajectory.

Responses have tokens only if the agent requested them.
OpenAI's `logprobs=True` gives texts and logprobs. llama.cpp (b10.2026) puts an `id` beside each, vLLM (0.32) answers
`return_token_ids` with `token_ids` of the choice and `prompt_token_ids`.  SGLang (0.5.13) answers `return_prompt_token_ids`
with `prompt_token_ids` of the choice, and `return_meta_info` with [logprob, id, text] for each token.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import field, frozen


@frozen
class ResponseTokens:
    """The tokens of one response; `prompt` and `ids` are empty where they are unknown or incomplete."""

    texts: tuple[str, ...] = ()
    logprobs: tuple[float, ...] = ()
    ids: tuple[int, ...] = ()
    prompt: tuple[int, ...] = ()


@frozen
class _Sequence:
    """Whole token ids of a conversation; `mask` is 1 for those that were generated."""

    ids: list[int] = field(factory=list)
    texts: list[str] = field(factory=list)
    mask: list[int] = field(factory=list)
    logprobs: list[float] = field(factory=list)


def answered_chats(requests: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The requests of a trace that are chats with one answer, as OpenAI's API has them."""
    for request in requests:
        try:
            chat_messages(request)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            continue
        yield request


def chat_messages(chat: Mapping[str, Any]) -> dict[str, Any]:
    """The messages of a chat with the answer."""
    [choice] = chat["response"]["choices"]
    messages = [*chat["request"]["messages"], choice["message"]]
    return {"messages": messages, "finish_reason": choice.get("finish_reason")}


def answer_text(response: str) -> str:
    """The text of an answer to a chat, whole or streamed; "" where it has none, several, or isn't complete."""
    is_stream = response.startswith("data:")
    events = [line[5:] for line in response.splitlines() if line.startswith("data:")]
    try:
        if not is_stream:
            return str(json.loads(response)["choices"][0]["message"]["content"] or "")
        if not events or events[-1].strip() != "[DONE]":
            return ""
        choices = [choice for event in events[:-1] for choice in json.loads(event)["choices"]]
        return "".join(choice["delta"].get("content") or "" for choice in choices)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return ""


def token_columns(answers: Iterable[Any]) -> dict[str, Any]:
    """The columns of the conversation that ends with the last answer.

    1. With the ids of prompts: prompt and completion, and what earlier answers generated of this prompt.
    2. Without them: the columns of the last completion, whose ids are `completion_ids`, since they aren't a whole
    sequence.
    3. Nothing of responses without logprobs.
    """
    sequence = _Sequence()
    last = ResponseTokens()
    for answer in answers:
        last = response_tokens(answer)
        whole = last.ids and last.prompt
        sequence = _extended(sequence, last) if whole else _Sequence()
    if sequence.ids:
        return {
            "token_ids": sequence.ids,
            "token_texts": sequence.texts,
            "mask": sequence.mask,
            "logprobs": sequence.logprobs,
        }
    if not last.logprobs:
        return {}
    return {
        "completion_ids": list(last.ids),
        "token_texts": list(last.texts),
        "mask": [1] * len(last.logprobs),
        "logprobs": list(last.logprobs),
    }


def response_tokens(answer: Any) -> ResponseTokens:
    """Empty for a response without logprobs."""
    try:
        [choice] = answer["choices"]
        entries = choice["logprobs"]["content"]
        texts = tuple(str(entry["token"]) for entry in entries)
        logprobs = tuple(float(entry["logprob"]) for entry in entries)
        ids = _whole(choice.get("token_ids") or [entry.get("id") for entry in entries])
        ids = ids or _whole(_ids_of_sglang(choice))
        prompt = answer.get("prompt_token_ids") or choice.get("prompt_token_ids")
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError):
        return ResponseTokens()
    # llama.cpp leaves tokens out that are only a part of a character.
    if not len(ids) == len(logprobs) == generated(answer, len(ids)):
        ids = ()
    return ResponseTokens(texts, logprobs, ids, _whole(prompt))


def generated(answer: Any, otherwise: int) -> int:
    """The number of tokens that the server says it has generated."""
    return _usage(answer, "completion_tokens", otherwise)


def prompt_length(answer: Any) -> int:
    """The number of tokens that the server says the prompt has; -1 where it doesn't."""
    return _usage(answer, "prompt_tokens", -1)


def _usage(answer: Any, name: str, otherwise: int) -> int:
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    number = usage.get(name) if isinstance(usage, Mapping) else None
    return number if isinstance(number, int) else otherwise


def _ids_of_sglang(choice: Mapping[str, Any]) -> list[Any]:
    information = choice.get("meta_info")
    listed = information.get("output_token_logprobs") if isinstance(information, Mapping) else None
    return [entry[1] for entry in listed] if isinstance(listed, list) else []


def _extended(sequence: _Sequence, tokens: ResponseTokens) -> _Sequence:
    """A prompt that doesn't begin with the conversation so far begins another."""
    length = len(sequence.ids)
    if list(tokens.prompt[:length]) != sequence.ids:
        sequence, length = _Sequence(), 0
    added = len(tokens.prompt) - length
    return _Sequence(
        [*tokens.prompt, *tokens.ids],
        [*sequence.texts, *[""] * added, *tokens.texts],
        [*sequence.mask, *[0] * added, *[1] * len(tokens.ids)],
        [*sequence.logprobs, *[0.0] * added, *tokens.logprobs],
    )


def _whole(values: Any) -> tuple[int, ...]:
    """Empty unless all are whole numbers."""
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        return ()
    return tuple(values)
