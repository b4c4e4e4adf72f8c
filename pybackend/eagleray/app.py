"""The composition root: makes every core object of sidecar, command line and run supervisor, once per process.

Connections into clusters are owned by another process, the debug adapter (`adapter/main.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from attrs import field, frozen

from eagleray.adapter_client.client import AdapterClient
from eagleray.clusters import credentials
from eagleray.common.paths import home
from eagleray.common.retry import Clock
from eagleray.debug.attaching.hold_reminder import REMIND_AFTER_S
from eagleray.protocol.adapter_control import SshSettings
from eagleray.routes.ssh.command import USER_VARIABLES

if TYPE_CHECKING:
    from eagleray.clusters.cluster_watch import ClusterWatch
    from eagleray.clusters.clusters import ClusterRegistry
    from eagleray.clusters.connections import ConnectionMonitor, ConnectionResolver
    from eagleray.clusters.credentials import TokenRules
    from eagleray.clusters.dashboard_page import DashboardPages
    from eagleray.clusters.jobs import Jobs
    from eagleray.clusters.node_access import Terminals
    from eagleray.common.errors import EaglerayError
    from eagleray.debug.attaching.debugging import Debugging
    from eagleray.debug.pdb.pdb import Pdb
    from eagleray.debug.source_mapping.source_mapping import SourceMapping
    from eagleray.debug.workers.paused_workers import PausedWorkers
    from eagleray.doctor.doctor import Doctor
    from eagleray.observe.hangs.pictures import Pictures
    from eagleray.observe.hangs.waiting_ranks import PausedSentences
    from eagleray.observe.look_inside.inspections import Inspections
    from eagleray.profile.recordings.collector import ReportCollectorFactory
    from eagleray.profile.recordings.profiling import Profiling
    from eagleray.profile.reports.reports import Reports
    from eagleray.ray.dashboard import Dashboard
    from eagleray.rollouts.servers.servers import Servers
    from eagleray.rollouts.trajectories.trajectories import Trajectories
    from eagleray.runs.adapter_gateway import AdapterRunGateway
    from eagleray.runs.model import RunPlan
    from eagleray.runs.planner import RunPreparation
    from eagleray.runs.presets.debug_runs import DebugRuns
    from eagleray.runs.runs import Runs
    from eagleray.runs.waiting_supervisor import WaitingSupervisor
    from eagleray.slurm.client import SlurmClient
    from eagleray.slurm.nodes import JobNodes
    from eagleray.slurm.queue import SlurmQueue
    from eagleray.tools.commands import Commands
    from eagleray.tools.shared_cache import SharedAnswers


@frozen
class Settings:
    """Settings of the editor (initializationOptions) or of the environment; EAGLERAY_DISCOVERY has priority.

    `discovery` "off": only clusters that were added or named; `slurm` "off": no jobs of this machine.
    `remind_s`: how long a worker may be held before a reminder; EAGLERAY_REMIND_S shortens it for tests.
    `trusted`: whether the user trusts the workspace of the editor.
    """

    discovery: Literal["own", "off"] = "own"
    slurm: Literal["own", "off"] = "own"
    ssh: SshSettings = field(factory=SshSettings)
    remind_s: float = REMIND_AFTER_S
    trusted: bool = True

    @staticmethod
    def read(options: dict[str, Any], environ: dict[str, str]) -> Settings:
        discovery_option = environ.get("EAGLERAY_DISCOVERY") or options.get("discovery")
        discovery: Literal["own", "off"] = "off" if discovery_option == "off" else "own"
        # Without discovery of clusters there is none of jobs.
        slurm = "off" if discovery == "off" else options.get("slurm")
        remind_s = environ.get("EAGLERAY_REMIND_S", "")
        return Settings(
            discovery,
            "off" if slurm == "off" else "own",
            _ssh(options, environ),
            float(remind_s) if remind_s.isdecimal() else REMIND_AFTER_S,
            options.get("trusted") is not False,
        )


def _ssh(options: dict[str, Any], environ: dict[str, str]) -> SshSettings:
    """Returns the ssh settings: EAGLERAY_SSH has priority; a terminal has none and keeps the editor's settings."""
    variables = {name: environ[name] for name in USER_VARIABLES if environ.get(name)}
    ssh = options.get("ssh")
    if not isinstance(ssh, dict):
        return SshSettings(environ.get("EAGLERAY_SSH", ""), None, variables)
    path = environ.get("EAGLERAY_SSH") or ssh.get("path")
    program = path if isinstance(path, str) and path else "ssh"
    return SshSettings(program, ssh.get("reuseControlMaster") is not False, variables)


