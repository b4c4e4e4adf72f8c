"""What `squeue` says of jobs, as text in our own format and as JSON of SLURM 22 to 26."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Literal

from attrs import frozen

from eagleray.common.errors import printable

State = Literal["running", "pending", "ending", "over"]

_RUNNING = frozenset({"RUNNING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING"})
_PENDING = frozenset({"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD"})
_PENDING_TOO = frozenset({"SPECIAL_EXIT", "RESV_DEL_HOLD"})
_ENDING = frozenset({"COMPLETING", "STAGE_OUT"})
# SLURM writes a year for a job without a limit.
UNLIMITED_S = 300 * 24 * 3600.0
# The fields of `squeue -o`, in the order of `_of_fields`.
_FIELDS = ("%A", "%T", "%D", "%L", "%M", "%S", "%h", "%P", "%r", "%N", "%j")
# The argument of `squeue -O` whose answer `alone` reads.
EXCLUSIVE = "JobID:20,Exclusive:20"
_ID = re.compile(r"[0-9]{1,10}")
# A year for a job without a limit is the longest.
_TIME = re.compile(r"(?:([0-9]{1,9})-)?(?:([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{1,9})")
_LARGEST = 2.0**53


@frozen
class SlurmJob:
    """A job as SLURM says it; its texts are data of whoever submitted it.

    `word` is SLURM's own word for the state.  `nodelist` is not expanded, "" while it has no nodes.
    `exclusive`: no other job can run on its nodes; `checked`: a second query has confirmed or denied that.
    `started`: its start, or expected start, in seconds since the epoch; 0 if that is not known.
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
    """The argument of `squeue -o`: `mark` before each field, so that no job's name can look like two fields."""
    return "".join(mark + field for field in _FIELDS) + mark


def of_text(text: str, mark: str) -> list[SlurmJob]:
    """The jobs of an answer in `squeue_format(mark)`; ValueError if it is in another format.

    Its first line are the names of the fields, which an answer without jobs has too.
    """
    pieces = text.split(mark)
    each = len(_FIELDS)
    if len(pieces) <= each:
        raise ValueError("squeue does not answer in the format that was asked for")
    # What stands before a mark at the beginning of a line is noise of a login shell, or a line's end.
    rows = (pieces[at + 1 : at + 1 + each] for at in range(0, len(pieces) - each, each + 1))
    return [job for fields in rows if (job := _of_fields(fields))]


def alone(text: str) -> set[str]:
    """The ids of those jobs of an answer in `EXCLUSIVE` with whom nobody shares a node, if `%h` says so too.

    SLURM 26 says NO there of every job that did not ask to share its CPUs, and has another field for this
    one.  Older ones leave out that field, of which they know nothing.
    """
    rows = (line.split() for line in text.splitlines())
    return {row[0] for row in rows if row and row[1:] in ([], ["NODE"])}


def _of_fields(fields: list[str]) -> SlurmJob | None:
    if len(fields) != len(_FIELDS) or not _ID.fullmatch(fields[0]):
        return None
    job, word, count, left, ran, start, share, partition, reason, nodelist, name = fields
    return _job(
        job=job,
        words=[word],
        name=name,
        reason=reason,
        partition=partition,
        nodelist=nodelist,
        count=int(count) if count.isdecimal() else 0,
        left_s=seconds(left),
        ran_s=seconds(ran) or 0.0,
        started=_epoch(start),
        exclusive=share == "NO",
    )


def of_json(text: str, user: str, now: float) -> list[SlurmJob]:
    """The jobs of `user` in an answer of `squeue --json`; ValueError if it is none.

    SLURM 22 lists the jobs of everybody, also ended ones, whatever filters it was given.
    """
    begin = text.find("{")
    value = json.loads(text[begin:]) if begin >= 0 else None
    listed = value.get("jobs") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        raise ValueError("squeue --json does not answer with jobs")
    own = (row for row in listed if isinstance(row, dict) and row.get("user_name") == user)
    return list(_of_rows(own, now))


def _of_rows(rows: Iterator[dict[str, Any]], now: float) -> Iterator[SlurmJob]:
    for row in rows:
        job = str(row.get("job_id", ""))
        if not _ID.fullmatch(job):
            continue
        started, end = _number(row.get("start_time")) or 0.0, _number(row.get("end_time"))
        yield _job(
            job=job,
            words=_words(row.get("job_state")),
            name=_text(row.get("name")),
            reason=_text(row.get("state_reason")),
            partition=_text(row.get("partition")),
            nodelist=_text(row.get("nodes")) or _of_resources(row.get("job_resources")),
            count=int(_number(row.get("node_count")) or 0),
            left_s=max(0.0, end - now) if end else None,
            ran_s=max(0.0, now - started) if started else 0.0,
            started=started,
            exclusive="none" in [word.lower() for word in _words(row.get("shared"))],
        )


def _job(
    *,
    job: str,
    words: list[str],
    name: str,
    reason: str,
    partition: str,
    nodelist: str,
    count: int,
    left_s: float | None,
    ran_s: float,
    started: float,
    exclusive: bool,
) -> SlurmJob:
    state = state_of(words)
    return SlurmJob(
        id=job,
        name=printable(name, 120),
        word=printable(" ".join(words), 60),
        state=state,
        reason="" if reason in ("None", "(null)") else printable(reason, 120),
        partition=printable(partition, 60),
        nodelist="" if nodelist in ("(null)", "None assigned") else nodelist,
        node_count=count,
        time_left_s=left_s if state == "running" and (left_s or 0) < UNLIMITED_S else None,
        ran_s=ran_s if state == "running" else 0.0,
        started=started,
        exclusive=exclusive,
    )


def state_of(words: list[str]) -> State:
    """A newer SLURM says several words: the state, and flags such as COMPLETING or CONFIGURING."""
    said = {word.upper() for word in words}
    if said & (_PENDING | _PENDING_TOO):
        return "pending"
    if said & _ENDING:
        return "ending"
    return "running" if said & _RUNNING else "over"


def seconds(written: str) -> float | None:
    """Seconds of `[days-][hours:]minutes:seconds`; None for UNLIMITED, INVALID and the like."""
    found = _TIME.fullmatch(written.strip())
    if not found:
        return None
    days, hours, minutes, rest = (int(part or 0) for part in found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + rest)


def _epoch(written: str) -> float:
    """The time of `%S`, which is asked for in seconds since the epoch; sites may insist on their own form."""
    text = written.strip()
    if text.isdecimal():
        return min(float(text), _LARGEST)
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0


def _number(value: Any) -> float | None:
    """A number, or a newer SLURM's `{"set": true, "infinite": false, "number": 3}`."""
    if isinstance(value, Mapping):
        known = value.get("set") is True and value.get("infinite") is not True
        value = value.get("number") if known else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) <= _LARGEST else None


def _words(value: Any) -> list[str]:
    if isinstance(value, list):
        return [word for word in value if isinstance(word, str)]
    return [value] if isinstance(value, str) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _of_resources(value: Any) -> str:
    nodes = value.get("nodes") if isinstance(value, Mapping) else None
    return _text(nodes.get("list") if isinstance(nodes, Mapping) else nodes)
