"""Reads the lines of dumps by the roles of their keys."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import astuple, evolve, field, frozen

from eagleray.common.errors import UNREADABLE_JSON
from eagleray.common.l10n import later, t, translated
from eagleray.rollouts.trajectories.model import TokenColumns, Trajectory, Turn
from eagleray.rollouts.trajectories.roles import DumpFormat, Path, layout

Json = Mapping[str, Any]

# A special token at the end of a completion, such as <|im_end|>, </s>, <eos> or DeepSeek's with full-width bars.
_END_TOKEN = re.compile(
    r"(?:<\|[^|<>\s]{1,40}\|>|</s>|<eos>|<end_of_turn>|<｜[^｜<>]{1,40}｜>)\s*\Z"
)
_LONGEST_END = 64
# Whole numbers are exact below it.
_MOST = 2**53
_SURROGATE = re.compile("[\ud800-\udfff]")
# Whether the model ended the completion, by the reasons of engines and frameworks; others don't tell.
_REASONS = {
    **dict.fromkeys(("stop", "eos", "end_turn", "stop_sequence", "completed", "complete"), True),
    **dict.fromkeys(("tool_calls", "tool_use", "env_done", "agent_stop", "user_stop"), True),
    **dict.fromkeys(("length", "max_tokens", "truncated", "max_length"), False),
    **dict.fromkeys(("max_response_length_exceeded", "max_prompt_length_exceeded"), False),
}
_ODD = {
    "prompt": later("The prompt is not a text."),
    "completion": later("The response is not a text."),
    "contents": later("The messages have an unknown form."),
}
_NO_COLUMNS = TokenColumns()
_COLUMNS = (
    *("texts", "mask", "logprobs"),
    *("trainer_logprobs", "versions", "advantages"),
)
_PROMPTING = ("system", "developer", "user", "human")
_SPEAKERS = ("role", "from")
# The beginning of messages in a text of JSON.
_ENCODED = re.compile(r"\s*\[?\s*\{\s*\"(?:role|from|content|value)\"")
_MEDIA = re.compile("image|audio|video")
_ANSWERING = ("assistant", "gpt", "model")
# Their messages come from outside the policy, between its own.
_OUTSIDE = (*_PROMPTING, "tool", "function", "environment", "observation", "ipython")


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
    format_, paths = layout(tuple(record))
    values = _Values(format_, paths, record)
    conversation = _conversation(values)
    mask = values.whole("mask")
    length = values.integer("tokens")
    responded = values.integer("completion_tokens")
    ids = values.whole("ids")
    if not ids and (prompt_ids := values.whole("prompt_ids")):
        completion_ids = values.whole("completion_ids")
        ids, responded = prompt_ids + completion_ids, len(completion_ids)
    columns = _columns(values, ids, mask, length, responded)
    if length is None and columns.ids:
        length = len(columns.ids)
    trained_from = columns.mask.index(1) if 1 in columns.mask else None
    if length is not None and responded is not None:
        trained_from = max(length - responded, 0)
    prompt_tokens = _or(values.integer("prompt_tokens"), trained_from)
    is_split = bool(columns.ids) and prompt_tokens is not None
    reward, odd_reward = _reward(values)
    rivals = _rivals(values, reward)
    error = values.first("error")
    group = values.first("group")
    variant = next(
        (f"{key}={record[key]}" for key, _ in paths["variant"] if isinstance(record[key], str)), ""
    )
    return Trajectory(
        format=format_.name,
        prompt=conversation.prompt or "",
        completion=conversation.completion or "",
        group="" if isinstance(group, (dict, list)) else _name(group),
        sample=values.integer("sample"),
        step=values.integer("step"),
        reward=reward,
        tokens=length,
        prompt_tokens=prompt_tokens,
        first_version=_or(values.integer("first_version"), _end(columns.versions, min)),
        last_version=_or(values.integer("last_version"), _end(columns.versions, max)),
        ended=_ended(values, conversation.completion or ""),
        last_id=columns.ids[-1] if columns.ids else None,
        problem=conversation.problem
        or odd_reward
        or (clean(error) if isinstance(error, str) else ""),
        messages=conversation.turns,
        columns=columns,
        # After all roles have taken their keys.
        fields=(
            fields := {
                key: value
                for key, value in record.items()
                if key not in values.taken
                and key not in format_.unshown
                and value not in (None, "", [], {})
            }
        ),
        rewards=rivals,
        has_prompt=bool(conversation.prompt) or is_split,
        has_completion=conversation.completion is not None or is_split,
        other_keys=tuple(fields),
        variant=clean(variant),
        turn=values.integer("turn") if paths["turn"] else None,
    )


def clean(text: str) -> str:
    """The text without lone surrogates, which JSON allows and UTF-8 doesn't."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


