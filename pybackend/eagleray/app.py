"""The composition root: builds every core object of sidecar, command line and run supervisor, once per process.

Connections into clusters are owned by another process, the debug adapter (`adapter/main.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

from attrs import field, frozen

from eagleray.adapter_client.client import AdapterClient
from eagleray.adapter_client.held_elsewhere import held_elsewhere
from eagleray.common.paths import home
from eagleray.common.paths import reports as report_records
from eagleray.common.paths import runs as run_records
from eagleray.common.retry import Clock
from eagleray.features.clusters import credentials
from eagleray.features.clusters.cluster_watch import ClusterWatch
from eagleray.features.clusters.clusters import ClusterRegistry
from eagleray.features.clusters.connections import ConnectionMonitor, ConnectionResolver, jobs_of
from eagleray.features.clusters.credentials import TokenRules
from eagleray.features.clusters.dashboard_page import DashboardPages
from eagleray.features.clusters.job_head import JobHeadFinder
from eagleray.features.clusters.jobs import Jobs
from eagleray.features.clusters.node_access import NodeRoutes, Terminals
from eagleray.features.clusters.stored_lists import StoredHosts
from eagleray.features.debugging.debugging import Debugging
from eagleray.features.debugging.hold_reminder import REMIND_AFTER_S
from eagleray.features.doctor.doctor import Doctor
from eagleray.features.doctor.remote_facts import RemoteFacts
from eagleray.features.doctor.slurm_logs import SlurmLogs
from eagleray.features.hangs.paused_sentences import PausedSentences, taking_here
from eagleray.features.hangs.pictures import Pictures
from eagleray.features.inference.servers import Servers
from eagleray.features.inference.stored import AddedServers
from eagleray.features.inspections.inspections import Inspections
from eagleray.features.pdb.pdb import Pdb
from eagleray.features.presets.debug_runs import DebugRuns
from eagleray.features.presets.nsys_check import nsys_problems
from eagleray.features.presets.user_presets import OwnPresets
from eagleray.features.presets.worker_classes import unmatched
from eagleray.features.profiling.collector import ReportCollectorFactory
from eagleray.features.profiling.profiling import Profiling, RunProfiles
from eagleray.features.reports.reports import Reports
from eagleray.features.rollouts.trajectories.trajectories import Trajectories
from eagleray.features.runs.adapter_gateway import AdapterRunGateway
from eagleray.features.runs.preparing import RunPreparation
from eagleray.features.runs.program_python import PythonVersions
from eagleray.features.runs.records import RunRecords
from eagleray.features.runs.run_discovery import cluster_pythons, joined_python
from eagleray.features.runs.runs import Runs
from eagleray.features.source_mapping.source_mapping import SourceMapping
from eagleray.features.workers.paused_workers import LocalFiles, PausedWorkers
from eagleray.protocol.control import SshSettings
from eagleray.ray.dashboard import Dashboard
from eagleray.routes.ssh.command import USER_VARIABLES
from eagleray.slurm.client import SlurmClient
from eagleray.slurm.nodes import JobNodes
from eagleray.slurm.queue import SlurmQueue
from eagleray.tools.commands import Commands
from eagleray.tools.shared_answers import SharedAnswers


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
    """Returns the ssh settings: EAGLERAY_SSH has priority; a terminal has none and leaves those of the editor as they are."""
    variables = {name: environ[name] for name in USER_VARIABLES if environ.get(name)}
    ssh = options.get("ssh")
    if not isinstance(ssh, dict):
        return SshSettings(environ.get("EAGLERAY_SSH", ""), None, variables)
    path = environ.get("EAGLERAY_SSH") or ssh.get("path")
    program = path if isinstance(path, str) and path else "ssh"
    return SshSettings(program, ssh.get("reuseControlMaster") is not False, variables)


@frozen
class App:
    """Every core object; `build_app` gives each what it needs of the others."""

    settings: Settings
    adapters: AdapterClient
    commands: Commands
    queue: SlurmQueue
    watch: ClusterWatch
    clusters: ClusterRegistry
    tokens: TokenRules = field(repr=False)
    jobs: Jobs
    connections: ConnectionResolver
    connection_monitor: ConnectionMonitor
    terminals: Terminals
    pages: DashboardPages
    workers: PausedWorkers
    debugging: Debugging
    source_mapping: SourceMapping
    pdb: Pdb
    inspections: Inspections
    preparing: RunPreparation
    debug_runs: DebugRuns
    cluster_pythons: Callable[[], list[str]]
    runs: Runs
    runs_of_adapter: AdapterRunGateway
    collectors: ReportCollectorFactory
    profiling: Profiling
    reports: Reports
    pictures: Pictures
    sentences: PausedSentences
    trajectories: Trajectories
    servers: Servers
    doctor: Doctor

    async def close(self) -> None:
        """Ends every connection; workers that are held stay held."""
        await self.pictures.close()
        await self.doctor.close()
        await self.inspections.close()
        await self.pdb.close()
        await self.workers.close()
        self.connection_monitor.close()
        await self.clusters.close()
        await self.watch.close()
        await self.adapters.close()


def build_app(settings: Settings, clock: Clock | None = None) -> App:
    """Builds the objects for one event loop; nothing is queried yet. It creates folders and reads files: call it off that loop."""
    clock = clock or Clock()
    # Before anything is started, which would inherit what it holds.
    access = credentials.take_variable(os.environ)
    adapters = AdapterClient()
    adapters.routes.use_ssh(settings.ssh)
    watch = ClusterWatch()
    source_mapping = SourceMapping(adapters.sessions, home())

    tokens = TokenRules({**os.environ, **access}, folder=home())
    commands = Commands(adapters.routes.run, argv_over_ssh=adapters.routes.argv)
    slurm = SlurmClient(commands)
    answers = SharedAnswers(clock=clock)
    queue, nodes = SlurmQueue(slurm, answers), JobNodes(slurm, answers, clock)
    connections = ConnectionResolver(
        adapters.routes, commands, JobHeadFinder(slurm, queue, nodes), tokens
    )
    jobs = Jobs(
        slurm,
        queue,
        nodes,
        StoredHosts(home() / "hosts.json"),
        here=settings.slurm == "own",
        also=lambda: jobs_of(status.cluster for status in watch.statuses()),
        visible=lambda: watch.visible,
        clock=clock,
    )
    workers = PausedWorkers(
        watch,
        adapters.sessions,
        clock=clock,
        files=LocalFiles(source_mapping.local, source_mapping.find_local_files),
        is_local=connections.is_local,
        elsewhere=held_elsewhere,
    )
    monitor = ConnectionMonitor(connections, jobs, watch, adapters.routes, adapters.sessions)
    clusters = ClusterRegistry(
        watch, dict(os.environ), settings.discovery, tokens=tokens, connections=monitor
    )
    monitor.on_change(clusters.notify_changed)

    versions = PythonVersions(commands, watch.dashboard)
    runs_of_adapter = AdapterRunGateway(adapters)
    runs = Runs(RunRecords(run_records()), runs_of_adapter, tokens.given)
    collectors = ReportCollectorFactory(
        commands,
        adapters.routes,
        connections.routes,
        runs_of_adapter,
        connections.routes_to_departed_node,
    )

    preparing = RunPreparation(
        clusters.id_of,
        versions.local,
        versions.of_cluster,
        [unmatched, nsys_problems],
        joined_python,
    )

    async def dashboard(cluster: str, say: Callable[[str], None] = lambda _: None) -> Dashboard:
        return watch.dashboard(await clusters.resolve(cluster, say))

    return App(
        settings=settings,
        adapters=adapters,
        commands=commands,
        queue=queue,
        watch=watch,
        clusters=clusters,
        tokens=tokens,
        jobs=jobs,
        connections=connections,
        connection_monitor=monitor,
        terminals=Terminals(watch, connections, settings.ssh.program),
        pages=DashboardPages(watch, connections, tokens),
        workers=workers,
        debugging=Debugging(
            sessions=adapters.sessions,
            clusters=clusters,
            connections=connections,
            workers=workers,
            source_mapping=source_mapping,
            clock=clock,
            ignored_file=home() / "ignored_breakpoints.json",
            remind_s=settings.remind_s,
        ),
        source_mapping=source_mapping,
        pdb=Pdb(
            watch.dashboard, adapters.routes, connections.routes, NodeRoutes(connections).routes
        ),
        inspections=Inspections(source_mapping, watch.dashboard, connections.is_local),
        preparing=preparing,
        cluster_pythons=cluster_pythons if settings.discovery == "own" else list,
        debug_runs=DebugRuns(OwnPresets(home() / "presets")),
        runs=runs,
        runs_of_adapter=runs_of_adapter,
        collectors=collectors,
        profiling=Profiling(RunProfiles(runs), runs_of_adapter, collectors, dashboard),
        reports=Reports(report_records),
        pictures=Pictures(dashboard, runs, commands, slurm, queue),
        sentences=PausedSentences(
            workers, taking_here(watch.dashboard, connections.is_local), lambda: watch.visible
        ),
        trajectories=Trajectories(),
        servers=Servers(runs, preparing, AddedServers(home() / "servers.json")),
        doctor=Doctor(
            runs,
            dashboard,
            RemoteFacts(commands, slurm, queue),
            SlurmLogs(commands, slurm, home() / "doctor-logs"),
            home() / "doctor-logs",
        ),
    )
