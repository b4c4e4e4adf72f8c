"""Records of workers: paused ones, groups of them and their stop locations; all texts are printable."""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen

Kind = Literal["breakpoint", "post-mortem", "unknown"]
State = Literal["paused", "held", "attached", "running", "gone"]

# A worker for life: Ray's session name and the worker id, so that a restarted cluster is another one.
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
    """Where a worker is stopped, as far as it is known."""

    kind: Kind
    place: Location | None = None
    exception: str = ""


UNKNOWN_STOP = StopLocation("unknown")


@frozen
class WorkerFacts:
    """What a worker is and runs, by Ray's lists.

    `titles` names what it runs, oldest first ("PolicyWorker.train").  `env_rank` is RANK of the
    runtime_env, `name_rank` the number that ends the actor's name.
    """

    name: str
    titles: tuple[str, ...]
    env_rank: int | None = None
    name_rank: int | None = None
    attempt: int = 0
    task_ids: frozenset[str] = frozenset()
    parent_ids: frozenset[str] = frozenset()


@frozen
class PausedWorker:
    """A worker that waits for a debugger, or that the adapter is attached to.

    `port` is its debug port, 0 when Ray no longer says (a worker that is held).  `children` are the
    workers that only relay its error.  `state` "gone": its node is dead, Ray only goes on listing it.
    `held_on` is the machine whose adapter has it, "" for this one.  `is_held`: an adapter holds it, be it that
    nobody has looked at it yet, for which its state stays "paused".  `is_attached`: an editor debugs it now, also
    while it runs.  `waiting_s` counts from when we first saw it wait, `held_s` from when an adapter began to hold it
    without an editor, 0.0 where none does.
    """

    cluster: str
    session: str
    worker_id: str
    name: str
    title: str
    rank: int | None
    node_id: str
    node_ip: str
    port: int
    pid: int
    kind: Kind
    state: State
    waiting_s: float
    place: Location | None
    exception: str
    threads: int
    attempt: int
    task_ids: frozenset[str] = field(default=frozenset(), repr=False)
    parent_ids: frozenset[str] = field(default=frozenset(), repr=False)
    children: tuple[PausedWorker, ...] = ()
    held_on: str = ""
    is_held: bool = False
    is_attached: bool = False
    held_s: float = 0.0

    @property
    def key(self) -> Key:
        return (self.session, self.worker_id)


@frozen
class PausedGroup:
    """PausedWorker workers of one cluster that run the same thing."""

    cluster: str
    title: str
    workers: tuple[PausedWorker, ...]


def all_workers(groups: tuple[PausedGroup, ...]) -> list[PausedWorker]:
    """All workers of `groups`, those that relay an error included."""
    found: list[PausedWorker] = []
    waiting = [worker for group in reversed(groups) for worker in reversed(group.workers)]
    while waiting:
        worker = waiting.pop()
        found.append(worker)
        waiting.extend(reversed(worker.children))
    return found
