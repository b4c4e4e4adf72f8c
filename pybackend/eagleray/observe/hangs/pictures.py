"""Takes the picture of a target: of a cluster, a job or a run in it, of processes here, in a SLURM job or on hosts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection

from attrs import evolve

from eagleray.clusters.job_head import ShowProgress
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import printable
from eagleray.common.l10n import counted, t
from eagleray.common.paths import host_name
from eagleray.common.redact import redact_text
from eagleray.observe.hangs import errors
from eagleray.observe.hangs.collecting import local, ras
from eagleray.observe.hangs.collecting.cluster import ClusterPictures
from eagleray.observe.hangs.collecting.hosts import HostPictures
from eagleray.observe.hangs.collecting.ray_jobs import jobs_of, jobs_of_run
from eagleray.observe.hangs.collecting.sampling_plan import (
    PAUSE_S,
    OnProgress,
    SamplingPlan,
    unheard,
)
from eagleray.observe.hangs.collecting.slurm import SlurmPictures
from eagleray.observe.hangs.collecting.srun_jobs import job_of_srun
from eagleray.observe.hangs.model import Picture, PictureTarget
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.errors import no_job
from eagleray.runs.model import RunState
from eagleray.runs.runs import Runs
from eagleray.slurm.client import SlurmClient
from eagleray.slurm.queue import SlurmQueue
from eagleray.tools.commands import Commands

_LONGEST_TARGET = 200
# The dashboard of a cluster by its id or address; raises the error of one that doesn't answer.
FindDashboard = Callable[[str, ShowProgress], Awaitable[Dashboard]]


class Pictures:
    """Shared by the panel and the command line; used from one event loop."""

    def __init__(
        self,
        dashboard: FindDashboard,
        runs: Runs,
        commands: Commands,
        slurm: SlurmClient,
        queue: SlurmQueue,
    ) -> None:
        self._dashboard = dashboard
        self._runs = runs
        self._slurm = slurm
        self._of_clusters = ClusterPictures()
        self._of_slurm_jobs = SlurmPictures(commands, slurm, queue)
        self._of_hosts = HostPictures(commands)

    async def close(self) -> None:
        """Returns when none of our jobs is left in the list of a cluster."""
        await self._of_clusters.close()

    async def take(
        self,
        target: PictureTarget,
        on_progress: OnProgress = unheard,
        say: ShowProgress = lambda _: None,
        pause_s: float = PAUSE_S,
    ) -> Picture:
        """The picture of the target, which it names; a cancellation ends the sampling."""
        plan = SamplingPlan(
            on_progress, pause_s=pause_s, inside=target.inside, say=say, native=target.native
        )
        taken = await self._take(target, plan)
        return evolve(taken, target=redact_text(printable(target_text(target), _LONGEST_TARGET)))

    async def _take(self, target: PictureTarget, plan: SamplingPlan) -> Picture:
        """Samples what the target says.

        1. What NCCL's RAS answers; processes of this machine: they, and all that belong to them.
        2. A job of SLURM, by one step of it; hosts, by an ssh session each.
        3. A run: see `_of_run`.
        4. A cluster, or only a job or some workers of it.
        """
        if target.ras:
            return await ras.take(target.ras, plan)
        if target.pids:
            return await local.take(target.pids, plan)
        if target.slurm_job:
            return await self._of_slurm_jobs.take(target.slurm_job, plan)
        if target.hosts:
            return await self._of_hosts.take(target.hosts, target.matching, plan)
        if target.run_id:
            return await self._of_run(target, plan)
        if not target.cluster:
            raise errors.no_target()
        dashboard = await self._dashboard(target.cluster, plan.say)
        jobs: Collection[str] = ()
        if target.job_id:
            jobs = jobs_of(await dashboard.jobs(), target.job_id)
            if not jobs:
                raise no_job(dashboard.address, target.job_id)
        return await self._of_clusters.take(dashboard, plan, jobs, target.workers)

    async def _of_run(self, target: PictureTarget, plan: SamplingPlan) -> Picture:
        """The picture of a run.

        1. A run in a cluster: the jobs of Ray that its program or its drivers are.
        2. One that was submitted by sbatch and has no Ray: its SLURM job.
        3. One that runs its ranks by `srun`: the job of that.
        4. Else its program, and all that belongs to it.
        """
        run = await off_loop(lambda: self._runs.load(target.run_id))
        state = run.state
        if state.is_over:
            raise errors.run_over()
        if state.cluster:
            dashboard = await self._dashboard(state.cluster, plan.say)
            jobs = jobs_of_run(await dashboard.jobs(), await dashboard.all_workers(), state)
            if jobs:
                return await self._of_clusters.take(dashboard, plan, jobs)
        if run.plan.kind == "sbatch" and state.external_id:
            prefix = f"ssh://{state.ssh}/" if state.ssh else ""
            job = f"{prefix}slurm://{state.external_id}"
            return await self._of_slurm_jobs.take(job, plan)
        pids = _program(state)
        if srun_job := await job_of_srun(pids[0], self._slurm):
            return await self._of_slurm_jobs.take(srun_job, plan)
        return await local.take(pids, plan)


def _program(state: RunState) -> tuple[int]:
    """The PID of the program of a run; raises `run-not-sampled` without one on this machine."""
    if state.program is None or state.host not in ("", host_name()):
        raise errors.run_not_sampled()
    return (state.program.pid,)


def target_text(target: PictureTarget) -> str:
    """Names the target of a picture, in a sentence."""
    if target.ras:
        return t("NCCL at {address}", address=target.ras)
    if target.pids:
        pids = ", ".join(map(str, target.pids))
        return counted(len(target.pids), "process {pids}", "processes {pids}", pids=pids)
    if target.slurm_job:
        return t("SLURM job {job}", job=target.slurm_job)
    if target.hosts:
        hosts = ", ".join(target.hosts)
        return counted(len(target.hosts), "host {hosts}", "hosts {hosts}", hosts=hosts)
    if target.run_id:
        return t("run {run}", run=target.run_id)
    if target.job_id:
        return t("job {job} of cluster {cluster}", job=target.job_id, cluster=target.cluster)
    return t("cluster {cluster}", cluster=target.cluster)
