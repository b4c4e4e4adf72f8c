"""Follows the logs of a cluster through its dashboard, until the first line that a rule explains, or the failure of a
job.

Each node's agent reads its own files, in the folder of the session, which isn't a shared home.  No job and no step is
started. Limits bound the work: few files are followed at once, drivers' files first, and of few nodes; the list of
files is read a few times a minute.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Collection, Sequence
from functools import partial
from pathlib import Path

from attrs import define, evolve, field

from eagleray.common import tasks
from eagleray.common.blocking_calls import off_loop
from eagleray.debug.workers.logs import clean_text
from eagleray.doctor.live_output import OutputMatching, UnknownErrors
from eagleray.doctor.logs.cluster_copies import (
    NodeLog,
    folder_name,
    is_log,
    new_copies_folder,
    write_copy,
)
from eagleray.doctor.model import Cause, Rule
from eagleray.doctor.ranking import UNKNOWN
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.rows import JobRow

# Each has a connection to the dashboard of its own, which through ssh is a process.
MOST_STREAMS = 24
MOST_NODES = 16
_LISTING_S = 10.0
# So long may a cause come after what follows from it, since files of several nodes are read.
_GRACE_S = 15.0
# The lines before a problem, which are copied so that it can be opened.
_CONTEXT = 200
_LONGEST_LINE = 2**16
# Logs with a traceback of a job that may fail.
_MOST_UNKNOWN = 100
# Ray 2.60 dashboard/modules/job/common.py JobStatus.
_ENDED = ("FAILED", "SUCCEEDED", "STOPPED")
# The part to read of a file that is new since the last list.
_FIRST_LINES = 1000


async def first_cluster_problem(
    dashboard: Dashboard, rules: Sequence[Rule], copies: Path, reported: Collection[str] = ()
) -> Cause:
    """The first error in a line that is written from now on; waits without a limit.

    1. A cause that a rule names.
    2. Of a job that has failed, the first traceback in its logs that no rule explains, if no cause comes soon.  While a job runs,
       and once it has succeeded, its tracebacks are those that it has handled.
    3. What only follows from another error, if no other comes soon.

    Causes with the IDs `reported` don't count any more, and after them neither do 2 and 3.  A failed request is repeated.
    """
    counting = [
        rule for rule in rules if rule.id not in reported and not (reported and rule.follows)
    ]
    watch = LogWatch(dashboard, counting, () if reported else rules)
    listing = tasks.lasting(watch.follow_listed, "the logs of a watched cluster")
    try:
        problem = await watch.first()
    finally:
        await tasks.end([listing])
        await watch.close()
    return await off_loop(partial(_copied, problem, copies))


@define
class _Problem:
    """A cause, and the end of its log up to it."""

    log: NodeLog
    cause: Cause
    lines: list[str]

    @property
    def is_cause(self) -> bool:
        """Whether a rule says so, and no other error need come."""
        return not self.cause.secondary and self.cause.id != UNKNOWN


@define
class LogWatch:
    """Owns the streams until `close`; `follow_listed` and `first` run beside each other on one event loop.

    `explaining` are the rules by which a traceback is known; without any, none counts.
    """

    _dashboard: Dashboard
    _rules: Sequence[Rule]
    _explaining: Sequence[Rule] = ()
    _streams: dict[NodeLog, asyncio.Task[None]] = field(factory=dict)
    _problems: asyncio.Queue[_Problem] = field(factory=asyncio.Queue)
    # The files of the last list; None before the first one.
    _listed: set[NodeLog] | None = None
    # Logs with a traceback, also when their workers have ended.
    _with_unknown: dict[NodeLog, _FollowedLog] = field(factory=dict)
    # Jobs that had ended when they were listed last.
    _ended: set[str] = field(factory=set)

    async def close(self) -> None:
        await tasks.end(self._streams.values())

    async def first(self) -> _Problem:
        """The first problem; one that follows from another, or that no rule explains, waits for its cause."""
        problem = await self._problems.get()
        limit = time.monotonic() + _GRACE_S
        while not problem.is_cause and (left := limit - time.monotonic()) > 0:
            other = tasks.shared(self._problems.get(), "the next problem of a cluster")
            try:
                later = await tasks.wait_for_result(other, left)
            except asyncio.TimeoutError:
                break
            finally:
                other.cancel()
            if later.is_cause:
                return later
        return problem

    async def follow_listed(self) -> None:
        """Reads the list of files repeatedly, and follows those that are written."""
        while True:
            await self._update()
            if self._with_unknown:
                await self._report_failed_jobs()
            await asyncio.sleep(_LISTING_S)

    async def _update(self) -> None:
        logs = await self._logs()
        ids = {worker.worker_id for worker in await self._dashboard.all_workers()}
        new = logs - self._listed if self._listed is not None else set()
        written = sorted(
            (log for log in logs if log in new or _is_written(log.name, ids)), key=_rank
        )[:MOST_STREAMS]
        for log, stream in list(self._streams.items()):
            if log not in written or stream.done():
                await tasks.end([self._streams.pop(log)])
        for log in written:
            if log not in self._streams:
                lines = _FIRST_LINES if log in new else 0
                follow = self._follow(log, lines)
                name = f"the log {log.shown} of a watched cluster"
                self._streams[log] = tasks.owned(follow, name, tasks.only_logged)
        self._listed = logs

    async def _report_failed_jobs(self) -> None:
        """Reports the first traceback of a job that has failed; one that has ended otherwise had handled its own."""
        for job in await self._dashboard.jobs():
            if job.status not in _ENDED:
                continue
            if job.submission_id not in self._ended:
                # The end of its logs may come later, or a cause.
                self._ended.add(job.submission_id)
                continue
            of_job = [log for log in self._with_unknown if _is_of_job(log.name, job)]
            for log in of_job:
                problem = self._with_unknown.pop(log).unknown_at_end()
                if problem is not None and job.status == "FAILED":
                    self._problems.put_nowait(problem)

    async def _logs(self) -> set[NodeLog]:
        nodes = [node for node in await self._dashboard.nodes() if node.alive][:MOST_NODES]
        names = await asyncio.gather(
            *(self._dashboard.log_files(node.node_id, "*") for node in nodes)
        )
        return {
            NodeLog(node.node_id, node.ip, name)
            for node, of_node in zip(nodes, names, strict=True)
            for name in of_node
            if is_log(name)
        }

    async def _follow(self, log: NodeLog, lines: int) -> None:
        path = Path(log.name)
        unknown = UnknownErrors(path, self._explaining) if self._explaining else None
        following = _FollowedLog(log, OutputMatching(path, self._rules, unknown))
        pieces = self._dashboard.log_stream(log.node_id, log.name, lines)
        try:
            async for piece in pieces:
                for problem in following.take(piece):
                    self._problems.put_nowait(problem)
                if following.has_unknown and len(self._with_unknown) < _MOST_UNKNOWN:
                    self._with_unknown.setdefault(log, following)
        finally:
            if isinstance(pieces, AsyncGenerator):
                await pieces.aclose()


@define
class _FollowedLog:
    log: NodeLog
    matching: OutputMatching
    _context: deque[str] = field(factory=lambda: deque(maxlen=_CONTEXT))
    _rest: str = ""
    _has_consequence: bool = False
    _unknown: _Problem | None = None

    @property
    def has_unknown(self) -> bool:
        """Whether it has a traceback that no rule explains, as far as that can be said before it is complete."""
        return self.matching.may_have_unknown

    def unknown_at_end(self) -> _Problem | None:
        """The first traceback that no rule explains; nothing more is written."""
        self.matching.rest(is_first=False)
        self._keep_unknown()
        return self._unknown

    def take(self, piece: str) -> list[_Problem]:
        """The problems in the lines that a piece completes: causes, and the first one that follows from another."""
        *lines, rest = (self._rest + piece).split("\n")
        self._rest = rest[-_LONGEST_LINE:]
        if not self.has_unknown and not self.matching.may_matter("\n".join(lines)):
            self.matching.feed("".join(f"{line}\n" for line in lines))
            self._context.extend(lines[-_CONTEXT:])
            return []
        problems = []
        for line in lines:
            self._context.append(line)
            cause = self.matching.feed(line + "\n")
            if cause is None and not self._has_consequence:
                cause = self.matching.consequence
                self._has_consequence = cause is not None
            if cause is not None:
                problems.append(_Problem(self.log, cause, list(self._context)))
            self._keep_unknown()
        return problems

    def _keep_unknown(self) -> None:
        """Reads the lines before its exception from now: the exception was complete with a later line."""
        cause = self.matching.unknown
        if cause is None or self._unknown is not None:
            return
        later = self.matching.lines - cause.evidence[0].line
        lines = list(self._context)
        self._unknown = _Problem(self.log, cause, lines[: len(lines) - later] or lines)


def _is_of_job(name: str, job: JobRow) -> bool:
    """Whether it is the log of its driver, if that was submitted, or of a worker."""
    if job.submission_id and name == f"job-driver-{job.submission_id}.log":
        return True
    return job.kind == "submission" and bool(job.job_id) and f"-{job.job_id}-" in name


def _is_written(name: str, worker_ids: Collection[str]) -> bool:
    """Whether a process that lives may write into it: the logs of ended workers stay in the folder."""
    is_of_worker = name.startswith("worker-")
    return not is_of_worker or name.split("-")[1] in worker_ids


def _rank(log: NodeLog) -> tuple[int, str, str]:
    """Logs of drivers, which have the output of all their workers, then errors, then what Ray itself writes."""
    kinds = ("job-driver-", "worker-", "raylet.", "gcs_server.")
    kind = next((at for at, start in enumerate(kinds) if log.name.startswith(start)), len(kinds))
    is_output = log.name.endswith(".out") and log.name.startswith("worker-")
    return (len(kinds) + 1 if is_output else kind, log.name, log.node_id)


def _copied(problem: _Problem, copies: Path) -> Cause:
    """The cause with its line in a copy of the end of its log, which can be opened."""
    log = problem.log
    path = new_copies_folder(copies) / folder_name(log) / log.name
    # Each alone: what is left out of one line mustn't change the number of another.
    lines = [clean_text(line).replace("\n", " ") for line in problem.lines]
    write_copy(path, "".join(f"{line}\n" for line in lines).encode())
    evidence = tuple(
        evolve(item, path=str(path), line=len(problem.lines), node=item.node or log.ip)
        for item in problem.cause.evidence
    )
    return evolve(problem.cause, evidence=evidence)
