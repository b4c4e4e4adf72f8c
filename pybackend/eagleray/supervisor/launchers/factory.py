"""Creates the launcher for the plan of a run, and delivers the injected code to the place where the program runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import evolve

from eagleray.clusters.clusters import ClusterRegistry
from eagleray.common.atomic_file import replace_text
from eagleray.common.paths import injected
from eagleray.ray.dashboard import Dashboard
from eagleray.remote.scripts import package_copies
from eagleray.runs import injected_config
from eagleray.runs.errors import no_gcs
from eagleray.runs.injected_config import InjectedConfig
from eagleray.runs.model import RunPlan
from eagleray.runs.output import Output
from eagleray.runs.presets.nsys_check import nsys_here
from eagleray.runs.program_python import environment_of
from eagleray.runs.records import RunRecord, RunRecords
from eagleray.runs.remote_files import (
    delivered_to,
    login_of,
    make_remote_reports_folder,
    place_of,
)
from eagleray.runs.run_discovery import OwnDashboard
from eagleray.runs.scripts.script_edits import COPIES, ORIGINAL
from eagleray.runs.streams import Streams
from eagleray.slurm.queue import SlurmQueue
from eagleray.supervisor.launchers.launcher import Launcher
from eagleray.supervisor.launchers.local_program import LocalProgram, ProgramListener, ProgramPaths
from eagleray.supervisor.launchers.main_program import main_program
from eagleray.supervisor.launchers.ray_job import RayJob
from eagleray.supervisor.launchers.remote_program import RemoteProgram, RemoteStart
from eagleray.supervisor.launchers.sbatch import Sbatch
from eagleray.tools import nsys
from eagleray.tools.code_copies import debugger_copy, deliver, read_package
from eagleray.tools.commands import Commands

# Copies of our code are removed when no run has started with them for so long, and no live run uses them.
UNUSED_DAYS = 30.0
# On a login node, where runs of other machines aren't known: their jobs may be in the queue.
UNUSED_DAYS_REMOTE = 90.0


class LauncherFactory:
    """Belongs to the supervisor process of a run."""

    def __init__(
        self,
        dashboard: Callable[[str], Dashboard],
        clusters: ClusterRegistry,
        commands: Commands,
        own: Callable[[], list[OwnDashboard]],
        queue: SlurmQueue,
    ) -> None:
        self._dashboard = dashboard
        self._clusters = clusters
        self._commands = commands
        self._own = own
        self._queue = queue

    async def create(
        self,
        record: RunRecord,
        output: Output,
        environ: Mapping[str, str],
        streams: Streams | None = None,
        listener: ProgramListener | None = None,
    ) -> Launcher:
        """Raises an error of the cluster or host that the plan names; `streams` are for a program of this machine."""
        plan, adopted = with_copy(record, record.plan()), record.state().external_id
        plan = with_server_key(record, plan)
        if adopted:
            # Its output is read from the beginning again.
            output.replace_on_write()
        config = await injected_config_for(record, plan)
        if plan.kind == "job":
            launcher: Launcher = await self._job(plan, config, output, adopted)
        elif plan.kind == "remote":
            return self._remote(record, plan, output, is_adopted=bool(adopted))
        elif plan.kind == "sbatch":
            remote_since = _records_of(record).needed_since(UNUSED_DAYS_REMOTE)
            launcher = await self._sbatch(plan, config, output, environ, adopted, remote_since)
        else:
            full = local_environment(plan, config, environ, is_attended=streams is not None)
            if plan.cluster:
                full["RAY_ADDRESS"] = self._gcs(plan.cluster)
            files = ProgramPaths(record.output, record.ends())
            launcher = LocalProgram(plan.command, plan.cwd, full, files, streams, listener)
        since = _records_of(record).needed_since(UNUSED_DAYS)
        await asyncio.to_thread(package_copies.remove_unused, injected(), since)
        return launcher

    def _remote(
        self, record: RunRecord, plan: RunPlan, output: Output, *, is_adopted: bool
    ) -> Launcher:
        ssh, job = place_of(plan)
        option = plan.server.key_option if plan.server else ""
        config = key_config(record) if option else ""
        start = RemoteStart(ssh, job, plan.command, plan.cwd, plan.env, option, config)
        return RemoteProgram(self._commands, start, record.id, output, is_adopted=is_adopted)

    async def _job(
        self, plan: RunPlan, config: InjectedConfig, output: Output, job: str
    ) -> Launcher:
        cluster = await self._clusters.resolve(plan.cluster)
        uri = injected_config.package_uri(config.package)
        env = {
            **plan.env,
            injected_config.VARIABLE: injected_config.encode_config(plan, evolve(config, uri=uri)),
            # Ray would otherwise reject programs that pass on their whole environment, because of these variables
            # ("Failed to merge the Job's runtime env", `_private/worker.py` of 2.60).
            "RAY_OVERRIDE_JOB_RUNTIME_ENV": "1",
        }
        dashboard = self._dashboard(cluster)
        return RayJob(
            dashboard, plan.command, plan.cwd, plan.name, config.package, env, output, job
        )

    async def _sbatch(
        self,
        plan: RunPlan,
        config: InjectedConfig,
        output: Output,
        environ: Mapping[str, str],
        job: str,
        needed_since: float,
    ) -> Launcher:
        ssh = login_of(plan)
        if ssh:
            path = await delivered_to(self._commands, ssh, config.package, needed_since)
            reports = await make_remote_reports_folder(self._commands, config.run, plan)
            config = evolve(config, path=path, reports=reports)
            before: Mapping[str, str] = plan.env
        else:
            config = evolve(config, path=str(deliver(config.package)))
            before = {**environ, **plan.env}
        env = {
            **plan.env,
            "PYTHONPATH": injected_config.with_site(before, config.path, config.package.name),
            injected_config.VARIABLE: injected_config.encode_config(plan, config),
        }
        queue = self._queue
        return Sbatch(self._commands, ssh, plan.command, plan.cwd, env, output, queue, job)

    def _gcs(self, cluster: str) -> str:
        """The address at which programs of this machine join the cluster: an argument of its dashboard."""
        for dashboard in self._own():
            if dashboard.address == cluster and dashboard.gcs:
                return dashboard.gcs
        raise no_gcs(cluster)


def _records_of(record: RunRecord) -> RunRecords:
    return RunRecords(record.folder.parent)


async def injected_config_for(record: RunRecord, plan: RunPlan) -> InjectedConfig:
    """The config without the delivery of the package and without paths on another host."""
    is_remote = bool(login_of(plan))
    # This reads the script.
    main = (
        await asyncio.to_thread(main_program, plan, is_remote=is_remote) if plan.post_mortem else ""
    )
    local_nsys = await asyncio.to_thread(nsys_here, plan)
    return InjectedConfig(
        run=record.id,
        verifier=injected_config.verifier(record.secret()),
        package=read_package(),
        folder="" if plan.kind == "sbatch" else str(record.folder),
        debugger="" if is_remote else debugger_copy(),
        main=main,
        reports="" if is_remote or plan.profile is None else reports_folder(record),
        reader="" if plan.profile is None else await nsys.version_here(),
        nsys=local_nsys or nsys.configured(),
    )


def local_environment(
    plan: RunPlan, config: InjectedConfig, environ: Mapping[str, str], *, is_attended: bool
) -> dict[str, str]:
    """The environment of a program of this machine; `is_attended`: a terminal or script gets its output."""
    path = str(deliver(config.package))
    full = environment_of(plan, environ)
    full["PYTHONPATH"] = injected_config.with_site(full, path, config.package.name)
    own = evolve(config, path=path, has_input=is_attended)
    full[injected_config.VARIABLE] = injected_config.encode_config(plan, own)
    if not is_attended or plan.watch_minutes:
        # Lines would otherwise get into the log long after they were printed.
        full.setdefault("PYTHONUNBUFFERED", "1")
    return full


def reports_folder(record: RunRecord) -> str:
    """The folder for reports of workers that share the run's folder."""
    record.reports.mkdir(mode=0o700, exist_ok=True)
    return str(record.reports)


