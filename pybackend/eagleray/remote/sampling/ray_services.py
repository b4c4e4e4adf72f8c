"""Ray's own processes, which a picture of a program leaves out, and the workers of a driver beside them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from . import proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

RAYLET = "raylet"
_GCS = "gcs_server"
# The dashboard, monitors and agents of Ray; all that they start serves them.
_SERVICE = re.compile(
    r"ray::(?:DashboardAgent|RuntimeEnvAgent)"
    r"|/ray/(?:dashboard|_private|autoscaler|util/client/server)/(?!workers/default_worker\.py)[\w/]*\.py$"
    r"|^ray\.util\.client\.server$"
)
# Idle workers, our own actors, and what only starts drivers or Ray.
_ALONE = re.compile(
    r"ray::(?:IDLE|EaglerayNodeSampler|EaglerayInspector|_?JobSupervisor)|/bin/ray$"
)
# A script comes after the options of Python.
_MOST_ARGUMENTS = 5
# Ray 2.9 to 2.60: a driver has its log open, and a worker writes its output into the same folder.
_DRIVER_LOG = re.compile(r"python-core-driver-([0-9a-f]{8})[0-9a-f]*_\d+\.log")
_WORKER_LOG = re.compile(r"worker-[0-9a-f]+-([0-9a-f]{8})-\d+\.(?:out|err)")
# The job of a worker that was started in advance.
_NO_JOB = "ffffffff"


def is_service(pid: int) -> bool:
    return _is_any(_SERVICE, pid) or _is_any(_ALONE, pid)


def without_services(pids: Iterable[int], processes: Mapping[int, proc.ProcessStat]) -> list[int]:
    """The processes `pids`, which come parents first, without Ray's own; workers that a raylet has started stay."""
    left_out: set[int] = set()
    result = []
    for pid in pids:
        if processes[pid].parent in left_out or _is_any(_SERVICE, pid):
            left_out.add(pid)
        elif processes[pid].name not in (RAYLET, _GCS) and not _is_any(_ALONE, pid):
            result.append(pid)
    return result


def members_of_jobs(pids: Iterable[int], processes: Mapping[int, proc.ProcessStat]) -> list[int]:
    """The drivers and workers on this machine of the jobs to which `pids`, or processes below them, belong.

    A worker that was started before it had a job belongs to the only driver of its session; of several, that isn't
    known.
    """
    own = jobs_of(pids, processes)
    if not own:
        return []
    jobs = {job for pid in processes if (job := _job_of_driver(pid))}
    wanted = set(own)
    for each in own:
        if not any(other.logs == each.logs for other in jobs - own):
            wanted.add(SessionJob(each.logs, _NO_JOB))
    return [
        pid
        for pid in sorted(processes)
        if _job_of_worker(pid) in wanted or _job_of_driver(pid) in own
    ]


def jobs_of(pids: Iterable[int], processes: Mapping[int, proc.ProcessStat]) -> set[SessionJob]:
    """The jobs of the drivers and workers among `pids` and below them."""
    listed = proc.descendants(list(pids), processes)
    jobs = {job for pid in listed if (job := _job_of_driver(pid) or _job_of_worker(pid))}
    for each in [job for job in jobs if job.id == _NO_JOB]:
        drivers = {job for pid in processes if (job := _job_of_driver(pid))}
        of_session = [job for job in drivers if job.logs == each.logs]
        jobs.remove(each)
        jobs.update(of_session if len(of_session) == 1 else ())
    return jobs


class SessionJob(NamedTuple):
    """A job of Ray: the folder with the logs of its session, and its id."""

    logs: Path
    id: str


def _job_of_driver(pid: int) -> SessionJob | None:
    try:
        return next(filter(None, map(_driver_log, Path(f"/proc/{pid}/fd").iterdir())), None)
    except OSError:
        # It has ended, or is another user's.
        return None


def _driver_log(descriptor: Path) -> SessionJob | None:
    return _job_in_log(descriptor, _DRIVER_LOG)


def _job_of_worker(pid: int) -> SessionJob | None:
    return _job_in_log(Path(f"/proc/{pid}/fd/1"), _WORKER_LOG)


def _job_in_log(descriptor: Path, pattern: re.Pattern[str]) -> SessionJob | None:
    try:
        log = descriptor.readlink()
    except OSError:
        return None
    match = pattern.fullmatch(log.name)
    return SessionJob(log.parent, match[1]) if match else None


def _is_any(pattern: re.Pattern[str], pid: int) -> bool:
    return any(map(pattern.search, proc.command_line(pid)[:_MOST_ARGUMENTS]))
