"""Records of workers, paused and live, of their stop locations and logs; all texts are printable.

The editor receives them as they are.
"""

from __future__ import annotations

from typing import Literal

from attrs import frozen

from eagleray.clusters.stop_counts import State

Kind = Literal["breakpoint", "post-mortem", "unknown"]
LiveState = Literal["running", "idle", "pending", "restarting", "paused", "held", "debugging"]
LiveKind = Literal["actor", "task", "driver", "idle"]
Stream = Literal["out", "err"]

# Identifies a worker for its whole life: Ray's session name, which changes when the cluster restarts, and the worker id.
Key = tuple[str, str]


@frozen
class Location:
    """A line of a file by the worker's path; `local` is the user's own file, or ""."""

    path: str
    line: int
    function: str
    local: str = ""


@frozen
class StopLocation:
    """Where and why a worker is stopped, as far as that is known."""

    kind: Kind
    location: Location | None = None
    exception: str = ""


# The title of a group of drivers.
DRIVER = "Driver"

UNKNOWN_STOP = StopLocation("unknown")


@frozen
class WorkerFacts:
    """The identity and work of a worker, by Ray's lists.

    `titles` names what it runs, oldest first ("PolicyWorker.train").  `env_rank` is RANK of the
    runtime_env, `name_rank` the number that ends the actor's name.  `class_name` is an actor's.
    """

    name: str
    titles: tuple[str, ...]
    env_rank: int | None = None
    name_rank: int | None = None
    attempt: int = 0
    task_ids: frozenset[str] = frozenset()
    parent_ids: frozenset[str] = frozenset()
    class_name: str = ""
    is_driver: bool = False


@frozen(kw_only=True)
class ClusterWorker:
    """A worker of a cluster; `rank` is None if it is unknown."""

    cluster: str
    worker_id: str
    name: str
    rank: int | None
    node_id: str
    node_ip: str
    pid: int


@frozen(kw_only=True)
class PausedWorker(ClusterWorker):
    """A worker that waits in breakpoint() or in post-mortem, or that a debug adapter is connected to.

    `state`: "paused" waits without a debugger, or an adapter holds it and no editor has shown it yet; "held": an
    adapter holds it and no editor is attached; "debugging": an editor shows its stop; "running": it runs while an
    editor or adapter is connected; "gone": Ray still lists it, but its node is dead, so it can't be debugged.
    `port` is its debug port, 0 if Ray no longer reports one.  `children` are the workers that only relay its error.
    `exception` is "ValueError: …" of a post-mortem, "" if unknown.  `held_on` is the other machine with the same
    home whose adapter is connected to it, where alone it can be debugged; "" for this machine.  `is_held`: an
    adapter holds it, whatever its state.  `is_attached`: an editor debugs it, also while it runs.  `waiting_s`
    counts from when it began to wait, None if that is unknown; `held_s` from when an adapter began to hold it without
    an editor, 0.0 if none does.  `location` is the breakpoint() call's, also once a debugger shows the line after it.
    `stop` is the number of the stop in its debug adapter, which a later one at the same line doesn't have; 0 without
    one.  Joins `WorkerRow` of Ray with `WorkerState` of the adapter; `RunWorkerStatus` belongs to a run, also without Ray.
    """

    session: str
    title: str
    port: int
    kind: Kind
    state: State
    waiting_s: float | None
    location: Location | None
    exception: str
    threads: int
    attempt: int
    children: tuple[PausedWorker, ...] = ()
    held_on: str = ""
    is_held: bool = False
    is_attached: bool = False
    held_s: float = 0.0
    stop: int = 0

    @property
    def key(self) -> Key:
        return (self.session, self.worker_id)


@frozen
class PausedGroup:
    """Workers of one cluster that run the same thing, or that failed in it.

    `title` is "PolicyWorker.train", the class alone while the method is not known, or "Driver".  `waiting` says which
    ranks wait for them, "Ranks 0 and 2 wait for rank 1", and `sentence` where; both are "" if that isn't known.
    """

    cluster: str
    title: str
    workers: tuple[PausedWorker, ...]
    post_mortem: bool = False
    waiting: str = ""
    sentence: str = ""


def all_workers(groups: tuple[PausedGroup, ...]) -> list[PausedWorker]:
    """All workers of `groups`, including those that relay an error."""
    listed: list[PausedWorker] = []
    waiting = [worker for group in reversed(groups) for worker in reversed(group.workers)]
    while waiting:
        worker = waiting.pop()
        listed.append(worker)
        waiting.extend(reversed(worker.children))
    return listed


@frozen(kw_only=True)
class LiveWorker(ClusterWorker):
    """A live worker of a cluster, paused or not, or an actor without a worker (`worker_id` "" and `pid` 0 then).

    `state` "pending" is an actor that waits for its worker, "idle" a worker that runs nothing; a debugged worker has
    the state of its row among the paused ones.  Joins `WorkerRow` and `TaskRow` of Ray with `WorkerState` of the adapter.  `running` names what it runs now.
    """

    kind: LiveKind
    class_name: str
    state: LiveState
    running: str
    job_id: str
    actor_id: str


@frozen
class LiveNode:
    """A live node of a cluster; `name` is its host name, "" if Ray doesn't know it."""

    node_id: str
    ip: str
    name: str
    is_head: bool


@frozen
class LogEnd:
    """The end of a log, without terminal escapes and secrets; `truncated` if the log holds more."""

    title: str
    text: str
    truncated: bool


@frozen
class LogMatch:
    """A matching line of a log; `line_number` counts from 1 within the text that was read."""

    worker_id: str
    name: str
    stream: Stream
    line_number: int
    text: str


@frozen
class LogMatches:
    """All matches, in the order of the workers; `unread` names the workers whose log couldn't be read, and why.

    The last `lines` lines of each log were searched, and line numbers count from the first of these.
    """

    matches: tuple[LogMatch, ...]
    truncated: bool
    unread: tuple[str, ...]
    lines: int
