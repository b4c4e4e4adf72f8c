"""The SLURM job of a program of this machine that runs its ranks by `srun`."""

from __future__ import annotations

import asyncio
import os
import re

from eagleray.remote.sampling import proc
from eagleray.slurm.client import SlurmClient

_JOB = re.compile(r"--jobid=(\d{1,10})")
_NUMBER = re.compile(r"\d{1,10}")


async def job_of_srun(pid: int, slurm: SlurmClient) -> str:
    """The job in which `pid`, or what it has started, runs an `srun`; "" without one.

    1. The job that the `srun` names with `--jobid=`.
    2. The allocation in which the `srun` was started (`salloc`, a batch script).
    3. The job that was submitted from the session of that `srun`, as SLURM lists it.
    """
    srun = await asyncio.to_thread(srun_below, pid)
    if not srun:
        return ""
    if job := await asyncio.to_thread(_named_job, srun):
        return job
    try:
        session = os.getsid(srun)
    except ProcessLookupError:
        return ""
    return await slurm.job_of_session(session)


def srun_below(pid: int) -> int:
    """The first `srun` at or below `pid`; 0 without one."""
    processes = proc.all_processes()
    below = proc.descendants([pid], processes)
    return next((each for each in below if processes[each].name == "srun"), 0)


def _named_job(srun: int) -> str:
    for argument in proc.command_line(srun)[1:]:
        if match := _JOB.fullmatch(argument):
            return match[1]
    inherited = proc.environment(srun).get("SLURM_JOB_ID", "")
    return inherited if _NUMBER.fullmatch(inherited) else ""
