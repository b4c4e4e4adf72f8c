"""Makes one object of each trajectory, where a document, a table or an object has several.

An object may hold a list of trajectories (rLLM's episodes, slime's samples), columns (ms-swift writes a table a line),
responses to one prompt (verl's `main_generation.py`), or a chosen and a rejected response (DPO).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from eagleray.rollouts.trajectories.formats import is_message
from eagleray.rollouts.trajectories.roles import ROLES

_HOLDERS = (
    *("trajectories", "traces", "simulations", "samples", "rollouts", "episodes"),
    *("results", "data", "completions", "responses", "generations", "candidates"),
)
_SEVERAL = (
    *("responses", "completions", "outputs", "generations", "candidates", "samples"),
    *ROLES["completion"],
    *ROLES["contents"],
)
_OF_THE_WHOLE = {key for role in ("reward", "finish", "error") for key in ROLES[role]}
_SIDES = ("chosen", "rejected")
_SIDE_REWARDS = (
    *("score_{}", "{}_score", "{}_reward", "reward_{}"),
    *("{}_rating", "{}-rating", "{}-score"),
)
_DEEPEST = 4


class Nesting:
    """Numbers the groups of one file that the file itself doesn't name."""

    def __init__(self) -> None:
        self._groups = count()

    def trajectories(self, value: Any, depth: int = 0) -> Iterator[Any]:
        """The objects of a value; a value that is one, or isn't understood, is itself the only one."""
        if depth < _DEEPEST and isinstance(value, list):
            if value and all(map(_is_turn, value)):
                yield {"messages": value}
                return
            for part in value:
                yield from self.trajectories(part, depth + 1)
        elif depth < _DEEPEST and isinstance(value, dict):
            yield from self._of_object(value, depth)
        else:
            yield value

    def _of_object(self, value: dict[str, Any], depth: int) -> Iterator[Any]:
        if value and all(key.isdecimal() and isinstance(value[key], dict) for key in value):
            for part in value.values():
                yield from self.trajectories(part, depth + 1)
        elif held := _held(value):
            common = {key: part for key, part in value.items() if _is_common(key, part)}
            parts = value[held]
            for part in parts if isinstance(parts, list) else [parts]:
                yield from self.trajectories({**common, **part}, depth + 1)
        elif rows := _rows(value):
            for row in rows:
                yield from self.trajectories(row, depth + 1)
        elif all(isinstance(value.get(side), (str, list, dict)) for side in _SIDES):
            yield from self._pair(value)
        elif several := _several(value):
            yield from self._responses(value, several)
        else:
            yield value

    def _pair(self, value: dict[str, Any]) -> Iterator[Any]:
        """The rewards of both sides are their own; `messages` come from one side where it has a prompt."""
        rewards = {name.format(side) for name in _SIDE_REWARDS for side in _SIDES}
        dropped = {*_SIDES, *rewards, *ROLES["reward"]}
        if any(value.get(key) for key in ("prompt", "question")):
            dropped |= {"messages"}
        common = {key: part for key, part in value.items() if key not in dropped}
        group = next(self._groups)
        for side in _SIDES:
            names = (name.format(side) for name in _SIDE_REWARDS)
            reward = next((value[name] for name in names if name in value), None)
            own = {"side": side, "completion": value[side], "reward": reward, "group": group}
            yield {**common, **own}

    def _responses(self, value: dict[str, Any], several: str) -> Iterator[Any]:
        """Each response, with its part of each list that has as many."""
        responses = value[several]
        split = {
            key
            for key, part in value.items()
            if isinstance(part, list)
            and len(part) == len(responses)
            and not any(map(is_message, part))
        }
        group = next(self._groups)
        for at, response in enumerate(responses):
            parts = {key: part[at] if key in split else part for key, part in value.items()}
            name = several if several in ROLES["contents"] else "completion"
            yield {**parts, several: None, name: response, "group": group, "sample": at}


def _held(value: dict[str, Any], depth: int = 0) -> str:
    """The key of a list of objects, or of an object that holds one; a line that has texts itself holds none."""
    if any(value.get(key) for key in (*ROLES["completion"], "messages", "conversations", *_SIDES)):
        return ""
    for key in _HOLDERS:
        parts = value.get(key)
        if isinstance(parts, dict) and depth < _DEEPEST and _held(parts, depth + 1):
            return key
        if isinstance(parts, list) and parts and all(isinstance(part, dict) for part in parts):
            return key
    return ""


def _rows(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a table of columns, as lists or, of pandas, as objects with numbers as keys."""
    prompts, completions = (_column(value, role) for role in ("prompt", "completion"))
    if prompts is None or completions is None or len(prompts) != len(completions):
        return []
    columns = {key: _as_column(part) for key, part in value.items()}
    size = len(prompts)
    return [
        dict(
            (_singular(key), column[at])
            if column is not None and len(column) == size
            else (key, value[key])
            for key, column in columns.items()
        )
        for at in range(size)
    ]


def _column(value: dict[str, Any], role: str) -> list[Any] | None:
    keys = (name for key in ROLES[role] for name in (key, f"{key}s") if value.get(name) is not None)
    column = _as_column(value.get(next(keys, "")))
    # Numbers are the token ids of one text.
    return None if column and all(type(each) is int for each in column) else column


def _singular(key: str) -> str:
    """The key of one text by the key of several: `response` of `responses`."""
    name = key.removesuffix("s")
    return name if name in ROLES["prompt"] or name in ROLES["completion"] else key


def _as_column(part: Any) -> list[Any] | None:
    if isinstance(part, dict) and part and all(key.isdecimal() for key in part):
        return list(part.values())
    if isinstance(part, list) and not any(map(is_message, part)):
        return part
    return None


def _several(value: dict[str, Any]) -> str:
    """The key of several responses; a line that has a single one besides doesn't count."""
    if any(isinstance(value.get(key), str) for key in ROLES["completion"]):
        return ""
    for key in _SEVERAL:
        parts = value.get(key)
        if isinstance(parts, list) and parts and all(map(_is_response, parts)):
            return key
    return ""


def _is_response(part: Any) -> bool:
    if isinstance(part, list):
        return len(part) > 0 and all(map(is_message, part))
    return isinstance(part, str)


def _is_turn(part: Any) -> bool:
    """Whether an object of a list is a part of one conversation; records have a `type`, too."""
    return isinstance(part, dict) and any(
        pair <= part.keys() for pair in ({"role", "content"}, {"from", "value"})
    )


def _is_common(key: str, part: Any) -> bool:
    """Whether each part has a value of the whole: rewards and ends of the whole are its own."""
    return key not in _OF_THE_WHOLE and (part is None or isinstance(part, (str, int, float)))
