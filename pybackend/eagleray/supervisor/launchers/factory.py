"""The starter that the plan of a run asks for, with our code delivered to where its program runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import evolve

from eagleray.common.paths import injected
from eagleray.features.runs import injected_config
from eagleray.features.runs.errors import no_gcs
from eagleray.features.runs.home_cluster import NamesClusters, OwnDashboard
from eagleray.features.runs.injected_config import Told
from eagleray.features.runs.model import RunPlan
from eagleray.features.runs.output import Output
from eagleray.features.runs.records import Record, Records
from eagleray.features.runs.remote_delivery import delivered_to, login_of, with_far_reports
from eagleray.features.runs.scripts.script_edits import COPIES, ORIGINAL
from eagleray.ray.dashboard import Dashboard
from eagleray.remote_scripts import package_copies
from eagleray.slurm.queue import SlurmQueue
from eagleray.supervisor.launchers.launcher import Starter
from eagleray.supervisor.launchers.local_program import LocalProgram
from eagleray.supervisor.launchers.main_program import main_program
from eagleray.supervisor.launchers.ray_job import RayJob
from eagleray.supervisor.launchers.sbatch import Sbatch
from eagleray.tools import nsys
from eagleray.tools.code_copies import debugger_copy, delivered, package
from eagleray.tools.commands import Commands

# Copies of our code are removed when no run has started with them for so long, and no live run uses them.
UNUSED_DAYS = 30.0
# On a login node, where runs of other machines aren't known: their jobs may be in the queue.
UNUSED_DAYS_REMOTE = 90.0


class Starters:
    """Belongs to the process of a keeper."""

    def __init__(
        self,
        dashboard: Callable[[str], Dashboard],
        clusters: NamesClusters,
        commands: Commands,
        own: Callable[[], list[OwnDashboard]],
        queue: SlurmQueue,
    ) -> None:
        self._dashboard = dashboard
        self._clusters = clusters
        self._commands = commands
        self._own = own
        self._queue = queue

    async def of(self, record: Record, output: Output, environ: Mapping[str, str]) -> Starter:
        """Raises what stands in the way of a cluster or host that the plan names."""
        plan, taken_over = with_copy(record, record.plan()), record.state().far_id
        if taken_over:
            # It is followed from its beginning once more.
            output.begin_anew()
        told = await told_of(record, plan)
        if plan.kind == "job":
            starter: Starter = await self._job(plan, told, output, taken_over)
        elif plan.kind == "sbatch":
            remote_since = _records_of(record).needed_since(UNUSED_DAYS_REMOTE)
            starter = await self._sbatch(plan, told, output, environ, taken_over, remote_since)
        else:
            starter = self._local(plan, told, output, environ)
        since = _records_of(record).needed_since(UNUSED_DAYS)
        await asyncio.to_thread(package_copies.remove_unused, injected(), since)
        return starter

    def _local(
        self, plan: RunPlan, told: Told, output: Output, environ: Mapping[str, str]
    ) -> Starter:
        path = str(delivered(told.package))
        full = {**injected_config.activated(environ, plan.python), **plan.env}
        full["PYTHONPATH"] = injected_config.with_site(full, path, told.package.name)
        full[injected_config.VARIABLE] = injected_config.asked(plan, evolve(told, path=path))
        # It writes to a file, in which lines would else appear long after they were printed.
        full.setdefault("PYTHONUNBUFFERED", "1")
        if plan.cluster:
            full["RAY_ADDRESS"] = self._gcs(plan.cluster)
        return LocalProgram(plan.command, plan.cwd, full, output.fd)

    async def _job(self, plan: RunPlan, told: Told, output: Output, job: str) -> Starter:
        cluster = await self._clusters.named(plan.cluster)
        uri = injected_config.uri_of(told.package)
        env = {
            **plan.env,
            injected_config.VARIABLE: injected_config.asked(plan, evolve(told, uri=uri)),
            # A program that hands on its whole environment would else be refused for variables of ours.
            "RAY_OVERRIDE_JOB_RUNTIME_ENV": "1",
        }
        dashboard = self._dashboard(cluster)
        return RayJob(dashboard, plan.command, plan.cwd, plan.name, told.package, env, output, job)

    async def _sbatch(
        self,
        plan: RunPlan,
        told: Told,
        output: Output,
        environ: Mapping[str, str],
        job: str,
        needed_since: float,
    ) -> Starter:
        ssh = login_of(plan)
        if ssh:
            path = await delivered_to(self._commands, ssh, told.package, needed_since)
            reports = await with_far_reports(self._commands, told.run, plan)
            told = evolve(told, path=path, reports=reports)
            before: Mapping[str, str] = plan.env
        else:
            told = evolve(told, path=str(delivered(told.package)))
            before = {**environ, **plan.env}
        env = {
            **plan.env,
            "PYTHONPATH": injected_config.with_site(before, told.path, told.package.name),
            injected_config.VARIABLE: injected_config.asked(plan, told),
        }
        queue = self._queue
        return Sbatch(self._commands, ssh, plan.command, plan.cwd, env, output, queue, job)

    def _gcs(self, cluster: str) -> str:
        """Where programs of this machine join the cluster, as its own dashboard was told."""
        for one in self._own():
            if one.address == cluster and one.gcs:
                return one.gcs
        raise no_gcs(cluster)


def _records_of(record: Record) -> Records:
    return Records(record.folder.parent)


async def told_of(record: Record, plan: RunPlan) -> Told:
    """All but how our code comes to the program, and what lies on a host elsewhere."""
    is_far = bool(login_of(plan))
    # It reads the script.
    main = await asyncio.to_thread(main_program, plan, is_remote=is_far) if plan.post_mortem else ""
    return Told(
        run=record.id,
        verifier=injected_config.verifier(record.secret()),
        package=package(),
        folder="" if plan.kind == "sbatch" else str(record.folder),
        debugger="" if is_far else debugger_copy(),
        main=main,
        reports="" if is_far or plan.profile is None else reports_folder(record),
        reader="" if plan.profile is None else await nsys.version_here(),
    )


def reports_folder(record: Record) -> str:
    """The folder in which nsys puts what it has recorded, wherever the run's folder is seen."""
    record.reports.mkdir(mode=0o700, exist_ok=True)
    return str(record.reports)


def with_copy(record: Record, plan: RunPlan) -> RunPlan:
    """The plan with a copy of its script in place of the script, if it asks for one."""
    if not plan.copy_text:
        return plan
    # A folder of its own: a script may bear the name of a file of the run.
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


def _write_inner(file: Path, text: str) -> None:
    file.parent.mkdir(mode=0o700, exist_ok=True)
    file.write_text(text, "utf-8")
    file.chmod(0o700)
