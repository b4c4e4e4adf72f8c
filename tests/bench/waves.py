"""Agents: 64 groups of 8 against the tests' engine, next to a bare `asyncio.gather` with one shared client; lines above classes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Iterator

from eagleray.features.rollouts.agents.agent_classes import agent_classes
from eagleray.features.rollouts.agents.model import AgentPlan, DataItem

from tests.bench.rows import Row, at_most, least_at_most_times
from tests.engine.fixtures import ENGINE_PYTHON, Engine, serving
from tests.rollouts.observed import PROGRAMS, observe, plan_of

GROUPS, GROUP_SIZE = 64, 8
_PAIRS = 5
# The guide's own loop, with the agent of the wave and one client for all runs.
BARE = """
import asyncio, json, sys, time
import httpx2
from model_agents import Shared

async def main(groups, size, base_url, api_key):
    agent = Shared()
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    client = httpx2.AsyncClient(limits=limits, timeout=3600.0, trust_env=False)
    async def group(data):
        await asyncio.gather(*[
            agent.run(data, base_url=base_url, api_key=api_key, http_client=client)
            for _ in range(size)
        ])
    data = [{"messages": [{"role": "user", "content": f"Count to {n}"}]} for n in range(1, groups + 1)]
    began = time.monotonic()
    await asyncio.gather(*map(group, data))
    print(time.monotonic() - began)

asyncio.run(main(*json.loads(sys.stdin.readline())))
"""


def rows(samples: int) -> Iterator[Row]:
    ours, bare = [], []
    with serving() as engine:
        for _ in range(min(samples, _PAIRS)):
            bare.append(_bare(engine))
            ours.append(_observed(engine))
    yield at_most("agents in a file of 2,000 lines (ms)", [_lines_ms() for _ in range(samples)], 50)
    yield least_at_most_times(f"wave of {GROUPS} x {GROUP_SIZE} runs (s)", ours, bare, 1.1)


def _lines_ms() -> float:
    """As for a change in the editor: the whole text is read again."""
    agent = "class A:\n    async def run(self, data, **extra_kwargs):\n        pass\n"
    method = "    def method(self, a, b=(1, 2)):\n        return {'a': a, 'b': [*b, self.value]}\n"
    text = (agent + method * 9 + "    value = 1\n") * 91
    began = time.monotonic()
    assert len(agent_classes(text) or ()) == 91
    return (time.monotonic() - began) * 1000


def _observed(engine: Engine) -> float:
    observed = asyncio.run(observe(_plan(engine)))
    assert all(run.outcome == "done" for run in observed.runs)
    assert len(observed.runs) == GROUPS * GROUP_SIZE
    return observed.totals.seconds


def _plan(engine: Engine) -> AgentPlan:
    items = tuple(
        DataItem(n, {"messages": [{"role": "user", "content": f"Count to {n}"}]})
        for n in range(1, GROUPS + 1)
    )
    return plan_of(
        "model_agents:Shared",
        python=ENGINE_PYTHON,
        base_url=engine.url,
        api_key=engine.key,
        items=items,
        groups=GROUPS,
        group_size=GROUP_SIZE,
    )


def _bare(engine: Engine) -> float:
    ran = subprocess.run(
        [ENGINE_PYTHON, "-c", BARE],
        cwd=PROGRAMS,
        input=json.dumps([GROUPS, GROUP_SIZE, engine.url, engine.key]) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    return float(ran.stdout)
