"""The supervisor process of one run, `supervise ID`: started by the window or terminal that starts the run, outlives it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import evolve

from eagleray.app import App, Settings
from eagleray.common import l10n
from eagleray.common.bounded_log import logging_to, open_log
from eagleray.common.paths import host_name, runs
from eagleray.common.retry import WATCHED_JOB
from eagleray.protocol.route_spec import RouteSpec
from eagleray.remote.injected import step_signals
from eagleray.runs.model import ProcessIdentity, RunPlan, RunState
from eagleray.runs.output import Output
from eagleray.runs.records import RunRecord, RunRecords
from eagleray.runs.remote_files import login_of, place_of, remote_reports_folder
from eagleray.runs.run_discovery import HomeCluster, joined_in, own_dashboards
from eagleray.runs.streams import Streams
from eagleray.runs.supervisor_process import ALREADY_SUPERVISED
from eagleray.runs.waiting_supervisor import received
from eagleray.supervisor.launchers.factory import LauncherFactory
from eagleray.supervisor.run_watch import RunWatch
from eagleray.supervisor.supervisor import RunSupervisor
from eagleray.tools.processes import born, own_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eagleray.observe.hangs.model import Picture
    from eagleray.observe.hangs.pictures import Pictures
    from eagleray.ray.dashboard import Dashboard
    from eagleray.rollouts.servers.listen_address import ServerAddress
    from eagleray.supervisor.report_collection import GuardedCollector
    from eagleray.supervisor.server_addresses import ServerPlace
    from eagleray.supervisor.server_watch import ServerWatch
    from eagleray.supervisor.stuck_watch import StuckWatch


def main(_: list[str]) -> int:
    """Supervises the run that it is asked to until that is over; the arguments are for lists of processes.

    Returns `ALREADY_SUPERVISED` if another process does so, or if it is over.
    """
    # The parent process may ignore these, which the program would inherit.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    step_signals.ignore()
    request, descriptors = received()
    if not request:
        return 0
    l10n.use(request["language"])
    record = RunRecords(runs()).find(request["run"])
    # One that was started before its run was known has no log yet.
    with contextlib.suppress(OSError), os.fdopen(open_log(record.supervisor_log), "ab") as log:
        for output in (1, 2):
            os.dup2(log.fileno(), output)
    streams = None
    if descriptors:
        stdin, stdout, stderr, control = descriptors
        streams = Streams(stdin, stdout, stderr, control, tuple(request["ignored"]))
    with logging_to(record.supervisor_log):
        return _supervise_alone(record, request["access"], streams)


def _supervise_alone(record: RunRecord, access: Mapping[str, Any], streams: Streams | None) -> int:
    # Held until this process ends, so that a run never has two supervisors.
    if record.lock() is None or record.state().is_over:
        return ALREADY_SUPERVISED
    asyncio.run(_supervise(record, access, streams))
    return 0


async def _supervise(record: RunRecord, access: Mapping[str, Any], streams: Streams | None) -> None:
    parts = App(Settings.read({"discovery": "off"}, dict(os.environ)))
    parts.tokens.set_access(record.plan().cluster, **access)
    output = Output(record.output)
    try:
        factory = LauncherFactory(
            parts.watch.dashboard, parts.clusters, parts.commands, own_dashboards, parts.queue
        )
        home, plan = _home(parts, record), record.plan()
        watch = RunWatch(
            record,
            plan,
            home,
            parts.runs_of_adapter,
            parts.connections.routes,
            lambda text: output.write(text.encode("utf-8", "replace")),
        )
        supervisor = RunSupervisor(
            record,
            output,
            lambda: factory.create(record, output, own_environment(), streams, supervisor),
            watch,
            reports=_reports(parts, record, plan, home),
            stuck=_stuck_watch(record, plan, output, lambda: parts.pictures),
            server=_server_watch(parts, record, plan),
        )
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, supervisor.stop)
        ours = ProcessIdentity(os.getpid(), born(os.getpid()))
        supervisor.begin(evolve(_adopted(record.state()), supervisor=ours, host=host_name()))
        await supervisor.run()
    finally:
        output.close()
        await parts.close()


def _adopted(state: RunState) -> RunState:
    """The state of an orphaned run that has a supervisor again; a caller that stops it waits for this change."""
    server = state.server
    if server is not None:
        from eagleray.supervisor.server_watch import status_at_adoption

        server = status_at_adoption(server)
    is_orphan = state.phase == "unwatched"
    adopted = evolve(state, phase="running", note="") if is_orphan else state
    return evolve(adopted, server=server)


def _home(parts: App, record: RunRecord) -> HomeCluster:
    """Finds the cluster of the run."""
    plan = record.plan()
    return HomeCluster(
        record.id,
        "" if plan.kind in ("sbatch", "remote") else plan.cluster,
        parts.clusters,
        parts.watch.dashboard,
        own_dashboards,
        lambda: joined_in(record.folder),
        is_searched=plan.kind != "remote",
    )


def _stuck_watch(
    record: RunRecord, plan: RunPlan, output: Output, pictures: Callable[[], Pictures]
) -> StuckWatch | None:
    if not plan.watch_minutes:
        return None
    from eagleray.observe.hangs.collecting.srun_jobs import srun_below
    from eagleray.observe.hangs.model import PictureTarget
    from eagleray.supervisor.stuck_watch import StuckWatch

    takes_steps = plan.kind == "sbatch"

    async def take(state: RunState) -> Picture | None:
        nonlocal takes_steps
        if state.program is not None:
            # A program of this machine may run its ranks by srun.
            takes_steps = await asyncio.to_thread(srun_below, state.program.pid) != 0
        # Exceptions and counters are lost with the time-out of the collective, too.
        return await pictures().take(PictureTarget(run_id=record.id, inside=True))

    quiet_s, earlier = plan.watch_minutes * 60, record.state().picture
    return StuckWatch(
        record.pictures,
        quiet_s,
        output.size,
        take,
        earlier,
        lambda: WATCHED_JOB if takes_steps else None,
    )


def _server_watch(parts: App, record: RunRecord, plan: RunPlan) -> ServerWatch | None:
    if plan.server is None:
        return None
    from eagleray.rollouts.servers.health import ServerProbe
    from eagleray.supervisor.server_watch import ServerWatch

    place = _server_place(parts, record, plan, plan.server.port)
    return ServerWatch(record, plan.server, place, ServerProbe(record.server_key()))


def _server_place(parts: App, record: RunRecord, plan: RunPlan, port: int) -> ServerPlace:
    from eagleray.supervisor.server_addresses import JobPlace, LocalPlace, LocalPort, SlurmPort

    if plan.kind == "job":
        return JobPlace(port, record.output, partial(_port_of_head, parts, plan.cluster))
    if plan.kind not in ("sbatch", "remote"):
        return LocalPlace(port, record.id)

    async def open_routes(routes: list[RouteSpec], host: str, port: int, local: int | None) -> str:
        return (await parts.adapters.routes.open_socket(routes, host, port, local)).socket

    status = record.state().server
    local = LocalPort(open_routes, status.url if status else "")
    if plan.kind == "sbatch":
        slurm = SlurmPort(parts.queue, login_of(plan), local)
        return JobPlace(port, record.output, slurm.open)
    ssh, job = place_of(plan)
    if not job:
        return JobPlace(port, record.output, lambda pid, port: local.open(RouteSpec(ssh), port))
    slurm = SlurmPort(parts.queue, ssh, local)
    return JobPlace(port, record.output, lambda pid, port: slurm.open(job, port))


async def _port_of_head(parts: App, cluster: str, job: str, port: int) -> ServerAddress:
    """Ray starts drivers of jobs on the head node, which has the address of the dashboard."""
    from eagleray.rollouts.servers.engines import LOOPBACK
    from eagleray.rollouts.servers.listen_address import ServerAddress
    from eagleray.rollouts.servers.servers import server_host

    host = server_host(cluster)
    if host != LOOPBACK or parts.connections.is_local(cluster):
        return ServerAddress(host, port)
    opened = await parts.connections.open_port(cluster, LOOPBACK, port, 0, shared=False)
    return ServerAddress(LOOPBACK, int(opened.socket.rpartition(":")[2]))


def _reports(
    parts: App, record: RunRecord, plan: RunPlan, home: HomeCluster
) -> GuardedCollector | None:
    if plan.profile is None:
        return None
    from eagleray.profile.recordings.class_matches import MatchingCollector
    from eagleray.profile.recordings.store import output_folder
    from eagleray.supervisor.report_collection import GuardedCollector

    here = output_folder(record.id, plan.profile.output, plan.cwd)

    def home_dashboard() -> tuple[str, Dashboard] | None:
        return (home.resolved.cluster, home.resolved.dashboard) if home.resolved else None

    reports = parts.collectors.create(
        record.id, record.reports, here, home_dashboard, remote_reports_folder(record.id, plan)
    )
    return GuardedCollector(MatchingCollector(reports, plan.profile.workers, home_dashboard))