class App:
    """Every core object, made when it is first used: a command imports only what it needs.

    Nothing is queried until then.  Making an object creates folders and reads files: with more than one client (the
    sidecar), use each first off the event loop.  `follows_routes`: whether the states of routes are followed once a
    cluster can be connected to.  `supervisor` is the supervisor of the first run.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock | None = None,
        *,
        follows_routes: bool = False,
        supervisor: WaitingSupervisor | None = None,
    ) -> None:
        self.settings = settings
        self._clock = clock or Clock()
        self._follows_routes = follows_routes
        self._supervisor = supervisor
        # Before anything is started, which would inherit what it holds.
        self._access = credentials.take_variable(os.environ)
        self.adapters = AdapterClient()
        self.adapters.routes.use_ssh(settings.ssh)

    # --- clusters ------------------------------------------------------------------------------------

    @cached_property
    def tokens(self) -> TokenRules:
        from eagleray.clusters.credentials import TokenRules

        return TokenRules({**os.environ, **self._access}, folder=home())

    @cached_property
    def watch(self) -> ClusterWatch:
        from eagleray.clusters.cluster_watch import ClusterWatch

        return ClusterWatch()

    @cached_property
    def commands(self) -> Commands:
        from eagleray.tools.commands import Commands

        return Commands(self.adapters.routes.run, argv_over_ssh=self.adapters.routes.argv)

    @cached_property
    def _slurm(self) -> SlurmClient:
        from eagleray.slurm.client import SlurmClient

        return SlurmClient(self.commands)

    @cached_property
    def _answers(self) -> SharedAnswers:
        from eagleray.tools.shared_cache import SharedAnswers

        return SharedAnswers(clock=self._clock)

    @cached_property
    def queue(self) -> SlurmQueue:
        from eagleray.slurm.queue import SlurmQueue

        return SlurmQueue(self._slurm, self._answers)

    @cached_property
    def _nodes(self) -> JobNodes:
        from eagleray.slurm.nodes import JobNodes

        return JobNodes(self._slurm, self._answers, self._clock)

    @cached_property
    def connections(self) -> ConnectionResolver:
        from eagleray.clusters.connections import ConnectionResolver
        from eagleray.clusters.job_head import JobHeadFinder

        return ConnectionResolver(
            self.adapters.routes,
            self.commands,
            JobHeadFinder(self._slurm, self.queue, self._nodes),
            self.tokens,
        )

    @cached_property
    def jobs(self) -> Jobs:
        from eagleray.clusters.connections import jobs_of
        from eagleray.clusters.jobs import Jobs
        from eagleray.clusters.stored_lists import StoredHosts

        return Jobs(
            self._slurm,
            self.queue,
            self._nodes,
            StoredHosts(home() / "hosts.json"),
            here=self.settings.slurm == "own",
            also=lambda: jobs_of(status.cluster for status in self.watch.statuses()),
            visible=lambda: self.watch.visible,
            clock=self._clock,
        )

    @cached_property
    def connection_monitor(self) -> ConnectionMonitor:
        from eagleray.clusters.connections import ConnectionMonitor

        monitor = ConnectionMonitor(
            self.connections,
            self.jobs,
            self.watch,
            self.adapters.routes,
            lambda cluster: self.workers.count_stops(cluster),
        )
        if self._follows_routes:
            monitor.follow_routes()
        return monitor

    @cached_property
    def clusters(self) -> ClusterRegistry:
        from eagleray.clusters.clusters import ClusterRegistry

        clusters = ClusterRegistry(
            self.watch,
            dict(os.environ),
            self.settings.discovery,
            tokens=self.tokens,
            connections=self.connection_monitor,
        )
        self.connection_monitor.on_change(clusters.notify_changed)
        return clusters

    @cached_property
    def terminals(self) -> Terminals:
        from eagleray.clusters.node_access import Terminals

        return Terminals(self.watch, self.connections, self.settings.ssh.program)

    @cached_property
    def pages(self) -> DashboardPages:
        from eagleray.clusters.dashboard_page import DashboardPages

        return DashboardPages(self.watch, self.connections, self.tokens)

    async def _dashboard(
        self, cluster: str, say: Callable[[str], None] = lambda _: None
    ) -> Dashboard:
        return self.watch.dashboard(await self.clusters.resolve(cluster, say))

    # --- workers and debugging -----------------------------------------------------------------------

    @cached_property
    def source_mapping(self) -> SourceMapping:
        from eagleray.debug.source_mapping.source_mapping import SourceMapping

        return SourceMapping(self.adapters.sessions, home())

    @cached_property
    def workers(self) -> PausedWorkers:
        from eagleray.adapter_client.held_elsewhere import held_elsewhere
        from eagleray.debug.workers.paused_workers import LocalFiles, PausedWorkers

        return PausedWorkers(
            self.watch,
            self.adapters.sessions,
            clock=self._clock,
            files=LocalFiles(self.source_mapping.local, self.source_mapping.find_local_files),
            is_local=self.connections.is_local,
            elsewhere=held_elsewhere,
        )

    @cached_property
    def debugging(self) -> Debugging:
        from eagleray.debug.attaching.debugging import Debugging

        return Debugging(
            sessions=self.adapters.sessions,
            clusters=self.clusters,
            connections=self.connections,
            workers=self.workers,
            source_mapping=self.source_mapping,
            clock=self._clock,
            ignored_file=home() / "ignored_breakpoints.json",
            remind_s=self.settings.remind_s,
        )

    @cached_property
    def pdb(self) -> Pdb:
        from eagleray.clusters.node_access import NodeRoutes
        from eagleray.debug.pdb.pdb import Pdb

        return Pdb(
            self.watch.dashboard,
            self.adapters.routes,
            self.connections.routes,
            NodeRoutes(self.connections).routes,
        )

    @cached_property
    def inspections(self) -> Inspections:
        from eagleray.observe.look_inside.inspections import Inspections

        return Inspections(self.source_mapping, self.watch.dashboard)

    # --- runs and recordings -------------------------------------------------------------------------

    @cached_property
    def runs_of_adapter(self) -> AdapterRunGateway:
        from eagleray.runs.adapter_gateway import AdapterRunGateway

        return AdapterRunGateway(self.adapters)

    @cached_property
    def runs(self) -> Runs:
        from eagleray.common.paths import runs
        from eagleray.runs.records import RunRecords
        from eagleray.runs.runs import Runs

        return Runs(RunRecords(runs()), self.runs_of_adapter, self.tokens.given, self._supervisor)

    @cached_property
    def preparing(self) -> RunPreparation:
        from eagleray.runs.planner import RunPreparation
        from eagleray.runs.program_python import PythonVersions
        from eagleray.runs.run_discovery import joined_python

        def preset_problems(plan: RunPlan) -> list[EaglerayError]:
            from eagleray.runs.presets.nsys_check import nsys_problems
            from eagleray.runs.presets.worker_classes import unmatched

            return [*unmatched(plan), *nsys_problems(plan)]

        versions = PythonVersions(self.commands, self.watch.dashboard)
        return RunPreparation(
            self.clusters.id_of,
            versions.local,
            versions.of_cluster,
            [preset_problems],
            joined_python,
        )

    @cached_property
    def cluster_pythons(self) -> Callable[[], list[str]]:
        from eagleray.runs.run_discovery import cluster_pythons

        return cluster_pythons if self.settings.discovery == "own" else list

    @cached_property
    def debug_runs(self) -> DebugRuns:
        from eagleray.runs.presets.debug_runs import DebugRuns
        from eagleray.runs.presets.user_presets import OwnPresets

        return DebugRuns(OwnPresets(home() / "presets"))

    @cached_property
    def collectors(self) -> ReportCollectorFactory:
        from eagleray.profile.recordings.collector import ReportCollectorFactory

        return ReportCollectorFactory(
            self.commands,
            self.adapters.routes,
            self.connections.routes,
            self.runs_of_adapter,
            self.connections.routes_to_departed_node,
        )

    @cached_property
    def profiling(self) -> Profiling:
        from eagleray.profile.recordings.profiling import Profiling, RunProfiles

        return Profiling(
            RunProfiles(self.runs), self.runs_of_adapter, self.collectors, self._dashboard
        )

    @cached_property
    def reports(self) -> Reports:
        from eagleray.common.paths import reports
        from eagleray.profile.reports.reports import Reports

        return Reports(reports)

    # --- hangs, rollouts, the doctor -----------------------------------------------------------------

    @cached_property
    def pictures(self) -> Pictures:
        from eagleray.observe.hangs.pictures import Pictures

        return Pictures(self._dashboard, self.runs, self.commands, self._slurm, self.queue)

    @cached_property
    def sentences(self) -> PausedSentences:
        from eagleray.observe.hangs.waiting_ranks import PausedSentences, taking_here

        return PausedSentences(
            self.workers,
            taking_here(self.watch.dashboard, self.connections.is_local),
            lambda: self.watch.visible,
        )

    @cached_property
    def trajectories(self) -> Trajectories:
        from eagleray.rollouts.trajectories.trajectories import Trajectories

        return Trajectories()

    @cached_property
    def servers(self) -> Servers:
        from eagleray.rollouts.servers.added_servers import AddedServers
        from eagleray.rollouts.servers.servers import Servers

        return Servers(self.runs, self.preparing, AddedServers(home() / "servers.json"))

    @cached_property
    def doctor(self) -> Doctor:
        from eagleray.doctor.doctor import Doctor
        from eagleray.doctor.logs.slurm_output import SlurmLogs
        from eagleray.doctor.remote_facts import RemoteFacts

        return Doctor(
            self.runs,
            self._dashboard,
            RemoteFacts(self.commands, self._slurm, self.queue),
            SlurmLogs(self.commands, self._slurm, home() / "doctor-logs"),
            home() / "doctor-logs",
        )

    async def close(self) -> None:
        """Ends every connection; workers that are held stay held."""
        made = self.__dict__
        for name in ("pictures", "doctor", "inspections", "pdb", "workers"):
            if name in made:
                await made[name].close()
        if "connection_monitor" in made:
            self.connection_monitor.close()
        for name in ("clusters", "watch"):
            if name in made:
                await made[name].close()
        await self.adapters.close()