@frozen
class _Values:
    """The values of a line by their roles; `taken` has the keys that had one."""

    format: DumpFormat
    paths: Mapping[str, tuple[Path, ...]]
    record: Json
    taken: set[str] = field(factory=set)

    def first(self, role: str) -> Any:
        for key, rest in self.paths[role]:
            value = self.record[key]
            if value is None:
                continue
            if not rest:
                self.taken.add(key)
            elif (value := _at(value, rest)) is None:
                continue
            if self.format.batched and isinstance(value, list) and len(value) == 1:
                return value[0]
            return value
        return None

    def give_back(self, role: str) -> None:
        """Leaves the keys of a role among the others, since their value isn't of its type."""
        self.taken.difference_update(key for key, _ in self.paths[role])

    def integer(self, role: str) -> int | None:
        value = self.first(role)
        if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 16:
            return int(value)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        return int(value) if abs(value) < _MOST else None

    def whole(self, role: str) -> tuple[int, ...]:
        """A column of whole numbers, empty if any value is not a number."""
        value = self.first(role)
        if not isinstance(value, list):
            return ()
        try:
            column = tuple(map(int, value))
        except (TypeError, ValueError, OverflowError):
            return ()
        is_small = not column or (max(column) < _MOST and min(column) > -_MOST)
        return column if is_small else ()

    def real(self, role: str) -> tuple[float | None, ...]:
        """A column of numbers; None where one is missing or not finite."""
        value = self.first(role)
        return tuple(map(_finite, value)) if isinstance(value, list) else ()

    def strings(self, role: str) -> tuple[str, ...]:
        value = self.first(role)
        if not isinstance(value, list):
            return ()
        return tuple(clean(part) if isinstance(part, str) else "" for part in value)


