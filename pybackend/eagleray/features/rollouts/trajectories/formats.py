"""The dumps of the frameworks as a table: which key of a line is what; and the reading of a line by it.

Read in: AReaL 4aef98d8 (`areal/infra/workflow_executor.py`, `_dump_trajectory`), verl b178a3cd
(`verl/trainer/ppo/ray_trainer.py`, `_dump_generations`), NeMo RL 7ea279ab (`nemo_rl/algorithms/grpo.py`, `ppo.py`,
`grpo_sync.py`; `nemo_rl/utils/logger.py`, `log_batched_dict_as_jsonl`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from eagleray.common.errors import UNREADABLE_JSON
from eagleray.common.l10n import t
from eagleray.features.rollouts.trajectories.model import TokenColumns, Trajectory, Turn

Json = Mapping[str, Any]

# A special token at the end of a completion, such as <|im_end|>, </s>, <eos> or DeepSeek's with full-width bars.
_END_TOKEN = re.compile(
    r"(?:<\|[^|<>\s]{1,40}\|>|</s>|<eos>|<end_of_turn>|<｜[^｜<>]{1,40}｜>)\s*\Z"
)
_LONGEST_END = 64
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNFINISHED_REASONS = ("length", "max_tokens")


@frozen
class DumpFormat:
    """The lines of one framework: a line is of it if it has all `needs`; of several keys, the first that is there counts.

    `batched`: each value is a list with one element (a batch of one).  `marks_end`: texts have special tokens, so that
    a completion without one at its end was cut.
    """

    name: str
    needs: frozenset[str]
    prompt: tuple[str, ...] = ()
    completion: tuple[str, ...] = ()
    contents: tuple[str, ...] = ()
    reward: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    sample: tuple[str, ...] = ()
    step: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    prompt_tokens: tuple[str, ...] = ()
    first_version: tuple[str, ...] = ()
    last_version: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()
    logprobs: tuple[str, ...] = ()
    trainer_logprobs: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    advantages: tuple[str, ...] = ()
    finish: tuple[str, ...] = ()
    error: tuple[str, ...] = ()
    # Those that repeat others, or mean nothing outside their file.
    unshown: tuple[str, ...] = ()
    batched: bool = False
    marks_end: bool = False
    # All keys that the other fields use; the remaining keys of a line that have a value are shown as they are.
    used: frozenset[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        named = (getattr(self, name) for name in _ROLES)
        object.__setattr__(self, "used", frozenset(key for keys in named for key in keys))


_ROLES = [
    "prompt",
    "completion",
    "contents",
    "reward",
    "group",
    "sample",
    "step",
    "tokens",
    "prompt_tokens",
    "first_version",
    "last_version",
    "ids",
    "texts",
    "mask",
    "logprobs",
    "trainer_logprobs",
    "versions",
    "advantages",
    "finish",
    "error",
    "unshown",
]

# The key that marks a line of Eagleray's own waves and exported batches; its value is the version of the format.
OWN_KEY = "eagleray"
FORMATS = (
    DumpFormat(
        "Eagleray",
        frozenset({OWN_KEY, "reward"}),
        prompt=("prompt",),
        completion=("completion",),
        contents=("messages",),
        reward=("reward",),
        group=("group",),
        sample=("sample",),
        step=("step",),
        ids=("token_ids",),
        texts=("token_texts",),
        mask=("mask",),
        logprobs=("logprobs",),
        trainer_logprobs=("trainer_logprobs",),
        versions=("versions",),
        advantages=("advantages",),
        finish=("finish_reason",),
        error=("error",),
        unshown=(OWN_KEY, "index", "item", "member", "started", "completion_ids"),
    ),
    DumpFormat(
        "AReaL",
        frozenset({"task_id", "prompt", "completion"}),
        prompt=("prompt",),
        completion=("completion",),
        reward=("reward",),
        group=("task_id",),
        sample=("sample_idx",),
        tokens=("seqlen",),
        prompt_tokens=("prompt_len",),
        first_version=("head_version",),
        last_version=("tail_version",),
        marks_end=True,
    ),
    DumpFormat(
        "verl",
        frozenset({"input", "output", "score"}),
        prompt=("input",),
        completion=("output",),
        reward=("score",),
        step=("step",),
    ),
    DumpFormat(
        "NeMo RL",
        frozenset({"content", "rewards"}),
        contents=("content",),
        reward=("rewards",),
        tokens=("input_lengths",),
        ids=("token_ids",),
        mask=("token_loss_mask",),
        logprobs=("generation_logprobs",),
        trainer_logprobs=("prev_logprobs",),
        advantages=("advantages",),
        batched=True,
    ),
    # Whatever else has a prompt or messages, by the usual names.
    DumpFormat(
        "JSON",
        frozenset(),
        prompt=("prompt", "input", "question", "problem"),
        completion=("completion", "response", "output", "answer"),
        contents=("messages", "conversations"),
        reward=("reward", "score"),
        group=("group", "group_id", "prompt_id"),
        sample=("sample", "sample_idx"),
        step=("step",),
        ids=("token_ids", "input_ids"),
        texts=("token_texts",),
        mask=("mask", "loss_mask"),
        logprobs=("logprobs",),
        versions=("versions",),
        advantages=("advantages",),
        finish=("finish_reason", "stop_reason"),
        error=("error",),
    ),
)


def read_line(line: bytes) -> Trajectory:
    """The trajectory of a line; one with a `problem` where it couldn't be read."""
    try:
        text = line.decode()
        is_text = True
    except UnicodeDecodeError:
        text, is_text = line.decode(errors="replace"), False
    try:
        record = json.loads(text)
    except UNREADABLE_JSON as error:
        return Trajectory(problem=_why(error))
    if not isinstance(record, dict):
        return Trajectory(problem=t("The line is not a JSON object."))
    try:
        trajectory = read_record(record)
    except UNREADABLE_JSON:
        return Trajectory(problem=t("A value of the line has an unexpected type."))
    if not is_text:
        return evolve(trajectory, problem=t("The line has bytes that are not UTF-8."))
    return trajectory


