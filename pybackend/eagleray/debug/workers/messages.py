"""The requests of the feature `workers` and their records, printed as `extension/debug/workers/messages.ts`."""

from __future__ import annotations

from types import NoneType

from attrs import frozen

from eagleray.clusters.stop_counts import StopCounts
from eagleray.debug.workers.model import (
    LiveNode,
    LiveWorker,
    LogEnd,
    LogMatches,
    PausedGroup,
    Stream,
)
from eagleray.wire.requests import LongRequest, Notification, Request


@frozen
class Snapshot:
    """All paused and held workers of all clusters, grouped."""

    groups: tuple[PausedGroup, ...]
    stops: StopCounts


@frozen
class Watch:
    """Whether the panel is visible, which decides how often clusters are polled."""

    visible: bool


@frozen
class AllWorkersOf:
    """Requests all workers of one cluster."""

    cluster: str


@frozen
class AllWorkers:
    """All live workers of one cluster, sorted by class, rank and name, and its live nodes, the head first."""

    workers: tuple[LiveWorker, ...]
    nodes: tuple[LiveNode, ...]


@frozen
class OpenLog:
    """Requests the end of a worker's log: at most `lines` lines."""

    cluster: str
    worker_id: str
    stream: Stream
    lines: int = 10_000


@frozen
class FollowLog:
    """Follows a worker's log under an id that the editor chose."""

    follow_id: str
    cluster: str
    worker_id: str
    stream: Stream


@frozen
class StopFollowing:
    """Ends a follower."""

    follow_id: str


@frozen
class LogText:
    """Further text of a followed log, without terminal escapes and secrets; `ended` with a follower's last."""

    follow_id: str
    text: str
    ended: bool


@frozen
class SearchLogs:
    """Searches the logs of some workers, or of all workers of the cluster if `worker_ids` is empty."""

    cluster: str
    worker_ids: list[str]
    pattern: str
    regex: bool
    match_case: bool


WATCH = Request("eagleray/workers/watch", Watch, NoneType)
REFRESH = Request("eagleray/workers/refresh", NoneType, Snapshot)
ALL = Request("eagleray/workers/all", AllWorkersOf, AllWorkers)
SEARCH_LOGS = LongRequest("eagleray/workers/searchLogs", SearchLogs, LogMatches)
OPEN_LOG = Request("eagleray/workers/openLog", OpenLog, LogEnd)
FOLLOW_LOG = Request("eagleray/workers/followLog", FollowLog, NoneType)
STOP_FOLLOWING = Request("eagleray/workers/stopFollowing", StopFollowing, NoneType)
CHANGED = Notification("eagleray/workers/changed", Snapshot)
LOG_TEXT = Notification("eagleray/workers/logText", LogText)