def _at(value: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        if isinstance(part, str):
            value = value.get(part) if isinstance(value, dict) else None
        else:
            value = value[part] if isinstance(value, list) and value else None
    return value


def _columns(
    values: _Values,
    ids: tuple[int, ...],
    mask: tuple[int, ...],
    length: int | None,
    responded: int | None,
) -> TokenColumns:
    """NeMo RL pads all columns to the longest trajectory of a batch; its number of tokens cuts them.

    slime's mask and logprobs cover the response; a column that fits neither is left out.
    """
    if not ids and not any(values.paths[role] for role in _COLUMNS):
        return _NO_COLUMNS
    columns = TokenColumns(
        ids=ids,
        texts=values.strings("texts"),
        mask=mask,
        logprobs=values.real("logprobs"),
        trainer_logprobs=values.real("trainer_logprobs"),
        versions=values.whole("versions"),
        advantages=values.real("advantages"),
    )
    columns = columns if length is None else first_tokens(columns, length)
    count = len(columns.ids)
    if not count or responded is None:
        return columns

    def aligned(column: tuple[Any, ...], missing: float | None) -> tuple[Any, ...]:
        if len(column) == responded < count:
            return (missing,) * (count - responded) + column
        return column if len(column) == count else ()

    return evolve(
        columns,
        mask=aligned(columns.mask, 0),
        logprobs=aligned(columns.logprobs, None),
        trainer_logprobs=aligned(columns.trainer_logprobs, None),
        versions=aligned(columns.versions, -1),
        advantages=aligned(columns.advantages, None),
    )


def first_tokens(columns: TokenColumns, count: int) -> TokenColumns:
    """The columns of the first tokens."""
    return TokenColumns(*(column[:count] for column in astuple(columns, recurse=False)))


def _turns(contents: Any) -> tuple[Turn, ...]:
    """Messages with roles, or texts without."""
    if isinstance(contents, str):
        return (Turn("", clean(contents), None),)
    if not isinstance(contents, list):
        return ()
    return tuple(_turn(message) for message in contents)


def _turn(message: Any) -> Turn:
    """A message of chats, an item of OpenAI's responses, or a node that has a message."""
    if isinstance(message, str):
        return Turn("", clean(message), None)
    if isinstance(message, dict) and isinstance(message.get("message"), dict):
        message = message["message"]
    if not isinstance(message, dict):
        return Turn("", clean(json.dumps(message, ensure_ascii=False)), None)
    role = message.get("role") or message.get("from") or message.get("type") or ""
    named = (
        message.get(name) for name in ("content", "value", "summary", "output", "prompt", "text")
    )
    parts = [_content_text(content) for content in named if content][:1]
    calls = message.get("tool_calls") or message.get("arguments")
    if calls:
        called = calls if isinstance(calls, str) else json.dumps(calls, ensure_ascii=False)
        name = message.get("name")
        # Items of OpenAI's responses have the tool's name beside its arguments.
        parts.append(f"{name} {called}" if name and "arguments" in message else called)
    return Turn(clean(str(role)), clean("\n".join(parts)), None)


def _content_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [_part_text(part) for part in content if isinstance(part, dict)]
        strings = [text for text in texts if isinstance(text, str)]
        if len(strings) == len(content):
            return "".join(strings)
    return json.dumps(content, ensure_ascii=False)


def _part_text(part: Json) -> Any:
    """The text of a part of a message; images and sounds are only named, since their data isn't a text."""
    kind = str(part.get("type"))
    return f"[{kind}]" if _MEDIA.search(kind) else part.get("text")


@frozen
class _Conversation:
    """The texts and turns of a line; a text that it doesn't have is None."""

    prompt: str | None
    completion: str | None
    turns: tuple[Turn, ...] = ()
    problem: str = ""


def _conversation(values: _Values) -> _Conversation:
    """1. Prompt and completion are texts or messages; what precedes the answer in the completion is of the prompt.

    2. What is missing comes from the messages: the completion begins at the first of the assistant, else after the
    first; if there is a completion, all before the last of the assistant is the prompt.
    """
    texts = _decoded(values.first("prompt")), _decoded(values.first("completion"))
    messages, context = _decoded(values.first("contents")), values.first("context")
    is_plain = messages is None and context is None and bool(texts[0])
    if is_plain and isinstance(texts[0], str) and isinstance(texts[1], str):
        # Most lines.
        return _Conversation(clean(texts[0]), clean(texts[1]))
    prompt, odd_prompt = _part(texts[0] or None)
    completion, odd_completion = _part(texts[1])
    odd_contents = isinstance(messages, list) and not all(map(_is_turn, messages))
    contents = () if odd_contents else _turns(messages)
    odd_prompt, odd_completion = (odd and not contents for odd in (odd_prompt, odd_completion))
    problem = ""
    for role, is_odd in (
        ("prompt", odd_prompt),
        ("completion", odd_completion),
        ("contents", odd_contents and not (prompt and completion)),
    ):
        if is_odd:
            values.give_back(role)
            problem = translated(_ODD[role])
    of_prompt = [turn.role in _PROMPTING for turn in completion]
    start = of_prompt.index(False) if False in of_prompt else 0
    prompt, completion = prompt or completion[:start], completion[start:]
    if isinstance(context, str) and context.strip():
        prompt = (*prompt, Turn("", clean(context), None))
    answers = [at for at, turn in enumerate(contents) if turn.role in _ANSWERING]
    if not completion and not odd_completion:
        first = answers[0] if answers else 1
        before, completion = contents[:first], contents[first:]
    else:
        before = contents[: answers[-1]] if answers else contents
    prompt = prompt or (() if odd_prompt else before)
    turns = contents
    if not contents and any(turn.role for turn in (*prompt, *completion)):
        turns = (*prompt, *completion)
    policy = [turn for turn in completion if not turn.role.endswith(("_output", *_OUTSIDE))]
    return _Conversation(_joined(prompt), _joined(policy), turns, problem)


def _decoded(value: Any) -> Any:
    """Messages that were written as a text of JSON, as tables and loggers do; other values as they are."""
    if not isinstance(value, str) or not _ENCODED.match(value):
        return value
    try:
        parsed = json.loads(value)
    except UNREADABLE_JSON:
        return value
    parts = parsed if isinstance(parsed, list) else [parsed]
    is_chat = all(is_message(part) and not part.keys().isdisjoint(_SPEAKERS) for part in parts)
    return parsed if is_chat else value


def _part(value: Any) -> tuple[tuple[Turn, ...], bool]:
    """The turns of a text or of messages, and whether the value is neither."""
    if value is None:
        return (), False
    if isinstance(value, str) or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return (Turn("", clean(str(value)), None),), False
    if isinstance(value, dict) and is_message(value):
        return (_turn(value),), False
    if isinstance(value, list) and all(map(is_message, value)):
        return _turns(value), False
    return (), True


def is_message(value: object) -> bool:
    return isinstance(value, dict) and any(key in value for key in ("role", "from", "type"))


def _is_turn(part: object) -> bool:
    """Whether an element of messages has a text that can be read; events of agents have other forms."""
    return (
        isinstance(part, str)
        or is_message(part)
        or (isinstance(part, dict) and isinstance(part.get("message"), dict))
    )


def _joined(turns: Sequence[Turn]) -> str | None:
    return "\n".join(turn.text for turn in turns) if turns else None


def _or(stated: int | None, derived: int | None) -> int | None:
    return derived if stated is None else stated


def _end(versions: Sequence[int], choose: Any) -> int | None:
    """The oldest or newest weights; prompts have -1."""
    sampled = [version for version in versions if version >= 0]
    return choose(sampled) if sampled else None


def _ended(values: _Values, completion: str) -> bool | None:
    for key in ("truncated", "is_truncated"):
        if values.record.get(key) in (True, False):
            return not values.record[key]
    reason = values.first("finish")
    if isinstance(reason, str) and reason.lower() in _REASONS:
        return _REASONS[reason.lower()]
    if values.format.marks_end:
        return _END_TOKEN.search(completion[-_LONGEST_END:]) is not None
    return None


def _name(value: Any) -> str:
    return "" if value is None else clean(str(value))


def _reward(values: _Values) -> tuple[float | None, str]:
    """A reward, and what is wrong with it."""
    value = values.first("reward")
    if value is None:
        return None, ""
    if values.format.sums and isinstance(value, list):
        value = _sum(value) if value else value
    elif isinstance(value, list) and len(value) == 1:
        value = value[0]
    elif isinstance(value, dict):
        parts = [_weighted(part) for part in value.values() if part is not None]
        value = _sum(parts) if None not in parts else value
    number = _finite(value)
    if number is None:
        values.give_back("reward")
        if isinstance(value, (list, dict)):
            return None, t("The reward has {count} parts.", count=len(value))
        return None, t("The reward is not a finite number.")
    return number, ""


def _rivals(values: _Values, reward: float | None) -> tuple[str, ...]:
    """The key of the reward and the keys of other rewards that differ from it, if any."""
    paths = values.paths["reward"]
    if reward is None or len(paths) < 2:
        return ()
    present = [
        (path, _finite(_at(values.record, path))) for path in ((k, *rest) for k, rest in paths)
    ]
    numbers = [(".".join(map(str, path)), number) for path, number in present if number is not None]
    others = [name for name, number in numbers[1:] if number != reward]
    return (numbers[0][0], *others) if others else ()


def _weighted(part: Any) -> float | None:
    """A part of a reward as verifiers 1 writes it: {"score": 1.0, "weight": 0.5}."""
    if not isinstance(part, dict):
        return None
    score, weight = _finite(part.get("score")), _finite(part.get("weight", 1.0))
    return None if score is None or weight is None else score * weight


def _sum(values: Iterable[Any]) -> float | None:
    numbers = [_finite(value) for value in values]
    whole = [number for number in numbers if number is not None]
    return sum(whole) if whole and len(whole) == len(numbers) else None


def _finite(value: Any) -> float | None:
    """A number, also one that was written as a text."""
    if not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _why(error: BaseException) -> str:
    if isinstance(error, json.JSONDecodeError):
        return t(
            "The line is not JSON: {why} at column {column}.", why=error.msg, column=error.colno
        )
    return t("The line is not JSON that can be read.")
