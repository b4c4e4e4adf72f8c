"""Follows the logs of a cluster through its dashboard, until the first line that a rule explains.

Each node's agent reads its own files, in the folder of the session, which is no shared home.  No job and no step is started.
What bounds the work: few files are followed at once, those of drivers first, and of few nodes; the list of files is read a few
times a minute.
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
from eagleray.common.off_loop import off_loop
from eagleray.features.doctor.live_output import OutputMatching
from eagleray.features.doctor.log_copies import (
    NodeLog,
    folder_name,
    is_log,
    new_copies_folder,
    write_copy,
)
from eagleray.features.doctor.model import Cause, Rule
from eagleray.features.workers.logs import clean_text
from eagleray.ray.dashboard import Dashboard

# Each has a connection to the dashboard of its own, which through ssh is a process.
MOST_STREAMS = 24
MOST_NODES = 16
_LISTING_S = 10.0
# So long may a cause come after what follows from it, since files of several nodes are read.
_GRACE_S = 15.0
# The lines before a problem, which are copied so that it can be opened.
_CONTEXT = 200
_LONGEST_LINE = 2**16
# Of a file that is new since the last list.
_FIRST_LINES = 1000


async def first_cluster_problem(
    dashboard: Dashboard, rules: Sequence[Rule], copies: Path, reported: Collection[str] = ()
) -> Cause:
    """The first error in a line that is written from now on; waits without a limit.

    What only follows from another error is the answer if no other comes soon, and none once a cause was `reported`:
    rules with these IDs don't count any more.  A failed request is repeated.
    """
    counting = [
        rule for rule in rules if rule.id not in reported and not (reported and rule.follows)
    ]
    watch = LogWatch(dashboard, counting)
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


@define
class LogWatch:
    """Owns the streams until `close`; `follow_listed` and `first` run beside each other on one event loop."""

    _dashboard: Dashboard
    _rules: Sequence[Rule]
    _streams: dict[NodeLog, asyncio.Task[None]] = field(factory=dict)
    _problems: asyncio.Queue[_Problem] = field(factory=asyncio.Queue)
    # The files of the last list; None before the first one.
    _listed: set[NodeLog] | None = None

    async def close(self) -> None:
        await tasks.end(self._streams.values())

    async def first(self) -> _Problem:
        """The first problem; one that follows from another waits for its cause."""
        problem = await self._problems.get()
        limit = time.monotonic() + _GRACE_S
        while problem.cause.secondary and (left := limit - time.monotonic()) > 0:
            other = tasks.shared(self._problems.get(), "the next problem of a cluster")
            try:
                later = await tasks.wait_for_result(other, left)
            except asyncio.TimeoutError:
                break
            finally:
                other.cancel()
            if not later.cause.secondary:
                return later
        return problem

    async def follow_listed(self) -> None:
        """Reads the list of files repeatedly, and follows those that are written."""
        while True:
            await self._update()
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
        following = _FollowedLog(log, OutputMatching(Path(log.name), self._rules))
        pieces = self._dashboard.log_stream(log.node_id, log.name, lines)
        try:
            async for piece in pieces:
                for problem in following.take(piece):
                    self._problems.put_nowait(problem)
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

    def take(self, piece: str) -> list[_Problem]:
        """The problems in the lines that a piece completes: causes, and the first one that follows from another."""
        *lines, rest = (self._rest + piece).split("\n")
        self._rest = rest[-_LONGEST_LINE:]
        if not self.matching.may_match("\n".join(lines)):
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
        return problems


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
