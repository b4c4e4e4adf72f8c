"""Runs agents: makes the plan of a request, has the runner carry it out, and returns what was observed."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import evolve

from eagleray.common.blocking_calls import off_loop
from eagleray.rollouts.agents import data_items
from eagleray.rollouts.agents.data_items import DataChoice
from eagleray.rollouts.agents.errors import (
    bad_parquet,
    bad_target,
    empty_data,
    no_data_file,
    no_item,
    no_parquet,
    not_arguments,
)
from eagleray.rollouts.agents.event_collector import Observation
from eagleray.rollouts.agents.model import (
    AgentPlan,
    DataItem,
    Observed,
    WaveProgress,
)
from eagleray.rollouts.agents.runner_process import (
    PROCESSES,
    OnOutput,
    carry_out,
    read_table,
)
from eagleray.rollouts.agents.server_queue import watched_queue
from eagleray.rollouts.agents.server_slots import server_slots
from eagleray.rollouts.agents.traces import TraceFile
from eagleray.rollouts.agents.verdicts import may_be_queued
from eagleray.runs.program_kind import python_here

_TARGET = re.compile(r"([\w.]+|.+\.py):[A-Za-z_][\w.]*")
_PROGRESS_S = 0.2

OnProgress = Callable[[WaveProgress], None]


async def with_items(plan: AgentPlan, data: DataChoice) -> AgentPlan:
    """The plan with its items and its interpreter; raises an error of the catalogue."""
    if not _TARGET.fullmatch(plan.target):
        raise bad_target(plan.target)
    plan = evolve(plan, python=plan.python or python_here())
    items = await _items(data, plan.cwd, plan.python, plan.groups)
    _arguments(plan.arguments)
    return evolve(plan, items=items)


async def data_rows(path: str, cwd: str, python: str, count: int) -> tuple[DataItem, ...]:
    """The first items of a file; raises an error of the catalogue."""
    return await _items(DataChoice(Path(path)), cwd, python, count)


async def observe(
    plan: AgentPlan,
    stop: asyncio.Event,
    on_output: OnOutput,
    on_progress: OnProgress = lambda _: None,
    trace: Path | None = None,
) -> Observed:
    """Carries out the plan; once `stop` is set, the runs that are left are cancelled."""
    observation = Observation(plan)
    reported_at = 0.0
    async with contextlib.AsyncExitStack() as stack:
        traces = await stack.enter_async_context(TraceFile(trace)) if trace else None
        queue = await stack.enter_async_context(watched_queue(plan))

        def on_event(event: dict[str, Any]) -> None:
            nonlocal reported_at
            observation.take(event)
            queue.update(observation.totals)
            if traces is not None:
                traces.take(event)
            if time.monotonic() - reported_at >= _PROGRESS_S:
                reported_at = time.monotonic()
                on_progress(observation.progress())

        end = await carry_out(plan.python, plan.cwd, wire_plan(plan), on_event, on_output, stop)
    on_progress(observation.progress())
    observed = evolve(observation.observed(end, stop.is_set()), queue=tuple(queue.samples))
    if may_be_queued(observed):
        slots = await server_slots(plan.base_url, plan.api_key)
        observed = evolve(observed, server_slots=slots)
    return observed


def wire_plan(plan: AgentPlan) -> dict[str, Any]:
    """The plan as the runner takes it; it has the key."""
    return {
        "target": plan.target,
        "arguments": _arguments(plan.arguments),
        "mode": plan.mode,
        "items": [{"number": item.number, "data": item.data} for item in plan.items],
        "groups": plan.groups,
        "group_size": plan.group_size,
        "timeout_s": plan.timeout_s,
        "base_url": plan.base_url,
        "api_key": plan.api_key,
        "processes": PROCESSES,
    }


async def _items(choice: DataChoice, cwd: str, python: str, count: int) -> tuple[DataItem, ...]:
    if data_items.is_parquet(choice.path):
        return await _rows(choice, cwd, python or await off_loop(python_here), count)
    return await off_loop(lambda: data_items.first_items(choice, count))


async def _rows(choice: DataChoice, cwd: str, python: str, most: int) -> tuple[DataItem, ...]:
    path, number = Path(cwd) / choice.path, choice.number
    if not await off_loop(path.is_file):
        raise no_data_file(str(path), os.strerror(errno.ENOENT))
    first = (number or 1) - 1
    count = 1 if number else most
    answer = await read_table(python, cwd, {"path": str(path), "first": first, "count": count})
    if answer.get("error") == "missing":
        raise no_parquet(python)
    if answer.get("error"):
        raise bad_parquet(str(path), str(answer.get("reason")))
    rows = tuple(DataItem(first + place, row) for place, row in enumerate(answer["rows"], 1))
    if rows:
        return rows
    raise no_item(str(path), number, answer["total"]) if number else empty_data(str(path))


def _arguments(written: str) -> dict[str, Any]:
    if not written:
        return {}
    try:
        value = json.loads(written)
    except ValueError as error:
        raise not_arguments(str(error)) from error
    if not isinstance(value, dict):
        raise not_arguments(type(value).__name__)
    return value