def read_record(record: Json) -> Trajectory:
    """The trajectory of a line's object."""
    keys = record.keys()
    format_ = next(format_ for format_ in FORMATS if format_.needs <= keys)
    values = _Values(format_, record)
    messages = _turns(values.first(format_.contents))
    mask = values.whole(format_.mask)
    length = values.integer(format_.tokens)
    columns = _columns(values, mask, length)
    if length is None and columns.ids:
        length = len(columns.ids)
    trained_from = columns.mask.index(1) if 1 in columns.mask else None
    prompt, completion = _texts(values, messages)
    reward, problem = _number(values.first(format_.reward))
    error = values.first(format_.error)
    return Trajectory(
        format=format_.name,
        prompt=prompt,
        completion=completion,
        group=_name(values.first(format_.group)),
        sample=values.integer(format_.sample),
        step=values.integer(format_.step),
        reward=reward,
        tokens=length,
        prompt_tokens=_or(values.integer(format_.prompt_tokens), trained_from),
        first_version=_or(values.integer(format_.first_version), _end(columns.versions, min)),
        last_version=_or(values.integer(format_.last_version), _end(columns.versions, max)),
        ended=_ended(values, completion),
        last_id=columns.ids[-1] if columns.ids else None,
        problem=problem or (clean(error) if isinstance(error, str) else ""),
        messages=messages,
        columns=columns,
        fields={
            key: value
            for key, value in record.items()
            if key not in format_.used and value not in (None, "", [], {})
        },
    )


