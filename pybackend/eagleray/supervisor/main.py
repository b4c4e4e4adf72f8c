"""The process that keeps one run: `keep-run ID`, started by whoever starts the run and outliving them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import Any

from attrs import evolve

from eagleray.app import App, Settings, build_app
from eagleray.common.bounded_log import logging_to
from eagleray.common.paths import host_name, runs
from eagleray.features.profiling.gathers import output_folder
from eagleray.features.profiling.unmatched import Unmatched
from eagleray.features.runs.home_cluster import HomeCluster, own_dashboards
from eagleray.features.runs.model import Process, RunPlan, RunState
from eagleray.features.runs.output import Output
from eagleray.features.runs.proxy_addresses import joined_in
from eagleray.features.runs.records import Record, Records
from eagleray.features.runs.remote_delivery import far_reports
from eagleray.features.runs.supervisor_process import TAKEN
from eagleray.ray.dashboard import Dashboard
from eagleray.supervisor.launchers.factory import Starters
from eagleray.supervisor.run_watch import Watching
from eagleray.supervisor.supervisor import Keeper
from eagleray.tools.processes import born


def main(arguments: list[str]) -> int:
    """Keeps the run of that id until it is over; ends with `TAKEN` if another process does, or did."""
    # Whoever started us may have had these ignored, which the program would inherit.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    access: dict[str, Any] = json.loads(sys.stdin.read() or "{}")
    record = Records(runs()).find(arguments[0])
    with logging_to(record.keeper_log):
        return _keep_alone(record, access)


def _keep_alone(record: Record, access: dict[str, Any]) -> int:
    # Held as long as we live, so that a run never has two keepers.
    if record.lock() is None or record.state().is_over:
        return TAKEN
    asyncio.run(_keep(record, access))
    return 0


async def _keep(record: Record, access: dict[str, Any]) -> None:
    parts = build_app(Settings.read({"discovery": "off"}, dict(os.environ)))
    parts.tokens.set_access(record.plan().cluster, **access)
    output = Output(record.output)
    try:
        starters = Starters(
            parts.watch.dashboard, parts.clusters, parts.commands, own_dashboards, parts.queue
        )
        home, plan = _home(parts, record), record.plan()
        watching = Watching(
            record,
            plan,
            home,
            parts.runs_of_adapter,
            parts.ways.routes,
            lambda text: output.write(text.encode("utf-8", "replace")),
        )
        keeper = Keeper(
            record,
            output,
            lambda: starters.of(record, output, dict(os.environ)),
            watching,
            reports=_reports(parts, record, plan, home),
        )
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, keeper.stop)
        ours = Process(os.getpid(), born(os.getpid()))
        keeper.begin(evolve(_kept_again(record.state()), keeper=ours, host=host_name()))
        await keeper.run()
    finally:
        output.close()
        await parts.close()


def _kept_again(state: RunState) -> RunState:
    """What was written when nobody reached it any more is over; whoever stops it now waits for the word to change."""
    return evolve(state, phase="running", note="") if state.phase == "unwatched" else state


def _home(parts: App, record: Record) -> HomeCluster:
    """The cluster of the run, which may have to be looked for."""
    plan = record.plan()
    return HomeCluster(
        record.id,
        "" if plan.kind == "sbatch" else plan.cluster,
        parts.clusters,
        parts.watch.dashboard,
        own_dashboards,
        lambda: joined_in(record.folder),
    )


def _reports(parts: App, record: Record, plan: RunPlan, home: HomeCluster) -> Unmatched | None:
    if plan.profile is None:
        return None
    here = output_folder(record.id, plan.profile.output, plan.cwd)

    def found() -> tuple[str, Dashboard] | None:
        return (home.found.cluster, home.found.dashboard) if home.found else None

    reports = parts.gathers.reports(
        record.id, record.reports, here, found, far_reports(record.id, plan)
    )
    return Unmatched(reports, plan.profile.workers, found)
