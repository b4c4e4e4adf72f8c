"""Agents: 64 groups of 8 against the tests' engine, next to a bare `asyncio.gather` with one shared client; lines above classes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Iterator

from eagleray.rollouts.agents.agent_classes import agent_classes
from eagleray.rollouts.agents.model import AgentPlan, DataItem

from tests.bench.rows import Row, at_most, at_most_times, least_at_most_times, printed
from tests.engine.fixtures import ENGINE_PYTHON, Engine, serving
from tests.ray_cluster import REPOSITORY
from tests.rollouts.observed import PROGRAMS, observe, plan_of

GROUPS, GROUP_SIZE = 64, 8
_PAIRS = 5
# In a shorter run one more or less of the full garbage collections, each a tenth of a second, would decide.
_WAVES_OBSERVED = 3
OBSERVER = str(REPOSITORY / "pybackend")
# The guide's own loop, with the agent of the wave and one client for all runs; alone, or observed as a wave is.
BARE = """
import asyncio, json, sys, time
from types import SimpleNamespace
import httpx2
from model_agents import Shared

def observing(observed_by, base_url):
    sys.path.append(observed_by)
    from eagleray.remote.injected.agents.contention import ContentionSamples
    from eagleray.remote.injected.agents.http_clients import record_clients
    from eagleray.remote.injected.agents.http_recording import HttpRecord, current_run
    from eagleray.remote.injected.agents.left_tasks import begin_tasks, watch_tasks
    from eagleray.remote.injected.agents.loop_watch import LoopWatch
    from eagleray.remote.injected.agents.printing import Printed, current_print, watch_prints
    watch_prints("")
    recorder, loop, running = record_clients(base_url), asyncio.get_running_loop(), {}
    watch_tasks(loop)
    recorder.blocking.watch()
    contention = ContentionSamples(loop)
    watch = LoopWatch(loop, float("inf"), print, lambda: contention.sample(running.items()))
    watch.start()

    def begin_run():
        record, task = HttpRecord(), asyncio.current_task()
        current_run.set(record)
        current_print.set(Printed())
        begin_tasks()
        running[task] = SimpleNamespace(record=record)
        task.add_done_callback(running.pop)

    return begin_run, watch.stop

async def main(groups, size, waves, base_url, api_key, observed_by):
    agent = Shared()
    begin_run, stop = observing(observed_by, base_url) if observed_by else (int, int)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    client = httpx2.AsyncClient(limits=limits, timeout=3600.0, trust_env=False)
    async def run(data):
        begin_run()
        await agent.run(data, base_url=base_url, api_key=api_key, http_client=client)

    async def group(data):
        await asyncio.gather(*[run(data) for _ in range(size)])
    data = [{"messages": [{"role": "user", "content": f"Count to {n}"}]} for n in range(1, groups + 1)]
    began, computed = time.monotonic(), time.process_time()
    for _ in range(waves):
        await asyncio.gather(*map(group, data))
    seconds, computed = time.monotonic() - began, time.process_time() - computed
    stop()
    print(json.dumps([seconds, computed]))

asyncio.run(main(*json.loads(sys.stdin.readline())))
"""


def rows(samples: int) -> Iterator[Row]:
    ours: list[float] = []
    alone: list[float] = []
    bare: list[tuple[float, float]] = []
    observed: list[tuple[float, float]] = []
    with serving() as engine:
        for _ in range(min(samples, _PAIRS)):
            ours.append(_wave(engine))
            alone.append(_gathered(engine, 1)[0])
            # Each of the two comes first once.
            for is_observed in (False, True, True, False):
                runs = observed if is_observed else bare
                runs.append(_gathered(engine, _WAVES_OBSERVED, OBSERVER if is_observed else ""))
    yield at_most("agents in a file of 2,000 lines (ms)", [_lines_ms() for _ in range(samples)], 50)
    yield least_at_most_times(f"wave of {GROUPS} x {GROUP_SIZE} runs (s)", ours, alone, 1.1)
    # On a busy machine the seconds say little.  The best of twelve bare runs was 2.5 percent faster than the second best.
    for number, unit in enumerate(("s", "CPU s")):
        both = [run[number] for run in observed], [run[number] for run in bare]
        yield at_most_times(f"bare gather that is observed ({unit})", *both, 1.03)
        yield printed(f"bare gather that is observed, best ({unit})", *both)


def _lines_ms() -> float:
    """As for a change in the editor: the whole text is read again."""
    agent = "class A:\n    async def run(self, data, **extra_kwargs):\n        pass\n"
    method = "    def method(self, a, b=(1, 2)):\n        return {'a': a, 'b': [*b, self.value]}\n"
    text = (agent + method * 9 + "    value = 1\n") * 91
    began = time.monotonic()
    assert len(agent_classes(text) or ()) == 91
    return (time.monotonic() - began) * 1000


def _wave(engine: Engine) -> float:
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


def _gathered(engine: Engine, waves: int, observed_by: str = "") -> tuple[float, float]:
    """Seconds, and those on a core, of `waves` one after the other."""
    ran = subprocess.run(
        [ENGINE_PYTHON, "-c", BARE],
        cwd=PROGRAMS,
        input=json.dumps([GROUPS, GROUP_SIZE, waves, engine.url, engine.key, observed_by]) + "\n",
        capture_output=True,
        text=True,
        check=True,
        # As the runner of a wave has one: Linux shares the cores between sessions first (sched(7), autogroups).
        start_new_session=True,
    )
    seconds, computed = json.loads(ran.stdout)
    return seconds, computed
