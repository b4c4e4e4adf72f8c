"""The requests of the feature `workers` and their records, printed as `extension/features/workers/messages.ts`."""

from __future__ import annotations

from types import NoneType
from typing import Literal

from attrs import frozen

from eagleray.features.workers.model import Location
from eagleray.wire.requests import LongRequest, Notification, Request


@frozen
class PausedWorkerRow:
    """A worker that waits in breakpoint() or in post-mortem, or that we hold.

    `waiting_s` is how long *we* have seen it wait.  `state`: "paused" nobody is attached; "held" our
    adapter holds its stop and no editor looks at it; "attached" an editor looks at it; "running" an
    editor or our adapter is connected and the worker runs; "gone" Ray lists it still, but its node is dead:
    there is nothing to attach to.
    `exception` is "ValueError: …" of a post-mortem where it is known, else "".  `held_on`: the other machine
    with the same home whose adapter is connected to it, where alone it can be debugged; "" for this one.
    """

    cluster: str
    worker_id: str
    name: str
    rank: int | None
    node_id: str
    node_ip: str
    pid: int
    kind: Literal["breakpoint", "post-mortem", "unknown"]
    state: Literal["paused", "held", "attached", "running", "gone"]
    waiting_s: float
    location: Location | None
    exception: str
    threads: int
    attempt: int
    children: list[PausedWorkerRow]
    held_on: str = ""


@frozen
class Group:
    """Paused workers that run the same thing: `title` is "PolicyWorker.train"."""

    cluster: str
    title: str
    workers: list[PausedWorkerRow]


@frozen
class Snapshot:
    """All paused and held workers of all clusters, grouped."""

    groups: list[Group]
    paused: int
    held: int


@frozen
class Watch:
    """How closely to watch: the panel is visible or not."""

    visible: bool


@frozen
class AllWorkersOf:
    """Asks for all workers of one cluster."""

    cluster: str


@frozen
class Worker:
    """A live worker of a cluster, paused or not: an actor, a task's worker or a driver.

    `state` in words of Ray ("ALIVE", "RUNNING", "PENDING_CREATION", "idle"); `running` names what it runs now.
    """

    cluster: str
    worker_id: str
    name: str
    kind: Literal["actor", "task", "driver", "idle"]
    class_name: str
    rank: int | None
    state: str
    running: str
    node_id: str
    node_ip: str
    pid: int
    job_id: str
    actor_id: str
    paused: bool


@frozen
class AllWorkers:
    """All live workers of one cluster, sorted by class, rank and name."""

    workers: list[Worker]


@frozen
class OpenLog:
    """The end of a worker's log: at most `lines` lines."""

    cluster: str
    worker_id: str
    stream: Literal["out", "err"]
    lines: int = 10_000


@frozen
class FollowLog:
    """Follows a worker's log under an id that the editor chose."""

    follow_id: str
    cluster: str
    worker_id: str
    stream: Literal["out", "err"]


@frozen
class StopFollowing:
    """Ends a follower."""

    follow_id: str


@frozen
class LogText:
    """Text of a log, without terminal escapes and with secrets redacted; `ended` with a follower's last."""

    follow_id: str
    title: str
    text: str
    truncated: bool
    ended: bool


@frozen
class SearchLogs:
    """Searches the logs of some workers (all of the cluster when `worker_ids` is empty)."""

    cluster: str
    worker_ids: list[str]
    pattern: str
    regex: bool
    match_case: bool


@frozen
class LogMatch:
    """One line of a log that fits; `line_number` counts from 1 within the text that was read."""

    worker_id: str
    name: str
    stream: Literal["out", "err"]
    line_number: int
    text: str


@frozen
class LogMatches:
    """All matches; `unread` names the workers whose log could not be read, and why.

    The last `lines` lines of each log were searched, and line numbers count from the first of these.
    """

    matches: list[LogMatch]
    truncated: bool
    unread: list[str]
    lines: int


WATCH = Request("eagleray/workers/watch", Watch, NoneType)
REFRESH = Request("eagleray/workers/refresh", NoneType, Snapshot)
ALL = Request("eagleray/workers/all", AllWorkersOf, AllWorkers)
SEARCH_LOGS = LongRequest("eagleray/workers/searchLogs", SearchLogs, LogMatches)
OPEN_LOG = Request("eagleray/workers/openLog", OpenLog, LogText)
FOLLOW_LOG = Request("eagleray/workers/followLog", FollowLog, NoneType)
STOP_FOLLOWING = Request("eagleray/workers/stopFollowing", StopFollowing, NoneType)
CHANGED = Notification("eagleray/workers/changed", Snapshot)
LOG_TEXT = Notification("eagleray/workers/logText", LogText)