def with_copy(record: RunRecord, plan: RunPlan) -> RunPlan:
    """The plan with a copy of its script in place of the script, if it has the text of one."""
    if not plan.copy_text:
        return plan
    # In a folder of its own, since a script may have the name of a file of the run.
    folder = record.folder / "script"
    folder.mkdir(mode=0o700, exist_ok=True)
    copy = folder / Path(plan.copy_of).name
    copy.write_text(plan.copy_text, "utf-8")
    copy.chmod(0o700)
    argv = tuple(str(copy) if word == plan.copy_of else word for word in plan.argv)
    env = {ORIGINAL: str(Path(plan.cwd) / plan.copy_of)}
    for number, inner in enumerate(plan.inner_copies, 1):
        _write_inner(folder / str(number) / Path(inner.path).name, inner.text)
        env |= {COPIES: str(folder), f"{ORIGINAL}_{number}": inner.path}
    return evolve(plan, argv=argv, env={**plan.env, **env})


def with_server_key(record: RunRecord, plan: RunPlan) -> RunPlan:
    """The plan of an inference server with its key: in a variable, else in a file, so that no list of processes has it.

    A file of this machine isn't on the nodes of a cluster, whose users share everything anyway.
    """
    server, key = plan.server, record.server_key()
    if server is None or not key:
        return plan
    if server.key_variable:
        return evolve(plan, env={**plan.env, server.key_variable: key})
    if not server.key_option:
        return plan
    if plan.kind == "job":
        return evolve(plan, argv=(*plan.argv, "--api-key", key))
    if plan.kind == "remote":
        # Its launcher makes the file there.
        return plan
    replace_text(record.server_config, key_config(record))
    return evolve(plan, argv=(*plan.argv, server.key_option, str(record.server_config)))


def key_config(record: RunRecord) -> str:
    """The text of a file that gives an engine its key."""
    return f"api-key: {json.dumps(record.server_key())}\n"


def _write_inner(file: Path, text: str) -> None:
    file.parent.mkdir(mode=0o700, exist_ok=True)
    file.write_text(text, "utf-8")
    file.chmod(0o700)
