"""Counts the generated tokens of a response while it is read, in blocks, without keeping the body, and says how it ended."""

from __future__ import annotations

import re

# By what a response says: OpenAI, Anthropic and OpenAI's Responses, llama.cpp (`/completion`, `timings`), Ollama.
_FIELDS = (
    b'"completion_tokens"',
    b'"output_tokens"',
    b'"tokens_predicted"',
    b'"predicted_n"',
    b'"eval_count"',
)
_NUMBER = re.compile(rb"\s*:\s*(\d+)")
# Text that an event adds.  In a text the quotes have backslashes.
_DELTA = re.compile(
    rb'"(?:content|text|delta|arguments|reasoning_content|reasoning|thinking|partial_json)"\s*:\s*"(?!")'
)
_FINISH = re.compile(rb'"(?:finish_reason|stop_reason)"\s*:\s*(?:\{\s*"type"\s*:\s*)?"(\w{1,40})"')
# Content that an agent can use, as opposed to its reasoning: text that isn't empty, or the call of a tool.
_CONTENT = re.compile(
    rb'"(?:content|text|arguments|partial_json|refusal)"\s*:\s*"(?!")'
    rb'|"(?:tool_calls|function_call|audio)"\s*:\s*(?:\[\s*)?\{|"tool_use"'
)
_ID = re.compile(rb'"id"\s*:\s*"((?:[^"\\]|\\.)*)"')
_BLOCK = 64 * 1024
# The end of a block without a line end, such as a large JSON, begins the next block.
_OVERLAP = 256
_MOST_IDS = 1000


class TokenCount:
    """`add` takes the parts of a body, then `tokens` is known; `ids` belong to its completions.

    After `tokens`, `finish` is the last finish reason, "" for none, and `has_content` whether it has anything to use.

    1. The last counts in the response: a stream's counts grow, and only its last event has them with `include_usage`.
    2. For a stream without counts, its events with text: most servers send one for each token.
    """

    __slots__ = (
        *("_deltas", "_ids", "_is_stream", "_overlap", "_pending", "_stated"),
        *("finish", "has_content"),
    )

    def __init__(self, is_stream: bool) -> None:
        self._is_stream = is_stream
        self._pending = bytearray()
        # Bytes of it that were in the block before.
        self._overlap = 0
        self._stated: int | None = None
        self._deltas = 0
        self._ids: dict[bytes, None] = {}
        self.finish = ""
        self.has_content = False

    def add(self, part: bytes) -> None:
        for start in range(0, len(part), _BLOCK):
            self._pending += part[start : start + _BLOCK]
            if len(self._pending) >= _BLOCK:
                self._take(self._pending.rfind(b"\n") + 1)

    def tokens(self) -> int:
        self._take(len(self._pending))
        return self._deltas if self._stated is None else self._stated

    def ids(self) -> list[str]:
        self._take(len(self._pending))
        return [each.decode("utf-8", "replace") for each in self._ids]

    def _take(self, lines: int) -> None:
        """Up to the end of whole lines; without one all, whose end comes again."""
        block = bytes(self._pending[:lines] if lines else self._pending)
        new = block[self._overlap :]
        self._overlap = max(0, self._overlap - lines) if lines else min(_OVERLAP, len(block))
        del self._pending[: lines or len(block) - self._overlap]
        stated = _stated(block)
        self._stated = self._stated if stated is None else stated
        if self._is_stream and self._stated is None:
            self._deltas += len(_DELTA.findall(new))
        for reason in _FINISH.findall(block):
            self.finish = reason.decode()
        self.has_content = self.has_content or _CONTENT.search(block) is not None
        if len(self._ids) < _MOST_IDS:
            self._ids.update(dict.fromkeys(_ID.findall(block)))


def _stated(block: bytes) -> int | None:
    """The number that comes last."""
    places = sorted(((block.rfind(name), len(name)) for name in _FIELDS), reverse=True)
    for place, length in places:
        number = _NUMBER.match(block, place + length) if place >= 0 else None
        if number is not None:
            return int(number[1])
    return None
