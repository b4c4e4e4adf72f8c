"""Chooses the processes of a node that a picture samples without Ray: the processes of a SLURM job, or the ranks of this user."""

from __future__ import annotations

import os
import re
from pathlib import Path

from . import proc
from .processes import (
    DATA_LOADER,
    ENGINE,
    OTHER,
    RANK,
    Described,
    described,
    distinguished,
    environment_of,
    rendezvous,
    world,
)
from .ray_services import is_service

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

# The name of our own job steps, and so the variable SLURM_JOB_NAME of all that they start.
STEP_NAME = "eagleray"
_OF_JOB = re.compile(r"/job_(\d+)(?:/|$)", re.MULTILINE)
_OWN_PROGRAM, _OWN_COMMAND = "eagleray_start.py", "eagleray"
# The module with which each helper begins (`helper_process.py`).
_OF_HELPERS = "injected.step_signals"


def of_slurm_job(job: str, processes: Mapping[int, proc.ProcessStat], host: str) -> list[Described]:
    """The Python processes of this user in the job, without our own steps' processes.

    A process belongs to the job by its cgroup, else by its environment.  Where a step has no `RANK`, its ranks are
    its tasks.
    """
    own = _lineage(os.getpid(), processes)
    pids = [
        pid
        for pid in sorted(processes)
        if pid not in own and _is_own(pid) and job_of(pid) == job and not _is_ours(pid)
    ]
    return with_tasks_as_ranks(described(_in_order(pids, processes), processes, host), host)


def of_user(
    processes: Mapping[int, proc.ProcessStat], host: str, matching: str = ""
) -> list[Described]:
    """The ranks of this user on this machine, or the processes with a text in their command, and all that they have started."""
    own = _lineage(os.getpid(), processes)

    def is_wanted(pid: int) -> bool:
        if matching:
            return matching in " ".join(proc.command_line(pid))
        return bool(rendezvous(environment_of(pid)))

    ranks = [
        pid
        for pid in sorted(processes)
        if pid not in own and _is_own(pid) and proc.is_python(pid) and is_wanted(pid)
    ]
    return described(_in_order(proc.descendants(ranks, processes), processes), processes, host)


def job_of(pid: int) -> str:
    """The SLURM job in which a process runs; "" if that is unknown."""
    match = _OF_JOB.search(proc.cgroup(pid))
    return match[1] if match else proc.environment(pid).get("SLURM_JOB_ID", "")


def with_tasks_as_ranks(processes: Iterable[Described], host: str) -> list[Described]:
    """The processes, where the tasks of a job step are ranks if none of its processes says that it is one."""
    listed = list(processes)
    environments = {each.pid: proc.environment(each.pid) for each in listed}
    with_ranks = {_step(environments[each.pid]) for each in listed if each.role == RANK}
    ranks: dict[int, Described] = {}
    result = []
    for each in listed:
        environment = environments[each.pid]
        above = ranks.get(each.parent)
        if above is not None and each.role == OTHER:
            role = f"{DATA_LOADER} of rank {above.number}"
            each = each._replace(role=DATA_LOADER, group=f"{role} on {host}" if host else role)
            ranks[each.pid] = above
        elif (
            each.role == OTHER
            and _step(environment) not in ("", *with_ranks)
            and not each.title.startswith("ray::")
            and (task := _task(environment)) is not None
        ):
            number, size = task
            each = each._replace(
                role=RANK,
                group=world(environment, each.title),
                number=number,
                world_size=size,
                rendezvous=_step(environment),
            )
            ranks[each.pid] = each
        elif above is not None and each.role == ENGINE:
            ranks[each.pid] = above
        result.append(each)
    return distinguished(result)


def _task(environment: Mapping[str, str]) -> tuple[int, int] | None:
    """The number of a task and the count of all tasks of its step; None for a step of a single task."""
    number = environment.get("SLURM_PROCID", "")
    size = environment.get("SLURM_STEP_NUM_TASKS") or environment.get("SLURM_NTASKS", "")
    if not (_is_number(number) and _is_number(size)) or int(size) < 2:
        return None
    return int(number), int(size)


def _step(environment: Mapping[str, str]) -> str:
    """`JOB.STEP` of a process that `srun` has started; the script of a job is in no such step."""
    job, step = environment.get("SLURM_JOB_ID", ""), environment.get("SLURM_STEP_ID", "")
    return f"{job}.{step}" if _is_number(step) else ""


def _is_number(text: str) -> bool:
    # SLURM numbers its special steps from 2**32 - 16 (SLURM_MAX_NORMAL_STEP_ID in slurm.h).
    return text.isascii() and text.isdigit() and len(text) < 9


def _is_ours(pid: int) -> bool:
    """Whether a process is of one of our own job steps, another program of ours, no Python, or a service of Ray."""
    return is_eaglerays(pid) or not proc.is_python(pid) or is_service(pid)


def is_eaglerays(pid: int) -> bool:
    """Whether a process is of one of our own job steps, a program of ours, or a helper of ours beside a process of a run."""
    arguments = proc.command_line(pid)
    return (
        proc.environment(pid).get("SLURM_JOB_NAME") == STEP_NAME
        or any(Path(each).name == _OWN_PROGRAM for each in arguments[:5])
        or any(Path(each).name == _OWN_COMMAND for each in arguments[:2])
        or any(each.endswith(_OF_HELPERS) for each in arguments)
    )


def _is_own(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}").stat().st_uid == os.geteuid()
    except OSError:
        return False


def _lineage(pid: int, processes: Mapping[int, proc.ProcessStat]) -> set[int]:
    """`pid`, what is above it, and what it has started."""
    pids = set(proc.descendants([pid], processes))
    while pid in processes:
        pids.add(pid)
        pid = processes[pid].parent
    return pids


def _in_order(pids: Collection[int], processes: Mapping[int, proc.ProcessStat]) -> list[int]:
    """The processes `pids`, parents first."""
    wanted = set(pids)
    roots = [pid for pid in sorted(wanted) if processes[pid].parent not in wanted]
    return [pid for pid in proc.descendants(roots, processes) if pid in wanted]
