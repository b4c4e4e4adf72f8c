"""Runs an agent of `programs` as `eagleray agent` does."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eagleray.rollouts.agents import agents
from eagleray.rollouts.agents.model import AgentPlan, DataItem, Observed, WaveProgress

PROGRAMS = Path(__file__).with_name("programs")
KEY = "sk-key-of-the-tests"


def plan_of(target: str, arguments: dict[str, Any] | None = None, **values: Any) -> AgentPlan:
    """Four items, {"n": 1} to {"n": 4}, of `plain_agents`, in the Python of the tests."""
    groups = values.get("groups", 1)
    defaults: dict[str, Any] = {
        "target": target if ":" in target else f"plain_agents:{target}",
        "python": sys.executable,
        "cwd": str(PROGRAMS),
        "base_url": "http://127.0.0.1:9/v1",
        "api_key": KEY,
        "items": tuple(DataItem(n, {"n": n}) for n in range(1, groups + 1)),
        "timeout_s": 60.0,
    }
    return AgentPlan(**{**defaults, **values, "arguments": json.dumps(arguments or {})})


async def observe(
    plan: AgentPlan,
    stop: asyncio.Event | None = None,
    on_output: Callable[[bytes], None] = lambda _: None,
    on_progress: Callable[[WaveProgress], None] = lambda _: None,
    trace: Path | None = None,
) -> Observed:
    return await agents.observe(plan, stop or asyncio.Event(), on_output, on_progress, trace)


def broken(observed: Observed) -> dict[str, str]:
    """The text of each rule that is broken."""
    return {rule.rule: rule.text for rule in observed.contract if not rule.ok}
