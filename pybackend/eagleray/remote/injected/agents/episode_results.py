"""The result of a workflow's episode, the rules that it keeps, and its short form for an event."""

from __future__ import annotations

import math

from .areal_contract import finite_rule, outcome, safe_repr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


class EpisodeResult:
    """`check` is AReaL's own check of its format, which raises ValueError."""

    def __init__(self, value: Any, check: Callable[[Any], Any] | None) -> None:
        self._value = value
        self._check = check

    @property
    def rewards(self) -> list[float]:
        """Returns the rewards of a batch of sequences, or of interactions that have one."""
        if not isinstance(self._value, dict):
            return []
        if "rewards" in self._value:
            return list(_numbers(self._value["rewards"]))
        rewards = [getattr(each, "reward", None) for each in self._value.values()]
        return [float(each) for each in rewards if isinstance(each, (int, float))]

    @property
    def reward(self) -> float | None:
        """Their mean, None without any."""
        rewards = self.rewards
        mean = (
            math.fsum(rewards) / len(rewards)
            if all(map(math.isfinite, rewards)) and rewards
            else math.nan
        )
        return mean if math.isfinite(mean) else None

    @property
    def shown(self) -> Any:
        """Types and shapes of its tensors; None for a trajectory that the workflow rejects."""
        if not isinstance(self._value, dict):
            return None if self._value is None else safe_repr(self._value)
        return {str(name): _shown(value) for name, value in self._value.items()}

    def rules(self) -> list[dict[str, Any]]:
        if self._value is None:
            return [outcome("trajectory", False, type="None")]
        if not isinstance(self._value, dict):
            return [outcome("trajectory", False, type=type(self._value).__name__)]
        if self._check is None:
            rules = [outcome("trajectory", True, is_checked=False)]
        else:
            try:
                self._check(self._value)
            # A tensor of the user's own may raise anything.
            except Exception as error:
                return [outcome("trajectory", False, f"{type(error).__name__}: {error}")]
            rules = [outcome("trajectory", True, is_checked=True)]
        missing = sum(map(math.isnan, _numbers(self._value.get("logprobs"))))
        if missing:
            rules.append(outcome("logprobs", True, missing=missing))
        return [*rules, finite_rule(self.rewards)]


def _numbers(tensor: Any) -> Iterator[float]:
    """Returns the shape of a tensor, array or nested list."""
    value = tensor.tolist() if hasattr(tensor, "tolist") else tensor
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _numbers(each)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield float(value)


def _shown(value: Any) -> Any:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        numbers = list(_numbers(value))
        # A reward is worth more than its shape.
        if len(numbers) == 1:
            return numbers[0] if math.isfinite(numbers[0]) else str(numbers[0])
        return f"{str(value.dtype).rpartition('.')[2]} {list(value.shape)}"
    reward = getattr(value, "reward", None)
    return {"reward": reward} if isinstance(reward, (int, float)) else safe_repr(value)
