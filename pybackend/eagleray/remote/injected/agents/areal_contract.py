"""AReaL's rules for an agent and its result; each rule gives its outcome with the framework's own message.

Read in areal/experimental/openai/proxy/workflow.py of areal-project/AReaL, commit 4e7c14fd: the constructor checks
`run`, `arun_episode` checks the type of the result, and `InteractionCache.set_reward` looks ids up in a dictionary
(KeyError).
"""

from __future__ import annotations

import inspect
import math
import pickle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

PASSED = ("base_url", "http_client", "api_key")
# The length of a shown result that isn't a reward.
LONGEST_RESULT = 10_000


def outcome(rule: str, ok: bool, quoted: str = "", **values: Any) -> dict[str, Any]:
    """`quoted` is what the framework would raise."""
    return {"rule": rule, "ok": ok, "quoted": quoted, "values": values}


def static_rules(agent: Any, mode: str) -> list[dict[str, Any]]:
    """The rules that need no run; those after a broken one are left out."""
    kind = type(agent).__name__
    run = getattr(agent, "run", None)
    if not callable(run):
        text = (
            "TypeError: Agent must have a callable 'run' method. "
            f"Got agent of type {kind} without a callable 'run' attribute."
        )
        return [outcome("run", False, text)]
    rules = [outcome("run", True)]
    # As the framework asks; a callable object with an async `__call__` is none either.
    if not inspect.iscoroutinefunction(run):
        text = (
            "TypeError: Agent's 'run' method must be an async function. "
            f"Got {kind}.run which is not a coroutine function."
        )
        return [*rules, outcome("async", False, text)]
    rules.append(outcome("async", True))
    rules.append(_arguments_rule(run, mode))
    if mode == "subproc":
        rules.append(_pickle_rule(agent))
    return rules


def _arguments_rule(run: Any, mode: str) -> dict[str, Any]:
    passed: dict[str, Any] = dict.fromkeys(PASSED) if mode == "inline" else {}
    try:
        inspect.signature(run).bind(None, **passed)
    except TypeError as error:
        return outcome("arguments", False, f"TypeError: {error}")
    except ValueError:
        # A method of an extension has no signature; its call will tell.
        return outcome("arguments", True)
    return outcome("arguments", True)


def _pickle_rule(agent: Any) -> dict[str, Any]:
    try:
        pickle.loads(pickle.dumps(agent))  # noqa: S301 (our own bytes)
    except Exception as error:
        return outcome("pickle", False, f"{type(error).__name__}: {error}")
    return outcome("pickle", True)


def result_rules(value: Any, ids: Collection[str], has_responses: bool) -> list[dict[str, Any]]:
    """The rules for the value that `run` returned; `ids` belong to the responses that were observed."""
    if not isinstance(value, (float, dict)):
        text = f"ValueError: Invalid reward type: {type(value)}"
        return [outcome("result", False, text, type=type(value).__name__)]
    if isinstance(value, float):
        return [outcome("result", True, type="float"), finite_rule([value])]
    wrong = next((v for v in value.values() if not _is_number(v)), None)
    if wrong is not None:
        return [outcome("result", False, "", type="dict", value_type=type(wrong).__name__)]
    rules = [outcome("result", True, type="dict"), finite_rule(value.values())]
    unknown = [str(key) for key in value if key not in ids]
    if not has_responses and value:
        # Its client is none that can be observed.
        rules.append(outcome("ids", True, is_checked=False))
    elif unknown:
        rules.append(outcome("ids", False, f"KeyError: {unknown[0]!r}", ids=unknown[:5]))
    else:
        rules.append(outcome("ids", True, is_checked=True))
    return rules


def reward_of(value: Any) -> float | None:
    """The sum of a dictionary's rewards, as the framework's total; None for what isn't a finite reward."""
    numbers = list(value.values()) if isinstance(value, dict) else [value]
    if not numbers or not all(map(_is_number, numbers)):
        return None
    total = math.fsum(numbers) if all(map(math.isfinite, numbers)) else math.nan
    return total if math.isfinite(total) else None


def finite_rule(rewards: Collection[float]) -> dict[str, Any]:
    """The framework takes others, which make every parameter NaN at the next update."""
    wrong = next((reward for reward in rewards if not math.isfinite(reward)), None)
    return outcome("finite", wrong is None, value="" if wrong is None else str(wrong))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def safe_repr(value: Any) -> str:
    try:
        return repr(value)[:LONGEST_RESULT]
    # It is the user's code.
    except Exception as error:
        return f"<{type(value).__name__}: {type(error).__name__} in __repr__>"
