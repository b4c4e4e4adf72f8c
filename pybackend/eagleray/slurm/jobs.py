"""Parses the answers of `squeue` in our own text format, which SLURM 22 to 26 print alike.

It doesn't read JSON: SLURM 22.05 ignores all filters in it, and SLURM 26 leaves out which job has its nodes alone.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal

from attrs import frozen

from eagleray.common.errors import printable

State = Literal["running", "pending", "ending", "over"]

_RUNNING = frozenset({"RUNNING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING"})
_PENDING = frozenset(
    {
        "PENDING",
        "CONFIGURING",
        "REQUEUED",
        "REQUEUE_FED",
        "REQUEUE_HOLD",
        "SPECIAL_EXIT",
        "RESV_DEL_HOLD",
    }
)
_ENDING = frozenset({"COMPLETING", "STAGE_OUT"})
# SLURM plans a year for a job without a limit (`job_end_time_reset` in slurmctld's `job_mgr.c`).
UNLIMITED_S = 300 * 24 * 3600.0
# The fields of `squeue -o`, in the order of `_job`.
_FIELDS = ("%A", "%T", "%D", "%L", "%M", "%S", "%h", "%P", "%r", "%N", "%j")
# The argument of `squeue -O` whose answer `jobs_alone` reads.
EXCLUSIVE = "JobID:20,Exclusive:20"
# The jobs and the sessions that have submitted them.
SESSIONS = "JobID:20,AllocSID:20"
_ID = re.compile(r"[0-9]{1,10}")
# A year for a job without a limit is the longest.
_TIME = re.compile(r"(?:([0-9]{1,9})-)?(?:([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{1,9})")
_LARGEST = 2.0**53


@frozen
class SlurmJob:
    """A job of the user as `squeue` lists it; its texts are untrusted data of the submitter.

    `word` is SLURM's own word for the state.  `nodelist` is not expanded, "" while the job has no nodes.
    `exclusive`: no other job can run on its nodes; `checked`: a second query has confirmed or denied that.
    `started`: its start, or expected start, in seconds since the epoch; 0 if it is unknown.
    """

    id: str
    name: str
    word: str
    state: State
    reason: str
    partition: str
    nodelist: str
    node_count: int
    time_left_s: float | None
    ran_s: float
    started: float
    exclusive: bool
    checked: bool = False


def squeue_format(mark: str) -> str:
    """Returns the argument of `squeue -o`: `mark` before each field, so that no job's name can look like two fields."""
    return "".join(mark + field for field in _FIELDS) + mark


def parse_jobs(text: str, mark: str) -> list[SlurmJob]:
    """Returns the jobs of an answer in `squeue_format(mark)`; raises ValueError if it has another format.

    Its first line holds the names of the fields, also in an answer without jobs.
    """
    pieces = text.split(mark)
    each = len(_FIELDS)
    if len(pieces) <= each:
        raise ValueError("squeue does not answer in the format that was asked for")
    # The text before a row's first mark is noise of a login shell, or the end of a line.
    rows = (pieces[at + 1 : at + 1 + each] for at in range(0, len(pieces) - each, each + 1))
    return [job for fields in rows if (job := _job(fields))]


def jobs_alone(text: str) -> set[str]:
    """Returns the ids of the jobs of an answer in `EXCLUSIVE` that share no node, if `%h` agrees.

    SLURM 26.05 (its CHANGELOG) prints NO in `%h` for every job that did not ask to share its CPUs, and has the field
    `Exclusive` for jobs that have their nodes alone.  Older versions don't know that field and leave it out.
    """
    rows = (line.split() for line in text.splitlines())
    return {row[0] for row in rows if row and row[1:] in ([], ["NODE"])}


def _job(fields: list[str]) -> SlurmJob | None:
    if len(fields) != len(_FIELDS) or not _ID.fullmatch(fields[0]):
        return None
    job, word, count, left, ran, start, share, partition, reason, nodelist, name = fields
    state, left_s = state_of(word), seconds(left)
    return SlurmJob(
        id=job,
        name=printable(name, 120),
        word=printable(word, 60),
        state=state,
        reason="" if reason in ("None", "(null)") else printable(reason, 120),
        partition=printable(partition, 60),
        nodelist="" if nodelist in ("(null)", "None assigned") else nodelist,
        node_count=int(count) if count.isdecimal() else 0,
        time_left_s=left_s if state == "running" and (left_s or 0) < UNLIMITED_S else None,
        ran_s=seconds(ran) or 0.0 if state == "running" else 0.0,
        started=_epoch(start),
        exclusive=share == "NO",
    )


def state_of(word: str) -> State:
    """Returns the meaning of SLURM's word for a state, for a connection to the job."""
    word = word.upper()
    if word in _PENDING:
        return "pending"
    if word in _ENDING:
        return "ending"
    return "running" if word in _RUNNING else "over"


def seconds(written: str) -> float | None:
    """Returns the seconds of `[days-][hours:]minutes:seconds`; None for UNLIMITED, INVALID and the like."""
    match = _TIME.fullmatch(written.strip())
    if not match:
        return None
    days, hours, minutes, rest = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + rest)


def _epoch(written: str) -> float:
    """Returns the time of `%S`, which we request in seconds since the epoch; a site may print its own form."""
    text = written.strip()
    if text.isdecimal():
        return min(float(text), _LARGEST)
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0