def clean(text: str) -> str:
    """The text without lone surrogates, which JSON allows and UTF-8 doesn't."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


@frozen
class _Values:
    """The values of a line by the keys of its format."""

    format: DumpFormat
    record: Json

    def first(self, keys: Sequence[str]) -> Any:
        for key in keys:
            if key in self.record:
                value = self.record[key]
                if self.format.batched and isinstance(value, list) and len(value) == 1:
                    return value[0]
                return value
        return None

    def text(self, keys: Sequence[str]) -> str:
        value = self.first(keys)
        if value is None:
            return ""
        return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))

    def integer(self, keys: Sequence[str]) -> int | None:
        value = self.first(keys)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        return int(value) if abs(value) < 2**53 else None

    def whole(self, keys: Sequence[str]) -> tuple[int, ...]:
        """A column of whole numbers, empty if any value is not a number."""
        value = self.first(keys)
        if not isinstance(value, list):
            return ()
        try:
            return tuple(map(int, value))
        except (TypeError, ValueError, OverflowError):
            return ()

    def real(self, keys: Sequence[str]) -> tuple[float | None, ...]:
        """A column of numbers; None where one is missing or not finite."""
        value = self.first(keys)
        return tuple(map(_finite, value)) if isinstance(value, list) else ()

    def strings(self, keys: Sequence[str]) -> tuple[str, ...]:
        value = self.first(keys)
        if not isinstance(value, list):
            return ()
        return tuple(clean(part) if isinstance(part, str) else "" for part in value)


def _columns(values: _Values, mask: tuple[int, ...], length: int | None) -> TokenColumns:
    """NeMo RL pads all columns to the longest trajectory of a batch; its number of tokens cuts them."""
    format_ = values.format
    columns = TokenColumns(
        ids=values.whole(format_.ids),
        texts=values.strings(format_.texts),
        mask=mask,
        logprobs=values.real(format_.logprobs),
        trainer_logprobs=values.real(format_.trainer_logprobs),
        versions=values.whole(format_.versions),
        advantages=values.real(format_.advantages),
    )
    return columns if length is None else first_tokens(columns, length)


def first_tokens(columns: TokenColumns, count: int) -> TokenColumns:
    """The columns of the first tokens."""
    return TokenColumns(
        ids=columns.ids[:count],
        texts=columns.texts[:count],
        mask=columns.mask[:count],
        logprobs=columns.logprobs[:count],
        trainer_logprobs=columns.trainer_logprobs[:count],
        versions=columns.versions[:count],
        advantages=columns.advantages[:count],
    )


def _turns(contents: Any) -> tuple[Turn, ...]:
    """Messages with roles, or texts without."""
    if isinstance(contents, str):
        return (Turn("", clean(contents), None),)
    if not isinstance(contents, list):
        return ()
    return tuple(_turn(message) for message in contents)


def _turn(message: Any) -> Turn:
    if isinstance(message, str):
        return Turn("", clean(message), None)
    if not isinstance(message, dict):
        return Turn("", clean(json.dumps(message, ensure_ascii=False)), None)
    role = message.get("role", message.get("from", ""))
    content = message.get("content", message.get("value"))
    parts = [_content_text(content)] if content else []
    calls = message.get("tool_calls")
    if calls:
        parts.append(json.dumps(calls, ensure_ascii=False))
    return Turn(clean(str(role)), clean("\n".join(parts)), None)


def _content_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        strings = [text for text in texts if isinstance(text, str)]
        if len(strings) == len(content):
            return "".join(strings)
    return json.dumps(content, ensure_ascii=False)


def _texts(values: _Values, messages: Sequence[Turn]) -> tuple[str, str]:
    """Prompt and completion; of messages, the completion begins at the first of the assistant, else after the first."""
    format_ = values.format
    prompt, completion = values.text(format_.prompt), values.text(format_.completion)
    if prompt or completion or not messages:
        return prompt, completion
    roles = (i for i, turn in enumerate(messages) if turn.role in ("assistant", "gpt"))
    start = next(roles, 1)
    return (
        "\n".join(turn.text for turn in messages[:start]),
        "\n".join(turn.text for turn in messages[start:]),
    )


def _or(stated: int | None, derived: int | None) -> int | None:
    return derived if stated is None else stated


def _end(versions: Sequence[int], choose: Any) -> int | None:
    """The oldest or newest weights; prompts have -1."""
    sampled = [version for version in versions if version >= 0]
    return choose(sampled) if sampled else None


def _ended(values: _Values, completion: str) -> bool | None:
    if values.record.get("truncated") in (True, False):
        return not values.record["truncated"]
    reason = values.first(values.format.finish)
    if isinstance(reason, str) and reason:
        return reason not in _UNFINISHED_REASONS
    if values.format.marks_end:
        return _END_TOKEN.search(completion[-_LONGEST_END:]) is not None
    return None


def _name(value: Any) -> str:
    return "" if value is None else clean(str(value))


def _number(value: Any) -> tuple[float | None, str]:
    """A reward, and what is wrong with it."""
    if value is None:
        return None, ""
    number = _finite(value)
    if number is None:
        return None, t("The reward is not a finite number.")
    return number, ""


def _finite(value: Any) -> float | None:
    if not isinstance(value, (int, float)):
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def _why(error: BaseException) -> str:
    if isinstance(error, json.JSONDecodeError):
        return t(
            "The line is not JSON: {why} at column {column}.", why=error.msg, column=error.colno
        )
    return t("The line is not JSON that can be read.")
