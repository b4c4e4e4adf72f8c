"""All rules that read a hang from what each rank of a world does, in the order in which they are believed.

Each rule looks for one kind and returns its readings with their confidence.  A rank that a debugger keeps explains
everything that waits for it, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from eagleray.observe.hangs.rules import (
    collectives,
    data_loader,
    debugger_and_signals,
    ended_ranks,
    event_loops,
    exceptions,
    gil_held,
    initialization,
    launches,
    logged,
    pipeline,
    progress,
    ray_tasks,
    single_dump,
    straggler,
    waits,
)
from eagleray.observe.hangs.rules.rule_context import Scene
from eagleray.observe.hangs.verdict import Reading

Rule = Callable[[Scene], Iterator[Reading]]

RULES: tuple[Rule, ...] = (
    debugger_and_signals.in_debugger,
    debugger_and_signals.stopped,
    waits.ray_get_cycles,
    ray_tasks.starvation,
    waits.lost_tasks,
    waits.deadlocks,
    event_loops.locked_tasks,
    progress.going_on,
    gil_held.gil_held,
    initialization.initializing,
    exceptions.tearing_down,
    exceptions.in_handler,
    ended_ranks.dead,
    data_loader.loading_data,
    pipeline.unmatched_messages,
    launches.silent_or_behind,
    collectives.counters,
    logged.missed,
    collectives.different_groups,
    collectives.different_calls,
    straggler.late,
    waits.chains,
    event_loops.event_loops,
    collectives.same_call,
    straggler.outliers,
    single_dump.waits,
)
